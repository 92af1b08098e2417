"""How alike neighbors are: measures of homophily, sparse, on all labels or on some, with intervals.

All are of the undirected graph without loops and duplicates, and of the edges between nodes whose label is
known. Let m_ij be the number of edge ends at class i whose other end is at class j, M their sum (twice the
edges), and p_i = m_i. / M the share of class i among the edge ends.

- edge: sum_i m_ii / M, the share of edges that join one class
- node: the mean over nodes of the share of their neighbors that are of their class (Pei et al., 2020)
- class-insensitive: sum_i max(0, m_ii / m_i. - n_i / n) / (C - 1) (Lim et al., 2021)
- adjusted: (edge - sum_i p_i²) / (1 - sum_i p_i²), 0 where edges do not care for classes (Platonov et
  al., 2023)
- label informativeness: the share of a label's entropy that the label at the other end of an edge takes
  away, 2 - H(m / M) / H(p) (Platonov et al., 2023)
- compatibility: row i is m_ij / m_i., to which classes the edges of class i lead
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from heterophily.graph.checks import GraphError
from heterophily.graph.graph import Graph

Floats = NDArray[np.float64]
MEASURES = ("edge", "node", "class_insensitive", "adjusted", "label_informativeness")
BLOCK = 1 << 24
"""Numbers in one block of resampled weights."""


@dataclass(frozen=True, eq=False)
class Homophily:
    """The measures of a graph; NaN where there is nothing to measure."""

    edge: float
    node: float
    class_insensitive: float
    adjusted: float
    label_informativeness: float
    compatibility: Floats
    """(C, C); a row of a class without edges is NaN."""
    ends: Floats
    """(C,): the share of each class among the edge ends."""
    nodes: int
    """Nodes whose label is known."""
    edges: int
    """Edges between two such nodes."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Measure -> the lower and upper end of its interval, where intervals were asked for."""
    level: float = 0.95
    """How often intervals made this way hold the true value."""

    @property
    def informativeness_parts(self) -> tuple[float, float]:
        """What edges within a class and what edges between classes add to label informativeness.

        A part is negative where such edges are rarer than if edges did not care for classes; what the
        other kind then tells outweighs it.
        """
        joint = np.nan_to_num(self.ends[:, None] * self.compatibility)
        told = np.zeros_like(joint)
        there = joint > 0
        told[there] = joint[there] * np.log(joint[there] / np.outer(self.ends, self.ends)[there])
        whole = float(_entropy(self.ends[None])[0])
        within = float(np.trace(told))
        return (within / whole, (float(told.sum()) - within) / whole) if whole > 0 else (np.nan, np.nan)

    def to_json(self) -> dict[str, Any]:
        """Return the measures, fit for JSON; None where there is nothing to measure."""
        found: dict[str, Any] = {name: _number(getattr(self, name)) for name in MEASURES}
        found |= {"compatibility": [[_number(cell) for cell in row] for row in self.compatibility]}
        within, between = map(_number, self.informativeness_parts)
        found |= {"informativeness_within": within, "informativeness_between": between}
        found |= {"nodes": self.nodes, "edges": self.edges}
        if self.intervals:
            ends = {name: [_number(end) for end in ends] for name, ends in self.intervals.items()}
            found |= {"level": self.level, "intervals": ends}
        return found


