"""Products with a matrix whose rows are shared out: boundary rows are exchanged, and nothing else.

A process holds the rows of its own nodes. The columns in which these have entries are its own nodes and its
*halo*: the nodes of others next to them. Columns are numbered in the order of the whole graph, the halo
below, own nodes, the halo above, so that a row is summed in the same order on any number of processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.distributed.world import World
from heterophily.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class Halo:
    """Which rows a process needs of the others, and which the others need of it."""

    world: World
    rows: int
    """Own rows."""
    below: int
    """Halo rows of processes of lower rank."""
    send: Tensor
    """Own rows to be sent, those for rank 0 first."""
    sent: list[int]
    received: list[int]

    @classmethod
    def of(cls, crow: Tensor, col: Tensor, bounds: list[int], world: World) -> tuple[Halo, Tensor]:
        """Plan the exchange for a symmetric pattern, columns numbered as in the graph; also renumber them.

        Because the pattern is symmetric, the rows that others need are the own ones next to theirs: nobody
        has to ask.
        """
        first, last = bounds[world.rank], bounds[world.rank + 1]
        rows, size = last - first, world.size
        foreign = (col < first) | (col >= last)
        needed = col[foreign].unique()
        owner = torch.bucketize(needed, torch.tensor(bounds[1:-1], device=col.device), right=True)
        received = torch.bincount(owner, minlength=size).tolist()
        below = sum(received[: world.rank])

        place = col - first + below
        found = torch.searchsorted(needed, col[foreign])
        place[foreign] = torch.where(found < below, found, found + rows)

        row = torch.arange(rows, device=col.device).repeat_interleave(crow.diff())[foreign]
        theirs = torch.bucketize(col[foreign], torch.tensor(bounds[1:-1], device=col.device), right=True)
        pairs = (theirs * rows + row).unique()
        sent = torch.bincount(pairs // rows, minlength=size).tolist()
        return cls(world, rows, below, pairs % rows, sent, received), place.int()

    @property
    def size(self) -> int:
        """Own rows and halo rows."""
        return self.rows + sum(self.received)

    def extended(self, own: Tensor) -> Tensor:
        """Return own rows with the halo's around them."""
        if self.world.size == 1:
            return own
        halo = self.world.exchange(own.index_select(0, self.send), self.sent, self.received)
        return torch.cat([halo[: self.below], own, halo[self.below :]])

    def extended_sparse(self, own: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Return own rows with the halo's around them, where they are sparse."""
        if self.world.size == 1:
            return own
        outgoing = own[self.send.cpu().numpy()]
        lengths = np.diff(outgoing.indptr).astype(np.int64)
        theirs = self._exchange(lengths, self.sent, self.received)
        sent = _sums(lengths, self.sent)
        received = _sums(theirs, self.received)
        col = self._exchange(outgoing.indices.astype(np.int32), sent, received)
        val = self._exchange(outgoing.data, sent, received)
        starts = np.concatenate([[0], np.cumsum(theirs)])
        halo = scipy.sparse.csr_array((val, col, starts), (len(theirs), own.shape[1]))
        return scipy.sparse.vstack([halo[: self.below], own, halo[self.below :]], "csr")

    def _exchange(self, outgoing: Any, sent: list[int], received: list[int]) -> Any:
        tensor = torch.from_numpy(np.ascontiguousarray(outgoing)).to(self.world.device)
        return self.world.exchange(tensor, sent, received).cpu().numpy()


class ShardedMatrix(NamedTuple):
    """Own rows of a symmetric matrix; `heterophily.sparse.multiply` takes it like any other."""

    crow: Tensor  # (rows + 1,) int32
    col: Tensor  # (nnz,) int32, own and halo columns
    val: Tensor  # (nnz,)
    halo: Halo

    def times(self, h: Tensor) -> Tensor:
        """Return own rows of the product, given own rows of ``h``."""
        out: Tensor = _Product.apply(h, self)  # type: ignore[no-untyped-call]
        return out


class _Product(torch.autograd.Function):
    """A h over all processes. As A is symmetric, the gradient Aᵀ g is the same product of the gradient."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, matrix: ShardedMatrix) -> Tensor:
        ctx.matrix = matrix
        return _times(matrix, h)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _times(ctx.matrix, grad), None


def _times(matrix: ShardedMatrix, h: Tensor) -> Tensor:
    wide = matrix.halo.extended(h)
    a = torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.val, size=(matrix.halo.rows, len(wide)))
    # As in heterophily.sparse: on a CPU the reduce kernel is the faster one.
    return torch.sparse.mm(a, wide.contiguous(), "sum") if h.device.type == "cpu" else a @ wide


def to_matrix(matrix: scipy.sparse.csr_array, device: torch.device, dtype: torch.dtype) -> SparseMatrix:
    """Return a SciPy matrix as one that is multiplied here, with its transpose."""
    matrix.sort_indices()
    entries = matrix.tocoo()
    row, col = (torch.from_numpy(part.astype(np.int64)).to(device) for part in (entries.row, entries.col))
    val = torch.from_numpy(entries.data).to(device, dtype)
    return SparseMatrix.from_entries(row, col, val, *matrix.shape)


def _sums(lengths: Any, counts: list[int]) -> list[int]:
    """Add up lengths within consecutive groups of the given sizes."""
    ends = np.concatenate([[0], np.cumsum(lengths)])[np.concatenate([[0], np.cumsum(counts)])]
    return [int(n) for n in np.diff(ends)]
