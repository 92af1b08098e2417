"""Evaluation of a model with one setting on splits and seeds: train all, then open the test labels once."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heterophily._version import __version__
from heterophily.config import Config, ConfigError
from heterophily.graph import Graph
from heterophily.graph.graph import GraphError
from heterophily.models import find_model
from heterophily.stage import Diverged, DivergedError, Outcome, Trained, digest
from heterophily.training.engine import Watch
from heterophily.training.runs import Precision, Run, train_runs
from heterophily.training.seal import open_score

DDOF = 1
"""Standard deviations are those of a sample: the sum of squares is divided by one less than its terms."""


@dataclass(frozen=True)
class SplitScore:
    """What a run reached on one split from one seed; validation and test are fractions."""

    split: int
    """Position of the split in the graph."""
    validation: float
    test: float
    epochs: int
    """Epochs of the last stage; those of an initial assignment stand apart."""
    seconds: float
    """This run's share of the time of all its stages."""
    initial: SplitScore | None = None
    """The initial assignment, if the model has one."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else the model found, such as the estimated homophily."""
    seed: int = 0
    test_last: float | None = None
    """The test score in the epoch in which training ended; None where that epoch had lost all sense."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """How many nodes the split trains, validates and tests on."""
    mask: str = ""
    """Names the split by its content: two results with the same are on the same nodes."""
    diverged: Mapping[str, Any] | None = None
    """Where training broke off, if it did: stage, epoch and term; the scores are of the best epoch before."""
    test_averaged: float | None = None
    """The test score of the mean of all seeds' assignments on the split; None of a single seed."""

    def to_json(self) -> dict[str, Any]:
        """Return the row as it stands in result.json."""
        names = ("split", "validation", "test", "epochs", "seconds", "seed", "test_last")
        row: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.initial is not None:
            row["initial"] = self.initial.to_json()
            for name in ("split", "seed", "test_last"):
                del row["initial"][name]
        where = {"nodes": dict(self.nodes), "mask": self.mask} if self.mask else {}
        broke = {} if self.diverged is None else {"diverged": dict(self.diverged)}
        together = {} if self.test_averaged is None else {"test_averaged": self.test_averaged}
        return row | together | dict(self.details) | where | broke


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One model with one setting on some splits of a graph: a cell of a results table.

    Where each split was trained from several seeds, ``std`` is that of the splits' means: two runs on one
    split are no two independent samples of what another split would give, and a spread over all runs
    would pretend they were. What the seed alone does is ``std_seeds``. A single run on a new split is
    spread by sqrt(std² + (1 - 1 / seeds) · std_seeds²), which is what tables of one run per split show.
    """

    model: str
    dataset: str
    metric: str
    splits: tuple[SplitScore, ...]
    """One row per run: every seed of the first split, then of the next."""
    config: Config
    seed: int
    """The first seed."""
    device: str
    seconds: float
    """From the first line of the preparation to the last score."""
    outcomes: tuple[Outcome, ...] = field(repr=False)
    """The trained runs, in the order of ``splits``; they stay out of the JSON."""
    graph_options: Mapping[str, Any] = field(default_factory=dict)
    """What a synthetic graph was drawn with, where it was not the defaults."""
    seeds: int = 1
    """How many seeds each split was trained from: ``seed``, ``seed + 1`` and so on."""
    opened: Mapping[str, Any] | None = None
    """The record of the opening of the test labels, where one is kept."""
    diverged: tuple[Mapping[str, Any], ...] = ()
    """Runs that never had a finite loss, and so no score: split, seed, stage, epoch, term and setting."""
    clusters: int = 0
    """Mini-batches of an epoch; 0 is the full batch."""
    precision: Precision = "full"

    @property
    def by_split(self) -> dict[int, list[SplitScore]]:
        """The runs of each split, by its position."""
        found: dict[int, list[SplitScore]] = {}
        for score in self.splits:
            found.setdefault(score.split, []).append(score)
        return found

    @property
    def mean(self) -> float:
        """Mean test score over all runs."""
        return float(np.mean([s.test for s in self.splits]))

    @property
    def averaged(self) -> float | None:
        """Mean over the splits of the test score of the seeds' mean assignment; None of a single seed."""
        tests = [runs[0].test_averaged for runs in self.by_split.values()]
        return float(np.mean(tests)) if None not in tests else None  # type: ignore[arg-type]

    @property
    def std(self) -> float | None:
        """Standard deviation (ddof 1) of the test score over what ``std_over`` says; None for one run."""
        if self.std_over == "splits":
            return float(
                np.std([np.mean([s.test for s in runs]) for runs in self.by_split.values()], ddof=DDOF)
            )
        return self.std_seeds

    @property
    def std_over(self) -> str | None:
        """What ``std`` is over: "splits", each the mean of its seeds; "seeds" of a single split; None."""
        return "splits" if len(self.by_split) > 1 else "seeds" if self.seeds > 1 else None

    @property
    def std_seeds(self) -> float | None:
        """Standard deviation over the seeds of a split, pooled over the splits; None for a single seed."""
        if self.seeds == 1:
            return None
        several = [runs for runs in self.by_split.values() if len(runs) > 1]
        variances = [np.var([s.test for s in runs], ddof=DDOF) for runs in several]
        return float(np.sqrt(np.mean(variances))) if variances else None

    def to_json(self) -> dict[str, Any]:
        """Return everything a reader of the result needs, fit for JSON; scores are fractions."""
        return {
            "model": self.model,
            "dataset": self.dataset,
            "metric": self.metric,
            "splits": [score.to_json() for score in self.splits],
            "mean": self.mean,
            "std": self.std,
            "std_over": self.std_over,
            "std_seeds": self.std_seeds,
            "ddof": DDOF,
            "seed": self.seed,
            "seeds": self.seeds,
            "config": self.config.to_dict(),
            "graph": dict(self.graph_options),
            "device": self.device,
            "seconds": self.seconds,
            "versions": versions(),
            **({"diverged": [dict(run) for run in self.diverged]} if self.diverged else {}),
            **({"clusters": self.clusters} if self.clusters else {}),
            **({"precision": self.precision} if self.precision != "full" else {}),
            **({} if self.opened is None else {"test_opened": dict(self.opened)}),
        }


