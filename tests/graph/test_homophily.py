"""Homophily against PyG, printed values and worked examples; its intervals against the truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.utils import homophily as pyg_homophily

from heterophily.graph import Graph, GraphError, load, synthetic
from heterophily.graph.homophily import MEASURES, homophily, local_homophily, neighbor_classes
from tests.shared import SHARED

PRINTED = {
    "cora": (0.81, 0.77, 0.59),
    "citeseer": (0.74, 0.67, 0.45),
    "pubmed": (0.80, 0.69, 0.41),
    "actor": (0.22, 0.00, 0.00),
    "minesweeper": (0.68, 0.01, 0.00),
    "tolokers": (0.59, 0.09, 0.01),
}
"""Edge and adjusted homophily and label informativeness as Platonov et al. (2023) print them."""

ADJUSTED = {
    "cornell": -0.079, "cornell-corrected": -0.220, "texas": -0.294, "wisconsin": -0.173,
    "chameleon": 0.032, "squirrel": 0.007, "actor": 0.003, "cora": 0.771, "citeseer": 0.671,
    "pubmed": 0.686, "minesweeper": 0.009, "tolokers": 0.093, "chameleon-filtered": 0.030,
    "squirrel-filtered": 0.009, "cornell5": 0.091,
}  # fmt: skip
"""Adjusted homophily of the files at hand, computed apart from this code."""


@pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")
@pytest.mark.parametrize("name", ADJUSTED)
def test_adjusted_homophily_is_what_others_computed_from_the_same_files(name: str, data_folder: Path) -> None:
    assert homophily(load(name, data_folder)).adjusted == pytest.approx(ADJUSTED[name], abs=5e-4)


@pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")
@pytest.mark.parametrize("name", SHARED)
def test_edge_node_and_class_insensitive_homophily_are_pygs(name: str, data_folder: Path) -> None:
    graph = load(name, data_folder)
    found = homophily(graph)
    whole = graph.undirected().without_self_loops().edge_index
    edges = whole[:, (graph.y[whole] >= 0).all(0)]
    # PyG knows no unlabelled nodes: they go, and with them nodes that have no other neighbors.
    degree, known = (torch.bincount(e[0], minlength=graph.num_nodes) for e in (whole, edges))
    kept = (graph.y >= 0) & ((known > 0) | (degree == 0))

    def theirs(method: str, nodes: torch.Tensor) -> float:
        return pyg_homophily((nodes.cumsum(0) - 1)[edges], graph.y[nodes], method=method)

    assert found.edge == pytest.approx(theirs("edge", kept), abs=1e-6)
    assert found.node == pytest.approx(theirs("node", kept), abs=1e-6)
    assert found.class_insensitive == pytest.approx(theirs("edge_insensitive", graph.y >= 0), abs=1e-6)


@pytest.mark.parametrize("name", PRINTED)
def test_adjusted_homophily_and_informativeness_are_those_printed(name: str, data_folder: Path) -> None:
    found = homophily(load(name, data_folder))
    assert (round(found.edge, 2), round(found.adjusted, 2), round(found.label_informativeness, 2)) == (
        pytest.approx(PRINTED[name])
    )


def square(*labels: int) -> Graph:
    """Four nodes in a ring, an isolated fifth, and a loop and a duplicate that must not count."""
    edges = [[0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 0, 0]]
    return Graph(None, [*labels, 0], edges, num_classes=2)


def test_a_ring_of_alternating_classes_is_heterophilous_and_fully_informative() -> None:
    found = homophily(square(0, 1, 0, 1))
    assert (found.edge, found.node, found.adjusted) == (0, 0, -1)
    assert found.label_informativeness == pytest.approx(1)
    assert found.compatibility.tolist() == [[0, 1], [1, 0]]
    assert (found.nodes, found.edges) == (5, 4)


def test_measures_of_a_small_ring_by_hand() -> None:
    found = homophily(square(0, 0, 1, 1))
    assert found.edge == 0.5 and found.adjusted == 0
    assert found.node == pytest.approx((4 * 0.5 + 0) / 5)  # the isolated node counts as 0, as in PyG
    assert found.label_informativeness == pytest.approx(0)
    assert found.class_insensitive == pytest.approx(0.5 - 2 / 5)  # class 0 is below its share of 3/5
    assert found.compatibility.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    local = local_homophily(square(0, 0, 1, 1))
    assert local[:4].tolist() == [0.5] * 4 and local[4].isnan()


def test_hidden_labels_are_never_read() -> None:
    graph = synthetic(300, homophily=0.3, splits=1)
    train = graph.splits[0].train
    random = torch.where(train, graph.y, torch.randint(0, 5, graph.y.shape))
    one, other = (homophily(g, train, resamples=5) for g in (graph, graph.with_labels(random)))
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())
    counts = [neighbor_classes(g, train).toarray() for g in (graph, graph.with_labels(random))]
    assert (counts[0] == counts[1]).all() and counts[0].sum() > 0
    local = [local_homophily(g, train) for g in (graph, graph.with_labels(random))]
    torch.testing.assert_close(local[0], local[1], equal_nan=True)
    assert one.edges < homophily(graph).edges


def test_a_mask_measures_the_induced_subgraph() -> None:
    graph = synthetic(300, homophily=0.3, splits=1)
    train = graph.splits[0].train
    inside = train[graph.edge_index].all(0)
    alone = Graph(None, graph.y.masked_fill(~train, -1), graph.edge_index[:, inside], num_classes=5)
    one, other = homophily(graph, train), homophily(alone)
    for name in ("edge", "class_insensitive", "adjusted", "label_informativeness"):
        assert getattr(one, name) == getattr(other, name)
    assert one.node == pytest.approx(float(local_homophily(graph, train).nanmean()))


def test_the_synthetic_compatibility_comes_back() -> None:
    wanted = [[0.1, 0.9, 0], [0.9, 0.1, 0], [0, 0, 1]]
    found = homophily(synthetic(3000, compatibility=wanted, splits=0))
    np.testing.assert_allclose(found.compatibility, wanted, atol=0.03)


@pytest.mark.parametrize("share, within", [(0.9, True), (0.05, False)])
def test_informativeness_comes_from_edges_within_and_between_classes(share: float, within: bool) -> None:
    found = homophily(synthetic(1000, 4, homophily=share, splits=0))
    parts = found.informativeness_parts
    assert sum(parts) == pytest.approx(found.label_informativeness)
    assert (parts[0] > parts[1]) == within


@pytest.mark.parametrize("exponent", [None, 2.5])
def test_intervals_hold_the_true_homophily_at_least_as_often_as_they_say(exponent: float | None) -> None:
    held = []
    for seed in range(60):
        graph = synthetic(
            150, 3, homophily=0.3, degree_exponent=exponent, average_degree=6, splits=0, seed=seed
        )
        low, high = homophily(graph, resamples=60, seed=seed).intervals["edge"]
        held.append(low <= 0.3 <= high)
    assert np.mean(held) >= 0.95


def test_intervals_get_narrow_as_the_graph_grows_and_follow_the_seed() -> None:
    small, large = (synthetic(n, 3, homophily=0.3, splits=0) for n in (200, 5000))
    (a, b), (c, d) = (homophily(g, resamples=50).intervals["adjusted"] for g in (small, large))
    assert d - c < (b - a) / 3
    assert homophily(small, resamples=50, seed=1).intervals["adjusted"] != (a, b)
    assert homophily(small, resamples=50).intervals["adjusted"] == (a, b)
    found = homophily(small, resamples=50)
    for name in MEASURES:
        low, high = found.intervals[name]
        assert low <= high


def test_where_there_is_nothing_to_measure_json_says_null() -> None:
    found = homophily(Graph(None, [0, 1, 1], [[], []], num_classes=2), resamples=5).to_json()
    assert found["edge"] is None and found["adjusted"] is None and found["compatibility"][0] == [None, None]
    json.dumps(found, allow_nan=False)
    one_class = homophily(Graph(None, [0, 0], [[0], [1]], num_classes=1))
    assert one_class.edge == 1 and np.isnan(one_class.adjusted)


def test_a_wrong_mask_is_refused() -> None:
    graph = square(0, 1, 0, 1)
    with pytest.raises(GraphError, match="boolean mask of shape"):
        homophily(graph, torch.tensor([0, 1]))
    with pytest.raises(GraphError, match="no node has a known label"):
        homophily(graph, torch.zeros(5, dtype=torch.bool))
