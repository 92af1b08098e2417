"""A graph is right once it is built: what users may hand in, what is refused, what each copy keeps."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import NormalizeFeatures

from heterophily.graph.graph import Graph, GraphError, MissingClassWarning, Split, random_splits
from heterophily.graph.synthetic import synthetic

SETTINGS: dict[str, Any] = {
    "x": torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]]),
    "y": torch.tensor([0, 1, 0, -1]),
    "edge_index": torch.tensor([[0, 1, 1, 3], [1, 2, 1, 0]]),
}
SPLIT = Split.from_indices(4, [0, 1], [2], [])


def a_graph(**changes: Any) -> Graph:
    """Four nodes, the last unlabelled; 0 -> 1 -> 2, 3 -> 0, and a loop at 1."""
    return Graph(**SETTINGS | changes)


def refusal(**changes: Any) -> str:
    """What a user is told about a graph that cannot be."""
    with pytest.raises(GraphError) as error:
        a_graph(**changes)
    return str(error.value)


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return {(u, v) for u, v in graph.edge_index.T.tolist()}


def columns(graph: Graph) -> list[tuple[int, int]]:
    return [(u, v) for u, v in graph.edge_index.T.tolist()]


def dense(graph: Graph) -> np.ndarray:
    """Adjacency as a dense boolean matrix."""
    matrix = np.zeros((graph.num_nodes, graph.num_nodes), dtype=bool)
    matrix[tuple(graph.edge_index.numpy())] = True
    return matrix


def assert_same(one: Graph, other: Graph, edges: bool = True) -> None:
    assert torch.equal(one.x.to_dense(), other.x.to_dense()) and torch.equal(one.y, other.y)
    assert not edges or torch.equal(one.edge_index, other.edge_index)
    assert len(one.splits) == len(other.splits)
    for mine, theirs in zip(one.splits, other.splits):
        assert mine.name == theirs.name
        assert all(torch.equal(a, b) for (_, a), (_, b) in zip(mine.parts(), theirs.parts()))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Small graphs of all kinds: directed, with loops, duplicates, isolated and unlabelled nodes."""
    n = draw(st.integers(1, 9))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    raw = np.array(draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)))
    known = np.unique(raw[raw >= 0])  # number the classes that occur, so that none is missing
    y = np.where(raw < 0, -1, np.searchsorted(known, raw))
    number = st.floats(-10, 10, width=32)
    width = draw(st.integers(0, 3))
    x = [draw(st.lists(number, min_size=width, max_size=width)) for _ in range(n)]
    features = np.array(x, dtype=np.float32).reshape(n, width)
    splits = random_splits(y, draw(st.integers(1, 3)), stratified=True) if len(known) else ()
    given_x = sp.csr_array(features) if draw(st.booleans()) else features
    return Graph(given_x, y, np.array(edges, dtype=np.int64).reshape(-1, 2).T, splits)


# What a graph holds


def test_a_graph_counts_what_it_holds() -> None:
    graph = a_graph(splits=[SPLIT])
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (4, 4, 2, 2)
    assert graph.has_self_loops and not graph.is_undirected
    assert repr(graph) == ("Graph('graph': 4 nodes (1 unlabelled), 4 edges, 2 features, 2 classes, 1 splits)")
    assert repr(graph.splits[0]) == "Split('0': 2 train, 1 validation, 0 test)"


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: x.numpy().astype(">f8")[:, ::-1][:, ::-1],
        lambda x: x.numpy().astype(np.uint16),
        lambda x: x.to(torch.int8),
        lambda x: x.half(),
    ],
    ids=["list", "numpy", "foreign byte order", "unsigned", "int8", "half"],
)
def test_dense_features_may_come_as_any_real_array(convert: Any) -> None:
    graph = a_graph(x=convert(SETTINGS["x"]))
    assert graph.x.dtype == torch.float32 and torch.equal(graph.x, SETTINGS["x"])


