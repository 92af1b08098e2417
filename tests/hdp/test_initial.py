"""Assignment initialization: which features MLP^init reads, and what it makes of them (Eq. 20-22)."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from heterophily.hdp import HDPConfig
from heterophily.hdp.algorithm import adjacency, initial_features, structural_features
from heterophily.hdp.encoding import target_set
from heterophily.hdp.initial import InitialAssignment, neighbor_features
from heterophily.sparse import Features, SparseMatrix
from tests.tiny import tiny_config, tiny_graph


def dense(x: Features) -> Tensor:
    return x if isinstance(x, Tensor) else x.to_dense()


# A path 0 - 1 - 2 with self-loops; node 3 has its loop alone.
PATH = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]).float()


def test_neighbor_features_are_the_mean_over_a_node_and_its_neighbors() -> None:
    x = torch.tensor([[6.0], [12.0], [30.0], [5.0]])
    x_nb = neighbor_features(SparseMatrix.from_torch(PATH), x, "walk")
    torch.testing.assert_close(dense(x_nb).flatten(), torch.tensor([9.0, 16, 21, 5]))


def test_neighbor_features_may_be_normalized_on_both_sides() -> None:
    x = torch.randn(4, 3)
    x_nb = neighbor_features(SparseMatrix.from_torch(PATH), x, "symmetric")
    scale = PATH.sum(1).rsqrt()
    torch.testing.assert_close(dense(x_nb), scale.diag() @ PATH @ scale.diag() @ x)


@pytest.mark.parametrize("normalization", ["walk", "symmetric"])
def test_sparse_features_have_the_neighbor_features_of_dense_ones(normalization: str) -> None:
    a, x = SparseMatrix.from_torch(PATH), torch.randn(4, 30) * (torch.rand(4, 30) < 0.1)
    from_sparse = neighbor_features(a, SparseMatrix.from_torch(x), normalization)
    torch.testing.assert_close(dense(from_sparse), dense(neighbor_features(a, x, normalization)))


def test_mlp_init_reads_the_concatenation_of_its_blocks() -> None:
    module = InitialAssignment([3, 2], 6, 4, dropout=0.5, input_dropout=0.5).eval()
    blocks = [torch.randn(5, 3), torch.randn(5, 2)]
    mlp = module.mlp
    hidden = (torch.cat(blocks, 1) @ torch.cat(list(mlp.first.weights)) + mlp.first.bias).relu()
    torch.testing.assert_close(module(blocks), hidden @ mlp.second.weight.T + mlp.second.bias)


@pytest.mark.parametrize("names", ["x", "nb", "str", "x+nb", "x+str", "nb+str", "x+nb+str"])
@pytest.mark.parametrize("normalization", ["walk", "symmetric"])
def test_each_choice_of_features_hands_over_just_those(names: str, normalization: str) -> None:
    graph = tiny_graph()
    config = tiny_config("hdp", initial_features=names, normalization=normalization)
    assert isinstance(config, HDPConfig)
    split = graph.split(0)
    given = initial_features(graph, split, config, 0)
    a = adjacency(graph).to_dense()
    degree = a.sum(1)
    a_hat = a / degree.unsqueeze(1) if normalization == "walk" else a / (degree.outer(degree)).sqrt()
    wanted = {"x": graph.x, "nb": a_hat @ graph.x, "str": dense(structural_features(graph, split, config, 0))}
    assert len(given) == len(names.split("+"))
    for block, name in zip(given, names.split("+"), strict=True):
        torch.testing.assert_close(dense(block), wanted[name])


def test_features_may_be_divided_by_their_row_sums_first() -> None:
    graph = tiny_graph()
    config = tiny_config("hdp", initial_features="x+nb", feature_norm="row")
    assert isinstance(config, HDPConfig)
    x, x_nb = initial_features(graph, graph.split(0), config, 0)
    torch.testing.assert_close(dense(x).abs().sum(1), torch.ones(graph.num_nodes))
    torch.testing.assert_close(dense(x_nb), adjacency(graph).normalized("walk").to_dense() @ dense(x))


def test_directed_features_tell_what_a_node_links_to() -> None:
    whole = tiny_graph()
    source, target = whole.edge_index
    graph = whole._replace(edge_index=whole.edge_index[:, source < target])
    config = tiny_config("hdp-directed", initial_features="nb+str", hops=2, structural_norm=0.0)
    assert isinstance(config, HDPConfig)
    given = [dense(block) for block in initial_features(graph, graph.split(0), config, 0)]
    a = torch.eye(graph.num_nodes)
    a[tuple(graph.edge_index)] = 1
    walk = a / a.sum(1, keepdim=True)
    targets = target_set(graph.y, graph.split(0).train, config.structural_dim, 0)
    torch.testing.assert_close(given[0], walk @ graph.x)
    torch.testing.assert_close(given[1][:, : len(targets)], (walk @ walk)[:, targets])

    otherwise = initial_features(graph, graph.split(0), config.replace(directed_features=False), 0)
    assert not torch.allclose(dense(otherwise[0]), given[0])
