"""Tuning: a study proposes settings, the engine judges a batch of them at once, blind to the test labels.

Proposals come in batches of fixed size. Of each batch the results are written down whole before its trials
are closed one by one; so a study that is killed at any moment goes on as if nothing had happened: a batch
without results is trained anew, the same settings in the same company, and one with results is closed.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch
from optuna.trial import FrozenTrial, TrialState

from heterophily.bench.opening import LATER
from heterophily.bench.samplers import FINISHED, SAMPLERS, Proposer, grid, grid_size, widened, within
from heterophily.bench.statistics import signed_ranks
from heterophily.bench.storage import (
    Worker,
    close,
    counts,
    enter,
    finished,
    open_study,
    opened,
    places,
)
from heterophily.config import Choice, Config, ConfigError, Integer, Range, Uniform, space, types
from heterophily.graph import Graph, GraphError, Split
from heterophily.models import Model, find_model
from heterophily.stage import Trained
from heterophily.training.engine import Watch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import open_score

VALUES = {"epoch", "patience", "epoch_init", "patience_init", "select", "known_loops", "by_loss", "tpc_sum"}
"""Fields that are no real numbers and yet may differ within a batch of the engine."""
SCREEN = 4
"""Splits on which a proposal is judged first; one that is clearly worse than the best stops there."""
DOUBT = 0.1
"""A proposal is dropped when luck alone would make it look as bad with less than this probability."""
RUNGS = (20, 80)
"""Epochs of a race, on the first split, after each of which a proposal must be among the best to go on."""
FIELD = 4
"""One of so many goes on."""
NOTHING: dict[str, Any] = {"epochs": [], "seconds": 0.0}
"""What no training has cost."""
WAIT = 0.5
"""Seconds between looks at what other workers do."""


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
    splits: tuple[int, ...] = ()
    seed: int = 0
    prune: bool = True
    halves: bool = False
    """Whether half of the validation nodes keep an epoch and the others judge it, both ways round."""
    kindred: tuple[Mapping[str, Any], ...] = ()
    """Settings that did well elsewhere; they are proposed after the first."""
    race: bool = False
    """Whether a proposal must be among the best of all after a few epochs to be trained to its end."""

    def to_json(self) -> dict[str, Any]:
        """Return it fit for JSON; equal texts are equal tasks."""
        ranges = {name: _words(searched) for name, searched in self.space.items()}
        rest = {name: getattr(self, name) for name in ("model", "dataset", "sampler", "batch", "seed")}
        settings = self.config.to_dict().items()
        fixed = {n: v for n, v in settings if n not in self.space and (v or n not in LATER)}
        rest |= {"halves": True} if self.halves else {}  # studies from before the choices go on
        rest |= {"kindred": [dict(settings) for settings in self.kindred]} if self.kindred else {}
        rest |= {"race": True} if self.race else {}
        return rest | {"space": ranges, "fixed": fixed, "splits": list(self.splits), "prune": self.prune}

    @property
    def alike(self) -> int:
        """Proposals of a batch that share what changes shapes, so that the engine trains them together."""
        return max(self.batch // 4, 8)

    def accepts(self, params: Mapping[str, Any]) -> bool:
        """Say whether the model takes such settings."""
        try:
            self.config.replace(**params)
        except ConfigError:
            return False
        return True


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

    @property
    def raced(self) -> int:
        """How many trials a race has ended after a few epochs."""
        return int((self.trials["splits"] == 0).sum())


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
    start: Mapping[str, Any] | None = None,
    splits: Sequence[int] | None = None,
    batch: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    prune: bool = True,
    halves: bool = False,
    kindred: Sequence[Mapping[str, Any]] = (),
    race: bool = False,
    device: str | torch.device = "cpu",
    watch: Watch | None = None,
    tell: Callable[[str, Count], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Tuning:
    """Search the settings of a model on the validation nodes of some splits, by default all.

    The study goes on where it stopped if the storage has it. A model with a first stage has that tuned
    before, with as many trials, and takes over the settings that one reads (the initial assignment of HDP on
    X alone reads none of the structural encoding's); once its own study has begun, they are settled.
    ``ranges`` replaces or adds search ranges, ``config`` sets what is not searched. ``start`` is proposed
    first, instead of the defaults, and holds for what is neither searched nor set; then come ``kindred``,
    settings that did well elsewhere, as far as they are searched. Ranges are made to hold both. ``seconds``
    ends each study after the batch in which they run out. ``halves`` judges by validation nodes that had no
    say in which epoch is kept: one half keeps, the other judges, and vice versa. Of HDP, whose training
    depends on them, these are two runs a split. ``race`` trains a proposal for a few epochs on the first
    split, and to its end only while it is among the best of all that have come so far; the first proposal
    always is.
    """
    found, title = find_model(model), study or f"{graph.name}-{find_model(model).name}"
    initial, given = None, dict(config or {})
    free: Collection[str] = ()
    if found.first:
        before = find_model(found.first)
        begun = finished(storage, title) is not None
        initial = tune(
            graph, before.name, trials, storage=storage, study=study and f"{study}-initial", sampler=sampler,
            ranges={n: r for n, r in (ranges or {}).items() if n in before.fields}, config=given, start=start,
            splits=splits, batch=batch, seconds=seconds, seed=seed, prune=prune, halves=halves,
            kindred=kindred, race=race, device=device, watch=watch, tell=tell,
            stop=(lambda: True) if begun else stop,
        )  # fmt: skip
        settled = initial.config.to_dict()
        free = before.unread(initial.config)
        given |= {name: settled[name] for name in before.fields if name not in free}
    task = task_of(
        graph, found, sampler, ranges, given, start, splits, batch, seed, prune, halves, kindred, race,
        device, free,
    )  # fmt: skip
    with opened(storage) as held:
        work = Study(task, graph, held, title, device, watch)
        work.run(trials, seconds, tell, stop)
        return work.found(initial)


def task_of(
    graph: Graph,
    model: Model,
    sampler: str,
    ranges: Mapping[str, Range] | None,
    given: Mapping[str, Any],
    start: Mapping[str, Any] | None,
    splits: Sequence[int] | None,
    batch: int | None,
    seed: int,
    prune: bool,
    halves: bool,
    kindred: Sequence[Mapping[str, Any]],
    race: bool,
    device: str | torch.device,
    free: Collection[str] = (),
) -> Task:
    """Return the task of a study: what is searched, where, from which settings, how many at a time.

    ``free`` names settings of the model before that it leaves to this one.
    """
    first = [n for n in find_model(model.first).fields if n not in free] if model.first else []
    for name in ranges or ():
        if name not in types(model.config):
            model.config.parse({name: None})  # says which there are
        if name not in (*own_fields(model, free), *first):
            raise ConfigError(f"{model.title} does not read {name}, so there is nothing to search")
    own = {name: r for name, r in (ranges or {}).items() if name not in first}
    searched = {n: r for n, r in (searched_fields(model, free) | own).items() if n not in given}
    config = model.config.parse(dict(start or {}) | dict(given))
    kin = [model.config.parse(dict(settings)) for settings in kindred]
    if kin and sampler == "grid":
        raise ConfigError("a grid proposes every point of its ranges; leave out what did well elsewhere")
    for held in [config, *kin] if start else kin:
        searched = {name: widened(r, getattr(held, name)) for name, r in searched.items()}
    next_ones: list[dict[str, Any]] = []
    for proposal in ({name: getattr(held, name) for name in searched} for held in kin):
        if proposal not in next_ones:
            next_ones.append(proposal)
    positions = tuple(range(len(graph.splits)) if splits is None else splits)
    if not positions:
        raise GraphError(f"{graph.name} has no splits to tune on; make some with graph.with_splits(...)")
    for position in positions:
        graph.split(position)  # says which there are
    batch = batch or (64 if torch.device(device).type == "cuda" else 16 if len(positions) > 1 else 32)
    if race:
        epoch_field(model)  # says that it has none
    rest = sampler, batch, positions, seed, prune, halves, tuple(next_ones), race
    return Task(model.name, graph.name, searched, config, *rest)


def own_fields(model: Model, free: Collection[str] = ()) -> list[str]:
    """Return the settings that a model reads and that no model before it settles: its own, and the free."""
    before = find_model(model.first).fields if model.first else ()
    return [name for name in model.fields or types(model.config) if name in free or name not in before]


def epoch_field(model: Model) -> str:
    """Return the setting that ends a training of the model at the latest."""
    own = own_fields(model)
    found = next((name for name in ("epoch", "epoch_init") if name in own), None)
    if found is None:
        raise ConfigError(f"{model.title} has no setting called epoch, so its trainings cannot race")
    return found


def searched_fields(model: Model, free: Collection[str] = ()) -> dict[str, Range]:
    """Return the fields of a model that a study searches, with their ranges."""
    own = own_fields(model, free)
    return {name: searched for name, searched in space(model.config).items() if name in own}


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
    return Choice(*dict.fromkeys(kind.parse({name: value}).to_dict()[name] for value in values))


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
        self.points = Points(task) if task.sampler == "grid" else None
        self.graph = blind(graph, task.splits).to(self.device)
        self.parts = {i: parts(self.graph.splits[i], task.halves) for i in task.splits}
        self.known: dict[Any, Trained] = {}
        self.study = open_study(storage, name)
        self.agree()
        self.worker = Worker(self.study)

    def agree(self) -> None:
        """Enter the task in a study that has none; refuse a study with another."""
        name, task = self.study.study_name, json.loads(json.dumps(self.task.to_json()))
        if "task" not in self.study.user_attrs:
            if self.study.get_trials(deepcopy=False):
                raise ConfigError(f"the storage has a study {name!r} of another program; name another study")
            self.study.set_user_attr("task", task)
        said = self.study.user_attrs["task"]
        if said != task:
            other = [key for key in said | task if said.get(key) != task.get(key)]
            raise ConfigError(
                f"the storage has a study {name!r} with another {' and '.join(other)}; "
                "go on with the same, or name another study"
            )

    def run(
        self,
        trials: int,
        seconds: float | None = None,
        tell: Callable[[str, Count], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Work until the study has so many finished trials, or time is up, or somebody says stop."""
        start = time.monotonic()
        if self.points:
            trials = self.points.up_to(trials)
        with self.worker.alive():
            late = False
            while not stop() and not late:
                mine = self.take(trials)
                if mine:
                    self.judge(mine)
                    if tell:
                        tell(self.study.study_name, self.count(trials))
                elif sum(t.state in FINISHED for p, t in self.places().items() if p < trials) >= trials:
                    return
                else:
                    time.sleep(WAIT)  # others are at the last trials; should they die, these are ours
                late = seconds is not None and time.monotonic() - start >= seconds

    def places(self) -> dict[int, FrozenTrial]:
        """Return the trial that counts at each place."""
        return places(self.study.get_trials(deepcopy=False))

    def done(self) -> list[FrozenTrial]:
        """Return the finished trials in the order of their places."""
        return [trial for trial in self.places().values() if trial.state in FINISHED]

    def take(self, trials: int) -> list[FrozenTrial]:
        """Return a batch to judge: what a dead worker left of one, or else new, with proposals to its end."""
        self.clear()
        left = self.left()
        held = self.places()
        batch = left[0].user_attrs["batch"] if left else self.open_batch(held, trials)
        if batch is None:
            return []
        mine: list[FrozenTrial] = []
        for trial in left:
            if trial.user_attrs["batch"] == batch:
                place = trial.user_attrs["place"]
                heir = enter(
                    self.study, self.worker.name, place, batch, trial.params, trial.distributions, trial
                )
                if heir is None:
                    return mine  # another worker is at it
                mine.append(heir)
        missing = [place for place in self.span(batch, trials) if place not in held]
        proposer = None
        held = self.places() if missing else held
        for place in missing:
            if proposer is None:
                proposer = Proposer([*held.values()], self.task.space, self.task.sampler, self.task.seed)
            params = self.propose(proposer, held, place)
            proposer.take(params)
            entered = enter(self.study, self.worker.name, place, batch, params, proposer.ranges)
            if entered is None:
                break
            mine.append(entered)
            held[place] = entered
        return sorted(mine, key=lambda trial: trial.user_attrs["place"])

    def clear(self) -> None:
        """Close the running trials that do not count."""
        every = self.study.get_trials(deepcopy=False)
        held = places(every)
        for trial in every:
            place = trial.user_attrs.get("place")
            if trial.state == TrialState.RUNNING and place is not None and held[place] is not trial:
                close(self.study, trial, TrialState.FAIL)

    def left(self) -> list[FrozenTrial]:
        """Settle what dead workers had results of; return the rest of what they left."""
        unfinished = [trial for trial in self.places().values() if trial.state not in FINISHED]
        found = []
        for trial in self.worker.left(unfinished) if unfinished else ():
            written = self.study.user_attrs.get(_results(trial))
            if trial.state == TrialState.RUNNING and written and str(trial.number) in written:
                self.settle(trial, written[str(trial.number)])
            else:
                found.append(trial)
        return found

    def span(self, batch: int, trials: int) -> range:
        """Return the places of a batch."""
        return range(batch * self.task.batch, min((batch + 1) * self.task.batch, trials))

    def open_batch(self, held: Mapping[int, FrozenTrial], trials: int) -> int | None:
        """Return the first batch that lacks proposals and that nobody is at."""
        busy = {t.user_attrs["batch"] for t in held.values() if t.state not in FINISHED}
        free = (place // self.task.batch for place in range(trials) if place not in held)
        return next((batch for batch in free if batch not in busy), None)

    def propose(self, proposer: Proposer, held: Mapping[int, FrozenTrial], place: int) -> dict[str, Any]:
        """Return settings for a place, with the shapes of others of its batch where the model takes them."""
        task = self.task
        if self.points:
            return self.points[place]
        given = {name: getattr(task.config, name) for name in task.space}
        if place == 0 and all(within(task.space[name], value) for name, value in given.items()):
            return given  # what one would take without a study, so that it finds nothing worse
        if 0 < place <= len(task.kindred) and task.accepts(task.kindred[place - 1]):
            return dict(task.kindred[place - 1])
        leader = held.get(place - place % task.batch % task.alike)
        fixed: dict[str, Any] = {}
        if leader is not None:
            kinds = types(type(task.config))
            shapes = [name for name in task.space if kinds[name] is not float and name not in VALUES]
            fixed = {name: leader.params[name] for name in shapes}
        for attempt in range(100):
            params = proposer.propose(place, fixed, attempt)
            if task.accepts(params):
                return params
            fixed = {}
        raise ConfigError(f"{task.model} refused a hundred proposals in a row; narrow the search space")

    def judge(self, trials: Sequence[FrozenTrial]) -> None:
        """Train a batch on the first splits, drop what is clearly worse, train the rest on all others."""
        best = self.best(trials[0].user_attrs["batch"])
        first = self.task.splits[:SCREEN] if self.task.prune and best else self.task.splits
        others = self.task.splits[len(first) :]
        raced = self.race(trials) if self.task.race else {}
        ahead = [t for t in trials if "ended" not in raced.get(t.number, ())]
        judged = self.train(ahead, first)
        if others:
            rest = [t for t in ahead if not (best and self.is_worse(judged[t.number]["validation"], best))]
            for number, more in self.train(rest, others).items():
                judged[number] = {name: kept + more[name] for name, kept in judged[number].items()}
        for number, start in raced.items():
            end = judged.get(number, NOTHING)
            judged[number] = start | end | {name: start[name] + end[name] for name in NOTHING}
        self.study.set_user_attr(_results(trials[0]), {str(n): result for n, result in judged.items()})
        for trial in trials:
            self.settle(trial, judged[trial.number])

    def race(self, trials: Sequence[FrozenTrial]) -> dict[int, dict[str, Any]]:
        """Train a batch for a few epochs, then the best of it for some more; say of each how far it came.

        One goes on that is among the best quarter of all that have come to its rung, before this batch and
        in it. ``ended`` has the epochs after which one did not.
        """
        place = trials[0].user_attrs["place"]
        before = [t.user_attrs["result"]["rungs"] for t in self.done() if t.user_attrs["place"] < place]
        found: dict[int, dict[str, Any]] = {t.number: {"rungs": [], **NOTHING} for t in trials}
        for rung, epochs in enumerate(RUNGS):
            for number, result in self.train(trials, self.task.splits[:1], epochs).items():
                mark = [result["validation"][0], -result["loss"][0]]
                cost = {name: found[number][name] + result[name] for name in NOTHING}
                found[number] = result | cost | {"rungs": [*found[number]["rungs"], mark]}
            marks = [found[t.number]["rungs"][rung] for t in trials]
            field = sorted([*marks, *(marks[rung] for marks in before if len(marks) > rung)], reverse=True)
            bar = field[math.ceil(len(field) / FIELD) - 1]
            for trial, mark in zip(trials, marks, strict=True):
                if mark < bar and trial.user_attrs["place"]:
                    found[trial.number]["ended"] = epochs
            trials = [t for t in trials if "ended" not in found[t.number]]
        return found

    def train(
        self, trials: Sequence[FrozenTrial], splits: Sequence[int], epochs: int | None = None
    ) -> dict[int, dict[str, Any]]:
        """Train all trials on some splits together, perhaps for a few epochs; return what is kept of each."""
        task, known = self.task, self.before()
        configs = [task.config.replace(**trial.params) for trial in trials]
        if epochs is not None:
            end = epoch_field(find_model(task.model))
            configs = [config.replace(**{end: min(epochs, getattr(config, end))}) for config in configs]
        split = [part for i in splits for part in self.parts[i]]
        runs = [Run(task.model, config, part, task.seed) for config in configs for part in split]
        outcomes = iter(train_runs(self.graph, runs, self.device, watch=self.watch, known=known))
        return {t.number: self.kept([(next(outcomes).trained, part) for part in split]) for t in trials}

    def kept(self, runs: Sequence[tuple[Trained, Split]]) -> dict[str, Any]:
        """Return what is kept of the runs of a trial, split by split; what diverged scores worst."""
        found: dict[str, list[Any]] = {"validation": [], "loss": [], "epochs": [], "diverged": []}
        for k in range(0, len(runs), each := 2 if self.task.halves else 1):
            some = runs[k : k + each]
            sound = all(math.isfinite(t.validation) and math.isfinite(t.validation_loss) for t, _ in some)
            found["validation"].append(mean(self.score(t, part) for t, part in some) if sound else 0.0)
            found["loss"].append(mean(float(t.validation_loss) for t, _ in some) if sound else 1e9)
            found["epochs"].append(sum(t.epochs for t, _ in some))
            broke = next((t.diverged for t, _ in some if t.diverged), None)
            found["diverged"].append(broke and broke._asdict())
        return found | {"seconds": sum(t.seconds for t, _ in runs)}

    def score(self, trained: Trained, part: Split) -> float:
        """Judge a run: by its own validation nodes, or by the half of them that it has not seen."""
        return open_score(self.graph, part, trained.logits) if self.task.halves else float(trained.validation)

    def before(self) -> dict[Any, Trained] | None:
        """Return what the model that was tuned before comes to: its settings are settled, so once for all."""
        task, first = self.task, find_model(self.task.model).first
        if first and not self.known:
            runs = [Run(first, task.config, part, task.seed) for i in task.splits for part in self.parts[i]]
            train_runs(self.graph, runs, self.device, watch=self.watch, known=self.known)
        return self.known if first else None

    def settle(self, trial: FrozenTrial, result: Mapping[str, Any]) -> None:
        """Close a trial with its result, unless another has come to count in its stead."""
        if not counts(self.study, trial):
            close(self.study, trial, TrialState.FAIL)
            return
        whole = len(result["validation"]) == len(self.task.splits) and "ended" not in result
        raced = [name for name in ("rungs", "ended") if name in result]
        kept = {name: result[name] for name in ("validation", "loss", "epochs", *raced)}
        if any(broke := result.get("diverged", ())):  # split by split: epoch and term
            kept["diverged"] = broke
        close(
            self.study,
            trial,
            TrialState.COMPLETE if whole else TrialState.PRUNED,
            mean(result["validation"]) if whole else None,
            dict(zip(RUNGS, (score for score, _ in result.get("rungs", ())))),  # TPE heeds how far one came
            result=kept,
            seconds=result["seconds"],
        )

    def best(self, before: int | None = None) -> FrozenTrial | None:
        """Return the best complete trial, of the batches before one if asked."""
        done = [t for t in self.done() if t.state == TrialState.COMPLETE]
        done = [t for t in done if before is None or t.user_attrs["batch"] < before]
        return max(
            done,
            key=lambda t: (t.value, -mean(t.user_attrs["result"]["loss"]), -t.user_attrs["place"]),
            default=None,
        )

    def is_worse(self, scores: Sequence[float], best: FrozenTrial) -> bool:
        """Say whether scores on the first splits are surely below the best trial's, by a paired test."""
        behind = np.subtract(scores, best.user_attrs["result"]["validation"][: len(scores)])
        return bool(behind.mean() < 0 and luck(behind) < DOUBT)

    def count(self, wanted: int) -> Count:
        """Say how far the study is."""
        done, best = self.done(), self.best()
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
        done, best = self.done(), self.best()
        if best is None or best.value is None:
            raise ConfigError(
                f"the study {self.study.study_name!r} has no finished trial yet; let it run longer"
            )
        rows = [
            {
                "number": t.number, "place": t.user_attrs["place"], "batch": t.user_attrs["batch"],
                "state": "complete" if t.state == TrialState.COMPLETE else "dropped",
                "validation": mean(t.user_attrs["result"]["validation"]),
                "loss": mean(t.user_attrs["result"]["loss"]),
                "splits": _whole(t.user_attrs["result"]),
                "epochs": sum(t.user_attrs["result"]["epochs"]), "seconds": t.user_attrs["seconds"],
                **t.params,
            }
            for t in done
        ]  # fmt: skip
        table = pd.DataFrame(rows)
        spared = 1 - table["splits"].sum() / (len(self.task.splits) * len(table))
        config = self.task.config.replace(**best.params)
        return Tuning(self.task, table, config, float(best.value), float(spared), initial)


class Points:
    """The points of a grid that the model accepts, found as far as they are asked for."""

    def __init__(self, task: Task):
        grid_size(task.space)  # refuses ranges without an end of values
        self.rest = (point for point in grid(task.space) if task.accepts(point))
        self.found: list[dict[str, Any]] = []

    def up_to(self, trials: int) -> int:
        """Return how many points there are, of so many at most."""
        self.found += itertools.islice(self.rest, max(trials - len(self.found), 0))
        if not self.found:
            raise ConfigError("the model refuses every point of the grid; widen the search space")
        return min(trials, len(self.found))

    def __getitem__(self, place: int) -> dict[str, Any]:
        return self.found[place]


def blind(graph: Graph, splits: Sequence[int]) -> Graph:
    """Return the graph without the label of any node that no given split trains on or validates with.

    What is a test node in one split may be a training node in another; the engine takes test labels out
    once more, split by split.
    """
    seen = torch.zeros_like(graph.splits[0].train)
    for i in splits:
        seen = seen | graph.splits[i].train | graph.splits[i].validation
    return graph.with_labels(torch.where(seen, graph.y, -1))


def parts(split: Split, halves: bool) -> Sequence[Split]:
    """Return what a proposal is trained on for one split: the split, or it with either half to validate."""
    return split.halved() if halves else (split,)


def luck(behind: Any) -> float:
    """Return how probable it is by luck to be as far behind (n,), or farther: Wilcoxon's signed ranks.

    Splits without a difference say nothing and are left out.
    """
    behind = np.asarray(behind)
    return signed_ranks(behind[behind != 0])[1]


def _whole(result: Mapping[str, Any]) -> int:
    """Return on how many splits a trial was trained to its end."""
    return 0 if "ended" in result else len(result["validation"])


def _results(trial: FrozenTrial) -> str:
    """Name the results of the batch that a worker had the trial in."""
    return f"results {trial.user_attrs['worker']} {trial.user_attrs['batch']}"


def _words(searched: Range) -> Any:
    return (
        list(searched.options)
        if isinstance(searched, Choice)
        else {"from": searched.low, "to": searched.high}
    )
