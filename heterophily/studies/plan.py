"""What studies train: settings from the recipes, and all runs of a study handed to the engine together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from heterophily.bench.protocol import versions
from heterophily.config import Config, ConfigError, types
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.models import find_model
from heterophily.recipes import recipe
from heterophily.stage import DivergedError, Outcome, Stage
from heterophily.studies.result import StudyError
from heterophily.training.engine import Watch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import open_score

Entry = tuple[str, Config]
"""A model and its settings."""


class Trial(NamedTuple):
    """A finished run: where it was trained, and what is left of it."""

    split: Split
    outcome: Outcome


@dataclass(frozen=True)
class Plan:
    """On which splits, from which seeds and where a study trains."""

    splits: Sequence[int | str] | None = None
    """None stands for all."""
    seed: int = 0
    seeds: int = 1
    """Every split is trained from ``seed``, ``seed + 1`` and so on."""
    device: str | torch.device = "cpu"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the recipe's; a model takes those it knows."""
    watch: Watch | None = None
    expect: Callable[[int], None] | None = None
    """Told before each training how many runs it has."""
    kept: dict[Any, tuple[Graph, Outcome]] | None = None
    """Runs that are trained already, and where new ones go: plans that share it train nothing twice."""

    def config(self, model: str, dataset: str) -> Config:
        """Return the packaged recipe of a model for a dataset, or its defaults, with the plan's changes."""
        kind, name = find_model(model).config, find_model(model).name
        try:
            settings = recipe(name, dataset)
        except ConfigError:
            settings = {}
        known = types(kind)
        return kind.parse(settings | {key: v for key, v in self.changes.items() if key in known})

    def places(self, graph: Graph) -> list[tuple[Split, int]]:
        """Return split and seed of each run: every seed of the first split, then of the next."""
        if self.seeds < 1:
            raise StudyError(
                f"seeds is {self.seeds}; it says how many seeds each split is trained from, 1 or more"
            )
        keys = range(len(graph.splits)) if self.splits is None else self.splits
        splits = [graph.split(key) for key in keys]
        if not splits:
            raise GraphError(f"{graph.name} has no splits to train on; make some with graph.with_splits(...)")
        for split in splits:
            if not split.test.any():
                raise GraphError(f"split {split.name!r} has no test node, so nothing can be judged on it")
        return [(split, self.seed + i) for split in splits for i in range(self.seeds)]

    def train_models(
        self, graph: Graph, models: Sequence[str]
    ) -> tuple[dict[str, list[Trial]], dict[str, Any]]:
        """Train models, each with its own setting; return the trials of each by its name, and what to say."""
        names = list(dict.fromkeys(find_model(model).name for model in models))
        trials, about = self.train(graph, [(name, self.config(name, graph.name)) for name in names])
        return dict(zip(names, trials)), about

    def train(
        self, graph: Graph, entries: Sequence[Entry], observe: Callable[[Stage], Stage] | None = None
    ) -> tuple[list[list[Trial]], dict[str, Any]]:
        """Train all entries on all places together; equal entries are one training.

        Returns the trials of each entry, in the order of the places, and what to say about it all.
        """
        for name, value in self.changes.items():
            if not any(name in types(type(config)) for _, config in entries):
                entries[0][1].replace(**{name: value})  # says which settings there are
        start = time.perf_counter()
        places = self.places(graph)
        distinct = list(dict.fromkeys(entries))
        runs = {
            (id(graph), entry, id(split), seed): Run(*entry, split, seed)
            for entry in distinct
            for split, seed in places
        }
        kept = {} if self.kept is None else self.kept
        new = [key for key in runs if observe or key not in kept]
        if self.expect:
            self.expect(len(new))
        fresh = [runs[key] for key in new]
        outcomes = train_runs(graph, fresh, self.device, watch=self.watch, observe=observe)
        kept.update((key, (graph, outcome)) for key, outcome in zip(new, outcomes))
        trials = {
            entry: [Trial(split, kept[id(graph), entry, id(split), seed][1]) for split, seed in places]
            for entry in distinct
        }
        for (model, _), some in trials.items():
            for trial in some:
                if not math.isfinite(trial.outcome.trained.validation_loss):
                    raise DivergedError(
                        f"{find_model(model).title} on split {trial.split.name!r} of {graph.name}: no epoch "
                        f"gave a finite validation loss: {trial.outcome.trained.diverged}; lower the "
                        "learning rate or check the features' scale"
                    )
        settings = {model: config.changes() for model, config in reversed(distinct)}
        return [trials[entry] for entry in entries], {
            "splits": [split.name for split, _ in places[:: self.seeds]],
            "seed": self.seed,
            "seeds": self.seeds,
            "metric": graph.metric,
            "settings": dict(reversed(settings.items())),
            "runs": len(runs),
            "shared_runs": len(runs) - len(new),
            "device": _device(self.device),
            "seconds": round(time.perf_counter() - start, 2),
            "versions": versions(),
        }


def scored(graph: Graph, trial: Trial) -> float:
    """Return the graph's metric on the test nodes."""
    return open_score(graph, trial.split, trial.outcome.trained.logits)


def class_names(graph: Graph) -> list[str]:
    """Return the names of the classes; their numbers where they have none."""
    return [str(name) for name in graph.class_names or range(graph.num_classes)]


def splits_neighborhoods(trials: Sequence[Trial]) -> None:
    """Refuse trials of a model that has no partition to look at."""
    if any("parts" not in trial.outcome.trained.state for trial in trials):
        raise StudyError("this study looks at neighborhoods that HDP has split; fit HDPClassifier for it")


def _device(device: str | torch.device) -> str:
    device = torch.device(device)
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
