"""Batches that do not fit: nothing is lost, everything is trained."""

from __future__ import annotations

import pytest
import torch

from heterophily.models import MODELS
from heterophily.training.engine import Batch, Progress
from heterophily.training.runs import Run, train_runs
from tests.tiny import CPU, tiny_config, tiny_graph


def runs() -> list[Run]:
    return [Run("mlp", tiny_config("mlp"), split, seed) for split in (0, 1) for seed in range(4)]


def test_a_batch_that_runs_out_of_memory_is_halved_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = train_runs(tiny_graph(), runs(), dtype=torch.float64, together=False)
    sizes: list[int] = []
    whole = Batch.run

    def small_device(batch: Batch, watch: object = None) -> object:
        sizes.append(len(batch.stages))
        if len(batch.stages) > 3:
            raise torch.OutOfMemoryError("a device with room for three runs")
        return whole(batch)

    monkeypatch.setattr(Batch, "run", small_device)
    found = train_runs(tiny_graph(), runs(), dtype=torch.float64, together=True)
    assert sizes == [8, 4, 2, 2, 2, 2]
    for one, other in zip(alone, found, strict=True):
        torch.testing.assert_close(one.trained.logits, other.trained.logits, rtol=0, atol=1e-10)


def test_one_run_that_does_not_fit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(batch: Batch, watch: object = None) -> object:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(Batch, "run", no_room)
    with pytest.raises(torch.OutOfMemoryError, match="no room"):
        train_runs(tiny_graph(), runs()[:2], together=True)


def test_the_size_of_a_batch_follows_the_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    whole = Batch.run
    monkeypatch.setattr("heterophily.training.runs.runs_that_fit", lambda *_: 3)
    monkeypatch.setattr(Batch, "run", lambda b, watch=None: sizes.append(len(b.stages)) or whole(b))
    train_runs(tiny_graph(), runs(), together=True)
    assert sizes == [3, 3, 2]


def test_a_run_with_nothing_to_train_can_be_measured_and_is_watched_by_nobody() -> None:
    graph = tiny_graph()
    stage = next(MODELS["majority"].procedure(graph, graph.split(0), tiny_config("majority"), 0))
    Batch([stage], CPU).epoch()  # as the forecast does
    seen: list[Progress] = []
    (trained,) = Batch([stage], CPU).run(seen.append)
    assert trained.epochs == trained.best_epoch == len(seen) == 0 and trained.weights == {}
