"""Heterophily estimation and neighborhood partition by soft assignments (Eq. 1-6)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from heterophily.graph.graph import GraphError
from heterophily.selection import largest
from heterophily.sparse import SparseMatrix, inverse

AT_ONCE = 2**23
"""Entries of z_u, for the edges whose probabilities are computed at once: 64 MiB in float64."""


class EdgeSet(NamedTuple):
    """E' as undirected edges, u ≤ v, each once, and where each stands in the adjacency matrix."""

    u: Tensor  # (E,) int32
    v: Tensor  # (E,) int32
    crow: Tensor  # (N + 1,) int32: the symmetric adjacency matrix of E' in CSR form
    col: Tensor  # (nnz,) int32
    edge: Tensor  # (nnz,) int32: the undirected edge an entry stands for

    @classmethod
    def from_adjacency(cls, adjacency: SparseMatrix) -> EdgeSet:
        """Read the edges off a symmetric adjacency matrix."""
        size = adjacency.shape[0]
        row = torch.arange(size, device=adjacency.col.device).repeat_interleave(adjacency.crow.diff())
        col = adjacency.col.long()
        key = torch.minimum(row, col) * size + torch.maximum(row, col)
        pairs, edge = torch.unique(key, return_inverse=True)
        return cls((pairs // size).int(), (pairs % size).int(), adjacency.crow, adjacency.col, edge.int())

    @property
    def size(self) -> int:
        """|E'|, every undirected edge and every self-loop counted once."""
        return self.u.shape[-1]


class Partition(NamedTuple):
    """The two neighborhoods of every node, and why each edge is where it is."""

    probability: Tensor  # (E,) P_uv of Eq. 3, float64
    threshold: Tensor  # () ε of Eq. 4
    is_homophilous: Tensor  # (E,) bool
    a_hm: SparseMatrix  # A^hm of Eq. 5
    a_ht: SparseMatrix  # A^ht of Eq. 6
    inverse_hm: Tensor  # (N,) diagonal of D^hm⁻¹, zero for a node without homophilous neighbors
    inverse_ht: Tensor  # (N,) diagonal of D^ht⁻¹


def estimate_homophily(edges: EdgeSet, labels: Tensor, train: Tensor, known_loops: bool = False) -> float:
    """Return h', the share of homophilous edges among those that join two training nodes (Eq. 1).

    A self-loop joins training nodes as often as a node is one, an edge only as often as two are, so
    Eq. 1 counts loops about twice as heavily as E' does. ``known_loops`` counts all loops of E' as
    the homophilous edges they are and estimates the share on the other edges alone.
    """
    loop = edges.u == edges.v
    inside = train[edges.u] & train[edges.v]
    if not bool((inside & ~loop).any()):
        raise GraphError(
            "no edge of E' but self-loops joins two training nodes, so the homophily ratio of Eq. 1 says "
            "nothing; use order=2 if it is 1, or a larger training set"
        )
    inside &= ~(loop & known_loops)
    same = inside & (labels[edges.u] == labels[edges.v])
    ratio = same.sum().item() / inside.sum().item()
    if known_loops:
        loops = int(loop.sum())
        ratio = (loops + ratio * (edges.size - loops)) / edges.size
    return float(ratio)


def homophilous_count(ratio: float, rescale: float, edges: EdgeSet) -> int:
    """Return ĥ|E'| with ĥ = λh' (Eq. 2), to the nearest whole number of edges, at most all of them."""
    return min(round(rescale * ratio * edges.size), edges.size)


def edge_probabilities(z: Tensor, edges: EdgeSet) -> Tensor:
    """Return P_uv = z_u z_vᵀ on the edges of E', in float64 so that sure edges stay apart (Eq. 3)."""
    z = z.double()
    size = max(1, AT_ONCE // z.shape[-1])
    ends = zip(edges.u.split(size), edges.v.split(size))
    return torch.cat([(z[u] * z[v]).sum(-1) for u, v in ends])


def mark_homophilous(probability: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Return the threshold ε and exactly ``count`` marked edges, the most probable ones (Eq. 4-6).

    The paper is silent on ties at the threshold: they go to the earlier edge. With no edge marked
    the threshold is infinite.
    """
    return largest(probability, count)


def partition(
    z: Tensor,
    edges: EdgeSet,
    count: Tensor | int,
    capacity: tuple[int, int] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Partition:
    """Split E' into the ``count`` most probably homophilous edges and the rest (Eq. 3-6).

    Both adjacency matrices get room for ``capacity`` entries, by default what ``count`` can need;
    entries to spare have the value 0 and stand at the end of the last row.
    """
    count = torch.as_tensor(count, device=z.device)
    probability = edge_probabilities(z, edges)
    threshold, marked = mark_homophilous(probability, count)
    if capacity is None:
        entries = edges.col.shape[-1]
        capacity = min(2 * int(count), entries), min(2 * (edges.size - int(count)), entries)
    return divided(edges, probability, threshold, marked, capacity, dtype)


def divided(
    edges: EdgeSet,
    probability: Tensor,
    threshold: Tensor,
    marked: Tensor,
    capacity: tuple[int, int],
    dtype: torch.dtype = torch.float32,
) -> Partition:
    """Build A^hm of the marked edges and A^ht of the others, with room for ``capacity`` entries (Eq. 5-6)."""
    chosen = marked[edges.edge]
    taken = torch.nn.functional.pad(chosen.cumsum(-1, dtype=torch.int32), (1, 0))
    left = torch.arange(chosen.shape[-1] + 1, device=taken.device, dtype=torch.int32) - taken
    a_hm, inverse_hm = _adjacency(edges, chosen, taken, capacity[0], dtype)
    a_ht, inverse_ht = _adjacency(edges, ~chosen, left, capacity[1], dtype)
    return Partition(probability, threshold, marked, a_hm, a_ht, inverse_hm, inverse_ht)


def _adjacency(
    edges: EdgeSet, chosen: Tensor, taken: Tensor, capacity: int, dtype: torch.dtype
) -> tuple[SparseMatrix, Tensor]:
    """Keep the chosen entries of E' in CSR form without reading anything back from the device.

    ``taken`` says for each entry, and for the end, how many chosen ones stand before it.
    """
    crow = taken[edges.crow.long()]
    degree = crow.diff()
    place = torch.where(chosen, taken[:-1], capacity).long()  # the others fall into a slot that is cut off
    col = edges.col.new_zeros(capacity + 1).scatter(-1, place, edges.col)[:-1]
    val = (torch.arange(capacity, device=col.device) < crow[-1]).to(dtype)
    crow = torch.cat([crow[:-1], crow.new_full((1,), capacity)])
    return SparseMatrix.symmetric(crow, col, val), inverse(degree, dtype)
