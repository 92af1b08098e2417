"""Beyond the paper: accuracy by local homophily and by degree, HDP beside models that it should beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterophily.adjacency import edges
from heterophily.graph import Graph
from heterophily.studies.plan import Plan, Trial
from heterophily.studies.result import Result, StudyError, ratio, std

MODELS = ("hdp", "mlp", "gcn")
HOMOPHILY = [0.2, 0.4, 0.6, 0.8]
"""Inner edges of the bins of local homophily; an edge belongs to the bin above it."""
DEGREES = [1, 2, 3, 5, 9, 17, 33, 65, 129]
"""Where the bins of degrees begin: 0, 1, 2, 3-4, 5-8, 9-16 and so on, the last without an end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Local(Result):
    """Test nodes by bin: how many there are, and how many of them each model gets right."""

    study = "local"

    models: list[str]
    bins: dict[str, list[str]]
    """By "homophily" and "degree": the bins in words."""
    nodes: dict[str, list[list[int]]]
    """Test nodes by run and bin; a node without neighbors has no local homophily."""
    right: dict[str, dict[str, list[list[int]]]]
    """By "homophily" or "degree" and model: the nodes of them that are classified right, by run and bin."""

    def line(self, by: str, model: str) -> tuple[list[float | None], list[float | None]]:
        """Return the accuracy in each bin over all runs, and its standard deviation over the runs."""
        right, nodes = np.array(self.right[by][model]), np.array(self.nodes[by])
        shares = [[ratio(*cell) for cell in zip(*run)] for run in zip(right, nodes)]
        return [ratio(*cell) for cell in zip(right.sum(0), nodes.sum(0))], [std(c) for c in zip(*shares)]

    def total(self, by: str) -> list[int]:
        """Return the test nodes in each bin, over all runs."""
        return np.sum(self.nodes[by], axis=0).tolist()


def study(graph: Graph, plan: Plan | None = None, models: Sequence[str] = MODELS) -> Local:
    """Train the models on all splits together and score their test nodes bin by bin."""
    trials, about = (plan or Plan()).train_models(graph, models)
    return replace(look(graph, trials), about=about)


def look(graph: Graph, trials: Mapping[str, Sequence[Trial]]) -> Local:
    """Score the test nodes of trained runs bin by bin; each model has a run on the same splits."""
    homophily, degree = local_homophily(graph)
    y = graph.y.cpu().numpy()
    places = {
        "homophily": np.where(degree > 0, np.digitize(homophily, HOMOPHILY), -1),
        "degree": np.digitize(degree, DEGREES),
    }
    bins = {"homophily": _homophily_words(), "degree": _degree_words()}
    nodes: dict[str, list[list[int]]] = {by: [] for by in places}
    right: dict[str, dict[str, list[list[int]]]] = {by: {model: [] for model in trials} for by in places}
    for i, (model, some) in enumerate(trials.items()):
        for trial in some:
            test = trial.split.test.cpu().numpy() & (y >= 0)
            if not test.any():
                raise StudyError("no test node has a label, so there is nothing to score")
            hit = test & (trial.outcome.trained.logits.argmax(-1).cpu().numpy() == y)
            for by, place in places.items():
                size = len(bins[by])
                right[by][model].append(_count(place[hit], size))
                if i == 0:
                    nodes[by].append(_count(place[test], size))
    for by in places:  # bins that no node is in say nothing
        used = [k for k, total in enumerate(np.sum(nodes[by], axis=0)) if total]
        bins[by] = [bins[by][k] for k in used]
        nodes[by] = [[run[k] for k in used] for run in nodes[by]]
        right[by] = {model: [[run[k] for k in used] for run in runs] for model, runs in right[by].items()}
    first = next(iter(trials.values()))
    return Local(
        dataset=graph.name,
        about={"splits": [trial.split.name for trial in first]},
        models=list(trials),
        bins=bins,
        nodes=nodes,
        right=right,
    )


def local_homophily(graph: Graph) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the share of each node's neighbors that are of its class, and its degree, (N,) both.

    Neighbors are those of the undirected graph without loops; unlabelled ones are of no class, and count.
    """
    source, target = edges(graph, loops="none").cpu().numpy()
    y = graph.y.cpu().numpy()
    same = (y[source] == y[target]) & (y[source] >= 0)
    degree = np.bincount(source, minlength=graph.num_nodes)
    alike = np.bincount(source, weights=same, minlength=graph.num_nodes)
    return alike / degree.clip(min=1), degree


def _count(places: NDArray[Any], bins: int) -> list[int]:
    return np.bincount(places[places >= 0], minlength=bins).tolist()


def _homophily_words() -> list[str]:
    ends = [0.0, *HOMOPHILY, 1.0]
    return [f"{low:g}–{high:g}" for low, high in pairwise(ends)]


def _degree_words() -> list[str]:
    starts = [0, *DEGREES]
    words = [str(a) if b - a == 1 else f"{a}–{b - 1}" for a, b in pairwise(starts)]
    return [*words, f"≥{starts[-1]}"]