def test_boolean_features_become_zeros_and_ones() -> None:
    assert torch.equal(a_graph(x=SETTINGS["x"] > 0).x, (SETTINGS["x"] > 0).float())


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: sp.csr_array(x.numpy()),
        lambda x: sp.csc_matrix(x.numpy().astype(np.int64)),
        lambda x: (
            sp.coo_array((np.ones(14), ([0, 1, 1, *[2] * 3, *[3] * 8], [0, 1, 1, *[0] * 3, *[1] * 8])))
            - sp.coo_array(([4.0], ([3], [1])), (4, 2))
        ),
        lambda x: x.to_sparse_coo(),
        lambda x: x.to_sparse_csr(),
        lambda x: x.to_sparse_csc(),
    ],
    ids=[
        "csr_array",
        "csc_matrix of integers",
        "coo_array with repeats",
        "torch COO",
        "torch CSR",
        "torch CSC",
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_features_stay_sparse_whatever_their_layout(convert: Any) -> None:
    graph = a_graph(x=convert(SETTINGS["x"]))
    assert graph.x.layout == torch.sparse_csr and graph.x.dtype == torch.float32
    assert torch.equal(graph.x.to_dense(), SETTINGS["x"])
    assert "2 sparse features" in repr(graph)


def test_a_graph_without_features_has_zero_columns() -> None:
    assert a_graph(x=None).x.shape == (4, 0)


def test_a_graph_without_edges_is_a_graph() -> None:
    graph = a_graph(edge_index=[[], []])
    assert graph.num_edges == 0 and graph.is_undirected and not graph.has_self_loops
    assert graph.two_hop().num_edges == graph.undirected().num_edges == 0
    assert columns(graph.with_self_loops()) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_later_changes_to_the_array_of_a_user_do_not_reach_the_graph() -> None:
    x = SETTINGS["x"].numpy().copy()
    graph = a_graph(x=x)
    x[:] = np.nan
    assert torch.equal(graph.x, SETTINGS["x"])


def test_the_number_of_classes_is_the_largest_label_plus_one_unless_given() -> None:
    assert a_graph().num_classes == 2
    assert a_graph(num_classes=5).num_classes == 5
    assert a_graph(class_names=["a", "b", "c"]).num_classes == 3
    assert a_graph(y=[-1] * 4).num_classes == 0


def test_a_graph_cannot_be_changed_but_pickled() -> None:
    graph = a_graph(splits=[SPLIT], x=sp.csr_array(SETTINGS["x"].numpy()))
    with pytest.raises(AttributeError):
        graph.name = "other"  # type: ignore[misc]
    assert_same(graph, pickle.loads(pickle.dumps(graph)))


# What is refused


def test_an_edge_to_a_node_that_does_not_exist_is_refused_with_its_position() -> None:
    told = refusal(edge_index=[[0, 1, 2], [1, 7, 9]])
    assert "column 1 (1 -> 7)" in told and "no node 7" in told and "N = 4; such columns: 2" in told


def test_a_negative_node_id_is_refused_with_its_position() -> None:
    assert "column 2 (-3 -> 0): there is no node -3" in refusal(edge_index=[[0, 1, -3], [1, 2, 0]])


def test_ids_that_start_at_one_are_recognized() -> None:
    assert "subtract 1" in refusal(edge_index=[[1, 2, 3], [2, 3, 4]])


@given(graphs(), st.integers(), st.integers(-(2**40), 2**40), st.booleans())
def test_any_bad_id_anywhere_is_found(graph: Graph, where: int, node: int, source: bool) -> None:
    assume(graph.num_edges and not 0 <= node < graph.num_nodes)
    column, edges = where % graph.num_edges, graph.edge_index.clone()
    edges[0 if source else 1, column] = node
    with pytest.raises(GraphError, match=rf"column {column} .* no node {node},"):
        Graph(graph.x, graph.y, edges)


@given(graphs(), st.integers(), st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
def test_any_value_that_is_not_finite_is_found(graph: Graph, where: int, value: float) -> None:
    assume(graph.num_features)
    x = graph.x.to_dense().double().numpy()
    row, column = divmod(where % x.size, x.shape[1])
    x[row, column] = value
    for given_x in (x, sp.csr_array(x), torch.from_numpy(x).to_sparse_coo()):
        with pytest.raises(GraphError, match=rf"such values: 1, the first in row {row}, column {column}: "):
            Graph(given_x, graph.y, graph.edge_index)


def test_large_finite_features_are_no_infinite_ones() -> None:
    a_graph(x=torch.full((4, 2), 3e38))  # their sum overflows


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"edge_index": [[0, 1], [1, 2], [2, 3]]}, "shape (3, 2), it must be (2, E); transpose it"),
        ({"edge_index": [0, 1, 2]}, "shape (3,), it must be (2, E); give sources and targets"),
        ({"edge_index": [[0.0], [1.0]]}, "edge_index: torch.float64 values where whole numbers are needed"),
        ({"edge_index": [["a"], ["b"]]}, "edge_index cannot be made a tensor"),
        ({"edge_index": [[0, 1], [1]]}, "edge_index cannot be made a tensor"),
        ({"x": torch.ones(3, 2)}, "x has shape (3, 2), but y has 4 labels"),
        ({"x": torch.ones(4)}, "x has shape (4,), but y has 4 labels; x needs one row per node: (4, F)"),
        ({"x": [["red"]] * 4}, "encode text and categories"),
        ({"x": torch.ones(4, 2, dtype=torch.complex64)}, "complex"),
        ({"y": [0, 1, 0]}, "x has shape (4, 2), but y has 3 labels"),
        ({"y": [0.0, 1.0, 0.5, np.nan]}, "y: torch.float64 values where whole numbers are needed"),
        ({"y": ["cat", "dog", "cat", "cat"]}, "number the classes 0, 1, ..."),
        ({"y": torch.eye(4).long()}, "y has shape (4, 4), it must be (N,)"),
        ({"y": [0, -2, 0, -7]}, "node 1 has label -2, but labels go from 0 to 0"),
        ({"y": [0, 1, 5, 1], "num_classes": 3}, "node 2 has label 5, but labels go from 0 to 2"),
        ({"y": [], "x": None, "edge_index": [[], []]}, "the graph is empty"),
        ({"class_names": ["a"], "num_classes": 2}, "1 class names for 2 classes"),
        ({"metric": "f1"}, "unknown metric 'f1'; choose one of: accuracy, roc_auc"),
        ({"metric": "roc_auc", "num_classes": 3}, "roc_auc needs 2 classes, this graph has 3"),
        ({"splits": [Split.from_indices(5, [0], [1], [2])]}, "masks of length 5, but the graph has 4"),
        ({"splits": [SPLIT, SPLIT]}, "more than one split is named '0'"),
        ({"splits": [{"train": [0]}]}, "splits holds a dict"),
        ({"splits": [Split.from_indices(4, [0, 1], [2], [3], "b")]},
         "split 'b': its test mask contains unlabelled nodes (y = -1; such nodes: 1, the first is 3)"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_with_a_sentence(changes: dict[str, Any], told: str) -> None:
    assert told in refusal(**changes)


@pytest.mark.parametrize(
    "masks, told",
    [
        (([1, 1, 0], [0, 1, 1], [0, 1, 0]),
         "train and validation masks overlap (nodes in both: 1, the first is node 1"),
        (([1, 0, 0], [0, 1, 1], [0, 1, 1]),
         "validation and test masks overlap (nodes in both: 2, the first is node 1)"),
        (([0, 0, 0], [0, 1, 1], [1, 0, 0]), "split 'mine' has no training node"),
        (([1, 0, 0], [0, 1], [0, 0, 1]), "differ in length (train 3, validation 2, test 3)"),
        (([[1, 0, 0]], [0, 1, 0], [0, 0, 1]), "the train mask of split 'mine' is torch.bool of shape (1, 3)"),
    ],
)  # fmt: skip
def test_masks_that_disagree_are_refused_with_the_split_and_the_node(masks: Any, told: str) -> None:
    with pytest.raises(GraphError) as error:
        Split(*(torch.tensor(mask).bool() for mask in masks), "mine")  # type: ignore[arg-type, call-arg]
    assert told in str(error.value)


def test_node_ids_are_not_taken_for_masks_nor_masks_for_node_ids() -> None:
    with pytest.raises(GraphError, match="use Split.from_indices"):
        Split(torch.tensor([0, 1]), torch.tensor([2]), torch.tensor([3]))
    with pytest.raises(GraphError, match=r"for boolean masks use Split\("):
        Split.from_indices(2, [True, False], [False, True], [])
    with pytest.raises(
        GraphError, match="the test nodes of split '0': entry 1 is 4, but the nodes are 0 to 3"
    ):
        Split.from_indices(4, [0], [1], [2, 4])


@given(st.data())
def test_arbitrary_input_gives_a_graph_or_a_sentence_but_no_other_error(data: st.DataObject) -> None:
    integers = st.integers(-3, 6)
    anything = st.one_of(
        st.none(),
        st.text(max_size=3),
        integers,
        st.lists(integers, max_size=4),
        st.lists(st.lists(st.one_of(integers, st.floats()), max_size=3), max_size=4),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingClassWarning)
            graph = Graph(data.draw(anything), data.draw(anything), data.draw(anything))
    except GraphError:
        return
    assert graph.num_nodes > 0 and graph.x.isfinite().all()


# Splits


def test_a_split_is_found_by_position_and_by_name() -> None:
    splits = [Split.from_indices(4, [0, 1], [2], [], name) for name in ("first", "0")]
    graph = a_graph(splits=splits)
    assert graph.split(0).name == graph.split("first").name == "first"
    assert graph.split(1).name == graph.split("0").name == "0"


@pytest.mark.parametrize("key", [1, -1, "second"])
def test_an_unknown_split_is_refused_with_those_there_are(key: Any) -> None:
    with pytest.raises(GraphError, match=rf"no split {key!r}; ask for one of its 1 splits .* by name: '0'"):
        a_graph(splits=[SPLIT]).split(key)
    with pytest.raises(GraphError, match="by name: none"):
        a_graph().split(key)


def test_a_class_that_is_missing_from_training_is_one_warning_with_the_class_and_the_splits() -> None:
    splits = [Split.from_indices(4, train, [], [], name) for name, train in zip("abc", ([0], [0, 1], [2]))]
    with pytest.warns(MissingClassWarning) as caught:
        a_graph(splits=splits, class_names=["cat", "dog", "emu"])
    (warning,) = caught
    assert "class dog (in split a, c); class emu (in split a, b, c)" in str(warning.message)
    assert warning.filename == __file__


def test_copies_do_not_warn_again() -> None:
    with pytest.warns(MissingClassWarning):
        graph = a_graph(splits=[Split.from_indices(4, [0], [], [])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph.undirected().with_self_loops().without_self_loops().two_hop()
        graph.renumbered([3, 2, 1, 0]).to("cpu").with_labels(graph.y)


def test_new_splits_are_checked_against_the_labels() -> None:
    graph = a_graph()
    assert graph.with_splits([SPLIT]).split("0").train.tolist() == [True, True, False, False]
    with pytest.raises(GraphError, match="unlabelled"):
        graph.with_splits([Split.from_indices(4, [0, 1, 3], [2], [])])
    with pytest.warns(MissingClassWarning):
        graph.with_splits([Split.from_indices(4, [0], [], [])])


def test_hiding_labels_keeps_the_classes_and_the_splits() -> None:
    hidden = a_graph(splits=[SPLIT]).with_labels([0, -1, -1, -1])
    assert hidden.num_classes == 2 and hidden.split(0).train[1]
    with pytest.raises(GraphError, match="node 0 has label 2"):
        hidden.with_labels([2, 0, 0, 0])
    with pytest.raises(GraphError, match="3 labels for 4 nodes"):
        hidden.with_labels([0, 0, 0])


@given(
    y=st.lists(st.integers(-1, 3), min_size=1, max_size=60),
    train=st.floats(0.05, 0.9),
    validation=st.floats(0, 0.5),
    seed=st.integers(0, 2**32),
    stratified=st.booleans(),
)
def test_random_splits_share_out_every_labelled_node_and_no_other(
    y: list[int], train: float, validation: float, seed: int, stratified: bool
) -> None:
    assume(max(y) >= 0 and train + validation <= 1)
    labels = torch.tensor(y)
    for split in random_splits(y, 2, train, validation, seed, stratified):
        assert torch.equal(split.train | split.validation | split.test, labels >= 0)
        if stratified:
            assert set(labels[split.train].tolist()) == set(y) - {-1}
        else:
            assert int(split.train.sum()) == max(1, round(train * int((labels >= 0).sum())))


def test_random_splits_are_the_same_on_every_machine_and_differ_between_seeds() -> None:
    y = [0, 1] * 6
    first, second = random_splits(y, 2)
    assert (first.name, second.name) == ("0", "1")
    assert first.train.nonzero().flatten().tolist() == [1, 2, 3, 6, 8, 11]
    assert second.train.nonzero().flatten().tolist() == [1, 4, 5, 7, 10, 11]
    assert torch.equal(random_splits(y, 5)[1].test, second.test)
    assert not torch.equal(random_splits(y, 1, seed=1)[0].train, first.train)


@pytest.mark.parametrize(
    "changes", [{"count": 0}, {"train": 0.0}, {"validation": -0.1}, {"train": 0.8, "validation": 0.3}]
)
def test_fractions_that_leave_nothing_are_refused(changes: Any) -> None:
    with pytest.raises(GraphError, match="cannot draw count="):
        random_splits([0, 1, 0, 1], **changes)


def test_a_graph_without_labels_cannot_be_split() -> None:
    with pytest.raises(GraphError, match="nothing to split"):
        random_splits([-1, -1])


# Edges


@given(graphs())
def test_undirected_means_every_edge_both_ways_and_once(graph: Graph) -> None:
    both = graph.undirected()
    assert columns(both) == sorted(pairs(graph) | {(v, u) for u, v in pairs(graph)})
    assert both.is_undirected
    assert graph.is_undirected == (dense(graph) == dense(graph).T).all()


@given(graphs())
def test_self_loops_are_added_once_to_each_node_and_taken_away_again(graph: Graph) -> None:
    nodes = range(graph.num_nodes)
    assert columns(graph.with_self_loops()) == sorted(pairs(graph) | {(u, u) for u in nodes})
    bare = graph.without_self_loops()
    assert columns(bare) == [(u, v) for u, v in columns(graph) if u != v]
    assert not bare.has_self_loops and graph.with_self_loops().has_self_loops


@pytest.mark.parametrize("walks", [1, 7, 1 << 24], ids="in blocks of {} walks".format)
def test_two_hops_equal_the_dense_boolean_power(walks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heterophily.graph.graph.WALKS", walks)

    @given(graphs())
    def holds(graph: Graph) -> None:
        one = dense(graph)
        two = one | (one @ one)
        assert columns(graph.two_hop()) == list(zip(*(part.tolist() for part in two.nonzero())))

    holds()


@given(graphs(), st.randoms(use_true_random=False))
def test_renumbering_moves_features_labels_edges_and_splits_together(graph: Graph, random: Any) -> None:
    order = list(range(graph.num_nodes))
    random.shuffle(order)
    moved = graph.renumbered(order)
    assert torch.equal(moved.x.to_dense(), graph.x.to_dense()[order])
    assert torch.equal(moved.y, graph.y[order])
    assert moved.x.layout == graph.x.layout
    assert [(order[u], order[v]) for u, v in columns(moved)] == columns(graph)
    assert_same(moved.renumbered(np.argsort(order)), graph)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4], [[0, 1, 2, 3]]])
def test_an_order_that_is_no_permutation_is_refused(order: Any) -> None:
    with pytest.raises(GraphError, match="not a permutation of the nodes 0 to 3"):
        a_graph().renumbered(order)


@given(graphs())
def test_copies_keep_all_that_they_do_not_change(graph: Graph) -> None:
    for other in (graph.undirected(), graph.two_hop(), graph.with_self_loops(), graph.without_self_loops()):
        assert_same(graph, other, edges=False)
        assert other.num_classes == graph.num_classes
    assert_same(graph, graph.to("cpu"))


# From and to other libraries


@given(graphs())
def test_a_graph_survives_the_way_through_pyg(graph: Graph) -> None:
    data = graph.to_pyg(sparse=True)
    data.validate()
    assert_same(graph, Graph.from_pyg(data))


def test_pyg_gets_features_that_its_transforms_can_take() -> None:
    graph = Graph(sp.csr_array(np.eye(4)), [0, 1, 0, 1], [[0, 1], [1, 0]])
    assert graph.x.is_sparse_csr and graph.to_pyg(sparse=True).x.is_sparse_csr
    data = NormalizeFeatures()(graph.to_pyg())
    assert torch.equal(data.x, torch.eye(4))


def test_a_single_split_needs_no_list() -> None:
    assert [split.name for split in a_graph(splits=SPLIT).splits] == [SPLIT.name]
    assert len(a_graph().with_splits(SPLIT).splits) == 1
    with pytest.raises(GraphError, match="splits is a int; pass a Split, or a list of them"):
        a_graph(splits=3)


def test_one_split_becomes_flat_masks_and_several_become_columns() -> None:
    assert "train_mask" not in a_graph().to_pyg()
    assert a_graph(splits=[SPLIT]).to_pyg().val_mask.shape == (4,)
    several = [Split.from_indices(4, [0, 1], [2], [], name) for name in "ab"]
    assert a_graph(splits=several).to_pyg().val_mask.shape == (4, 2)


def test_a_test_mask_that_serves_many_splits_is_understood() -> None:
    train = torch.tensor([[1, 1], [1, 0], [0, 1], [0, 0]]).bool()
    data = Data(y=torch.tensor([[0], [0], [0], [0]]), edge_index=SETTINGS["edge_index"], train_mask=train)
    data.test_mask = torch.tensor([0, 0, 0, 1], dtype=torch.uint8)
    graph = Graph.from_pyg(data, name="wiki")
    assert [split.name for split in graph.splits] == ["0", "1"] and graph.name == "wiki"
    assert graph.y.shape == (4,)
    for split in graph.splits:
        assert split.test.tolist() == [False, False, False, True] and not split.validation.any()
    data.val_mask = torch.zeros(4, 3, dtype=torch.bool)
    with pytest.raises(GraphError, match=r"train_mask \(4, 2\), val_mask \(4, 3\), test_mask \(4,\)"):
        Graph.from_pyg(data)


def test_pyg_data_without_labels_is_an_unlabelled_graph() -> None:
    graph = Graph.from_pyg(Data(x=SETTINGS["x"], edge_index=SETTINGS["edge_index"]))
    assert graph.y.tolist() == [-1] * 4 and graph.splits == ()


@pytest.mark.parametrize("data", [HeteroData(), Data(x=SETTINGS["x"]), "cora"])
def test_what_is_not_one_homogeneous_pyg_graph_is_refused(data: Any) -> None:
    with pytest.raises(GraphError, match="homogeneous Data with an edge_index"):
        Graph.from_pyg(data)


@given(graphs())
def test_a_graph_survives_the_way_through_networkx(graph: Graph) -> None:
    g = graph.to_networkx()
    assert g.is_directed() == (not graph.is_undirected)
    label = "label" if graph.num_classes else None
    again = Graph.from_networkx(g, label, features="x", splits=graph.splits)
    assert_same(graph, again, edges=False)
    assert pairs(graph) == pairs(again)


def test_a_networkx_graph_with_class_names_and_nodes_of_any_kind_is_read() -> None:
    club = nx.karate_club_graph()
    graph = Graph.from_networkx(nx.relabel_nodes(club, "member {}".format), label="club")
    assert graph.class_names == ("Mr. Hi", "Officer") and graph.num_classes == 2
    assert graph.y[0] == 0 and graph.y[33] == 1
    assert graph.num_edges == 2 * club.number_of_edges() and graph.is_undirected
    other = Graph.from_networkx(club, label="club", class_names=["Officer", "Mr. Hi"])
    assert torch.equal(other.y, 1 - graph.y)


def test_features_may_be_spread_over_several_networkx_attributes() -> None:
    g = nx.DiGraph([("a", "b")])
    g.add_node("a", age=3, tall=True, size=1.5)
    g.add_node("b", age=4, tall=False, size=2.5, label=0)
    graph = Graph.from_networkx(g, features=["age", "tall"])
    assert graph.x.tolist() == [[3, 1], [4, 0]] and graph.y.tolist() == [-1, 0]
    assert columns(graph) == [(0, 1)]
    assert Graph.from_networkx(g, features="size").x.tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize(
    "attributes, settings, told",
    [
        ({}, {}, "no node has the attribute 'label', the nodes have: c, v"),
        ({"label": 0.5}, {}, "node 'b' has label 0.5, expected a whole number or a name"),
        ({"label": "x"}, {"class_names": ["y"]}, "node 'b' has label 'x', expected one of the class names y"),
        ({"label": 0}, {"features": "w"}, "node 'a' has no attribute 'w'; the nodes have: c, label, v"),
        ({"label": 0}, {"features": ["c"]}, "node 'b' has no attribute 'c'"),
        ({"label": 0}, {"features": "v"}, "node 'b' has 1 values in 'v', the first node has 2"),
    ],
)
def test_networkx_attributes_that_are_not_there_or_not_right_are_named(
    attributes: Any, settings: Any, told: str
) -> None:
    g: nx.Graph = nx.Graph()
    g.add_node("a", v=[1, 2], c=1)
    g.add_node("b", v=[1], **attributes)
    with pytest.raises(GraphError) as error:
        Graph.from_networkx(g, **settings)
    assert told in str(error.value)


def test_an_empty_networkx_graph_is_refused() -> None:
    with pytest.raises(GraphError, match="the graph is empty"):
        Graph.from_networkx(nx.Graph(), features="x")


@given(graphs())
def test_a_graph_survives_the_way_through_scipy(graph: Graph) -> None:
    adjacency = graph.to_scipy()
    assert isinstance(adjacency, sp.csr_array) and set(adjacency.data) <= {1.0}
    assert (adjacency.toarray() == dense(graph)).all()
    again = Graph.from_scipy(adjacency, graph.x, graph.y, graph.splits)
    assert_same(graph, again, edges=False)
    assert columns(again) == sorted(pairs(graph))


def test_stored_zeros_are_no_edges_and_the_matrix_of_a_user_is_left_alone() -> None:
    entries, ends = np.array([1.0, 0.0, 2.0, 1.0, -1.0]), np.array([[0, 1, 2, 3, 3], [1, 2, 0, 3, 3]])
    adjacency = sp.coo_matrix((entries, (ends[0], ends[1])), shape=(4, 4))
    graph = Graph.from_scipy(adjacency, None, [0, 0, 0, 0])
    assert columns(graph) == [(0, 1), (2, 0)] and adjacency.nnz == 5
    with pytest.raises(GraphError, match=r"shape \(4, 4\), but y has 3 labels"):
        Graph.from_scipy(adjacency, None, [0, 0, 0])


def test_our_errors_are_value_errors_and_our_warning_a_user_warning() -> None:
    assert issubclass(GraphError, ValueError) and issubclass(MissingClassWarning, UserWarning)


def test_a_graph_grows_by_nodes_and_edges_and_the_old_ones_stay() -> None:
    for x in (torch.eye(4), torch.eye(4).to_sparse_csr()):
        graph = Graph(x, [0, 1, 0, 1], [[0, 1], [1, 2]], Split.from_indices(4, [0, 1], [2], [3]))
        more = graph.with_nodes([[1, 2, 3, 4.0]], [[4, 0], [0, 3]])
        assert more.num_nodes == 5 and more.y.tolist() == [0, 1, 0, 1, -1] and more.num_classes == 2
        assert more.edge_index.tolist() == [[0, 1, 4, 0], [1, 2, 0, 3]]
        assert more.x.layout == x.layout
        assert more.x.to_dense().tolist() == [*torch.eye(4).tolist(), [1, 2, 3, 4]]
        assert not any(mask[4] for _, mask in more.splits[0].parts())
    with pytest.raises(GraphError, match="4 features"):
        graph.with_nodes([[1.0]], [[4], [0]])
    with pytest.raises(GraphError, match="there is no node 5"):
        graph.with_nodes([[1, 2, 3, 4.0]], [[5], [0]])


def test_a_subgraph_has_the_edges_between_its_nodes_in_the_order_given() -> None:
    graph = Graph(torch.eye(4), [0, 1, 0, 1], [[0, 1, 2, 3], [1, 2, 3, 3]])
    part = graph.subgraph([3, 2])
    assert part.y.tolist() == [1, 0] and part.edge_index.tolist() == [[1, 0], [0, 0]]
    assert part.x.tolist() == torch.eye(4)[[3, 2]].tolist() and part.num_classes == 2
    for wrong in ([], [4], [1, 1]):
        with pytest.raises(GraphError, match="nodes"):
            graph.subgraph(wrong)


def test_a_sample_of_e2_has_all_edges_and_only_pairs_at_most_two_steps_apart() -> None:
    graph = synthetic(200, average_degree=6, splits=0).undirected()
    whole = {tuple(pair) for pair in graph.two_hop().edge_index.T.tolist()}
    sample = graph.two_hop_walks(3)
    found = {tuple(pair) for pair in sample.edge_index.T.tolist()}
    assert {tuple(pair) for pair in graph.edge_index.T.tolist()} < found <= whole
    assert sample.is_undirected and len(found) <= graph.num_edges + 2 * 3 * 200
    assert torch.equal(sample.edge_index, graph.two_hop_walks(3).edge_index)
    assert not torch.equal(sample.edge_index, graph.two_hop_walks(3, seed=1).edge_index)


def test_a_walk_ends_where_no_edge_leads_on_and_a_lone_node_has_none() -> None:
    path = Graph(None, [0, 1, 0, 1], [[0, 1], [1, 2]])
    assert path.two_hop_walks(4).edge_index.T.tolist() == [[0, 1], [0, 2], [1, 2], [2, 0], [2, 1]]


def test_e2_that_will_not_fit_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heterophily.graph.graph.available", lambda: 1000)
    with pytest.raises(GraphError, match=r"E² .* GiB are free; use E \(order=1\), or sample E²"):
        synthetic(200, splits=0).two_hop()
