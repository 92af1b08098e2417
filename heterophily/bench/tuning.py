"""Tuning: a study proposes settings, the engine judges a batch of them at once, blind to the test labels.

Proposals come in batches of fixed size. Of each batch the results are written down whole before its trials
are closed one by one; so a study that is killed at any moment goes on as if nothing had happened: a batch
without results is trained anew, the same trials in the same company, and one with results is closed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch
from optuna.trial import FrozenTrial, TrialState, create_trial
from scipy.stats import wilcoxon

from heterophily.bench.samplers import FINISHED, SAMPLERS, distribution, grid_size, propose
from heterophily.bench.studies import Worker, claim, close, give_up, open_storage, open_study
from heterophily.config import Choice, Config, ConfigError, Integer, Range, Uniform, space, types
from heterophily.graph import Graph
from heterophily.models import Model, find_model
from heterophily.training.engine import Watch
from heterophily.training.runs import Run, train_runs

VALUES = {"epoch", "patience", "epoch_init", "patience_init", "select", "known_loops", "tpc_sum"}
"""Fields that are no real numbers and yet may differ within a batch of the engine."""
SCREEN = 4
"""Splits on which a proposal is judged first; one that is clearly worse than the best stops there."""
DOUBT = 0.1
"""A proposal is dropped when luck alone would make it look as bad with less than this probability."""


@dataclass(frozen=True)
class Task:
    """What is tuned, and how: all that two workers on a study must agree on."""

    model: str
    dataset: str
    space: Mapping[str, Range]
    config: Config
    """The settings that are not searched."""
    sampler: str = "tpe"
    batch: int = 16
    """Proposals of a batch."""
    alike: int = 8
    """Proposals of a batch that share what changes shapes, so that the engine trains them together."""
    splits: tuple[int, ...] = ()
    seed: int = 0
    prune: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return it fit for JSON; equal texts are equal tasks."""
        ranges = {name: _words(searched) for name, searched in self.space.items()}
        rest = {
            name: getattr(self, name) for name in ("model", "dataset", "sampler", "batch", "alike", "seed")
        }
        fixed = {n: v for n, v in self.config.to_dict().items() if n not in self.space}
        return rest | {"space": ranges, "fixed": fixed, "splits": list(self.splits), "prune": self.prune}


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a study has found so far."""

    task: Task
    trials: pd.DataFrame
    """One row per finished trial: how it ended, its scores, its cost, its settings."""
    config: Config
    """The best setting: highest mean validation score over all splits, ties going to the lower loss."""
    validation: float
    spared: float
    """Share of the runs of all finished trials that were not trained, as their proposal was dropped."""
    initial: Tuning | None = None
    """The study of the model that was tuned before."""


@dataclass
class Count:
    """What a watcher of a study is told after each batch."""

    done: int
    wanted: int
    dropped: int
    best: float
    settings: Mapping[str, Any] = field(default_factory=dict)


def tune(
    graph: Graph,
    model: str,
    trials: int = 100,
    *,
    storage: str | os.PathLike[str] = "tuning.db",
    study: str | None = None,
    sampler: str = "tpe",
    ranges: Mapping[str, Range] | None = None,
    config: Mapping[str, Any] | None = None,
    splits: Sequence[int] | None = None,
    batch: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    prune: bool = True,
    device: str | torch.device = "cpu",
    watch: Watch | None = None,
    tell: Callable[[str, Count], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Tuning:
    """Search the settings of a model on the validation nodes of some splits, by default all.

    The study goes on where it stopped if the storage has it. A model with a first stage has that tuned
    before, with as many trials, and takes its settings over. ``ranges`` replaces or adds search ranges,
    ``config`` sets what is not searched. ``seconds`` ends each study after the batch in which they run out.
    """
    found = find_model(model)
    initial = None
    given = dict(config or {})
    narrowed = dict(ranges or {})
    for name in narrowed:
        if name not in types(found.config):
            found.config.parse({name: None})  # says which there are
    if found.first:
        before = find_model(found.first)
        own = {n: r for n, r in narrowed.items() if n in before.fields}
        initial = tune(
            graph, before.name, trials, storage=storage, study=study and f"{study}-initial", sampler=sampler,
            ranges=own, config=given, splits=splits, batch=batch, seconds=seconds, seed=seed, prune=prune,
            device=device, watch=watch, tell=tell, stop=stop,
        )  # fmt: skip
        settled = initial.config.to_dict()
        given |= {name: settled[name] for name in before.fields}
        narrowed = {n: r for n, r in narrowed.items() if n not in before.fields}
    searched = {n: r for n, r in (searched_fields(found) | narrowed).items() if n not in given}
    positions = tuple(range(len(graph.splits)) if splits is None else splits)
    task = Task(
        found.name, graph.name, searched, found.config.parse(given), sampler,
        batch or (16 if len(positions) > 1 else 32), 8, positions, seed, prune,
    )  # fmt: skip
    if sampler == "grid":
        trials = min(trials, grid_size(searched))
    work = Study(task, graph, open_storage(storage), study or f"{graph.name}-{found.name}", device, watch)
    work.run(trials, seconds, tell, stop)
    return work.found(initial)


def searched_fields(model: Model) -> dict[str, Range]:
    """Return the fields of a model that a study searches, with their ranges."""
    every = space(model.config)
    if model.fields:
        return {name: searched for name, searched in every.items() if name in model.fields}
    before = find_model(model.first).fields if model.first else ()
    return {name: searched for name, searched in every.items() if name not in before}


def parse_range(kind: type[Config], name: str, text: str) -> Range:
    """Read LOW:HIGH, or values with commas between, as the search range of a field."""
    if name not in types(kind):
        kind.parse({name: None})
    values = text.split(",")
    if len(values) == 1 and ":" in text:
        low, _, high = text.partition(":")
        ends = [kind.parse({name: end}).to_dict()[name] for end in (low, high)]
        if (
            not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
            or ends[0] >= ends[1]
        ):
            raise ConfigError(f"--space {name}={text}: LOW:HIGH takes two numbers, the lower first")
        return Integer(*ends) if types(kind)[name] is int else Uniform(*map(float, ends))
    return Choice(*(kind.parse({name: value}).to_dict()[name] for value in values))


class Study:
    """A task at work in a storage, by one worker of perhaps several."""

    def __init__(
        self,
        task: Task,
        graph: Graph,
        storage: optuna.storages.BaseStorage,
        name: str,
        device: str | torch.device = "cpu",
        watch: Watch | None = None,
    ):
        if task.sampler not in SAMPLERS:
            raise ConfigError(f"there is no sampler {task.sampler!r}; there are {', '.join(SAMPLERS)}")
        if not task.space:
            raise ConfigError(f"{task.model} has no settings to search; name some with --space KEY=LOW:HIGH")
        self.task, self.device, self.watch = task, torch.device(device), watch
        self.graph = blind(graph, task.splits).to(self.device)
        self.study = open_study(storage, name)
        said = self.study.user_attrs.get("task")
        if said is None:
            self.study.set_user_attr("task", task.to_json())
        elif said != json.loads(json.dumps(task.to_json())):
            other = [
                key for key, value in json.loads(json.dumps(task.to_json())).items() if said.get(key) != value
            ]
            raise ConfigError(
                f"the storage has a study {name!r} with another {' and '.join(other)}; "
                "go on with the same, or name another study"
            )
        self.worker = Worker(self.study)

    def run(
        self,
        trials: int,
        seconds: float | None = None,
        tell: Callable[[str, Count], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Work until the study has so many finished trials, or time is up, or somebody says stop."""
        start = time.monotonic()
        with self.worker.alive():
            while not stop() and (seconds is None or time.monotonic() - start < seconds):
                self.adopt()
                mine = self.take(trials)
                if mine:
                    self.judge(mine)
                    if tell:
                        tell(self.study.study_name, self.count(trials))
                elif self.running():
                    time.sleep(0.5)  # others are at the last trials; should they die, these are ours
                else:
                    return

    def adopt(self) -> None:
        """Close or queue anew what dead workers left."""
        for trial in self.worker.orphans():
            known = self.study.user_attrs.get(
                _results(trial.user_attrs.get("worker", ""), trial.user_attrs["batch"])
            )
            if known and str(trial.number) in known:
                self.settle(trial.number, known[str(trial.number)])
            else:
                give_up(self.study, trial)

    def take(self, trials: int) -> list[FrozenTrial]:
        """Return the trials of a batch: those that wait, then new proposals up to the batch's end."""
        waiting = self.study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
        mine = [trial.number for trial in waiting if claim(self.study, trial, self.worker.name)]
        place = len(self.asked())
        if not mine or place % self.task.batch:
            room = min(self.task.batch - place % self.task.batch, trials - place)
            mine += [self.add(place + i) for i in range(room)]
        every = self.study.get_trials(deepcopy=False)
        return [every[number] for number in mine]

    def asked(self) -> list[FrozenTrial]:
        """Return the trials that were proposed and not given up, in order."""
        return self.study.get_trials(deepcopy=False, states=(*FINISHED, TrialState.RUNNING))

    def add(self, place: int) -> int:
        """Propose settings and enter them as a running trial of this worker; return its number."""
        task = self.task
        every = self.study.get_trials(deepcopy=False)
        batch = place // task.batch
        leader = place - place % task.batch % task.alike
        fixed: dict[str, Any] = {}
        if place != leader:
            shape = [
                name
                for name in task.space
                if types(type(task.config))[name] is not float and name not in VALUES
            ]
            fixed = {name: self.asked()[leader].params[name] for name in shape}
        for attempt in range(100):
            params = propose(every, task.space, fixed, task.sampler, task.seed + 1000003 * attempt, place)
            try:
                task.config.replace(**params)
                break
            except ConfigError:
                fixed = {}  # a combination the model refuses: another try
        else:
            raise ConfigError(f"{task.model} refused a hundred proposals in a row; narrow the search space")
        self.study.add_trial(
            create_trial(
                state=TrialState.RUNNING,
                params=params,
                distributions={name: distribution(searched) for name, searched in task.space.items()},
                user_attrs={"worker": self.worker.name, "batch": batch},
            )
        )
        mine = [
            t.number
            for t in self.study.get_trials(deepcopy=False)
            if t.user_attrs.get("worker") == self.worker.name
        ]
        return max(mine)

    def judge(self, trials: Sequence[FrozenTrial]) -> None:
        """Train a batch on the first splits, drop what is clearly worse, train the rest on all others."""
        batch = trials[0].user_attrs["batch"]
        first = self.task.splits[:SCREEN] if self.task.prune else self.task.splits
        best = self.best(batch)
        judged = {
            trial.number: self.train(some)
            for trial, some in zip(trials, self.runs(trials, first), strict=True)
        }
        rest = [t for t in trials if not (best and self.is_worse(judged[t.number]["validation"], best))]
        others = self.task.splits[len(first) :]
        if others:
            for trial, some in zip(rest, self.runs(rest, others), strict=True):
                judged[trial.number] = _joined(judged[trial.number], self.train(some))
        self.study.set_user_attr(_results(self.worker.name, batch), {str(n): r for n, r in judged.items()})
        for number, result in judged.items():
            self.settle(number, result)

    def runs(self, trials: Sequence[FrozenTrial], splits: Sequence[int]) -> list[list[Any]]:
        """Train all trials on some splits together; return their outcomes, a list per trial."""
        task = self.task
        configs = [task.config.replace(**trial.params) for trial in trials]
        every = [Run(task.model, config, i, task.seed) for config in configs for i in splits]
        outcomes = train_runs(self.graph, every, self.device, watch=self.watch)
        return [outcomes[k : k + len(splits)] for k in range(0, len(outcomes), len(splits))]

    def train(self, outcomes: Sequence[Any]) -> dict[str, Any]:
        """Return what is kept of the outcomes of a trial."""
        trained = [outcome.trained for outcome in outcomes]
        return {
            "validation": [t.validation if np.isfinite(t.validation_loss) else 0.0 for t in trained],
            "loss": [t.validation_loss if np.isfinite(t.validation_loss) else 1e9 for t in trained],
            "epochs": [t.epochs for t in trained],
            "seconds": sum(t.seconds for t in trained),
        }

    def settle(self, number: int, result: Mapping[str, Any]) -> None:
        """Close a trial with its result."""
        trial_id = self.study.get_trials(deepcopy=False)[number]._trial_id
        if self.study.get_trials(deepcopy=False)[number].state.is_finished():
            return
        self.study._storage.set_trial_user_attr(trial_id, "result", dict(result))
        if len(result["validation"]) == len(self.task.splits):
            close(self.study, number, TrialState.COMPLETE, mean(result["validation"]))
        else:
            close(self.study, number, TrialState.PRUNED)

    def best(self, before: int | None = None) -> FrozenTrial | None:
        """Return the best complete trial, of the batches before one if asked."""
        done = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        done = [t for t in done if before is None or t.user_attrs["batch"] < before]
        return max(
            done, key=lambda t: (t.value, -mean(t.user_attrs["result"]["loss"]), -t.number), default=None
        )

    def is_worse(self, scores: Sequence[float], best: FrozenTrial) -> bool:
        """Say whether the first splits are clearly below the best trial's, by Wilcoxon's paired test."""
        ahead = best.user_attrs["result"]["validation"][: len(scores)]
        behind = np.subtract(scores, ahead)
        if len(scores) < SCREEN or len(scores) == len(self.task.splits) or behind.mean() >= 0:
            return False
        return bool(wilcoxon(behind, alternative="less", zero_method="zsplit").pvalue < DOUBT)

    def running(self) -> bool:
        """Say whether any trial runs."""
        return bool(self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))

    def count(self, wanted: int) -> Count:
        """Say how far the study is."""
        done = self.study.get_trials(deepcopy=False, states=FINISHED)
        best = self.best()
        dropped = sum(t.state == TrialState.PRUNED for t in done)
        return Count(
            len(done),
            wanted,
            dropped,
            best.value if best and best.value else 0.0,
            best.params if best else {},
        )

    def found(self, initial: Tuning | None = None) -> Tuning:
        """Return what the study has found."""
        done = self.study.get_trials(deepcopy=False, states=FINISHED)
        best = self.best()
        if best is None or best.value is None:
            raise ConfigError(
                f"the study {self.study.study_name!r} has no finished trial yet; let it run longer"
            )
        rows = [
            {
                "number": t.number, "batch": t.user_attrs["batch"],
                "state": "complete" if t.state == TrialState.COMPLETE else "dropped",
                "validation": mean(t.user_attrs["result"]["validation"]),
                "loss": mean(t.user_attrs["result"]["loss"]),
                "splits": len(t.user_attrs["result"]["validation"]),
                "epochs": sum(t.user_attrs["result"]["epochs"]), "seconds": t.user_attrs["result"]["seconds"],
                **t.params,
            }
            for t in done
        ]  # fmt: skip
        table = pd.DataFrame(rows)
        spared = 1 - table["splits"].sum() / (len(self.task.splits) * len(table))
        config = self.task.config.replace(**best.params)
        return Tuning(self.task, table, config, float(best.value), float(spared), initial)


def blind(graph: Graph, splits: Sequence[int]) -> Graph:
    """Return the graph without the label of any node that no given split trains on or validates with.

    What is a test node in one split may be a training node in another; the engine takes test labels out
    once more, split by split.
    """
    seen = torch.zeros_like(graph.splits[0].train)
    for i in splits:
        seen = seen | graph.splits[i].train | graph.splits[i].validation
    return graph.with_labels(torch.where(seen, graph.y, -1))


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] + other[name] for name in one}


def _results(worker: str, batch: int) -> str:
    return f"results {worker} {batch}"


def _words(searched: Range) -> Any:
    return (
        list(searched.options)
        if isinstance(searched, Choice)
        else {"from": searched.low, "to": searched.high}
    )
