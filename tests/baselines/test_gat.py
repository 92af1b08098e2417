"""GAT against PyG's own layers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GATConv
from torch_geometric.utils import add_remaining_self_loops

from heterophily.adjacency import pattern
from heterophily.baselines.gat import GAT, GATConfig, gat
from heterophily.graph import Graph
from heterophily.layers import GraphAttention
from tests.tiny import tiny_graph


def copied(ours: GraphAttention, features: int, out: int) -> GATConv:
    """PyG's layer with the weights of ours."""
    theirs = GATConv(features, out, heads=ours.heads, bias=False).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.weight.T)
        theirs.att_dst.copy_(ours.collecting.movedim(1, 0))
        theirs.att_src.copy_(ours.giving.movedim(1, 0))
    return theirs


def one_way(graph: Graph) -> Graph:
    """The graph with each edge in one direction only."""
    upward = graph.edge_index[0] < graph.edge_index[1]
    return graph._replace(edge_index=graph.edge_index[:, upward])


@pytest.mark.parametrize("elu", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_with_the_same_weights_it_is_the_network_of_pygs_layers(directed: bool, elu: bool) -> None:
    graph = one_way(tiny_graph())
    x = graph.x.double()
    ours = GAT(5, 4, 3, 3, dropout=0.5, elu=elu).double().eval()
    edges: Tensor = graph.edge_index if directed else graph.undirected().edge_index
    edges, _ = add_remaining_self_loops(edges.flip(0), num_nodes=graph.num_nodes)
    first, second = copied(ours.first, 5, 4), copied(ours.second, 12, 3)
    with torch.no_grad():
        wanted = second(torch.nn.functional.elu(first(x, edges)), edges)
        found = ours(x, pattern(graph, directed=directed))
    wanted = torch.nn.functional.elu(wanted) if elu else wanted
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    assert bool((found < 0).any())  # where ELU changes something


def test_a_directed_gat_reads_nothing_that_only_points_at_a_node() -> None:
    graph = tiny_graph()._replace(edge_index=torch.tensor([[0], [1]]))
    config = GATConfig(dropout=0.0, feature_norm="none", directed=True)
    stage = next(gat(graph, graph.split(0), config, seed=0))
    other = graph.x.clone()
    other[0] += 1
    before, after = (stage.module.eval()(x, stage.state["inputs"][1]) for x in (graph.x, other))
    assert not torch.equal(before[0], after[0]) and torch.equal(before[1:], after[1:])


def test_the_features_are_dropped_before_both_layers_and_the_attention_too() -> None:
    """Each of the four dropouts moves on by one mask per pass."""
    graph = tiny_graph()
    stage = next(gat(graph, graph.split(0), GATConfig(), seed=0))
    keys = {name: int(key) for name, key in stage.module.named_buffers() if name.endswith("key")}
    stage.module.train()(*stage.state["inputs"])
    moved = {name: int(key) for name, key in stage.module.named_buffers() if name.endswith("key")}
    assert len(keys) == 4 and moved == {name: key + 1 for name, key in keys.items()}


def test_an_isolated_node_gets_finite_logits() -> None:
    graph = tiny_graph()
    alone = graph._replace(edge_index=graph.edge_index[:, (graph.edge_index != 7).all(0)])
    stage = next(gat(alone, alone.split(0), replace(GATConfig(), directed=True), seed=0))
    logits = stage.module.eval()(*stage.state["inputs"])
    assert bool(logits.isfinite().all()) and bool(logits[7].any())
