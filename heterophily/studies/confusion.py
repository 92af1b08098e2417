"""Beyond the paper: which classes are taken for which, on the test nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heterophily.graph import Graph
from heterophily.studies.plan import Plan, Trial, class_names
from heterophily.studies.result import Result, StudyError

MODELS = ("hdp",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Confusion(Result):
    """Test nodes by true and predicted class."""

    study = "confusion"

    classes: list[str]
    models: list[str]
    counts: dict[str, list[list[list[int]]]]
    """By model, one matrix per run: true class in rows, predicted class in columns."""

    def total(self, model: str) -> list[list[int]]:
        """Return the matrix added up over the runs."""
        return np.sum(self.counts[model], axis=0).tolist()

    def shares(self, model: str) -> list[list[float]]:
        """Return each row's shares; a class without test nodes has zeros."""
        total = np.asarray(self.total(model), dtype=float)
        return (total / total.sum(1, keepdims=True).clip(min=1)).tolist()

    def accuracy(self, model: str) -> float:
        """Return the accuracy over all runs."""
        total = np.asarray(self.total(model))
        return float(np.trace(total) / total.sum())


def study(graph: Graph, plan: Plan | None = None, models: Sequence[str] = MODELS) -> Confusion:
    """Train the models on all splits together and count what they take for what."""
    trials, about = (plan or Plan()).train_models(graph, models)
    return replace(look(graph, trials), about=about)


def look(graph: Graph, trials: Mapping[str, Sequence[Trial]]) -> Confusion:
    """Count what trained runs take for what."""
    y, classes = graph.y.cpu().numpy(), graph.num_classes
    counts: dict[str, list[list[list[int]]]] = {model: [] for model in trials}
    for model, some in trials.items():
        for trial in some:
            test = trial.split.test.cpu().numpy() & (y >= 0)
            if not test.any():
                raise StudyError("no test node has a label, so there is nothing to count")
            matrix = np.zeros((classes, classes), dtype=int)
            np.add.at(matrix, (y[test], trial.outcome.trained.logits.argmax(-1).cpu().numpy()[test]), 1)
            counts[model].append(matrix.tolist())
    first = next(iter(trials.values()))
    return Confusion(
        dataset=graph.name,
        about={"splits": [trial.split.name for trial in first]},
        classes=class_names(graph),
        models=list(trials),
        counts=counts,
    )
