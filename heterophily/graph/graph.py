"""What a graph is: features, labels, edges and splits, checked once when they come together."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from heterophily.graph import convert
from heterophily.graph.checks import (
    GraphError,
    check_labels,
    first,
    permute_rows,
    read_edges,
    read_features,
    read_integers,
    read_labels,
    read_tensor,
    stack_rows,
)
from heterophily.graph.splits import Split, random_splits
from heterophily.room import available

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

__all__ = ["METRICS", "Graph", "GraphError", "MissingClassWarning", "Split", "random_splits"]

METRICS = ("accuracy", "roc_auc")
WALKS = 1 << 24  # of two steps, in one block of a sparse product
PAIR = 100  # bytes that a pair of E² takes while it becomes an edge


class MissingClassWarning(UserWarning):
    """A class has no node in a training set, so no model can learn it there."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph for node classification: N nodes, F features, C classes, E columns of ``edge_index``.

    Arrays may be lists, NumPy, SciPy sparse or torch, of any real (features) or integer (labels, edges)
    type. Everything is checked and brought to the device of ``edge_index``; tensors are not copied.
    """

    x: Tensor
    """Features (N, F), float32, dense or sparse CSR. ``None`` gives (N, 0): a graph without features."""
    y: Tensor
    """Labels (N,), int64: a class from 0 to C - 1, or -1 for an unlabelled node."""
    edge_index: Tensor
    """Edges (2, E), int64, as given: directed or not, with or without loops and duplicates."""
    splits: tuple[Split, ...] = ()
    """Splits of unique names, of labelled nodes only."""
    num_classes: int = 0
    """C; where not given, the number of class names or else the largest label plus one."""
    name: str = "graph"
    class_names: tuple[str, ...] | None = None
    metric: str = "accuracy"
    """What a score on this graph means: "accuracy", or "roc_auc" where there are two classes."""

    def __init__(
        self,
        x: Any,
        y: Any,
        edge_index: Any,
        splits: Iterable[Split] | Split = (),
        num_classes: int | None = None,
        name: str = "graph",
        class_names: Sequence[str] | None = None,
        metric: str = "accuracy",
    ) -> None:
        y = read_labels(y)
        x = read_features(x, len(y))  # before the edges: a node too few makes both wrong
        edge_index = read_edges(edge_index, len(y))
        x, y = x.to(edge_index.device), y.to(edge_index.device)
        class_names = None if class_names is None else tuple(class_names)
        if num_classes is None:
            num_classes = len(class_names) if class_names else int(y.max()) + 1
        num_classes = operator.index(num_classes)
        check_labels(y, num_classes)
        if class_names is not None and len(class_names) != num_classes:
            raise GraphError(
                f"{len(class_names)} class names for {num_classes} classes; give one name per class"
            )
        if metric not in METRICS:
            raise GraphError(f"unknown metric {metric!r}; choose one of: {', '.join(METRICS)}")
        if metric == "roc_auc" and num_classes != 2:
            raise GraphError(
                f"the metric roc_auc needs 2 classes, this graph has {num_classes}; use accuracy"
            )
        self.__dict__.update(x=x, y=y, edge_index=edge_index, num_classes=num_classes)
        self.__dict__.update(name=name, class_names=class_names, metric=metric)
        self.__dict__.update(splits=self._checked(splits))

    def _checked(self, splits: Iterable[Split] | Split) -> tuple[Split, ...]:
        """The splits on this graph's device, after checking them against its labels."""
        if not isinstance(splits, Split | Iterable):
            raise GraphError(
                f"splits is a {type(splits).__name__}; pass a Split, or a list of them as random_splits gives"
            )
        splits = (splits,) if isinstance(splits, Split) else tuple(splits)
        for split in splits:
            if not isinstance(split, Split):
                raise GraphError(
                    f"splits holds a {type(split).__name__}; make it a Split or Split.from_indices"
                )
        splits = tuple(split.map(lambda mask: mask.to(self.y.device)) for split in splits)
        names = [split.name for split in splits]
        if twice := {name for name in names if names.count(name) > 1}:
            raise GraphError(f"more than one split is named {min(twice)!r}; give each its own name=...")
        missing: dict[int, list[str]] = {}
        for split in splits:
            if len(split.train) != self.num_nodes:
                raise GraphError(
                    f"split {split.name!r} has masks of length {len(split.train)}, but the graph has "
                    f"{self.num_nodes} nodes; give one entry per node"
                )
            for part, mask in split.parts():
                if (bad := mask & (self.y < 0)).any():
                    raise GraphError(
                        f"split {split.name!r}: its {part} mask contains unlabelled nodes (y = -1; "
                        f"such nodes: {int(bad.sum()):,}, the first is {first(bad)}); "
                        "take them out with mask & (y >= 0)"
                    )
            counts = torch.bincount(self.y[split.train], minlength=self.num_classes)
            for label in (counts == 0).nonzero().flatten().tolist():
                missing.setdefault(label, []).append(split.name)
        if missing:
            titles = self.class_names or range(self.num_classes)
            where = "; ".join(
                f"class {titles[c]} (in split {', '.join(names)})" for c, names in missing.items()
            )
            warnings.warn(
                f"{self.name} has no training node of {where}. No model can learn a class it never sees: "
                "merge or drop the class, or draw random_splits(..., stratified=True)",
                MissingClassWarning,
                stacklevel=3,
            )
        return splits

    def _replace(self, **changes: Any) -> Self:
        """A copy with some fields replaced and nothing checked: the caller vouches for the changes."""
        copy = object.__new__(type(self))
        copy.__dict__.update({field.name: getattr(self, field.name) for field in fields(self)} | changes)
        return copy

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.y)

    @property
    def num_edges(self) -> int:
        """E, the columns of ``edge_index``: an edge that is there in both directions counts twice."""
        return self.edge_index.shape[1]

    @property
    def num_features(self) -> int:
        """F."""
        return self.x.shape[1]

    @cached_property
    def is_undirected(self) -> bool:
        """Whether every edge is there in both directions, duplicates aside."""
        return torch.equal(self._merged(self.edge_index), self._merged(self.edge_index.flip(0)))

    @property
    def has_self_loops(self) -> bool:
        """Whether some edge joins a node to itself."""
        return bool((self.edge_index[0] == self.edge_index[1]).any())

    def split(self, key: int | str) -> Split:
        """The split of a name (a string) or at a position (a number from 0)."""
        keys = [split.name if isinstance(key, str) else i for i, split in enumerate(self.splits)]
        if key not in keys:
            names = ", ".join(repr(split.name) for split in self.splits) or "none"
            raise GraphError(
                f"{self.name} has no split {key!r}; ask for one of its {len(self.splits)} splits by position "
                f"from 0 or by name: {names}"
            )
        return self.splits[keys.index(key)]

    def _merged(self, edges: Tensor) -> Tensor:
        """Edges (2, E) sorted by row and without duplicates; more than twice as fast as PyG's coalesce."""
        keys = (edges[0] * self.num_nodes + edges[1]).unique()
        return torch.stack([keys // self.num_nodes, keys % self.num_nodes])

    def undirected(self) -> Self:
        """The graph with each edge in both directions, sorted and without duplicates."""
        return self._replace(
            edge_index=self._merged(torch.cat([self.edge_index, self.edge_index.flip(0)], 1))
        )

    def with_self_loops(self) -> Self:
        """The graph with exactly one loop at each node, sorted and without duplicates."""
        loops = torch.arange(self.num_nodes, device=self.edge_index.device).expand(2, -1)
        return self._replace(edge_index=self._merged(torch.cat([self.edge_index, loops], 1)))

    def without_self_loops(self) -> Self:
        """The graph without the edges that join a node to itself, otherwise as it is."""
        return self._replace(edge_index=self.edge_index[:, self.edge_index[0] != self.edge_index[1]])

    def two_hop(self) -> Self:
        """E²: an edge (u, w) wherever w is reached from u in one or two steps, sorted, without duplicates.

        A node gets a loop where a walk comes back to it. Memory grows with the result, never with N². A
        result that will not fit is refused as soon as that can be told.
        """
        step = self.to_scipy().astype(bool)
        stay_or_step = step + scipy.sparse.eye_array(self.num_nodes, dtype=bool, format="csr")
        # Row blocks bound what the product needs besides its result.
        walks = np.cumsum(step.astype(np.int64) @ np.diff(stay_or_step.indptr))
        cuts = np.searchsorted(walks, np.arange(WALKS, walks[-1], WALKS))
        bounds = np.unique([0, *cuts, self.num_nodes])
        pairs, parts = 0, []
        for a, b in pairwise(bounds):
            parts.append(step[a:b] @ stay_or_step)
            pairs += parts[-1].nnz
            forecast = PAIR * pairs * walks[-1] / max(walks[b - 1], 1)
            if forecast > (left := available()):
                raise GraphError(
                    f"E² of this graph would have about {forecast / PAIR:,.0f} pairs, for which "
                    f"{forecast / 2**30:,.1f} GiB are needed and {left / 2**30:,.1f} GiB are free; use E "
                    "(order=1), or sample E² (two_hop_walks=20)"
                )
        reached = scipy.sparse.vstack(parts, "csr")
        return self._replace(edge_index=_edges_of(reached).to(self.edge_index.device))

    def two_hop_walks(self, count: int, seed: int = 0) -> Self:
        """E and a sample of E²: where ``count`` random walks of two steps from each node end, both ways.

        Every node is joined to at most ``count`` ends of its own walks, so that the graph grows by at most
        2 · ``count`` edges a node, however many nodes are two steps away. The same seed walks the same ways.
        """
        order = torch.argsort(self.edge_index[0], stable=True)
        neighbor = self.edge_index[1][order]
        degree = torch.bincount(self.edge_index[0], minlength=self.num_nodes)
        first = degree.cumsum(0) - degree
        random = torch.Generator().manual_seed(seed)
        start = degree.nonzero().flatten()
        found = [self.edge_index]
        for _ in range(count):
            at = start
            for _ in range(2):
                chance = torch.rand(len(at), generator=random, dtype=torch.float64).to(at.device)
                go = degree[at] > 0  # elsewhere the walk ends where it is
                place = first[at] + (chance * degree[at]).long()
                at = torch.where(go, neighbor[place.clamp(max=len(neighbor) - 1)], at)
            found += [torch.stack([start, at]), torch.stack([at, start])]
        return self._replace(edge_index=self._merged(torch.cat(found, 1)))

    def with_splits(self, splits: Iterable[Split] | Split) -> Self:
        """The graph with other splits, or with another one."""
        return self._replace(splits=self._checked(splits))

    def with_labels(self, y: Any) -> Self:
        """The graph with other labels of the same classes; -1 hides one, even under the mask of a split."""
        y = read_labels(y).to(self.y.device)
        if len(y) != self.num_nodes:
            raise GraphError(
                f"{len(y)} labels for {self.num_nodes} nodes; give one per node, -1 where unlabelled"
            )
        check_labels(y, self.num_classes)
        return self._replace(y=y)

    def subgraph(self, nodes: Any) -> Self:
        """Some nodes, numbered in the order given, and the edges between them; splits stay behind."""
        nodes = read_integers(nodes, "nodes", "pass node ids").to(self.y.device)
        if nodes.dim() != 1 or not len(nodes) or nodes.min() < 0 or nodes.max() >= self.num_nodes:
            raise GraphError(f"nodes must be a list of some of the nodes 0 to {self.num_nodes - 1}")
        if len(nodes.unique()) < len(nodes):
            raise GraphError("nodes lists a node twice; list each once")
        place = torch.full_like(self.y, -1).index_copy_(
            0, nodes, torch.arange(len(nodes), device=nodes.device)
        )
        edges = place[self.edge_index]
        return self._replace(
            x=permute_rows(self.x, nodes),
            y=self.y[nodes],
            edge_index=edges[:, (edges >= 0).all(0)],
            splits=(),
        )

    def with_nodes(self, x: Any, edge_index: Any) -> Self:
        """The graph with new nodes, numbered N, N + 1, ..., and new edges between any nodes, old or new.

        ``x`` has a row of features for each new node. They are unlabelled and in no split.
        """
        new = read_tensor(x, "x", "pass one row of features per new node")
        if new.dim() != 2 or new.shape[1] != self.num_features:
            raise GraphError(
                f"the features of the new nodes have shape {tuple(new.shape)}; the graph has "
                f"{self.num_features} features, so it must be (new nodes, {self.num_features})"
            )
        new = read_features(new, len(new)).to(self.y.device)
        count = self.num_nodes + len(new)
        added = read_edges(edge_index, count).to(self.y.device)
        return self._replace(
            x=stack_rows(self.x, new),
            y=torch.cat([self.y, self.y.new_full((len(new),), -1)]),
            edge_index=torch.cat([self.edge_index, added], 1),
            splits=tuple(split.padded(count) for split in self.splits),
        )

    def renumbered(self, order: Any) -> Self:
        """The same graph with its nodes in another order: node i is what node ``order[i]`` was."""
        order = read_integers(order, "order", "pass a permutation of the node ids").to(self.y.device)
        nodes = torch.arange(self.num_nodes, device=order.device)
        if not torch.equal(order.flatten().sort().values, nodes) or order.dim() != 1:
            raise GraphError(
                f"order, of shape {tuple(order.shape)}, is not a permutation of the nodes 0 to "
                f"{self.num_nodes - 1}; list each node once"
            )
        return self._replace(
            x=permute_rows(self.x, order),
            y=self.y[order],
            edge_index=order.argsort()[self.edge_index],
            splits=tuple(split.map(lambda mask: mask[order]) for split in self.splits),
        )

    def to(self, device: torch.device | str) -> Self:
        """The graph on another device."""
        moved = {name: getattr(self, name).to(device) for name in ("x", "y", "edge_index")}
        return self._replace(
            **moved, splits=tuple(split.map(lambda mask: mask.to(device)) for split in self.splits)
        )

    @classmethod
    def from_pyg(cls, data: Data, **facts: Any) -> Self:
        """Read PyG's ``Data``; masks of shape (N,) or (N, S) become splits named "0", "1", ...

        ``facts`` are further fields or replaced ones, such as ``name``, ``num_classes`` or ``splits``.
        """
        return cls(**convert.from_pyg(data) | facts)

    def to_pyg(self, sparse: bool = False) -> Data:
        """PyG's ``Data`` with masks of shape (N,) for one split, (N, S) for several, none without splits.

        Features are dense, as PyG's transforms need them; ``sparse=True`` leaves sparse ones sparse (CSR).
        """
        return convert.to_pyg(self, sparse)

    @classmethod
    def from_networkx(
        cls,
        g: networkx.Graph,
        label: str | None = "label",
        features: str | Sequence[str] | None = None,
        **facts: Any,
    ) -> Self:
        """Read a NetworkX graph; node i is the i-th of ``g.nodes``, undirected edges get both directions.

        ``label`` is the node attribute that holds the class, as a number from 0 or as a name (numbered in
        sorted order, or as in ``class_names``); nodes without it are unlabelled. ``features`` is the
        attribute that holds a vector, or several attributes that hold a number each. ``facts`` are
        further fields, such as ``splits``.
        """
        return cls(**convert.from_networkx(g, label, features, facts.get("class_names")) | facts)

    def to_networkx(self) -> networkx.Graph:
        """NetworkX's ``Graph`` if undirected, else ``DiGraph``; duplicates merge, splits stay behind.

        Nodes have the attributes ``x`` (a list) and, where labelled, ``label`` (a number).
        """
        return convert.to_networkx(self)

    @classmethod
    def from_scipy(
        cls, adjacency: Any, x: Any, y: Any, splits: Iterable[Split] | Split = (), **facts: Any
    ) -> Self:
        """Read a matrix (N, N), best a sparse one: a nonzero in row u, column v is the edge (u, v)."""
        adjacency = scipy.sparse.csr_array(adjacency, copy=True)
        if adjacency.shape != (len(y), len(y)):
            raise GraphError(
                f"the adjacency has shape {adjacency.shape}, but y has {len(y)} labels; it must be (N, N)"
            )
        adjacency.sum_duplicates()
        adjacency.eliminate_zeros()
        return cls(x, y, _edges_of(adjacency), splits, **facts)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """The adjacency matrix (N, N) with entries 1.0, duplicates merged."""
        rows, columns = self.edge_index.cpu().numpy()
        shape = (self.num_nodes, self.num_nodes)
        adjacency = scipy.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape)
        adjacency.data[:] = 1.0
        return adjacency

    def __repr__(self) -> str:
        hidden = int((self.y < 0).sum())
        nodes = f"{self.num_nodes:,} nodes" + (f" ({hidden:,} unlabelled)" if hidden else "")
        features = f"{self.num_features:,} {'sparse ' if self.x.is_sparse_csr else ''}features"
        classes = f"{self.num_classes} classes, {len(self.splits)} splits"
        return f"Graph({self.name!r}: {nodes}, {self.num_edges:,} edges, {features}, {classes})"


def _edges_of(adjacency: scipy.sparse.csr_array) -> Tensor:
    """The stored entries of a CSR matrix as edges (2, E), sorted by row."""
    adjacency.sort_indices()
    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    return torch.from_numpy(np.stack([rows, adjacency.indices]).astype(np.int64, copy=False))
