"""Beyond the paper: HDP's verdicts around single nodes, one split, small enough to look through on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterophily.graph import Graph
from heterophily.outcomes import edge_table, probabilities
from heterophily.studies.plan import Plan, Trial, class_names, splits_neighborhoods
from heterophily.studies.result import Result

MOST = 12_000
"""Neighbors that are kept, of all nodes together; of a larger graph a sample of the nodes is taken."""
NEIGHBORS = 60
"""Neighbors that are kept of one node; of more a sample is taken."""
BINS = 25
PARTS = ("train", "validation", "test", "none")


@dataclass(frozen=True, kw_only=True, eq=False)
class Edges(Result):
    """Nodes with their neighbors in E', loops aside, and what HDP says of each."""

    study = "edges"

    classes: list[str]
    total: dict[str, int]
    """How many "nodes" and "edges" (of E', without loops) the graph has; not all of them may be here."""
    threshold: float | None
    """ε of Eq. 4: edges that are at least as probable are called homophilous; None if none is."""
    histogram: dict[str, dict[str, list[int]]]
    """Edges of the whole graph by truth ("same", "other") and verdict ("homophilous", "heterophilous"), in
    bins of equal width from P = 0 to 1; without edges that join two training nodes or an unlabelled one."""
    ids: list[int]
    """The nodes that are here. All that follows names a node by its place in this list."""
    labels: list[int]
    """True classes; -1 where unknown."""
    parts: list[int]
    """Places in ``PARTS``."""
    predicted: list[list[float]]
    """The probability of each class."""
    called: list[list[int]]
    """How many neighbors a node has that are called homophilous and heterophilous."""
    centers: list[int]
    """Nodes whose neighbors are here, in random order, so that the first ones are a sample too."""
    neighbors: list[list[int]]
    """The neighbors of each center, the most probable first; ``NEIGHBORS`` of them at most."""
    probability: list[list[float]]
    """P_uv (Eq. 3) of each of these edges."""
    homophilous: list[list[int]]
    """1 where the edge is called homophilous, 0 where heterophilous."""

    def tally(self) -> dict[str, dict[str, int]]:
        """Return the edges of the histogram by truth and verdict."""
        return {
            truth: {verdict: sum(bins) for verdict, bins in row.items()}
            for truth, row in self.histogram.items()
        }


def study(graph: Graph, plan: Plan | None = None, most: int = MOST) -> Edges:
    """Train HDP on the first split of the plan, by default split 0, and keep its verdicts."""
    plan = plan or Plan()
    plan = replace(plan, splits=(plan.splits or [0])[:1], seeds=1)
    (trials,), about = plan.train(graph, [("hdp", plan.config("hdp", graph.name))])
    return replace(look(graph, trials, most, plan.seed), about=about)


def look(graph: Graph, trials: Sequence[Trial], most: int = MOST, seed: int = 0) -> Edges:
    """Keep the verdicts of the first of some trained runs."""
    splits_neighborhoods(trials)
    split, outcome = trials[0]
    table = edge_table(outcome)
    assert table is not None
    table = table[table["source"] != table["target"]]
    u, v = table["source"].to_numpy(), table["target"].to_numpy()
    p, marked = table["probability"].to_numpy(), (table["verdict"] == "homophilous").to_numpy()
    y = graph.y.cpu().numpy()
    masks = [mask.cpu().numpy() for _, mask in split.parts()]

    # Every edge from both of its ends, by center, the most probable neighbor first.
    center, other = np.concatenate([u, v]), np.concatenate([v, u])
    edge = np.tile(np.arange(len(u)), 2)
    order = np.lexsort((-p[edge], center))
    other, edge = other[order], edge[order]
    start = np.searchsorted(center[order], np.arange(graph.num_nodes + 1))
    random = np.random.default_rng(seed)
    kept = _sample(start, most, random)

    ids = np.unique(np.concatenate([*(other[places] for places in kept.values()), np.array(list(kept), int)]))
    position = {int(node): k for k, node in enumerate(ids)}
    called = np.stack([
        np.bincount(center[np.tile(kind, 2)], minlength=graph.num_nodes) for kind in (marked, ~marked)
    ], axis=1)  # fmt: skip
    threshold = float(outcome.trained.state["parts"].threshold)
    return Edges(
        dataset=graph.name,
        about={"splits": [split.name]},
        classes=class_names(graph),
        total={"nodes": graph.num_nodes, "edges": len(u)},
        threshold=round(threshold, 6) if np.isfinite(threshold) else None,
        histogram=_histogram(p, marked, y[u], y[v], masks[0][u] & masks[0][v]),
        ids=ids.tolist(),
        labels=y[ids].tolist(),
        parts=np.select([mask[ids] for mask in masks], range(3), 3).tolist(),
        predicted=np.round(probabilities(outcome.trained)[ids].astype(float), 3).tolist(),
        called=called[ids].tolist(),
        centers=[position[node] for node in kept],
        neighbors=[[position[int(node)] for node in other[places]] for places in kept.values()],
        probability=[np.round(p[edge[places]], 4).tolist() for places in kept.values()],
        homophilous=[marked[edge[places]].astype(int).tolist() for places in kept.values()],
    )


def _sample(start: NDArray[Any], most: int, random: np.random.Generator) -> dict[int, NDArray[Any]]:
    """Return the places of the neighbors of some nodes, drawn at random until ``most`` are together."""
    kept: dict[int, NDArray[Any]] = {}
    for node in random.permutation(len(start) - 1).tolist():
        places = np.arange(start[node], start[node + 1])
        if len(places) > NEIGHBORS:
            places = np.sort(random.choice(places, NEIGHBORS, replace=False))
        if kept and len(places) > most:
            break
        most -= len(places)
        kept[node] = places
    return kept


def _histogram(
    p: NDArray[Any], marked: NDArray[Any], one: NDArray[Any], two: NDArray[Any], known: NDArray[Any]
) -> dict[str, dict[str, list[int]]]:
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    counted = (one >= 0) & (two >= 0) & ~known
    return {
        truth: {
            verdict: np.bincount(place[counted & alike & called], minlength=BINS).tolist()
            for verdict, called in (("homophilous", marked), ("heterophilous", ~marked))
        }
        for truth, alike in (("same", one == two), ("other", one != two))
    }
