"""ACM-GCN against its formulas on dense matrices, and where its channels vanish or cancel."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from heterophily.adjacency import adjacency
from heterophily.baselines.acm_gcn import ACMGCN, MixedConvolution
from heterophily.graph import Graph
from heterophily.sparse import SparseMatrix
from tests.tiny import tiny_graph

variants = pytest.mark.parametrize("inner", [False, True])
structures = pytest.mark.parametrize("structure", [False, True])


def matrices(graph: Graph) -> tuple[SparseMatrix, SparseMatrix]:
    """P and A, in float64."""
    p, a = adjacency(graph, "walk"), adjacency(graph, loops="given")
    return p._replace(val=p.val.double()), a._replace(val=a.val.double())


def by_hand(layer: MixedConvolution, x: Tensor, p: Tensor, a: Tensor) -> Tensor:
    """The layer on dense matrices, one channel after the other."""
    w_low, w_high, w_own = layer.weight.chunk(3, 1)
    filters = (p, torch.eye(len(p), dtype=p.dtype) - p, torch.eye(len(p), dtype=p.dtype))
    channels = []
    for f, w in zip(filters, (w_low, w_high, w_own), strict=True):
        channels.append(f @ (x @ w).relu() if layer.inner else (f @ x @ w).relu())
    if layer.structure is not None:
        channels.append((a @ layer.structure).relu())
    count = len(channels)
    g = torch.stack([h @ gate for h, gate in zip(channels, layer.gate, strict=True)], 1).sigmoid()
    shares = (g @ layer.mixing / count).softmax(1)
    total = sum(shares[:, [i]] * h for i, h in enumerate(channels))
    assert isinstance(total, Tensor)
    return total if layer.structure is not None else 3 * total


@variants
@structures
def test_the_network_is_the_formula_on_dense_matrices(inner: bool, structure: bool) -> None:
    graph = tiny_graph()
    module = ACMGCN(5, 8, 3, 0.5, inner, graph.num_nodes if structure else 0).double().eval()
    (p, a), x = matrices(graph), graph.x.double()
    hidden = by_hand(module.first, x, p.to_dense(), a.to_dense()).relu()
    expected = by_hand(module.second, hidden, p.to_dense(), a.to_dense())
    torch.testing.assert_close(module(x, p, a), expected, rtol=0, atol=1e-12)


def test_equal_weights_mixed_evenly_make_the_graph_vanish_from_acmii() -> None:
    graph = tiny_graph()
    layer = MixedConvolution(5, 4, 0, inner=True).double()
    w = torch.randn(5, 4, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.cat([w, w, w], 1))
        layer.mixing.zero_()
    x = graph.x.double()
    torch.testing.assert_close(layer(x, matrices(graph)[0], None), 2 * (x @ w).relu(), rtol=0, atol=1e-12)


@variants
def test_without_edges_the_high_pass_channel_is_zero(inner: bool) -> None:
    graph = tiny_graph()._replace(edge_index=torch.empty(2, 0, dtype=torch.int64))
    low, high, own = (
        MixedConvolution(5, 4, 0, inner).channels(graph.x, adjacency(graph, "walk"), None).unbind(1)
    )
    assert not high.any()
    assert not torch.equal(low, own)


@variants
def test_features_that_all_nodes_share_give_a_high_pass_channel_of_zero(inner: bool) -> None:
    graph = tiny_graph()
    x = torch.randn(1, 5).double().expand(graph.num_nodes, -1)
    layer = MixedConvolution(5, 4, 0, inner).double()
    constant, varied = (
        layer.channels(each, matrices(graph)[0], None)[:, 1] for each in (x, graph.x.double())
    )
    assert constant.abs().max() < 1e-6 < 1e-2 < varied.abs().max()  # P is rounded to float32


@structures
def test_shares_sum_to_one_and_the_mixture_of_equal_channels_is_three_times_or_once_the_channel(
    structure: bool,
) -> None:
    nodes = 6 if structure else 0
    layer = MixedConvolution(5, 4, nodes, inner=False).double()
    h = torch.randn(6, 1, 4).double().expand(-1, 4 if structure else 3, -1)
    torch.testing.assert_close(layer.shares(h).sum(1), torch.ones(6).double())
    layer.channels = lambda *_: h  # type: ignore[method-assign, assignment]
    torch.testing.assert_close(layer(None, None, None), h[:, 0] * (1 if structure else 3))


def test_the_structure_channel_reads_edges_as_they_are_given_without_weights_or_new_loops() -> None:
    graph = tiny_graph()._replace(edge_index=torch.tensor([[0, 2, 3], [1, 2, 0]]))
    layer = MixedConvolution(5, 4, graph.num_nodes, inner=False).double()
    found = layer.channels(graph.x.double(), *matrices(graph))[:, 3]
    assert layer.structure is not None
    w = layer.structure
    for node, neighbors in {0: [1, 3], 1: [0], 2: [2], 3: [0], 4: []}.items():
        torch.testing.assert_close(found[node], w[neighbors].sum(0).relu())


@variants
def test_renumbering_the_nodes_permutes_the_output_once_the_weights_of_the_nodes_move_along(
    inner: bool,
) -> None:
    graph = tiny_graph()
    order = torch.randperm(graph.num_nodes)
    other = graph.renumbered(order)
    module = ACMGCN(5, 8, 3, 0.5, inner, graph.num_nodes).double().eval()
    before = module(graph.x.double(), *matrices(graph))[order]
    stale = module(other.x.double(), *matrices(other))
    with torch.no_grad():
        for layer in (module.first, module.second):
            assert layer.structure is not None
            layer.structure.copy_(layer.structure[order])
    torch.testing.assert_close(module(other.x.double(), *matrices(other)), before, rtol=0, atol=1e-12)
    assert not torch.allclose(stale, before)


@variants
@structures
def test_gradients_are_those_of_finite_differences_even_with_an_isolated_node(
    inner: bool, structure: bool
) -> None:
    graph = tiny_graph()
    six = Graph(graph.x[:6], graph.y[:6], torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
    module = ACMGCN(5, 4, 3, 0.0, inner, 6 if structure else 0).double()
    names, weights = zip(*module.named_parameters(), strict=True)

    def logits(*values: Tensor) -> Tensor:
        inputs = (six.x.double(), *matrices(six))
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), inputs)

    assert torch.autograd.gradcheck(logits, weights)
