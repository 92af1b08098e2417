"""UGCN: its three graphs, against brute force and the published counts, and its network, against PyG's."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.nn import GATConv

from heterophily.baselines import ugcn as module
from heterophily.baselines.ugcn import UGCN, UGCNConfig, nearest_nodes, three_graphs, two_hop_pairs, ugcn
from heterophily.graph import Graph, MissingClassWarning
from heterophily.graph.datasets import load
from heterophily.layers import GraphAttention
from heterophily.sparse import Pattern, features
from heterophily.stage import node_features
from tests.tiny import tiny_graph


def of_edges(nodes: int, *pairs: tuple[int, int]) -> Graph:
    """A graph without features, of edges in one direction each."""
    return Graph(None, [0] * nodes, torch.tensor(pairs, dtype=torch.int64).view(-1, 2).T)


def real(name: str, folder: Path) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)
        return load(name, folder)


def entries(pattern: Pattern) -> set[tuple[int, int]]:
    return set(zip(pattern.row.tolist(), pattern.col.tolist(), strict=True))


def undirected(pairs: Tensor) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in pairs.T.tolist()}


# The two-hop graph


def test_the_two_hop_graph_of_a_4_cycle_is_its_two_diagonals() -> None:
    assert two_hop_pairs(of_edges(4, (0, 1), (1, 2), (2, 3), (3, 0))).T.tolist() == [[0, 2], [1, 3]]


def test_one_common_neighbor_is_too_few_and_an_edge_is_too_near() -> None:
    assert two_hop_pairs(of_edges(3, (0, 1), (1, 2))).shape == (2, 0)
    square_with_a_diagonal = of_edges(4, (0, 1), (1, 2), (2, 3), (3, 0), (0, 2))
    assert two_hop_pairs(square_with_a_diagonal).T.tolist() == [[1, 3]]
    assert two_hop_pairs(of_edges(3)).shape == (2, 0)


def test_loops_and_repeated_edges_are_no_common_neighbors() -> None:
    path = [(0, 1), (1, 2)]
    assert two_hop_pairs(of_edges(3, *path, *path, (1, 0), (0, 0), (1, 1), (2, 2))).shape == (2, 0)


@pytest.mark.parametrize("room", [1, 40, 2**20])
def test_the_two_hop_graph_is_that_of_the_dense_square_whatever_the_blocks(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(module, "ROOM", room)
    graph = tiny_graph()
    a = torch.zeros(48, 48)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    a = torch.maximum(a, a.T).fill_diagonal_(0)
    wanted = undirected(((a @ a >= 2) & (a == 0)).triu(1).nonzero().T)
    found = two_hop_pairs(graph)
    assert found.shape == (2, len(wanted)) and undirected(found) == wanted
    assert 20 < len(wanted) < 200


@pytest.mark.parametrize(
    "name, pairs", [("cornell", 123), ("texas", 173), ("wisconsin", 349), ("cora", 3482), ("citeseer", 2957)]
)
def test_the_two_hop_graphs_of_real_data_have_the_known_sizes(
    data_folder: Path, name: str, pairs: int
) -> None:
    assert two_hop_pairs(real(name, data_folder)).shape == (2, pairs)


# The graph of nearest features


def by_sorting(x: Tensor, count: int) -> set[tuple[int, int]]:
    """The pairs of `nearest_nodes`, with one sort per node."""
    cosine = F.normalize(x.double(), dim=1) @ F.normalize(x.double(), dim=1).T
    cosine = cosine.mul(1e9).round().fill_diagonal_(-torch.inf)  # what is equal on paper is equal here
    order = cosine.argsort(dim=1, descending=True, stable=True)[:, :count]
    return {(u, v) for u, row in enumerate(order.tolist()) for v in row}


@pytest.mark.parametrize("room", [1, 1000, 2**20])
@pytest.mark.parametrize("kind", ["real numbers", "words"])
def test_the_nearest_nodes_are_those_of_a_sort_by_cosine_ties_by_number(
    monkeypatch: pytest.MonkeyPatch, kind: str, room: int
) -> None:
    monkeypatch.setattr(module, "ROOM", room)
    x = torch.randn(60, 8)
    x = (x > 0.8).float() if kind == "words" else x
    for count in (1, 3, 9):
        found = nearest_nodes(x, count)
        assert found.shape == (2, 60 * count)
        assert set(map(tuple, found.T.tolist())) == by_sorting(x, count)


def test_sparse_features_have_the_same_nearest_nodes() -> None:
    x = (torch.rand(60, 40) < 0.1).float()
    sparse = features(x)
    assert not isinstance(sparse, Tensor)
    assert torch.equal(nearest_nodes(sparse, 4), nearest_nodes(x, 4))


def test_opposite_features_are_less_alike_than_unrelated_ones() -> None:
    x = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, 0]])
    assert nearest_nodes(x, 2)[1].view(4, 2).tolist() == [[2, 3], [2, 3], [0, 1], [0, 1]]


def test_a_node_has_no_more_nearest_than_there_are_others() -> None:
    assert nearest_nodes(torch.randn(3, 2), 9).T.tolist() == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]


def test_a_pair_is_joined_where_either_has_the_other_or_by_the_released_rule_the_lower_numbered() -> None:
    graph = tiny_graph()
    found = nearest_nodes(graph.x, 3)
    loops = {(u, u) for u in range(48)}
    kept = {False: undirected(found), True: undirected(found[:, found[0] < found[1]])}
    assert len(kept[True]) < len(kept[False])
    for above, pairs in kept.items():
        wanted = loops | pairs | {(v, u) for u, v in pairs}
        assert entries(three_graphs(graph, 3, above)[2]) == wanted


def test_by_the_released_rule_cornell_has_as_many_nearest_pairs_as_released(data_folder: Path) -> None:
    found = nearest_nodes(node_features(real("cornell", data_folder)), 3)
    assert int((found[0] < found[1]).sum()) == 289


def test_all_runs_share_the_three_graphs_which_are_undirected_with_loops() -> None:
    graph = tiny_graph()
    for one, again in zip(three_graphs(graph, 2), three_graphs(graph, 2), strict=True):
        assert one is again
        found = entries(one)
        assert found == {(v, u) for u, v in found} and {(u, u) for u in range(48)} <= found
    assert three_graphs(graph, 3)[2] is not three_graphs(graph, 2)[2]


# The network


def copied(ours: GraphAttention, features: int, out: int) -> GATConv:
    """PyG's layer with the weights of ours."""
    theirs = GATConv(features, out, heads=ours.heads, bias=False, add_self_loops=False).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.weight.T)
        theirs.att_dst.copy_(ours.collecting.movedim(1, 0))
        theirs.att_src.copy_(ours.giving.movedim(1, 0))
    return theirs