def evaluate(
    graph: Graph,
    model: str,
    config: Config | Mapping[str, Any] | None = None,
    splits: Sequence[int | str] | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
    watch: Watch | None = None,
    seeds: int = 1,
    clusters: int = 0,
    precision: Precision = "full",
) -> Evaluation:
    """Train a model on some splits of a graph, by default all, and score each on its test nodes.

    ``config`` is the model's, or a mapping of settings; what it leaves out has its default. Every split
    is trained from the same ``seeds`` seeds: ``seed``, ``seed + 1`` and so on. All these runs are handed
    to the engine together. Test labels are read when all training is over, and for the scores only.
    ``clusters`` is for large graphs, ``precision`` for large and for small ones, see `train_runs`.

    A run whose loss stops being a finite number ends there, and the others go on. It is scored by its best
    epoch before; without one it has no score and is told of in ``diverged``. Where that is so of all runs
    there is nothing to return.
    """
    start = time.perf_counter()
    found = find_model(model)
    if not isinstance(config, Config):
        config = found.config.parse(config or {})
    if seeds < 1:
        raise ConfigError(f"seeds is {seeds}; it says how many seeds each split is trained from, 1 or more")
    positions = [_position(graph, key) for key in splits] if splits is not None else range(len(graph.splits))
    if not positions:
        raise GraphError(f"{graph.name} has no splits to train on; make some with graph.with_splits(...)")
    for split in (graph.splits[i] for i in positions):
        for part, mask in split.parts():
            if not mask.any():
                raise GraphError(f"split {split.name!r} has no {part} node, so nothing can be scored on it")

    device = torch.device(device)
    every = [(position, seed + i) for position in positions for i in range(seeds)]
    runs = [Run(found.name, config, graph.splits[position], each) for position, each in every]
    outcomes = train_runs(graph, runs, device, watch=watch, clusters=clusters, precision=precision)
    lost = [(where, broke) for where, outcome in zip(every, outcomes) if (broke := _broken(outcome, True))]
    diverged = tuple(
        {"split": position, "seed": each, **broke, "setting": config.to_dict()}
        for (position, each), broke in lost
    )
    if len(diverged) == len(every):
        raise DivergedError(diverged_words(graph.name, diverged[0]))
    outcomes = [outcome for outcome in outcomes if not _broken(outcome, True)]
    every = [where for where in every if where not in dict(lost)]
    scores = [_score(graph, *where, outcome) for where, outcome in zip(every, outcomes)]
    return Evaluation(
        model=found.name,
        dataset=graph.name,
        metric=graph.metric,
        splits=_averaged(graph, scores, outcomes),
        config=config,
        seed=seed,
        device=_device_name(device),
        seconds=time.perf_counter() - start,
        outcomes=tuple(outcomes),
        seeds=seeds,
        diverged=diverged,
        clusters=clusters,
        precision=precision,
    )


