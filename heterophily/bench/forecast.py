"""What a study will take: the first proposals are trained for a few epochs, and the rest is extrapolated.

It is a guess, good to a factor of two or so: nobody knows when a run will stop. A run is taken to end after
twice its patience, and no proposal to be dropped but by a race.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from optuna.storages import InMemoryStorage

from heterophily.bench.samplers import grid_size
from heterophily.bench.tuning import FIELD, RUNGS, SCREEN, Study, Task, own_fields, task_of
from heterophily.config import Config, Range, types
from heterophily.graph import Graph
from heterophily.models import Model, find_model
from heterophily.training.engine import Progress
from heterophily.training.runs import Run, train_runs

EPOCHS = 6
"""Epochs that are trained of each run, the first two of them uncounted: a GPU warms up in them."""
ENOUGH = 3.0
"""Seconds of training after which enough was seen of a stage."""


@dataclass(frozen=True)
class Forecast:
    """What is left of a study, or of two in a row."""

    runs: int
    """Runs, if no proposal is dropped but by a race."""
    epochs: float
    """Epochs of a run, as assumed."""
    seconds: float
    memory: int
    """Bytes: of the GPU, or of this process."""
    device: str

    def __add__(self, other: Forecast) -> Forecast:
        runs = self.runs + other.runs
        epochs = (self.runs * self.epochs + other.runs * other.epochs) / max(runs, 1)
        memory = max(self.memory, other.memory)
        return Forecast(runs, epochs, self.seconds + other.seconds, memory, self.device)


def forecast(
    graph: Graph,
    model: str,
    left: Sequence[int],
    *,
    sampler: str = "tpe",
    ranges: Mapping[str, Range] | None = None,
    config: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    splits: Sequence[int] | None = None,
    batch: int | None = None,
    seed: int = 0,
    prune: bool = True,
    halves: bool = False,
    kindred: Sequence[Mapping[str, Any]] = (),
    race: bool = False,
    device: str | torch.device = "cpu",
) -> Forecast:
    """Say what a study of so many trials will take; of two, where the model has another tuned before it.

    ``left`` has the trials left to do, of the first study first. The other arguments are those of ``tune``.
    """
    found, device = find_model(model), torch.device(device)
    *before, trials = left
    given = config or {}
    task = task_of(
        graph, found, sampler, ranges, given, start, splits, batch, seed, prune, halves, kindred, race, device
    )
    if sampler == "grid":
        trials = min(trials, grid_size(task.space))
    mine = _measured(task, found, graph, trials, device)
    if not found.first or not before:
        return mine
    first = {name: r for name, r in (ranges or {}).items() if name in find_model(found.first).fields}
    return mine + forecast(
        graph, found.first, before, sampler=sampler, ranges=first, config=config, start=start, splits=splits,
        batch=batch, seed=seed, prune=prune, halves=halves, kindred=kindred, race=race, device=device,
    )  # fmt: skip


def _measured(task: Task, model: Model, graph: Graph, trials: int, device: torch.device) -> Forecast:
    """Train the first proposals, those alike together, on as many splits as the study would at once."""
    study = Study(task, graph, InMemoryStorage(), "forecast", device)
    first = task.splits[:SCREEN] if task.prune else task.splits
    split = [part for i in first for part in study.parts[i]]
    proposed = study.take(min(max(trials, 1), task.batch))
    configs = [task.config.replace(**trial.params) for trial in proposed]
    before = _reset_memory(device)
    paces = []
    for k in range(0, len(configs), task.alike):
        some = [
            Run(task.model, _brief(c), part, task.seed) for c in configs[k : k + task.alike] for part in split
        ]
        paces.append(Pace(stages=2 if model.first else 1))
        with suppress(Enough):
            train_runs(study.graph, some, device, watch=paces[-1])
    most = max(len(first), len(task.splits) - len(first)) / len(first)
    memory = before + round((_memory(device) - before) * (most if device.type == "cuda" else 1))
    epochs = mean(_epochs(config, model) for config in configs)
    each = 2 if task.halves else 1
    count = trials * len(task.splits) * each
    if task.race:
        count, epochs = _raced(trials * each, len(task.splits), epochs)
    seconds = count * epochs * mean(pace.seconds(last=True) for pace in paces)
    if model.first:  # its first stage is trained once for all proposals
        seconds += (
            len(task.splits)
            * each
            * _epochs(task.config, find_model(model.first))
            * paces[0].seconds(last=False)
        )
    return Forecast(count, epochs, seconds, memory, device.type)


def _raced(trials: int, splits: int, whole: float) -> tuple[int, float]:
    """Return how many runs a race takes, and their epochs on average: a quarter goes on from each rung."""
    counts = [trials / FIELD**k for k in range(len(RUNGS))] + [splits * trials / FIELD ** len(RUNGS)]
    epochs = [min(rung, whole) for rung in RUNGS] + [whole]
    runs = sum(counts)
    return round(runs), sum(n * e for n, e in zip(counts, epochs, strict=True)) / runs


def _epochs(config: Config, model: Model) -> float:
    """Return after how many epochs a run is taken to end."""
    settings = config.to_dict()
    own = own_fields(model)
    last, patience = (
        next((settings[name] for name in own if name.startswith(kind)), 0) for kind in ("epoch", "patience")
    )
    return float(min(last, 2 * patience))


def _brief(config: Config) -> Config:
    """Return the settings for a few epochs only."""
    known = types(type(config))
    names = ("epoch", "epoch_init", "patience", "patience_init")
    return config.replace(**{name: EPOCHS for name in names if name in known})


class Enough(Exception):
    """The pace is known."""


class Pace:
    """Watches a training: how many seconds an epoch of a run takes, in its first stage and in its last."""

    def __init__(self, stages: int):
        self.stages = stages
        self.marks: dict[str, list[tuple[float, int]]] = {}
        """Seconds and run-epochs of every epoch that counts, by stage."""
        self.before, self.done = time.perf_counter(), 0

    def __call__(self, epoch: Progress) -> None:
        """Take note of an epoch; end the training when enough was seen of the last stage."""
        now = time.perf_counter()
        new = now - self.before, epoch.run_epochs - (self.done if epoch.epoch > 1 else 0)
        self.before, self.done = now, epoch.run_epochs
        if epoch.epoch > 2:
            marks = self.marks.setdefault(epoch.stage, [])
            marks.append(new)
            if len(self.marks) == self.stages and sum(seconds for seconds, _ in marks) > ENOUGH:
                raise Enough

    def seconds(self, last: bool) -> float:
        """Return the seconds of a run-epoch."""
        marks = list(self.marks.values())[-1 if last else 0] if self.marks else []
        return sum(seconds for seconds, _ in marks) / max(sum(count for _, count in marks), 1)


def _reset_memory(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _memory(device: torch.device) -> int:
    """Return the most memory that was in use: of the GPU, or of this process; 0 where nobody counts."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
