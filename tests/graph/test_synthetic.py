"""The synthetic graph has the homophily, preferences, degrees, classes and features that were asked for."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heterophily.graph.graph import Graph, GraphError
from heterophily.graph.synthetic import synthetic


def homophily(graph: Graph) -> float:
    u, v = graph.edge_index
    return float((graph.y[u] == graph.y[v]).double().mean())


def neighbor_classes(graph: Graph) -> np.ndarray:
    """(K, K): row i says to which classes the edges of class i lead."""
    u, v = graph.edge_index
    flow = torch.zeros(graph.num_classes, graph.num_classes, dtype=torch.float64)
    flow.index_put_((graph.y[u], graph.y[v]), torch.ones(len(u), dtype=torch.float64), accumulate=True)
    return (flow / flow.sum(1, keepdim=True)).numpy()


def degrees(graph: Graph) -> torch.Tensor:
    return torch.bincount(graph.edge_index[0], minlength=graph.num_nodes)


@pytest.mark.parametrize("asked", [0.0, 0.05, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("options", [
    {}, {"num_classes": 2}, {"class_balance": [5, 1, 1, 2, 1]}, {"degree_exponent": 2.5},
])  # fmt: skip
def test_the_homophily_asked_for_is_met_within_sampling_error(asked: float, options: dict) -> None:
    graph = synthetic(num_nodes=5000, homophily=asked, num_features=2, splits=1, **options)
    edges = graph.num_edges / 2
    assert abs(homophily(graph) - asked) <= 4 * np.sqrt(asked * (1 - asked) / edges)


def test_without_a_wish_one_edge_in_five_joins_nodes_of_one_class() -> None:
    assert homophily(synthetic(20_000, splits=1)) == pytest.approx(0.2, abs=0.005)


def test_neighbors_follow_a_symmetric_compatibility_row_by_row() -> None:
    wanted = np.array([[0.1, 0.6, 0.3], [0.6, 0.1, 0.3], [0.3, 0.3, 0.4]])
    graph = synthetic(9000, compatibility=7 * wanted, average_degree=20, splits=1)  # rows of any scale
    assert graph.num_classes == 3
    np.testing.assert_allclose(neighbor_classes(graph), wanted, atol=0.01)
    by_class = [float(degrees(graph)[graph.y == k].double().mean()) for k in range(3)]
    np.testing.assert_allclose(by_class, 20, rtol=0.02)


def test_preferences_that_disagree_are_averaged_and_the_homophily_stays() -> None:
    shares = np.array([0.5, 0.25, 0.25])
    wanted = np.array([[0.2, 0.8, 0.0], [0.1, 0.4, 0.5], [0.3, 0.3, 0.4]])
    graph = synthetic(8000, compatibility=wanted, class_balance=list(shares), average_degree=20, splits=1)
    flow = shares[:, None] * wanted
    flow = (flow + flow.T) / 2
    np.testing.assert_allclose(neighbor_classes(graph), flow / flow.sum(1, keepdims=True), atol=0.01)
    assert homophily(graph) == pytest.approx(float(shares @ wanted.diagonal()), abs=0.01)


def test_classes_that_never_meet_never_meet() -> None:
    graph = synthetic(600, compatibility=[[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert neighbor_classes(graph).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_by_default_a_class_likes_the_two_next_to_it_in_a_circle() -> None:
    rows = neighbor_classes(
        synthetic(num_nodes=60_000, num_classes=6, homophily=0.1, num_features=2, splits=1)
    )
    first = np.array([np.roll(row, -k) for k, row in enumerate(rows)]).mean(0)
    np.testing.assert_allclose(first, np.array([0.1, *(0.9 * np.array([10, 1, 1, 1, 10]) / 23)]), atol=0.005)


@pytest.mark.parametrize("exponent", [None, 2.2])
def test_edges_are_simple_undirected_sorted_and_as_many_as_asked_for(exponent: float | None) -> None:
    graph = synthetic(num_nodes=501, average_degree=7.3, degree_exponent=exponent)
    u, v = graph.edge_index
    assert graph.num_edges == 2 * round(501 * 7.3 / 2)
    assert not (u == v).any()
    keys = u * 501 + v
    assert (keys.diff() > 0).all()  # sorted, no duplicates
    assert torch.equal((v * 501 + u).sort().values, keys)  # every edge both ways


def test_class_sizes_are_the_nearest_whole_numbers_to_the_balance() -> None:
    graph = synthetic(num_nodes=1000, num_classes=4, class_balance=[4, 3, 2, 1])
    assert torch.bincount(graph.y).tolist() == [400, 300, 200, 100]
    assert torch.bincount(synthetic(num_nodes=1001, num_classes=3).y).tolist() == [334, 334, 333]


def test_equal_expected_degrees_are_poisson() -> None:
    degree = degrees(synthetic(num_nodes=50_000, num_features=2, splits=1)).double()
    assert float(degree.mean()) == 10
    assert float(degree.var()) == pytest.approx(10, rel=0.05)


def test_a_degree_exponent_gives_a_power_law_tail() -> None:
    exponent = 2.5
    degree = degrees(synthetic(200_000, degree_exponent=exponent, num_features=2, splits=1)).double()
    tail = degree[degree >= 50]  # Hill's estimate, over a range that ends well before the cut at 1,414
    assert float(degree.mean()) == 10
    assert 1 + 1 / float((tail / 49.5).log().mean()) == pytest.approx(exponent, abs=0.15)
    assert degree.max() < 2 * np.sqrt(200_000 * 10)


def test_features_are_class_means_of_length_one_plus_noise() -> None:
    graph = synthetic(num_nodes=20_000, num_classes=3, num_features=16, feature_noise=0.5, splits=1)
    means = torch.stack([graph.x[graph.y == k].mean(0) for k in range(3)])
    assert means.norm(dim=1).tolist() == pytest.approx([1, 1, 1], abs=0.03)
    assert float((graph.x - means[graph.y]).std()) == pytest.approx(0.5, rel=0.01)
    still = synthetic(num_nodes=300, num_classes=3, feature_noise=0)
    assert len(still.x.unique(dim=0)) == 3


def test_by_default_neighbors_know_more_than_features() -> None:
    from sklearn.linear_model import LogisticRegression

    graph = synthetic()
    u, v = graph.edge_index
    neighbors = torch.zeros(2000, 5).index_put_((u, graph.y[v]), torch.ones(len(u)), accumulate=True)
    train, test = graph.splits[0].train.numpy(), graph.splits[0].test.numpy()
    scores = []
    for x in (graph.x.numpy(), neighbors.numpy()):
        model = LogisticRegression(max_iter=500).fit(x[train], graph.y[train])
        scores.append(model.score(x[test], graph.y[test]))
    assert 0.5 < scores[0] < 0.7 and scores[1] > 0.8


def test_the_same_seed_gives_the_same_graph_and_another_seed_another() -> None:
    options = {"num_nodes": 300, "degree_exponent": 3.0, "average_degree": 5}
    a, b, c = (synthetic(**options, seed=seed) for seed in (7, 7, 8))
    for field in ("x", "y", "edge_index"):
        assert torch.equal(getattr(a, field), getattr(b, field))
        assert not torch.equal(getattr(a, field), getattr(c, field))
    assert all(torch.equal(s.train, t.train) for s, t in zip(a.splits, b.splits))


def test_a_graph_of_a_known_seed_stays_what_it_is() -> None:
    graph = synthetic(num_nodes=12, num_classes=2, average_degree=3, num_features=2, splits=1)
    assert graph.y.tolist() == [1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1]
    assert graph.edge_index[:, :8].tolist() == [[0, 0, 1, 1, 1, 2, 2, 2], [2, 8, 5, 8, 11, 0, 5, 8]]


def test_splits_are_as_asked_for_and_keep_the_classes_in_proportion() -> None:
    graph = synthetic(num_nodes=1000, splits=3, train=0.6, validation=0.2)
    assert graph.name == "synthetic" and len(graph.splits) == 3
    for split in graph.splits:
        assert torch.bincount(graph.y[split.train]).tolist() == [120] * 5
        assert torch.bincount(graph.y[split.test]).tolist() == [40] * 5
    assert synthetic(num_nodes=100, splits=0).splits == ()


def test_a_hundred_thousand_nodes_and_a_million_edges_are_no_trouble() -> None:
    graph = synthetic(num_nodes=100_000, average_degree=20, degree_exponent=2.5, splits=1)
    assert graph.num_edges == 2_000_000 and int(degrees(graph).max()) > 300


@settings(max_examples=30, deadline=None)
@given(
    compatibility=st.integers(2, 4).flatmap(
        lambda k: st.lists(st.lists(st.floats(0.05, 1), min_size=k, max_size=k), min_size=k, max_size=k)
    ),
    exponent=st.none() | st.floats(2.01, 4),
    seed=st.integers(0, 1000),
)
def test_any_positive_compatibility_gives_a_graph(
    compatibility: list[list[float]], exponent: float | None, seed: int
) -> None:
    graph = synthetic(
        num_nodes=200, compatibility=compatibility, degree_exponent=exponent, average_degree=4, seed=seed
    )
    assert graph.num_edges == 800 and graph.num_classes == len(compatibility)


@pytest.mark.parametrize("options, message", [
    ({"homophily": 1.2}, "homophily is 1.2; it is a share"),
    ({"num_classes": 1}, "num_classes is 1; use at least 2"),
    ({"compatibility": [[1, 2, 3], [4, 5, 6]]}, r"compatibility has shape \(2, 3\); it must be square"),
    ({"compatibility": [1, 2]}, r"compatibility has shape \(2,\)"),
    ({"compatibility": [[1, -2], [1, 1]]}, r"compatibility\[0, 1\] is -2.0; every entry"),
    ({"compatibility": [[1, 1], [1, float("nan")]]}, r"compatibility\[1, 1\] is nan"),
    ({"compatibility": [[1, 1], [0, 0]]}, "row 1 of compatibility is all 0"),
    ({"compatibility": [[1, 1], [1, 1]], "homophily": 0.5}, "both given"),
    ({"class_balance": [1, 2]}, r"class_balance has shape \(2,\); give one weight for each of 5 classes"),
    ({"class_balance": [1, 1, 1, 1, 0]}, "every weight must be a positive number"),
    ({"num_nodes": 12}, "class 2 gets 2 of 12 nodes and needs 3"),
    ({"class_balance": [1, 1, 1, 1, 5000]}, "gets 0 of 2000 nodes"),
    ({"average_degree": 0}, "average_degree is 0; it must be above 0"),
    ({"average_degree": 1500}, "would get .* edges among .* pairs"),
    ({"num_nodes": 100, "homophily": 1.0, "average_degree": 15}, "classes . and . would get"),
    ({"degree_exponent": 2}, "degree_exponent is 2; above 2 the mean degree exists"),
    ({"num_features": 0}, "num_features is 0"),
    ({"feature_noise": -1}, "feature_noise -1"),
    ({"train": 0.9, "validation": 0.2}, "train=0.9"),
])  # fmt: skip
def test_nonsense_is_refused_with_a_reason(options: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        synthetic(**options)


@pytest.mark.parametrize("options, message", [
    ({"num_nodes": 1e2}, "num_nodes is 100.0; it must be a whole number"),
    ({"num_nodes": 10**23}, "that is more than the 2,147,483,647"),
    ({"num_classes": 10**9}, "num_classes is 1000000000 for 2000 nodes"),
    ({"num_features": "2"}, "num_features is '2'; it must be a whole number"),
    ({"splits": -1}, "splits is -1; it must be a whole number, zero or more"),
    ({"seed": None}, "seed is None; it must be a whole number"),
    ({"homophily": "a"}, "homophily is 'a'; it must be a number or None"),
    ({"average_degree": None}, "average_degree is None; it must be a number$"),
    ({"average_degree": 1e300}, "average_degree is 1e\\+300; it must be above 0 and fit the graph"),
    ({"feature_noise": float("nan")}, "feature_noise is nan; it must be a number"),
    ({"compatibility": [[1, 2], [3]]}, "compatibility is .*; it must be rows of numbers, all of one length"),
    ({"class_balance": ["a"] * 5}, "class_balance is .*; it must be a list of numbers"),
])  # fmt: skip
def test_an_option_of_the_wrong_kind_is_refused_with_what_is_wanted(options: dict, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        synthetic(**options)
