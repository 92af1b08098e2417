"""Beyond the paper: which model wins at which homophily, on synthetic graphs from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heterophily.graph.synthetic import synthetic
from heterophily.models import find_model
from heterophily.studies.plan import Entry, Plan, scored
from heterophily.studies.result import Result, StudyError, by_split, mean, std

MODELS = ("hdp", "mlp", "gcn", "gpr-gnn", "h2gcn")
GRID = tuple(k / 10 for k in range(11))
GRAPH: dict[str, Any] = {"num_nodes": 1000, "splits": 5}


@dataclass(frozen=True, kw_only=True, eq=False)
class Homophily(Result):
    """Test scores by homophily, on graphs that are alike in all else."""

    study = "homophily"

    homophily: list[float]
    models: list[str]
    test: dict[str, list[list[float]]]
    """By model and homophily, one score per split (of a single split: per seed)."""

    def line(self, model: str) -> tuple[list[float], list[float]]:
        """Return mean and standard deviation by homophily."""
        rows = self.test[model]
        return [mean(row) or 0.0 for row in rows], [std(row) or 0.0 for row in rows]

    def best(self) -> list[list[str]]:
        """Return at each homophily the model of the highest mean and those within a paired standard error."""
        means = {model: self.line(model)[0] for model in self.models}
        found = []
        for k in range(len(self.homophily)):
            first = max(self.models, key=lambda model: means[model][k])
            behind = {m: np.subtract(self.test[first][k], self.test[m][k]).tolist() for m in self.models}
            errors = {m: (std(each) or 0.0) / len(each) ** 0.5 for m, each in behind.items()}
            found.append([m for m, each in behind.items() if np.mean(each) <= errors[m]])
        return found


def study(
    plan: Plan | None = None,
    models: Sequence[str] = MODELS,
    grid: Sequence[float] = GRID,
    options: Mapping[str, Any] | None = None,
) -> Homophily:
    """Draw a graph for each homophily and train the models on its splits, those of one graph together.

    ``options`` are those of the synthetic graph; the models have their default settings.
    """
    plan = plan or Plan()
    if not grid or not all(0 <= value <= 1 for value in grid):
        raise StudyError(f"homophily lies between 0 and 1; not {', '.join(map(str, grid))}")
    if options and "homophily" in options:
        raise StudyError("the homophily is what this study varies; say which with its grid")
    grid = sorted(set(map(float, grid)))
    models = list(dict.fromkeys(find_model(model).name for model in models))
    drawn = GRAPH | dict(options or {})
    test: dict[str, list[list[float]]] = {model: [] for model in models}
    seconds, about = 0.0, dict[str, Any]()
    for value in grid:
        graph = synthetic(**drawn, homophily=value)
        entries: list[Entry] = [(model, plan.config(model, graph.name)) for model in models]
        trials, about = plan.train(graph, entries)
        seconds += about["seconds"]
        for model, some in zip(models, trials):
            test[model].append(by_split([scored(graph, trial) for trial in some], plan.seeds))
    return Homophily(
        dataset="synthetic",
        about=about | {"graph": drawn, "seconds": round(seconds, 2), "runs": about["runs"] * len(grid)},
        homophily=grid,
        models=models,
        test=test,
    )
