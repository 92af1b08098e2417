"""Who watches a training sees true numbers and does not slow it down."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from heterophily.stage import Outcome
from heterophily.training.engine import Progress, Watch
from heterophily.training.runs import Run, train_runs
from tests.tiny import LEARNERS, tiny_config, tiny_graph


def watched(model: str, together: bool, watch: Watch | None) -> list[Outcome]:
    rates = (0.03, 0.003, 0.1)
    runs = [
        Run(model, tiny_config(model, learning_rate=rates[i], patience=2, epoch=12), i, i) for i in range(3)
    ]
    return train_runs(tiny_graph(), runs, watch=watch, together=together)


@pytest.mark.parametrize("model", LEARNERS)
def test_the_numbers_told_add_up_to_what_was_trained(model: str) -> None:
    seen: list[Progress] = []
    outcomes = watched(model, True, seen.append)
    trained = [outcome.trained for outcome in outcomes]
    told = [progress for progress in seen if progress.stage == seen[-1].stage]
    assert [progress.epoch for progress in told] == list(range(1, max(t.epochs for t in trained) + 1))
    assert all(progress.runs == 3 and progress.last == 12 for progress in told)
    for progress in told:
        so_far = [t.history["validation"][: progress.epoch] for t in trained]
        assert progress.alive == sum(t.epochs > progress.epoch for t in trained)
        assert progress.run_epochs == sum(map(len, so_far))
        assert progress.best == max(map(max, so_far))


@pytest.mark.parametrize("together", [True, False])
def test_watching_reads_nothing_more_back_from_the_device(
    together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any such reading would make the host wait for a GPU in each epoch; the engine waits once."""
    reads: Counter[str] = Counter()
    for name in ("cpu", "item", "tolist", "numpy", "__bool__", "__float__", "__int__"):
        plain = getattr(torch.Tensor, name)

        def counting(self: torch.Tensor, *args: Any, name: str = name, plain: Any = plain) -> Any:
            reads[name] += 1
            return plain(self, *args)

        monkeypatch.setattr(torch.Tensor, name, counting)
    watched("hdp", together, None)
    alone, seen = reads.copy(), []
    reads.clear()
    watched("hdp", together, seen.append)
    assert reads == alone and reads["cpu"] >= len(seen)
