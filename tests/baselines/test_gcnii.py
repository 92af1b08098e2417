"""GCNII and GCNII* against PyG's layers, and where they become simpler models."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import APPNP, GCN2Conv

from heterophily.adjacency import adjacency
from heterophily.baselines.gcnii import GCNII, GCNIIConfig, gcnii
from heterophily.graph import Graph
from heterophily.graph.synthetic import synthetic
from heterophily.models import MODELS
from heterophily.sparse import SparseMatrix
from heterophily.training.runs import Run, train_runs
from heterophily.training.stacking import signature

both = pytest.mark.parametrize("star", [False, True], ids=["GCNII", "GCNII*"])


def network(layers: int = 5, alpha: float = 0.3, strength: float = 1.5, star: bool = False) -> GCNII:
    return GCNII(7, 6, 3, layers, alpha, strength, dropout=0.5, star=star).double().eval()


def a_graph() -> tuple[Graph, Tensor, SparseMatrix]:
    """A graph, its X and P, in double precision."""
    graph = synthetic(num_nodes=60, num_classes=3, num_features=7, splits=1)
    p = adjacency(graph, "symmetric")
    return graph, graph.x.double(), p._replace(val=p.val.double())


@torch.no_grad()
@both
def test_with_the_same_weights_every_layer_is_pygs(star: bool) -> None:
    graph, x, p = a_graph()
    alpha = 0.3
    ours = network(alpha=alpha, star=star)
    h = initial = ours.first([x]).relu()
    for layer, weight in enumerate(ours.weights, start=1):
        theirs = GCN2Conv(6, alpha, theta=1.5, layer=layer, shared_weights=not star).double()
        if star:  # theirs maps (1 - α) T and α H₀
            of_neighbors, of_initial = weight.chunk(2)
            theirs.weight1.copy_(of_neighbors / (1 - alpha))
            theirs.weight2.copy_(of_initial / alpha)
        else:
            theirs.weight1.copy_(weight)
        ones = torch.ones(graph.edge_index.shape[1], dtype=torch.float64)
        h = theirs(h, initial, graph.edge_index, ones).relu()
    # P is made in single precision.
    torch.testing.assert_close(ours(x, p), ours.last(h), rtol=0, atol=1e-6)


@torch.no_grad()
@both
def test_with_alpha_one_and_a_map_of_the_initial_alone_the_edges_do_not_matter(star: bool) -> None:
    _, x, p = a_graph()
    ours = network(alpha=1.0, star=star)
    if star:
        ours.weights[:, :6] = 0
    nothing = p._replace(val=torch.zeros_like(p.val))
    assert torch.equal(ours(x, p), ours(x, nothing))
    assert not torch.equal(network()(x, p), network()(x, nothing))


@torch.no_grad()
def test_with_alpha_one_and_identity_maps_it_is_a_two_layer_perceptron_however_deep() -> None:
    _, x, p = a_graph()
    for layers in (1, 64):
        ours = network(layers=layers, alpha=1.0)
        ours.weights.copy_(torch.eye(6))
        torch.testing.assert_close(ours(x, p), ours.last(ours.first([x]).relu()), rtol=0, atol=1e-12)


@torch.no_grad()
@both
def test_with_lambda_zero_it_is_personalized_pagerank(star: bool) -> None:
    graph, x, p = a_graph()
    ours = network(layers=8, alpha=0.2, strength=0.0, star=star)
    ones = torch.ones(graph.edge_index.shape[1], dtype=torch.float64)
    spread = APPNP(K=8, alpha=0.2)(ours.first([x]).relu(), graph.edge_index, ones)
    torch.testing.assert_close(ours(x, p), ours.last(spread), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "model, alpha, learns",
    [("gcnii", 0.5, True), ("gcnii-star", 0.5, True), ("gcnii", 0.0, False)],
)
def test_sixty_four_layers_learn_thanks_to_the_initial_residual(
    model: str, alpha: float, learns: bool
) -> None:
    graph = synthetic(num_nodes=80, num_classes=3, num_features=5, homophily=0.8, splits=1)
    settings = {"layers": 64, "alpha": alpha, "hidden_dim": 16, "dropout": 0.0, "epoch": 50, "patience": 50}
    (outcome,) = train_runs(graph, [Run(model, MODELS[model].config.parse(settings))])
    first, *_, last = outcome.trained.history["loss"]
    assert last < 0.6 * first if learns else last > 0.9 * first


def test_runs_of_different_alpha_and_lambda_share_a_batch_and_each_keeps_its_own() -> None:
    graph = synthetic(num_nodes=60, num_classes=3, num_features=7, splits=1)
    settings = [{"alpha": a, "strength": s, "epoch": 5, "layers": 3} for a, s in ((0.1, 1.5), (0.5, 0.5))]
    configs = [GCNIIConfig.parse(each) for each in settings]
    runs = [Run("gcnii", config) for config in configs]
    one, other = (next(gcnii(graph, graph.split(0), config, 0)) for config in configs)
    assert signature(one) == signature(other)
    together, alone = (train_runs(graph, runs, dtype=torch.float64, together=t) for t in (True, False))
    for a, b in zip(together, alone, strict=True):
        torch.testing.assert_close(a.trained.logits, b.trained.logits, rtol=0, atol=1e-10)
    assert not torch.allclose(together[0].trained.logits, together[1].trained.logits)
