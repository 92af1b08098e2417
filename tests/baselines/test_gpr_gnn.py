"""GPR-GNN against PyG's APPNP, and the models its first weights make it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import APPNP

from heterophily.adjacency import adjacency
from heterophily.baselines.gpr_gnn import GPRGNN, pagerank
from heterophily.graph import Graph
from heterophily.graph.synthetic import synthetic
from heterophily.models import MODELS
from heterophily.sparse import SparseMatrix
from heterophily.training.runs import Run, train_runs


def network(alpha: float, hops: int = 10) -> GPRGNN:
    return GPRGNN(7, 6, 3, hops, alpha, dropout=0.5, propagation_dropout=0.5).double().eval()


def a_graph() -> tuple[Graph, Tensor, SparseMatrix]:
    """A graph, its X and P, in double precision."""
    graph = synthetic(num_nodes=60, num_classes=3, num_features=7, splits=1)
    p = adjacency(graph, "symmetric")
    return graph, graph.x.double(), p._replace(val=p.val.double())


@torch.no_grad()
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("hops", [1, 10])
def test_it_starts_as_pygs_appnp(alpha: float, hops: int) -> None:
    graph, x, p = a_graph()
    ours = network(alpha, hops)
    ones = torch.ones(graph.edge_index.shape[1], dtype=torch.float64)
    expected = APPNP(hops, alpha)(ours.mlp([x]), graph.edge_index, ones)
    torch.testing.assert_close(ours(x, p), expected, rtol=0, atol=1e-6)  # P and γ start in single precision


@torch.no_grad()
def test_with_alpha_one_it_starts_as_the_perceptron_and_with_alpha_zero_as_the_last_power() -> None:
    _, x, p = a_graph()
    assert torch.equal(pagerank(1.0, 3), torch.tensor([1.0, 0.0, 0.0, 0.0]))
    assert torch.equal(pagerank(0.0, 3), torch.tensor([0.0, 0.0, 0.0, 1.0]))
    ours = network(alpha=1.0)
    assert torch.equal(ours(x, p), ours.mlp([x]))


@torch.no_grad()
def test_the_output_is_the_polynomial_of_p_whatever_the_weights() -> None:
    _, x, p = a_graph()
    ours = network(alpha=0.1, hops=4)
    ours.gamma.copy_(torch.tensor([0.5, -1.0, 2.0, 0.0, -3.0]))
    powers = [torch.linalg.matrix_power(p.to_dense(), k) for k in range(5)]
    filtered = sum(weight * power for weight, power in zip(ours.gamma, powers, strict=True))
    torch.testing.assert_close(ours(x, p), filtered @ ours.mlp([x]), rtol=0, atol=1e-12)


@torch.no_grad()
def test_with_p_the_identity_the_output_is_scaled_by_the_sum_of_the_weights() -> None:
    _, x, _ = a_graph()
    ours = network(alpha=0.1)
    ours.gamma.copy_(torch.randn(11))
    identity = SparseMatrix.from_torch(torch.eye(60, dtype=torch.float64))
    torch.testing.assert_close(ours(x, identity), ours.gamma.sum() * ours.mlp([x]), rtol=0, atol=1e-12)


def test_the_propagation_weights_are_trained_but_not_decayed() -> None:
    graph, _, _ = a_graph()
    kind = MODELS["gpr-gnn"].config
    # In the first epoch the gradients are the same, and a decay this strong outweighs them.
    configs = [kind.parse({"weight_decay": decay, "epoch": 1}) for decay in (0.0, 1e3)]
    free, decayed = (o.trained.weights for o in train_runs(graph, [Run("gpr-gnn", c) for c in configs]))
    assert not torch.equal(free["gamma"], pagerank(0.1, 10))
    assert torch.equal(free["gamma"], decayed["gamma"])
    assert not torch.equal(free["mlp.second.weight"], decayed["mlp.second.weight"])
