"""Figure 7: t-SNE of H, H^hm and H^ht with their prototypes, and how orthogonal the prototypes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from heterophily.graph import Graph
from heterophily.outcomes import class_prototypes, representations
from heterophily.studies.plan import Plan, Trial, class_names, splits_neighborhoods
from heterophily.studies.result import Result

SPACES = ("h", "h_hm", "h_ht")
MOST = 5000
"""Nodes that are drawn; of more a sample is taken."""
COMPONENTS = 30
"""Principal components that t-SNE starts from: distances hardly change, and it takes less time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tsne(Result):
    """Nodes and prototypes in the plane."""

    study = "tsne"

    classes: list[str]
    labels: list[int]
    """The true class of each node that is drawn; -1 where unknown."""
    test: list[bool]
    """Whether it is a test node."""
    points: dict[str, list[list[float]]]
    """By representation ("h", "h_hm", "h_ht"): x and y of each node."""
    stars: dict[str, list[list[float] | None]]
    """The same of each class's prototype: the mean of its trusted nodes in that representation (Eq. 26)."""
    cosines: list[list[float | None]]
    """Between the prototypes of H^ego, which the TPC loss is about; None where a class has none."""

    def orthogonality(self) -> tuple[float, float]:
        """Return the mean and the largest cosine, by its size, between two different prototypes."""
        between = [self.cosines[i][j] for i, j in combinations(range(len(self.cosines)), 2)]
        known = [abs(value) for value in between if value is not None]
        return (float(np.mean(known)), max(known)) if known else (0.0, 0.0)


def study(graph: Graph, plan: Plan | None = None, most: int = MOST) -> Tsne:
    """Train HDP on the first split of the plan, by default split 0, and lay its representations out."""
    plan = plan or Plan()
    plan = replace(plan, splits=(plan.splits or [0])[:1], seeds=1)
    (trials,), about = plan.train(graph, [("hdp", plan.config("hdp", graph.name))])
    return replace(look(graph, trials, most, plan.seed), about=about)


def look(
    graph: Graph, trials: Sequence[Trial], most: int = MOST, seed: int = 0, spaces: Sequence[str] = SPACES
) -> Tsne:
    """Lay out some representations of the first of some trained runs."""
    splits_neighborhoods(trials)
    trial = trials[0]
    found = representations(trial.outcome)
    count = found.h.shape[0]
    random = np.random.default_rng(seed)
    nodes = np.sort(random.choice(count, most, replace=False)) if count > most else np.arange(count)
    points, stars = {}, {}
    for name in spaces:
        space = getattr(found, name)
        means, present = class_prototypes(trial.outcome, space)
        both = np.concatenate([space.cpu().numpy()[nodes], means.cpu().numpy()])
        plane = layout(both, seed)
        points[name] = plane[: len(nodes)].tolist()
        stars[name] = [
            place if there else None for place, there in zip(plane[len(nodes) :].tolist(), present)
        ]
    egos, there = class_prototypes(trial.outcome, found.h_ego)
    return Tsne(
        dataset=graph.name,
        about={"splits": [trial.split.name]},
        classes=class_names(graph),
        labels=graph.y.cpu().numpy()[nodes].tolist(),
        test=trial.split.test.cpu().numpy()[nodes].tolist(),
        points=points,
        stars=stars,
        cosines=cosine_matrix(egos.cpu().numpy(), there.cpu().numpy()),
    )


def layout(x: NDArray[Any], seed: int = 0) -> NDArray[Any]:
    """Lay rows out in the plane by t-SNE, rounded to what can be seen; if all are alike, on one spot."""
    x = x.astype(np.float64)
    if not np.ptp(x, axis=0).any():
        return np.zeros((len(x), 2))
    width = min(COMPONENTS, *x.shape)
    if x.shape[1] > width:
        x = PCA(width, random_state=seed).fit_transform(x)
    perplexity = min(30.0, max((len(x) - 1) / 3, 1.0))
    init = "pca" if min(x.shape) >= 2 else "random"
    # A wider angle than the default of 0.5 saves a third of the time and is hardly less exact.
    tsne = TSNE(perplexity=perplexity, init=init, random_state=seed, max_iter=600, angle=0.8)
    plane = tsne.fit_transform(x)
    return np.round(plane.astype(np.float64), 2)


def cosine_matrix(rows: NDArray[Any], present: NDArray[Any]) -> list[list[float | None]]:
    """Return the cosines between rows, (K, K), with None in the rows and columns of absent ones."""
    long = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(long > 0, long, 1)[:, None]
    there = present & (long > 0)
    cosines = unit @ unit.T
    return [
        [float(value) if there[i] and there[j] else None for j, value in enumerate(row)]
        for i, row in enumerate(cosines)
    ]
