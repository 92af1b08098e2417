"""What several checks need to know of a graph, each computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from heterophily.graph.graph import Graph
from heterophily.graph.known import Fingerprint, fingerprint
from heterophily.graph.twins import Hashes, Ints, Rows, both, number_rows, row_hashes

Bools = NDArray[np.bool_]


class Look:
    """A graph as the checks look at it, on the CPU and in NumPy."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.y = graph.y.numpy()
        self.labelled = self.y >= 0
        self.nodes = graph.num_nodes
        self.splits = graph.splits
        u, v = graph.edge_index.numpy()
        self.loops = int((u == v).sum())
        forth, back = np.sort(u * self.nodes + v), np.sort(v * self.nodes + u)
        self.columns = len(forth)
        self.forth = distinct(forth)
        self.duplicates = self.columns - len(self.forth)
        back = distinct(back)
        self.symmetric = np.array_equal(self.forth, back)
        whole = self.forth if self.symmetric else distinct(np.sort(np.concatenate([self.forth, back])))
        self.one_way = len(whole) - len(self.forth)  # what the reversed edges add
        row, column = np.divmod(whole, self.nodes)
        proper = row != column
        self.neighbors = _lists(row[proper], column[proper], self.nodes)
        self.degree = self.neighbors.lengths

    @cached_property
    def out(self) -> Rows:
        """Out-neighbors as given."""
        return _lists(*np.divmod(self.forth, self.nodes), self.nodes)

    @cached_property
    def into(self) -> Rows:
        """In-neighbors as given."""
        u, v = np.divmod(self.forth, self.nodes)
        order = np.argsort(v, kind="stable")
        return _lists(v[order], u[order], self.nodes)

    @cached_property
    def rows(self) -> Rows:
        """The features of each node."""
        return Rows.of(self.graph.x)

    @cached_property
    def hashes(self) -> Hashes:
        """The hashes of all features."""
        return row_hashes(self.rows)

    @cached_property
    def number(self) -> dict[str, Ints]:
        """Numberings by which nodes are twins, by the kind of twin."""
        found = {"neighbors": number_rows(self.neighbors)}
        if not self.symmetric:
            found |= {"out-neighbors": number_rows(self.out), "in-neighbors": number_rows(self.into)}
        if self.graph.num_features:
            found["features"] = number_rows(self.rows, self.hashes)
            found["neighbors and features"] = both(found["neighbors"], found["features"])
        return found

    @cached_property
    def unfeatured(self) -> Bools:
        """Which nodes have no feature but zeros."""
        return self.rows.lengths == 0

    @cached_property
    def component(self) -> Ints:
        """The number of each node's component, the largest first."""
        shape = (self.nodes, self.nodes)
        entries: Any = (np.ones(self.degree.sum(), np.int8), self.neighbors.indices, self.neighbors.indptr)
        matrix: Any = scipy.sparse.csr_array(entries, shape)
        _, number = scipy.sparse.csgraph.connected_components(matrix, directed=False)
        sizes = np.bincount(number)
        return np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")[number]

    @cached_property
    def mark(self) -> Fingerprint:
        """What the graph is recognized by."""
        return fingerprint(self.neighbors, self.hashes if self.graph.num_features else None, self.y)

    @cached_property
    def counts(self) -> Ints:
        """Nodes of each class."""
        return np.bincount(self.y[self.labelled], minlength=self.graph.num_classes)

    def mean_share(self, nodes: Bools, part: str = "test") -> float:
        """Return which share of a part some nodes are, the mean over splits; without splits, of all nodes."""
        masks = [getattr(split, part).numpy() for split in self.splits]
        shares = [nodes[mask].mean() for mask in masks if mask.any()]
        return float(np.mean(shares)) if shares else float(nodes.mean())

    def facts(self) -> dict[str, Any]:
        """Return the plain numbers."""
        sizes = {
            part: sorted({int(mask.sum()) for mask in (getattr(split, part) for split in self.splits)})
            for part in ("train", "validation", "test")
        }
        return {
            "nodes": self.nodes,
            "columns": self.columns,
            "edges": int(self.degree.sum()) // 2,
            "loops": self.loops,
            "undirected": bool(self.symmetric),
            "features": self.graph.num_features,
            "classes": self.graph.num_classes,
            "class_sizes": self.counts.tolist(),
            "unlabelled": int((~self.labelled).sum()),
            "isolated": int((self.degree == 0).sum()),
            "components": int(self.component.max()) + 1,
            "splits": len(self.splits),
            "split_sizes": sizes,
            "homophily": edge_homophily(self, False),
            "homophily_with_loops": edge_homophily(self, True),
        }


def distinct(keys: Ints) -> Ints:
    """Return sorted keys without repetitions."""
    return keys[np.diff(keys, prepend=-1) > 0]


def _lists(row: Ints, column: Ints, nodes: int) -> Rows:
    """Return neighbor lists from edges sorted by row."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=nodes))])
    return Rows(indptr, column.astype(np.int32), None)


def edge_homophily(look: Look, loops: bool) -> float | None:
    """Return the share of undirected edges between labelled nodes that join one class; a loop is an edge."""
    u, v = pairs(look)
    same, total = int((look.y[u] == look.y[v]).sum()), len(u)
    if loops:
        keys = look.forth[look.forth // look.nodes == look.forth % look.nodes] % look.nodes
        mine = int(look.labelled[keys].sum())
        same, total = same + mine, total + mine
    return same / total if total else None


def pairs(look: Look) -> tuple[Ints, Ints]:
    """Return every undirected edge between labelled nodes once."""
    assert look.neighbors.indices is not None
    u, v = np.repeat(np.arange(look.nodes), look.degree), look.neighbors.indices
    kept = (u < v) & look.labelled[u] & look.labelled[v]
    return u[kept], v[kept].astype(np.int64)
