"""Evaluation of a model with one setting on splits of a graph: train all, then open the test labels once."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch_geometric

from heterophily._version import __version__
from heterophily.config import Config
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.models import find_model
from heterophily.stage import Outcome, Trained
from heterophily.training.engine import Watch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import open_score

DDOF = 1
"""The standard deviation over splits is that of a sample: its sum of squares is divided by one less."""


class DivergedError(ValueError):
    """A training in which no epoch gave a finite loss."""


@dataclass(frozen=True)
class SplitScore:
    """What a run reached on one split; validation and test are fractions."""

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

    def to_json(self) -> dict[str, Any]:
        """Return the row as it stands in result.json."""
        row: dict[str, Any] = {
            name: getattr(self, name) for name in ("split", "validation", "test", "epochs", "seconds")
        }
        if self.initial is not None:
            row["initial"] = self.initial.to_json()
            del row["initial"]["split"]
        return row | dict(self.details)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One model with one setting on some splits of a graph: a cell of a results table."""

    model: str
    dataset: str
    metric: str
    splits: tuple[SplitScore, ...]
    config: Config
    seed: int
    device: str
    seconds: float
    """From the first line of the preparation to the last score."""
    outcomes: tuple[Outcome, ...] = field(repr=False)
    """The trained runs, in the order of ``splits``; they stay out of the JSON."""
    graph_options: Mapping[str, Any] = field(default_factory=dict)
    """What a synthetic graph was drawn with, where it was not the defaults."""

    @property
    def mean(self) -> float:
        """Mean test score over the splits."""
        return float(np.mean([s.test for s in self.splits]))

    @property
    def std(self) -> float | None:
        """Standard deviation of the test score over the splits (ddof 1); None for a single split."""
        return float(np.std([s.test for s in self.splits], ddof=DDOF)) if len(self.splits) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """Return everything a reader of the result needs, fit for JSON; scores are fractions."""
        return {
            "model": self.model,
            "dataset": self.dataset,
            "metric": self.metric,
            "splits": [score.to_json() for score in self.splits],
            "mean": self.mean,
            "std": self.std,
            "ddof": DDOF,
            "seed": self.seed,
            "config": self.config.to_dict(),
            "graph": dict(self.graph_options),
            "device": self.device,
            "seconds": self.seconds,
            "versions": versions(),
        }


def evaluate(
    graph: Graph,
    model: str,
    config: Config | Mapping[str, Any] | None = None,
    splits: Sequence[int | str] | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
    watch: Watch | None = None,
) -> Evaluation:
    """Train a model on some splits of a graph, by default all, and score each on its test nodes.

    ``config`` is the model's, or a mapping of settings; what it leaves out has its default. Every split
    is trained from the same seed. Test labels are read when all training is over, and for the scores only.
    """
    start = time.perf_counter()
    found = find_model(model)
    if not isinstance(config, Config):
        config = found.config.parse(config or {})
    positions = [_position(graph, key) for key in splits] if splits is not None else range(len(graph.splits))
    if not positions:
        raise GraphError(f"{graph.name} has no splits to train on; make some with graph.with_splits(...)")
    chosen = [graph.splits[i] for i in positions]
    for split in chosen:
        for part, mask in split.parts():
            if not mask.any():
                raise GraphError(f"split {split.name!r} has no {part} node, so nothing can be scored on it")

    device = torch.device(device)
    runs = [Run(found.name, config, split, seed) for split in chosen]
    outcomes = train_runs(graph, runs, device, watch=watch)
    scores = tuple(
        _score(graph, split, position, outcome)
        for split, position, outcome in zip(chosen, positions, outcomes)
    )
    return Evaluation(
        model=found.name,
        dataset=graph.name,
        metric=graph.metric,
        splits=scores,
        config=config,
        seed=seed,
        device=_device_name(device),
        seconds=time.perf_counter() - start,
        outcomes=tuple(outcomes),
    )


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    return {
        "heterophily": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "torch_geometric": torch_geometric.__version__,
        "numpy": np.__version__,
    }


def _score(graph: Graph, split: Split, position: int, outcome: Outcome) -> SplitScore:
    def one(trained: Trained, **more: Any) -> SplitScore:
        if not math.isfinite(trained.validation_loss):
            raise DivergedError(
                f"on split {position} of {graph.name} no epoch gave a finite validation loss; "
                "lower the learning rate or check the scale of the features"
            )
        test = open_score(graph, split, trained.logits)
        values = {"seconds": trained.seconds} | more
        return SplitScore(position, trained.validation, test, trained.epochs, **values)

    if outcome.initial is None:
        return one(outcome.trained, details=outcome.details)
    return one(
        outcome.trained,
        seconds=outcome.initial.seconds + outcome.trained.seconds,
        initial=one(outcome.initial),
        details=outcome.details,
    )


def _position(graph: Graph, key: int | str) -> int:
    split = graph.split(key)
    return next(i for i, other in enumerate(graph.splits) if other is split)


def _device_name(device: torch.device) -> str:
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
