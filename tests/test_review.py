"""Things a reviewer found, which must not come back."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from heterophily.estimator import HDPClassifier
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.hdp.algorithm import initial_features
from heterophily.hdp.config import HDPConfig
from heterophily.sparse import SparseMatrix, features, multiply, row_normalized, smooth
from heterophily.stage import node_features
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config, tiny_graph


def test_a_split_over_unlabelled_nodes_is_refused_and_not_trained_as_class_0() -> None:
    graph = tiny_graph()
    hidden = graph.with_labels(torch.where(graph.split(0).train, -1, graph.y))
    with pytest.raises(GraphError, match="training nodes are unlabelled"):
        train_runs(hidden, [Run("mlp", tiny_config("mlp"), 0)])


def test_a_split_of_another_length_is_refused() -> None:
    mask = torch.tensor([True, False, False])
    split = Split(mask, mask.roll(1), mask.roll(2))
    with pytest.raises(GraphError, match="masks of length 3"):
        train_runs(tiny_graph(), [Run("mlp", tiny_config("mlp"), split)])


def test_a_fit_that_diverges_says_so() -> None:
    model = HDPClassifier(learning_rate_init=1e30, learning_rate=1e30, epoch=3, epoch_init=3, device="cpu")
    with pytest.raises(ValueError, match="lower the learning rate"):
        model.fit(tiny_graph(), split=0)


def test_a_graph_that_nobody_holds_any_more_is_forgotten() -> None:
    graph = Graph(torch.randn(20, 3), torch.arange(20) % 2, torch.tensor([[0, 1], [1, 2]]))
    node_features(graph, "none"), node_features(graph, "row")
    gone = weakref.ref(graph.x)
    del graph
    gc.collect()
    assert gone() is None


def test_features_changed_in_place_are_prepared_anew() -> None:
    graph = tiny_graph()
    settings = HDPConfig(initial_features="nb")
    (before,) = initial_features(graph, graph.split(0), settings, 0)
    before = before.to_dense()
    graph.x.mul_(2)
    (after,) = initial_features(graph, graph.split(0), settings, 0)
    torch.testing.assert_close(after.to_dense(), 2 * before)
    graph.x.mul_(0.5)


def test_sparse_features_are_smoothed_and_normalized_as_dense_ones_are() -> None:
    x = torch.randn(12, 30) * (torch.rand(12, 30) < 0.1)
    a = SparseMatrix.from_torch((torch.rand(12, 12) < 0.2).float())
    sparse = features(x)
    assert isinstance(sparse, SparseMatrix)
    torch.testing.assert_close(smooth(a, sparse).to_dense(), multiply(a, x))
    torch.testing.assert_close(row_normalized(sparse).to_dense(), row_normalized(x))
