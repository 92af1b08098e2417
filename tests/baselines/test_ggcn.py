"""GGCN: signed weights on edges equal the dense matrices of the paper, and their closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.baselines.ggcn import GGCN, Neighbors, SignedLayer, ggcn, kappas
from heterophily.graph import Graph
from heterophily.training.runs import Run, train_runs
from heterophily.training.stacking import signature
from tests.tiny import tiny_config, tiny_graph

SOFTPLUS_2 = math.log(1 + math.e**2)


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def a_graph(edges: list[list[int]], nodes: int) -> Graph:
    return Graph(None, torch.arange(nodes) % 2, torch.tensor(edges).T)


def cycle(nodes: int = 6) -> Graph:
    return a_graph([[i, (i + 1) % nodes] for i in range(nodes)], nodes)


def random_graph(nodes: int = 12) -> Graph:
    """Directed; its last node has no edge."""
    return a_graph(torch.randint(nodes - 1, (3 * nodes, 2)).tolist(), nodes)


def passing(width: int, mixture: list[float] | None = None) -> SignedLayer:
    """A layer whose linear map changes nothing; mixture is c, before its softmax."""
    layer = SignedLayer(width, width)
    layer.linear.weights[0].data = torch.eye(width)
    layer.linear.bias.data.zero_()
    if mixture:
        layer.mixture.data = torch.tensor(mixture)
    return layer


def stirred(module: torch.nn.Module) -> torch.nn.Module:
    """Move a, s and c away from where they start."""
    for name, parameter in module.named_parameters():
        if "linear" not in name and "residual" not in name:
            parameter.data += torch.randn_like(parameter)
    return module


def dense_layer(layer: SignedLayer, x: Tensor, graph: Graph, directed: bool) -> Tensor:
    """The paper's matrices, N × N."""
    n = graph.num_nodes
    a = torch.zeros(n, n)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    a = (a if directed else (a + a.T).clamp(max=1)) * (1 - torch.eye(n)) + torch.eye(n)
    degree = a.sum(1)
    p = a / (degree[:, None] * degree).sqrt()
    tau = torch.where(p > 0, p.diag()[:, None] / p - 1, 0.0)
    z = x @ layer.linear.weights[0] + layer.linear.bias
    cosine = F.cosine_similarity(z[:, None], z[None], dim=2)
    w = p * F.softplus(layer.correction[0] * tau + layer.correction[1]) * cosine * (1 - torch.eye(n))
    c = layer.mixture.softmax(0)
    return F.softplus(layer.scale) * (c[0] * w.relu() @ z - c[1] * (-w).relu() @ z + c[2] * z)


@pytest.mark.parametrize("directed", [False, True])
def test_a_layer_is_the_dense_form_of_the_paper(directed: bool) -> None:
    graph, x = random_graph(), torch.randn(12, 5)
    layer = stirred(SignedLayer(5, 3))
    wanted = dense_layer(layer, x, graph, directed)
    torch.testing.assert_close(layer(x, Neighbors.of(graph, directed)), wanted, rtol=0, atol=1e-12)


def test_the_network_hands_on_ever_less_with_depth() -> None:
    graph, x = random_graph(), torch.randn(12, 5)
    module = stirred(GGCN(5, 4, 3, kappas(4, decay=0.7, exponent=3.0), dropout=0.5)).eval()
    one, two, three, four = module.layers
    g = F.elu(x @ module.residual.weights[0] + module.residual.bias)
    y = dense_layer(one, x, graph, False)
    for layer, kappa in ((two, 1.0), (three, math.log(1 + 0.7 / 27)), (four, math.log(1 + 0.7 / 64))):
        g = g + kappa * F.elu(y)
        y = dense_layer(layer, g, graph, False)
    torch.testing.assert_close(module(x, Neighbors.of(graph)), y, rtol=0, atol=1e-12)


def test_where_all_nodes_agree_a_cycle_has_a_closed_form() -> None:
    v = torch.randn(4)
    found = passing(4)(v.expand(6, -1), Neighbors.of(cycle()))
    wanted = SOFTPLUS_2 / 3 * (1 + math.log(2) * 2 / 3) * v
    torch.testing.assert_close(found, wanted.expand(6, -1), rtol=0, atol=1e-12)