def homophily(
    graph: Graph, mask: Tensor | None = None, resamples: int = 0, seed: int = 0, level: float = 0.95
) -> Homophily:
    """Measure a graph; with ``mask``, a boolean (N,), by the labels of these nodes alone.

    A node without any neighbor counts as 0 in node homophily, as in PyG; a node whose neighbors are all of
    unknown class is left out of it, as nothing is known of it.

    ``resamples`` above 0, such as 200, adds percentile intervals. What is resampled are nodes, with
    replacement, and an edge counts as often as the number of draws of its one end times that of the other
    (the vertex bootstrap of Snijders and Borgatti, 1999). Resampling edges would take the edges of a hub
    for independent of each other, and the intervals would be too narrow. These are rather too wide: where
    edges are in truth independent, by a factor of up to √3.
    """
    known = _known(graph, mask)
    counts = _Counts(graph, known)
    size = int(known.sum())
    point = counts.measures(np.ones((graph.num_nodes, 1)))
    intervals: dict[str, tuple[float, float]] = {}
    if resamples:
        random = np.random.Generator(np.random.PCG64(seed))
        parts = []
        step = max(1, BLOCK // max(graph.num_nodes, len(counts.first)))
        for start in range(0, resamples, step):
            draws = random.multinomial(size, known / size, min(step, resamples - start))
            parts.append(counts.measures(draws.T.astype(np.float64)))
        ends = (0.5 - level / 2, 0.5 + level / 2)
        for name in MEASURES:
            drawn = np.concatenate([part[name] for part in parts])
            drawn = drawn[np.isfinite(drawn)]
            low, high = np.quantile(drawn, ends) if len(drawn) else (np.nan, np.nan)
            intervals[name] = (float(low), float(high))
    measures = {name: float(point[name][0]) for name in MEASURES}
    return Homophily(
        **measures, compatibility=_rows(point["counts"][0]), ends=point["share"][0], nodes=size,
        edges=len(counts.first), intervals=intervals, level=level,
    )  # fmt: skip


def local_homophily(graph: Graph, mask: Tensor | None = None) -> Tensor:
    """Return for each node, (N,), the share of its neighbors of known class that are of its own class.

    NaN where the node's own class is unknown or that of all its neighbors.
    """
    counts = _Counts(graph, _known(graph, mask))
    ones = np.ones((graph.num_nodes, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return torch.from_numpy((counts.same @ ones / (counts.all @ ones)).squeeze(1))


def neighbor_classes(graph: Graph, mask: Tensor | None = None) -> scipy.sparse.csr_array:
    """Return how many neighbors of each known class every node has, (N, C); its own label is not used."""
    known = _known(graph, mask)
    source, target = graph.undirected().without_self_loops().edge_index.cpu().numpy()
    there = known[target]
    label = graph.y.cpu().numpy()[target[there]]
    shape = (graph.num_nodes, graph.num_classes)
    return scipy.sparse.csr_array((np.ones(len(label)), (source[there], label)), shape)


class _Counts:
    """The edges between known nodes, by the classes of their ends; nodes may count more than once."""

    def __init__(self, graph: Graph, known: NDArray[np.bool_]) -> None:
        self.classes = graph.num_classes
        self.label = graph.y.cpu().numpy()
        self.known = known
        edges = graph.undirected().without_self_loops().edge_index.cpu().numpy()
        self.alone = np.bincount(edges[0], minlength=graph.num_nodes) == 0
        edges = edges[:, known[edges[0]] & known[edges[1]]]
        once = edges[:, edges[0] < edges[1]]
        pair = self.label[once[0]] * self.classes + self.label[once[1]]
        order = np.argsort(pair, kind="stable")
        self.first, self.second = once[:, order]
        self.pairs, self.starts = np.unique(pair[order], return_index=True)
        shape = (graph.num_nodes, graph.num_nodes)
        same = self.label[edges[0]] == self.label[edges[1]]
        self.all, self.same = (
            scipy.sparse.csr_array((np.ones(part.shape[1]), tuple(part)), shape)
            for part in (edges, edges[:, same])
        )

    def measures(self, weight: Floats) -> dict[str, Floats]:
        """Return the measures with nodes counted as often as each column of ``weight``, (N, B), says."""
        times = weight.shape[1]
        flat = np.zeros((self.classes**2, times))
        if len(self.first):
            flat[self.pairs] = np.add.reduceat(weight[self.first] * weight[self.second], self.starts)
        counts: Floats = flat.reshape(self.classes, self.classes, times).transpose(2, 0, 1)
        counts = counts + counts.transpose(0, 2, 1)  # both ends of each edge

        weight = np.where(self.known[:, None], weight, 0.0)
        nodes = np.stack([weight[self.label == c].sum(0) for c in range(self.classes)], 1)
        alike, any_class = self.same @ weight, self.all @ weight
        judged = weight * ((any_class > 0) | self.alone[:, None])
        ends, total = counts.sum(2), counts.sum((1, 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            own = np.diagonal(counts, axis1=1, axis2=2)
            edge = own.sum(1) / total
            share = ends / total[:, None]
            expected = (share**2).sum(1)
            inside = own / np.where(ends > 0, ends, 1)
            excess = np.maximum(inside - nodes / nodes.sum(1, keepdims=True), 0).sum(1)
            local = np.divide(alike, any_class, out=np.zeros_like(alike), where=any_class > 0)
            before = _entropy(share)
            informative = 2 - _entropy(counts.reshape(times, -1) / total[:, None]) / before
            return {
                "edge": edge,
                "node": (judged * local).sum(0) / judged.sum(0),
                "class_insensitive": np.where(total > 0, excess / max(self.classes - 1, 1), np.nan),
                "adjusted": np.where(expected < 1, (edge - expected) / (1 - expected), np.nan),
                "label_informativeness": np.where(before > 0, informative, np.nan),
                "counts": counts,
                "share": share,
            }


def _entropy(shares: Floats) -> Floats:
    """Return the entropy of each row, in nats."""
    logarithm: Floats = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    total: Floats = -(shares * logarithm).sum(1)
    return total


def _rows(counts: Floats) -> Floats:
    """Divide each row by its sum."""
    with np.errstate(invalid="ignore"):
        shares: Floats = counts / counts.sum(1, keepdims=True)
    return shares


def _known(graph: Graph, mask: Tensor | None) -> NDArray[np.bool_]:
    """Return which labels are known and wanted."""
    known = graph.y >= 0
    if mask is not None:
        if mask.dtype != torch.bool or mask.shape != known.shape:
            raise GraphError(
                f"mask is {mask.dtype} of shape {tuple(mask.shape)}; pass a boolean mask of shape "
                f"({graph.num_nodes},), such as graph.splits[0].train"
            )
        known = known & mask.to(known.device)
    if not known.any():
        raise GraphError(
            "no node has a known label, so nothing can be measured; y needs labels other than -1"
        )
    found: NDArray[np.bool_] = known.cpu().numpy()
    return found


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
