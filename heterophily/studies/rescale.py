"""Figure 5: the accuracy of the partition and of the classes against the rescaling λ of Eq. 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heterophily.graph import Graph
from heterophily.studies.partition import Judge, accuracy
from heterophily.studies.plan import Entry, Plan, scored
from heterophily.studies.result import Result, StudyError, by_split, mean, std

GRID = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
"""Table 2's range."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rescale(Result):
    """Accuracies by λ; lists of lists are by λ, then one number per split (of a single split: per seed)."""

    study = "rescale"

    rescale: list[float]
    chosen: float
    """λ of the settings that all others come from."""
    test: list[list[float]]
    partition: list[list[float]]
    """Share of the edges of E', loops included, that are called what they are."""
    hidden: list[list[float]]
    """The same without loops and edges that join two training nodes."""

    def line(self, name: str) -> tuple[list[float], list[float]]:
        """Return mean and standard deviation by λ of "test", "partition" or "hidden"."""
        rows: list[list[float]] = getattr(self, name)
        return [mean(row) or 0.0 for row in rows], [std(row) or 0.0 for row in rows]


def study(graph: Graph, plan: Plan | None = None, grid: Sequence[float] = GRID) -> Rescale:
    """Train HDP with every λ on all splits together."""
    plan = plan or Plan()
    if not grid or min(grid) <= 0:
        raise StudyError(
            f"λ multiplies the homophily ratio, so it is above 0; not {', '.join(map(str, grid))}"
        )
    grid = sorted(set(map(float, grid)))
    config = plan.config("hdp", graph.name)
    entries: list[Entry] = [("hdp", config.replace(rescale=value)) for value in grid]
    trials, about = plan.train(graph, entries)
    judge = Judge(graph.y)
    tallies = [[judge.tally(trial.outcome.trained.state) for trial in row] for row in trials]
    about["settings"] = {"hdp": config.changes()}

    def told_apart(prefix: str) -> list[list[float]]:
        return [by_split([accuracy(t, prefix) or 0.0 for t in row], plan.seeds) for row in tallies]

    return Rescale(
        dataset=graph.name,
        about=about,
        rescale=grid,
        chosen=float(config.to_dict()["rescale"]),
        test=[by_split([scored(graph, trial) for trial in row], plan.seeds) for row in trials],
        partition=told_apart(""),
        hidden=told_apart("hidden_"),
    )
