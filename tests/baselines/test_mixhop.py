"""MixHop against PyG's layer and the dense powers it stands for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, MixHopConv

from heterophily.adjacency import adjacency
from heterophily.baselines.mixhop import MixHop, MixHopLayer
from heterophily.graph import Graph
from heterophily.graph.synthetic import synthetic
from heterophily.models import MODELS
from heterophily.sparse import SparseMatrix


def a_graph() -> tuple[Graph, Tensor, SparseMatrix]:
    """A graph, its X and P, in double precision."""
    graph = synthetic(num_nodes=60, num_classes=3, num_features=7, splits=1)
    p = adjacency(graph, "symmetric")
    return graph, graph.x.double(), p._replace(val=p.val.double())


@torch.no_grad()
def test_every_block_is_that_of_pygs_layer() -> None:
    graph, x, p = a_graph()
    ours, theirs = MixHopLayer(7, 4, hops=2).double(), MixHopConv(7, 4, [0, 1, 2], bias=False).double()
    for theirs_k, mine in zip(theirs.lins, ours.weight.split(4, 1), strict=True):
        theirs_k.weight.copy_(mine.T)
    ones = torch.ones(graph.edge_index.shape[1], dtype=torch.float64)
    blocks = zip(ours(x, p).split(4, 1), theirs(x, graph.edge_index, ones).split(4, 1), strict=True)
    for found, expected in blocks:
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)  # P is made in single precision


@torch.no_grad()
@pytest.mark.parametrize("hops", [0, 1, 2, 4])
def test_block_k_is_the_kth_power_of_p_times_its_own_map_of_h(hops: int) -> None:
    _, x, p = a_graph()
    layer = MixHopLayer(7, 4, hops).double()
    pairs = list(zip(layer(x, p).split(4, 1), layer.weight.split(4, 1), strict=True))
    assert len(pairs) == hops + 1
    for k, (block, weight) in enumerate(pairs):
        expected = torch.linalg.matrix_power(p.to_dense(), k) @ (x @ weight)
        torch.testing.assert_close(block, expected, rtol=0, atol=1e-12)


@torch.no_grad()
def test_the_first_power_alone_is_a_gcn_layer() -> None:
    graph, x, p = a_graph()
    layer, gcn = MixHopLayer(7, 4, hops=1).double(), GCNConv(7, 4, bias=False).double()
    gcn.lin.weight.copy_(layer.weight[:, 4:].T)
    ones = torch.ones(graph.edge_index.shape[1], dtype=torch.float64)
    torch.testing.assert_close(layer(x, p)[:, 4:], gcn(x, graph.edge_index, ones), rtol=0, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_without_the_powers_above_zero_the_edges_do_not_matter(layers: int) -> None:
    _, x, p = a_graph()
    nothing = p._replace(val=torch.zeros_like(p.val))
    plain, mixed = (MixHop(7, 4, 3, layers, hops, 0.5, 0.5).double().eval() for hops in (0, 2))
    assert torch.equal(plain(x, p), plain(x, nothing))
    assert not torch.equal(mixed(x, p), mixed(x, nothing))


@torch.no_grad()
def test_with_a_bias_instead_of_batch_normalization_a_node_far_away_changes_nothing() -> None:
    path = Graph(torch.randn(8, 7), [0] * 8, torch.stack([torch.arange(7), torch.arange(1, 8)]))
    other = path.x.double().clone()
    other[7] += 1
    p = adjacency(path, "symmetric")
    for bias in (True, False):
        model = MixHop(7, 4, 3, layers=2, hops=1, dropout=0.0, input_dropout=0.0, bias=bias).double().train()
        one, two = (model(x, p._replace(val=p.val.double())) for x in (path.x.double(), other))
        assert torch.equal(one[:5], two[:5]) == bias
        assert not torch.equal(one[5:], two[5:])


def test_weights_can_decay_apart_from_the_gradient() -> None:
    graph, _, _ = a_graph()
    model = MODELS["mixhop"]
    for decoupled in (False, True):
        config = model.config.parse({"decoupled": decoupled})
        stage = next(model.procedure(graph, graph.split(0), config, 0))
        assert stage.schedule.decoupled == decoupled