def test_turning_a_node_around_moves_its_edges_from_the_sum_to_the_difference() -> None:
    v = torch.randn(4)
    turned = v.expand(6, -1).clone()
    turned[0] = -v
    added, subtracted = passing(4, [0, -math.inf, -math.inf]), passing(4, [-math.inf, 0, -math.inf])
    each = math.log(2) / 3  # the size of every weight on a cycle
    for layer, z, wanted in (
        (added, v.expand(6, -1), [2, 2, 2, 2, 2, 2]),
        (subtracted, v.expand(6, -1), [0, 0, 0, 0, 0, 0]),
        (added, turned, [0, 1, 2, 2, 2, 1]),
        (subtracted, turned, [-2, 1, 0, 0, 0, 1]),
    ):
        out = SOFTPLUS_2 * each * torch.tensor(wanted)[:, None] * v
        torch.testing.assert_close(layer(z, Neighbors.of(cycle())), out, rtol=0, atol=1e-12)


def test_only_neighbors_of_another_degree_are_corrected() -> None:
    assert not Neighbors.of(cycle()).tau.any()
    m = 5
    star = Neighbors.of(a_graph([[0, leaf] for leaf in range(1, m + 1)], m + 1))
    of_hub, of_leaf = math.sqrt(2 / (m + 1)) - 1, math.sqrt((m + 1) / 2) - 1
    torch.testing.assert_close(star.tau, torch.tensor([of_hub] * m + [of_leaf] * m))
    torch.testing.assert_close(star.p, torch.full((2 * m,), 1 / math.sqrt(2 * (m + 1))))


def test_a_node_without_neighbors_keeps_its_own_share() -> None:
    x = torch.randn(12, 5)
    found = passing(5)(x, Neighbors.of(random_graph()))
    torch.testing.assert_close(found[-1], SOFTPLUS_2 / 3 * x[-1], rtol=0, atol=1e-12)


def test_a_directed_layer_collects_from_out_neighbors_only() -> None:
    x = torch.randn(3, 2)
    found = passing(2)(x, Neighbors.of(a_graph([[0, 1], [1, 2]], 3), directed=True))
    alone = SOFTPLUS_2 / 3 * x
    assert torch.equal(((found - alone).abs() > 1e-9).any(1), torch.tensor([True, True, False]))


def test_gradients_are_those_of_finite_differences() -> None:
    neighbors = Neighbors.of(random_graph(6))
    layer = stirred(SignedLayer(3, 3))
    assert torch.autograd.gradcheck(
        lambda x: layer(x, neighbors), torch.randn(6, 3, requires_grad=True), fast_mode=False
    )


def test_a_zero_row_has_no_cosine_and_a_finite_gradient() -> None:
    v = torch.randn(6, 4)
    v[0] = 0
    v.requires_grad_()
    out = passing(4)(v, Neighbors.of(cycle()))
    assert not out[0].any()
    (gradient,) = torch.autograd.grad(out.sum(), v)
    assert gradient.isfinite().all()


def test_runs_of_other_decays_are_one_batch_and_each_as_it_is_alone() -> None:
    graph = tiny_graph(seed=1)  # not the one other tests share: what it prepares is float64
    changes = [{"decay": 0.2}, {"decay": 1.5}, {"decay": 1.5, "exponent": 1.0}]
    configs = [tiny_config("ggcn", layers=4, dropout=0.0, **change) for change in changes]
    assert len({signature(next(ggcn(graph, graph.split(0), c, 0))) for c in configs}) == 1  # type: ignore[arg-type]
    runs = [Run("ggcn", config) for config in configs]
    together, alone = (train_runs(graph, runs, dtype=torch.float64, together=t) for t in (True, False))
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one.trained.logits, other.trained.logits, rtol=0, atol=1e-10)
    first, second, third = (outcome.trained.history["loss"] for outcome in alone)
    assert first != second != third
