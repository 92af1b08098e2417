"""Runs that differ only in validation nodes and in when they stop are one training, judged by each."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch

from heterophily.bench.reproduce import ROWS
from heterophily.training import memory
from heterophily.training.engine import Batch
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config, tiny_graph


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The (runs, trainings) of every batch."""
    seen: list[tuple[int, int]] = []

    class Seen(Batch):
        def __init__(self, stages: Any, *args: Any, **more: Any):
            super().__init__(stages, *args, **more)
            seen.append((len(stages), len(next(iter(self.params.values())))))

    monkeypatch.setattr(memory, "Batch", Seen)
    return seen


def runs_of(model: str) -> list[Run]:
    """Both halves of two splits, kept by the score, and by the loss with less patience."""
    rules = {"select": "score", "patience": 9, "epoch": 30}, {"select": "loss", "patience": 3, "epoch": 12}
    configs = [tiny_config(model, dropout=0.5, **rule) for rule in rules]
    halves = [half for split in tiny_graph().splits[:2] for half in split.halved()]
    return [Run(model, config, half, 1) for config, half in product(configs, halves)]


@pytest.mark.parametrize(
    ("model", "together"),
    [*((model, True) for model in ROWS if model not in ("hdp", "ugcn")), ("gcn", False)],
)
def test_what_each_run_keeps_is_what_it_keeps_alone(
    model: str, together: bool, batches: list[tuple[int, int]]
) -> None:
    graph, runs = tiny_graph(), runs_of(model)
    alone = [train_runs(graph, [run], dtype=torch.float64)[0].trained for run in runs]
    batches.clear()
    found = [o.trained for o in train_runs(graph, runs, dtype=torch.float64, together=together)]
    assert batches == ([(8, 2)] if together else [(4, 1), (4, 1)])
    assert len({one.epochs for one in found}) > 1
    for one, other in zip(found, alone, strict=True):
        assert (one.best_epoch, one.epochs) == (other.best_epoch, other.epochs)
        assert one.history["loss"] == pytest.approx(other.history["loss"], rel=1e-9)
        torch.testing.assert_close(one.logits, other.logits)
        torch.testing.assert_close(one.last_logits, other.last_logits)
        for name, weight in one.weights.items():
            torch.testing.assert_close(weight, other.weights[name])
        assert torch.equal(one.state["validation"], other.state["validation"])


def test_a_training_that_validation_changes_is_shared_by_none(batches: list[tuple[int, int]]) -> None:
    graph = tiny_graph()
    runs = [Run("hdp", tiny_config("hdp"), half) for half in graph.splits[0].halved()]
    train_runs(graph, runs, together=True)
    assert batches == [(2, 1), (2, 2)]  # the initial assignment is; HDP proper refreshes its partition


@pytest.mark.parametrize("change", [{"seed": 2}, {"config": tiny_config("gcn", dropout=0.1)}, {"split": 1}])
def test_other_seeds_settings_or_training_nodes_are_other_trainings(
    change: dict[str, Any], batches: list[tuple[int, int]]
) -> None:
    run = Run("gcn", tiny_config("gcn", dropout=0.5), 0, 1)
    train_runs(tiny_graph(), [run, replace(run, **change)], together=True)
    assert batches == [(2, 2)]