def diverged_words(dataset: str, run: Mapping[str, Any]) -> str:
    """Say of a run that never had a finite loss what happened, and what to do."""
    stage = "" if run["stage"] == "training" else f" of the {run['stage']}"
    return (
        f"on split {run['split']} of {dataset} from seed {run['seed']} no epoch{stage} gave a finite "
        f"validation loss: {Diverged(run['epoch'], run['term'])}; lower the learning rate or check the scale "
        "of the features"
    )


def _broken(outcome: Outcome, wholly: bool = False) -> dict[str, Any] | None:
    """Say where a run broke off, if it did; ``wholly``: before it had anything to show."""
    stages = {"initial assignment": outcome.initial, "training": outcome.trained}
    for stage, trained in stages.items():
        if trained is None:
            continue
        lost = not math.isfinite(trained.validation_loss)
        if lost or (trained.diverged and not wholly):
            epoch, term = trained.diverged or (trained.epochs, "validation_loss")
            return {"stage": stage, "epoch": epoch, "term": term}
    return None


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    return {
        "heterophily": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "torch_geometric": metadata.version("torch_geometric"),  # not imported for it: that takes seconds
        "numpy": np.__version__,
    }


def _score(graph: Graph, position: int, seed: int, outcome: Outcome) -> SplitScore:
    split = graph.splits[position]

    def one(trained: Trained, **more: Any) -> SplitScore:
        test, end = open_score(graph, split, trained.logits), trained.last_logits
        last = open_score(graph, split, end) if end is not None and bool(end.isfinite().all()) else None
        values = {"seconds": trained.seconds, "seed": seed, "test_last": last} | more
        return SplitScore(position, trained.validation, test, trained.epochs, **values)

    masks = dict(split.parts())
    more: dict[str, Any] = {
        "details": outcome.details,
        "diverged": _broken(outcome),
        "nodes": {part: int(mask.sum()) for part, mask in masks.items()},
        "mask": digest(torch.stack([mask.cpu() for mask in masks.values()])).hex()[:16],
    }
    if outcome.initial is not None:
        more |= {
            "initial": one(outcome.initial),
            "seconds": outcome.initial.seconds + outcome.trained.seconds,
        }
    return one(outcome.trained, **more)


def _averaged(
    graph: Graph, scores: Sequence[SplitScore], outcomes: Sequence[Outcome]
) -> tuple[SplitScore, ...]:
    """Score on each split the mean of its seeds' assignments too, where there are several."""
    found: dict[int, list[Tensor]] = {}
    for score, outcome in zip(scores, outcomes):
        found.setdefault(score.split, []).append(outcome.trained.logits.double().softmax(-1))
    tests = {
        position: open_score(graph, graph.splits[position], torch.stack(each).mean(0).clamp(min=1e-300).log())
        for position, each in found.items()
        if len(each) > 1
    }
    return tuple(replace(score, test_averaged=tests.get(score.split)) for score in scores)


def _position(graph: Graph, key: int | str) -> int:
    split = graph.split(key)
    return next(i for i, other in enumerate(graph.splits) if other is split)


def _device_name(device: torch.device) -> str:
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
