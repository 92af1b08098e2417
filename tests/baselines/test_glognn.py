"""GloGNN: its linear order against the dense closed form, the objective it minimizes, and its limits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from heterophily.adjacency import adjacency
from heterophily.baselines.glognn import GloGNN, GloGNNConfig, GloGNNPlusConfig, Propagation, inverse
from heterophily.config import ConfigError
from heterophily.graph import Graph
from heterophily.graph.synthetic import synthetic
from heterophily.sparse import SparseMatrix
from heterophily.training.runs import Run, train_runs
from heterophily.training.stacking import signature
from tests.tiny import stages, tiny_config, tiny_graph

settings = pytest.mark.parametrize(
    "alpha, beta, gamma", [(0.0, 1.0, 0.0), (1.0, 0.5, 0.3), (10.0, 0.01, 0.0), (0.5, 100.0, 0.8)]
)


def twelve() -> tuple[SparseMatrix, Tensor, Tensor]:
    """P of a graph of 12 nodes, H and H₀ of three columns."""
    graph = synthetic(num_nodes=12, num_classes=3, num_features=5, average_degree=3, splits=1)
    return walk(graph), torch.randn(12, 3).double(), torch.randn(12, 3).double()


def walk(graph: Graph) -> SparseMatrix:
    p = adjacency(graph, "walk")
    return p._replace(val=p.val.double())


def propagation(**changes: Any) -> Propagation:
    """Layers of propagation in float64, with λ at random."""
    module = Propagation(3, GloGNNConfig(**{"layers": 1, "hops": 3, **changes})).double()
    for name in ("alpha", "beta", "gamma"):  # the config's own, not rounded to float32
        setattr(module, name, torch.tensor(changes.get(name, 0.0), dtype=torch.float64))
    with torch.no_grad():
        module.powers.copy_(torch.randn(module.powers.shape))
    return module


def powers(module: Propagation, p: SparseMatrix) -> Tensor:
    """Σ_k λ_k P^k, dense."""
    dense = p.to_dense()
    terms = (w * torch.linalg.matrix_power(dense, k) for k, w in enumerate(module.powers.detach(), 1))
    return torch.stack(list(terms)).sum(0)


def best_z(module: Propagation, h: Tensor, h0: Tensor, p: SparseMatrix) -> Tensor:
    """Z*, dense, with the inverse of an N × N matrix."""
    alpha, beta, gamma = module.alpha, module.beta, module.gamma
    left = (1 - gamma) * h @ h.T + beta * powers(module, p) - gamma * (1 - gamma) * h0 @ h.T
    return left @ torch.linalg.inv((1 - gamma) ** 2 * h @ h.T + (alpha + beta) * torch.eye(12).double())


@settings
def test_the_dense_z_minimizes_the_objective(alpha: float, beta: float, gamma: float) -> None:
    p, h, h0 = twelve()
    module = propagation(alpha=alpha, beta=beta, gamma=gamma)
    z = best_z(module, h, h0, p).requires_grad_()
    near = (z - powers(module, p)).square().sum()
    objective = (h - (1 - gamma) * z @ h - gamma * h0).square().sum() + alpha * z.square().sum() + beta * near
    (gradient,) = torch.autograd.grad(objective, z)
    assert gradient.abs().max() < 1e-11 * (1 + alpha + beta)


@settings
def test_the_linear_order_is_the_dense_closed_form(alpha: float, beta: float, gamma: float) -> None:
    p, h, h0 = twelve()
    module = propagation(alpha=alpha, beta=beta, gamma=gamma)
    expected = (1 - gamma) * best_z(module, h, h0, p) @ h + gamma * h0
    torch.testing.assert_close(module.layer(h, h0, p), expected, rtol=0, atol=1e-12)


@settings
def test_the_short_q_is_the_one_of_woodburys_identity(alpha: float, beta: float, gamma: float) -> None:
    _, h, _ = twelve()
    c, rest, g, eye = 1 / (alpha + beta), 1 - gamma, h.T @ h, torch.eye(3).double()
    long = rest * c * h - rest * c**2 * h @ torch.linalg.inv(rest**-2 * eye + c * g) @ g
    short = rest * h @ inverse(rest**2 * g + (alpha + beta) * eye)
    torch.testing.assert_close(short, long, rtol=0, atol=1e-12)


def test_layers_follow_one_another_and_the_first_starts_at_h0() -> None:
    p, _, h0 = twelve()
    module = propagation(layers=3, alpha=1.0, beta=0.5, gamma=0.3)
    h = h0
    for _ in range(3):
        h = 0.7 * best_z(module, h, h0, p) @ h + 0.3 * h0
    torch.testing.assert_close(module(h0, p), h, rtol=0, atol=1e-12)


def test_a_large_beta_leaves_propagation_along_the_edges() -> None:
    p, h, h0 = twelve()
    module = propagation(alpha=1.0, beta=1e10, gamma=0.3)
    expected = 0.7 * powers(module, p) @ h + 0.3 * h0
    torch.testing.assert_close(module.layer(h, h0, p), expected, rtol=0, atol=1e-8)


def test_with_gamma_and_beta_zero_the_edges_do_not_matter() -> None:
    p, h, h0 = twelve()
    module = propagation(alpha=2.0, beta=0.0, gamma=0.0)
    g = h.T @ h
    expected = h @ g @ torch.linalg.inv(g + 2 * torch.eye(3).double())
    torch.testing.assert_close(module.layer(h, h0, p), expected, rtol=0, atol=1e-12)


def test_with_a_diagonal_of_ones_glognn_plus_is_glognn() -> None:
    p, h, h0 = twelve()
    plain = propagation(alpha=1.0, beta=0.5, gamma=0.3)
    plus = propagation(alpha=1.0, beta=0.5, gamma=0.3, diagonal=True)
    assert plus.diagonal is not None and torch.allclose(plus.diagonal, torch.tensor(1 / 3).double())
    with torch.no_grad():
        plus.powers.copy_(plain.powers)
        assert not torch.allclose(plus.layer(h, h0, p), plain.layer(h, h0, p))
        plus.diagonal.fill_(1)
    torch.testing.assert_close(plus.layer(h, h0, p), plain.layer(h, h0, p), rtol=0, atol=1e-14)


def test_the_diagonal_stands_on_both_sides() -> None:
    p, h, h0 = twelve()
    module = propagation(alpha=1.0, beta=0.5, gamma=0.3, diagonal=True)
    assert module.diagonal is not None
    with torch.no_grad():
        module.diagonal.uniform_(0.5, 2)
    d = module.diagonal.detach().diag()
    q = 0.7 * torch.linalg.inv(0.49 * h @ h.T + 1.5 * torch.eye(12).double()) @ h @ d
    t = d @ h.T @ q
    expected = 0.7 * h @ t + 0.5 * powers(module, p) @ q - 0.21 * h0 @ t + 0.3 * h0
    torch.testing.assert_close(module.layer(h, h0, p), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 10])
def test_the_elimination_is_torchs_inverse_with_its_gradient(size: int) -> None:
    # Scales far apart, with which an elimination that cancels large numbers would lose digits.
    h = torch.randn(40, size).double() * torch.logspace(-2, 3, size).double()
    m = (h.T @ h + 0.1 * torch.eye(size).double()).requires_grad_()
    up = torch.randn(size, size).double()
    found, expected = inverse(m), torch.linalg.inv(m)
    (own,), (theirs,) = (torch.autograd.grad((y * up).sum(), m) for y in (found, expected))
    for one, other in ((found, expected), (own, theirs)):
        assert (one - other).abs().max() < 1e-9 * other.abs().max()
    many = torch.stack([m.detach(), 2 * m.detach()])
    torch.testing.assert_close(torch.vmap(inverse)(many)[1], found.detach() / 2)


def test_propagation_is_in_float64_whatever_the_dtype() -> None:
    p, _, h0 = twelve()
    h0 = (1e3 * h0[:, :1] + 1e-2 * h0).float()  # columns that are almost the same
    module = propagation(layers=2, alpha=0.0, beta=1.0, gamma=0.3).float()
    half = module(h0, p._replace(val=p.val.float()))
    assert half.dtype == torch.float32
    torch.testing.assert_close(half.double(), module.double()(h0.double(), p), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("delta", [0.0, 0.4, 1.0])
def test_h0_is_a_perceptron_of_the_features_and_edges_that_have_a_share(delta: float) -> None:
    graph = tiny_graph()
    module = GloGNN(5, graph.num_nodes, 3, GloGNNConfig(delta=delta, hidden_dim=4)).double()
    assert (module.of_features is None, module.of_edges is None) == (delta == 0, delta == 1)
    p, x = walk(graph), graph.x.double()
    expected = torch.zeros(graph.num_nodes, 4).double()
    for share, part, given in ((delta, module.of_features, x), (1 - delta, module.of_edges, p.to_dense())):
        if part is not None:
            expected = expected + share * (given @ part.weights[0] + part.bias)
    torch.testing.assert_close(module.hidden(x, p), expected, rtol=0, atol=1e-7)  # δ is kept in float32


@pytest.mark.parametrize("delta", [0.0, 0.4])
def test_renumbering_the_nodes_permutes_the_output_once_the_weights_of_the_nodes_move_along(
    delta: float,
) -> None:
    graph = tiny_graph()
    order = torch.randperm(graph.num_nodes)
    other = graph.renumbered(order)
    module = GloGNN(5, graph.num_nodes, 3, GloGNNConfig(delta=delta, hidden_dim=4)).double().eval()
    before = module(graph.x.double(), walk(graph))[order]
    stale = module(other.x.double(), walk(other))
    assert module.of_edges is not None
    with torch.no_grad():
        module.of_edges.weights[0].copy_(module.of_edges.weights[0][order])
    torch.testing.assert_close(module(other.x.double(), walk(other)), before, rtol=0, atol=1e-12)
    assert not torch.allclose(stale, before)


@pytest.mark.parametrize("kind", [GloGNNConfig, GloGNNPlusConfig])
def test_gradients_are_those_of_finite_differences_even_with_an_isolated_node(
    kind: type[GloGNNConfig],
) -> None:
    graph = tiny_graph()
    six = Graph(graph.x[:6], graph.y[:6], torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
    module = GloGNN(5, 6, 3, kind(delta=0.5, hidden_dim=4, dropout=0.0)).double()
    names, weights = zip(*module.named_parameters(), strict=True)

    def logits(*values: Tensor) -> Tensor:
        inputs = (six.x.double(), walk(six))
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), inputs)

    assert torch.autograd.gradcheck(logits, weights)


def test_runs_of_different_coefficients_are_one_batch_and_train_as_if_alone() -> None:
    graph = tiny_graph()
    coefficients = [(1.0, 1.0, 0.2, 0.4), (0.0, 2.0, 0.0, 0.9), (10.0, 0.0, 0.7, 0.1)]
    named = [dict(zip(("alpha", "beta", "gamma", "delta"), each, strict=True)) for each in coefficients]
    configs = [tiny_config("glognn-plus", **each) for each in named]
    kinds = {signature(next(stages("glognn-plus", graph, graph.split(0), c))[0]) for c in configs}
    assert len(kinds) == 1
    runs = [Run("glognn-plus", config, seed=i) for i, config in enumerate(configs)]
    together, alone = (train_runs(graph, runs, dtype=torch.float64, together=t) for t in (True, False))
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one.trained.logits, other.trained.logits, rtol=0, atol=1e-10)


@pytest.mark.parametrize("change", [{"layers": 1}, {"hops": 3}, {"delta": 1.0}, {"delta": 0.0}])
def test_runs_of_different_shapes_are_not_one_batch(change: dict[str, Any]) -> None:
    graph = tiny_graph()
    configs = [tiny_config("glognn", **{"delta": 0.5, **each}) for each in ({}, change)]
    one, other = (next(stages("glognn", graph, graph.split(0), c))[0] for c in configs)
    assert signature(one) != signature(other)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"gamma": 1.0}, "gamma must be below 1, not 1.0"),
        ({"alpha": 0.0, "beta": 0.0}, "alpha and beta are both 0"),
        ({"delta": 1.5}, "delta must be at most 1, not 1.5"),
    ],
)
def test_coefficients_without_a_meaning_are_refused(changes: dict[str, float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"GloGNNPlusConfig: {sentence}"):
        GloGNNPlusConfig(**changes)  # type: ignore[arg-type]
