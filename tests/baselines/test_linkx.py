"""LINKX against PyG's own, and what follows from weights that belong to nodes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import LINKX as Theirs

from heterophily.adjacency import adjacency
from heterophily.baselines.linkx import LINKX, Perceptron, linkx
from heterophily.graph import Graph
from heterophily.sparse import SparseMatrix
from tests.tiny import tiny_config, tiny_graph

HIDDEN = 6


def ours(graph: Graph, **changes: int) -> LINKX:
    """A network in double precision whose batch norms have seen some data."""
    module = LINKX(graph.num_nodes, graph.num_features, HIDDEN, graph.num_classes, **changes).double()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d):
            for tensor in (part.running_mean, part.running_var, part.weight.data, part.bias.data):
                assert tensor is not None
                tensor.uniform_(0.5, 1.5)
    return module


def inputs(graph: Graph) -> tuple[Tensor, SparseMatrix]:
    a = adjacency(graph, loops="given")
    return graph.x.double(), a._replace(val=a.val.double())


@torch.no_grad()
def copied(mine: LINKX, layers: int, layers_edges: int, layers_features: int, graph: Graph) -> Theirs:
    """PyG's network with the weights of ours."""
    theirs = Theirs(
        graph.num_nodes, graph.num_features, HIDDEN, graph.num_classes, layers, layers_edges, layers_features
    ).double()
    theirs.edge_lin.weight.copy_(mine.edges.maps[0].weights[0])
    theirs.edge_lin.bias.copy_(mine.edges.maps[0].bias)
    if layers_edges > 1:
        theirs.edge_norm.load_state_dict(mine.edges.norms[0].state_dict())
        copy_perceptron(theirs.edge_mlp, mine.edges, first=1)
    copy_perceptron(theirs.node_mlp, mine.features)
    copy_perceptron(theirs.final_mlp, mine.last)
    for part, weight in zip((theirs.cat_lin1, theirs.cat_lin2), mine.join.weights):
        part.weight.copy_(weight.T)
        part.bias.copy_(mine.join.bias / 2)
    return theirs


def copy_perceptron(theirs: nn.Module, mine: Perceptron, first: int = 0) -> None:
    for linear, given in zip(theirs.lins, mine.maps[first:], strict=True):
        linear.weight.copy_(given.weights[0].T)
        linear.bias.copy_(given.bias)
    for norm, other in zip(theirs.norms, mine.norms[first:]):  # PyG puts an identity after the last map
        norm.load_state_dict({f"module.{name}": value for name, value in other.state_dict().items()})


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("layers", [(1, 1, 1), (2, 1, 1), (3, 2, 2)])
def test_with_the_same_weights_it_is_pyg_s_network(layers: tuple[int, int, int], training: bool) -> None:
    graph = tiny_graph()
    mine = ours(graph, layers=layers[0], layers_edges=layers[1], layers_features=layers[2])
    theirs = copied(mine, *layers, graph).train(training)
    wanted = theirs(graph.x.double(), graph.undirected().edge_index)
    torch.testing.assert_close(mine.train(training)(*inputs(graph)), wanted, rtol=0, atol=1e-12)


def test_renumbering_the_nodes_permutes_the_output_if_the_weights_of_nodes_move_along() -> None:
    graph = tiny_graph()
    module = ours(graph).eval()
    order = torch.randperm(graph.num_nodes)
    before = module(*inputs(graph))[order]
    assert (module(*inputs(graph.renumbered(order))) - before).abs().max() > 1e-3
    rows = module.edges.maps[0].weights[0]
    rows.data = rows.data[order]
    torch.testing.assert_close(module(*inputs(graph.renumbered(order))), before, rtol=0, atol=1e-12)


def test_features_and_row_of_a_node_reach_no_other_node() -> None:
    graph = tiny_graph()
    module = ours(graph).eval()
    x, a = inputs(graph)
    before = module(x, a)
    moved, dense = x.clone(), a.to_dense()
    moved[7] += 1
    dense[7] = 1 - dense[7]
    only = torch.arange(graph.num_nodes) == 7
    assert torch.equal((module(moved, a) != before).any(1), only)
    assert torch.equal(((module(x, SparseMatrix.from_torch(dense)) - before).abs() > 1e-9).any(1), only)


def test_batch_norm_counts_the_nodes_without_labels_too() -> None:
    graph = tiny_graph()
    module = ours(graph).train()
    x, a = inputs(graph)
    before = module(x, a)
    unlabelled = graph.split(0).test.nonzero()[0]
    x[unlabelled] += 1
    assert (module(x, a) != before).any(1).all()


def test_weights_decay_apart_from_the_gradient() -> None:
    graph = tiny_graph()
    stage = next(linkx(graph, graph.split(0), tiny_config("linkx"), 0))  # type: ignore[arg-type]
    assert stage.schedule.decoupled
