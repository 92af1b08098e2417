"""Figure 1b: which classes the neighbors of a class have, in the whole and the heterophilous neighborhood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterophily.graph import Graph
from heterophily.studies.plan import Plan, Trial, class_names, splits_neighborhoods
from heterophily.studies.result import Result

LABELS = ("true", "pseudo")
NEIGHBORHOODS = ("whole", "heterophilous")
Matrix = list[list[float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Preference(Result):
    """Average connection preferences: row i is the mean over the nodes of class i of the shares of
    their neighbors in each class; nodes without neighbors do not count, loops are no neighbors."""

    study = "preference"

    classes: list[str]
    shares: dict[str, dict[str, Matrix]]
    """By labels ("true", "pseudo") and neighborhood ("whole", "heterophilous"), the mean of each row over
    the runs in which the class has nodes."""
    nodes: dict[str, dict[str, list[int]]]
    """How many nodes of each class have such neighbors, in the first run."""

    def apart(self, labels: str, neighborhood: str) -> float | None:
        """Return how far the classes differ: the mean total variation distance between two rows."""
        matrix = np.asarray(self.shares[labels][neighborhood])
        rows = [row for row in matrix if row.sum() > 0]
        between = [np.abs(a - b).sum() / 2 for a, b in combinations(rows, 2)]
        return float(np.mean(between)) if between else None


def study(graph: Graph, plan: Plan | None = None) -> Preference:
    """Train HDP and count the neighbors in its partition."""
    plan = plan or Plan(splits=[0])
    (trials,), about = plan.train(graph, [("hdp", plan.config("hdp", graph.name))])
    return replace(look(graph, trials), about=about)


def look(graph: Graph, trials: Sequence[Trial]) -> Preference:
    """Count the neighbors in the partitions of trained runs."""
    splits_neighborhoods(trials)
    counted = [_counted(graph, trial) for trial in trials]
    return Preference(
        dataset=graph.name,
        about={"splits": [trial.split.name for trial in trials]},
        classes=class_names(graph),
        shares={
            labels: {
                part: mean_rows([run[labels, part] for run in counted]).tolist() for part in NEIGHBORHOODS
            }
            for labels in LABELS
        },
        nodes={
            labels: {part: counted[0][labels, part][1].tolist() for part in NEIGHBORHOODS}
            for labels in LABELS
        },
    )


def _counted(graph: Graph, trial: Trial) -> dict[tuple[str, str], tuple[NDArray[Any], NDArray[Any]]]:
    trained = trial.outcome.trained
    edges, marked = trained.state["edges"], trained.state["parts"].is_homophilous.cpu().numpy()
    u, v = edges.u.cpu().numpy(), edges.v.cpu().numpy()
    named = {"true": graph.y.cpu().numpy(), "pseudo": trained.logits.argmax(-1).cpu().numpy()}
    kept = {"whole": u != v, "heterophilous": (u != v) & ~marked}
    return {
        (labels, part): preferences(u[kept[part]], v[kept[part]], named[labels], graph.num_classes)
        for labels in LABELS
        for part in NEIGHBORHOODS
    }


def mean_rows(runs: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> NDArray[Any]:
    """Return the mean of each row, (K, K), over the runs in which it is over some nodes; else zeros."""
    there = np.array([nodes > 0 for _, nodes in runs])
    return np.sum([rows for rows, _ in runs], axis=0) / there.sum(0).clip(min=1)[:, None]


def preferences(
    u: NDArray[Any], v: NDArray[Any], labels: NDArray[Any], classes: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the average preference of each class, (K, K), and how many nodes it is over, (K,).

    Undirected edges join ``u`` and ``v``; an edge of an unlabelled node (-1) does not count.
    """
    known = (labels[u] >= 0) & (labels[v] >= 0)
    u, v = u[known], v[known]
    counts = np.zeros((len(labels), classes))
    np.add.at(counts, (u, labels[v]), 1)
    np.add.at(counts, (v, labels[u]), 1)
    degree = counts.sum(1)
    some = degree > 0
    shares, nodes = np.zeros((classes, classes)), np.zeros(classes, dtype=int)
    np.add.at(shares, labels[some], counts[some] / degree[some, None])
    np.add.at(nodes, labels[some], 1)
    return shares / nodes.clip(min=1)[:, None], nodes