def network(features: int = 5) -> UGCN:
    return UGCN(features, hidden=4, heads=3, width=6, classes=3, dropout=0.5).double().eval()


@torch.no_grad()
def test_with_the_same_weights_it_is_the_network_of_pygs_layers() -> None:
    graph, ours = tiny_graph(), network()
    x, graphs = graph.x.double(), three_graphs(graph, 3)
    each, weights = [], []
    for branch, pattern in zip(ours.branches, graphs, strict=True):
        edges = torch.stack([pattern.col.long(), pattern.row])
        h = F.elu(copied(branch.first, 5, 4)(x, edges))  # type: ignore[arg-type]
        z = F.log_softmax(F.elu(copied(branch.second, 12, 6)(h, edges)), 1)  # type: ignore[arg-type]
        hidden = torch.tanh(z @ ours.fusion.hidden.weight.T + ours.fusion.hidden.bias)
        each.append(z)
        weights.append((hidden @ ours.fusion.weight.weight.squeeze(0)).exp())
    mean = sum(w.unsqueeze(1) * z for w, z in zip(weights, each, strict=True)) / sum(weights).unsqueeze(1)  # type: ignore[union-attr]
    wanted = mean @ ours.classifier.weight.T + ours.classifier.bias
    torch.testing.assert_close(ours(x, graphs), wanted, rtol=0, atol=1e-12)


@torch.no_grad()
def test_equal_branches_on_equal_graphs_fuse_to_one_of_them() -> None:
    graph, ours = tiny_graph(), network()
    for branch in ours.branches[1:]:
        branch.load_state_dict(ours.branches[0].state_dict())
    x, one = graph.x.double(), three_graphs(graph, 3)[0]
    wanted = ours.classifier(ours.branches[0](x, one))
    torch.testing.assert_close(ours(x, (one, one, one)), wanted, rtol=0, atol=1e-12)


def test_the_three_branches_begin_with_weights_of_their_own() -> None:
    first, second, third = (branch.get_parameter("first.weight") for branch in network().branches)
    assert not torch.equal(first, second) and not torch.equal(second, third)


def test_an_isolated_node_gets_finite_logits() -> None:
    graph = tiny_graph()
    alone = graph._replace(edge_index=graph.edge_index[:, (graph.edge_index != 7).all(0)])
    stage = next(ugcn(alone, alone.split(0), UGCNConfig(), seed=0))
    assert bool(stage.module.eval()(*stage.state["inputs"]).isfinite().all())
