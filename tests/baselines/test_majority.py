"""Majority: the most frequent class of the training nodes, for everybody."""

from __future__ import annotations

import pytest
import torch

from heterophily.baselines.majority import MajorityConfig
from heterophily.graph import Graph, Split
from heterophily.outcomes import probabilities
from heterophily.stage import Outcome
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_graph


def judged(labels: list[int], train: list[int], validation: list[int], classes: int = 3) -> Outcome:
    split = Split.from_indices(len(labels), train, validation, [])
    graph = Graph(None, labels, torch.empty(2, 0, dtype=torch.int64), num_classes=classes)
    (outcome,) = train_runs(graph, [Run("majority", MajorityConfig(), split)])
    return outcome


def test_every_node_gets_the_most_frequent_training_class() -> None:
    outcome = judged([2, 2, 1, 0, 0, 0], train=[0, 1, 2], validation=[3, 4, 5])
    assert outcome.trained.logits.argmax(1).tolist() == [2] * 6
    assert outcome.trained.validation == 0


def test_a_tie_goes_to_the_lower_class() -> None:
    assert judged([2, 1, 0], train=[0, 1], validation=[2]).trained.logits.argmax(1).tolist() == [1] * 3


def test_probabilities_are_the_shares_of_the_classes_with_one_more_node_each() -> None:
    p = probabilities(judged([2, 2, 1, 0], train=[0, 1, 2], validation=[3]).trained)
    assert p[0].tolist() == pytest.approx([1 / 6, 2 / 6, 3 / 6])


def test_validation_labels_are_for_the_score_alone() -> None:
    one, other = (judged([2, 2, 1, label, label], [0, 1, 2], [3, 4]) for label in (0, 2))
    assert torch.equal(one.trained.logits, other.trained.logits)
    assert (one.trained.validation, other.trained.validation) == (0, 1)


def test_roc_auc_of_a_constant_is_one_half() -> None:
    graph = tiny_graph()
    two = Graph(None, (graph.y > 0).long(), graph.edge_index, graph.splits, metric="roc_auc")
    (outcome,) = train_runs(two, [Run("majority", MajorityConfig())])
    assert outcome.trained.validation == 0.5
