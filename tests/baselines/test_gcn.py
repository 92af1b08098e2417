"""GCN against PyG's own layers."""

from __future__ import annotations

import torch
from torch_geometric.nn import GCNConv

from heterophily.adjacency import adjacency
from heterophily.baselines.gcn import GCN
from heterophily.graph.synthetic import synthetic
from heterophily.sparse import multiply


def test_with_the_same_weights_it_is_the_network_of_pygs_layers() -> None:
    graph = synthetic(num_nodes=60, num_classes=3, num_features=7, splits=1)
    ours = GCN(7, 5, 3, dropout=0.5).eval()
    first, second = GCNConv(7, 5), GCNConv(5, 3)
    with torch.no_grad():
        for theirs, mine in ((first, ours.first), (second, ours.second)):
            theirs.lin.weight.copy_(mine.weight.T)
            theirs.bias.copy_(mine.bias)
        expected = second(first(graph.x, graph.edge_index).relu(), graph.edge_index)
        found = ours(graph.x, adjacency(graph, "symmetric"))
    torch.testing.assert_close(found, expected)


def test_a_directed_gcn_collects_from_out_neighbors_only() -> None:
    graph = synthetic(num_nodes=30, num_classes=3, splits=1)
    one_way = graph._replace(edge_index=torch.tensor([[0], [1]]))
    p = adjacency(one_way, "symmetric", directed=True).to_dense()
    assert p[0, 1] > 0 and p[1, 0] == 0


def test_a_directed_gcn_is_pygs_layer_on_flipped_edges() -> None:
    graph = synthetic(num_nodes=40, num_classes=3, num_features=7, splits=1)
    one_way = graph._replace(edge_index=graph.edge_index[:, torch.rand(graph.edge_index.shape[1]) < 0.6])
    layer = GCNConv(7, 5)
    with torch.no_grad():
        expected = layer(graph.x, one_way.edge_index.flip(0))
        found = multiply(adjacency(one_way, "symmetric", directed=True), graph.x @ layer.lin.weight.T)
    torch.testing.assert_close(found + layer.bias, expected)
