"""The one aggregation: a sparse matrix times a dense one, alone or for many runs at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

with warnings.catch_warnings():  # torch announces once per process that CSR tensors are young
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), size=(1, 1))


class SparseMatrix(NamedTuple):
    """A CSR matrix as plain tensors, with the pattern of its transpose for the backward pass.

    Plain tensors, because ``torch.func.vmap`` refuses sparse ones. ``order[i]`` is where the i-th
    entry of the transpose stands in ``val``; ``None`` means the matrix equals its transpose.
    Gradients flow to the dense factor, not to ``val``.
    """

    crow: Tensor  # (rows + 1,) int32
    col: Tensor  # (nnz,) int32
    val: Tensor  # (nnz,)
    t_crow: Tensor  # (cols + 1,) int32
    t_col: Tensor  # (nnz,) int32
    order: Tensor | None  # (nnz,) int64

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.crow.shape[-1] - 1, self.t_crow.shape[-1] - 1

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseMatrix:
        """Build from any torch matrix, sparse or dense; zeros of a dense one are left out."""
        coo = matrix.to_sparse_coo() if matrix.layout != torch.sparse_coo else matrix
        coo = coo.coalesce()
        return cls.from_entries(coo.indices()[0], coo.indices()[1], coo.values(), *matrix.shape)

    @classmethod
    def from_entries(cls, row: Tensor, col: Tensor, val: Tensor, rows: int, cols: int) -> SparseMatrix:
        """Build from entries sorted by row, then column."""
        order = torch.argsort(col, stable=True)
        forth, back = _pointers(row, rows), _pointers(col, cols)
        return cls(forth, col.int(), val, back, row[order].int(), order)

    @classmethod
    def from_edges(cls, edge_index: Tensor, num_nodes: int, undirected: bool = False) -> SparseMatrix:
        """Build the adjacency matrix: entry (u, v) is 1 for an edge u → v.

        Edges must not repeat; ``undirected`` says that each is there in both directions.
        """
        order = torch.argsort(edge_index[0] * num_nodes + edge_index[1])
        row, col = edge_index[:, order]
        ones = torch.ones(order.numel(), device=row.device)
        if undirected:
            return cls.symmetric(_pointers(row, num_nodes), col.int(), ones)
        return cls.from_entries(row, col, ones, num_nodes, num_nodes)

    @classmethod
    def symmetric(cls, crow: Tensor, col: Tensor, val: Tensor) -> SparseMatrix:
        """Build a matrix that is its own transpose, entry by entry."""
        return cls(crow, col, val, crow, col, None)

    def normalized(self, how: str) -> SparseMatrix:
        """Return D⁻¹A ("walk") or D^-1/2 A D^-1/2 ("symmetric"); an empty row stays empty."""
        dtype = self.val.dtype
        rows = inverse(self.crow.diff(), dtype).repeat_interleave(self.crow.diff())
        if how == "walk":
            return self._replace(val=self.val * rows, order=self._order())
        cols = inverse(self.t_crow.diff(), dtype)[self.col.long()]
        return self._replace(val=self.val * (rows * cols).sqrt())

    def _order(self) -> Tensor:
        return torch.argsort(self.col, stable=True) if self.order is None else self.order

    def to_dense(self) -> Tensor:
        """Return the dense matrix; for tests and small graphs."""
        return _csr(self.crow, self.col, self.val, self.shape[1]).to_dense()


def stack(matrices: Sequence[SparseMatrix]) -> SparseMatrix:
    """Stack matrices of one shape, with room for the fullest: spare entries are zeros in the last row."""
    room = max(m.col.shape[0] for m in matrices)

    def pointers(crow: Tensor) -> Tensor:
        return torch.cat([crow[:-1], crow.new_full((1,), room)])

    def padded(part: Tensor, value: int = 0) -> Tensor:
        return torch.nn.functional.pad(part, (0, room - part.shape[0]), value=value)

    crow, col = (
        torch.stack([pointers(m.crow) for m in matrices]),
        torch.stack([padded(m.col) for m in matrices]),
    )
    val = torch.stack([padded(m.val) for m in matrices])
    if all(m.order is None for m in matrices):
        return SparseMatrix.symmetric(crow, col, val)
    t_crow = torch.stack([pointers(m.t_crow) for m in matrices])
    t_col = torch.stack([padded(m.t_col) for m in matrices])
    order = torch.stack([padded(m._order(), room - 1) for m in matrices])
    return SparseMatrix(crow, col, val, t_crow, t_col, order)


Features = Tensor | SparseMatrix
"""A feature matrix, dense or sparse; a plain tensor is dense."""


def features(matrix: Tensor, density: float = 0.2) -> Features:
    """Keep ``matrix`` sparse where fewer than ``density`` of its entries are non-zero, else dense."""
    filled = int(matrix.count_nonzero()) if matrix.layout == torch.strided else matrix._nnz()
    if filled < density * matrix.shape[0] * matrix.shape[1]:
        return SparseMatrix.from_torch(matrix)
    return matrix if matrix.layout == torch.strided else matrix.to_dense()


def as_features(x: Features) -> Features:
    """Take a sparse tensor of torch's as the matrix it is; leave everything else alone."""
    return SparseMatrix.from_torch(x) if isinstance(x, Tensor) and x.layout != torch.strided else x


def row_normalized(x: Features) -> Features:
    """Divide every row by its sum of absolute values; an all-zero row stays zero."""
    if isinstance(x, Tensor):
        return x / x.abs().sum(1, keepdim=True).clamp(min=1e-12)
    length = multiply(x._replace(val=x.val.abs()), x.val.new_ones(x.shape[1], 1)).squeeze(1)
    return x._replace(val=x.val / length.clamp(min=1e-12).repeat_interleave(x.crow.diff()))


def smooth(a: SparseMatrix, x: Features) -> Features:
    """Return ``a @ x`` as features; a sparse ``x`` is never made dense on the way."""
    if isinstance(x, Tensor):
        return features(multiply(a, x))
    product = (_scipy(a) @ _scipy(x)).tocoo()
    index = torch.from_numpy(np.stack([product.row, product.col]).astype(np.int64))
    val = torch.from_numpy(product.data)
    whole = torch.sparse_coo_tensor(index, val, size=product.shape, is_coalesced=False).to(x.val.device)
    return features(whole.coalesce())


def multiply(a: Features, h: Tensor) -> Tensor:
    """Return ``a @ h``; with a sparse ``a``, ``h`` gets its gradient and ``a`` gets none."""
    if isinstance(a, Tensor):
        return a @ h
    t_val = a.val if a.order is None else a.val.gather(-1, a.order)
    out: Tensor = _Product.apply(a.crow, a.col, a.val, a.t_crow, a.t_col, t_val, h)  # type: ignore[no-untyped-call]
    return out


def inverse(degree: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return 1 / degree, and 0 for a node without neighbors."""
    return (degree > 0) / degree.clamp(min=1).to(dtype)


class _Product(torch.autograd.Function):
    """CSR times dense; its vmap rule makes one product out of all runs' products."""

    @staticmethod
    def forward(crow: Tensor, col: Tensor, val: Tensor, *rest: Tensor) -> Tensor:
        t_crow, _, _, h = rest
        a = _csr(crow, col, val, t_crow.shape[0] - 1)
        # On CPU the reduce kernel is two to three times as fast as the product torch takes for ``@``.
        return torch.sparse.mm(a, h.contiguous(), "sum") if h.device.type == "cpu" else a @ h

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:6])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        crow, col, val, t_crow, t_col, t_val = ctx.saved_tensors
        down = _Product.apply(t_crow, t_col, t_val, crow, col, val, grad)  # type: ignore[no-untyped-call]
        return None, None, None, None, None, None, down

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Tensor, int]:
        # Also where all runs share the matrix: one block after another reads rows that are in the cache,
        # while runs laid side by side as columns took two to three times as long on a CPU.
        runs = info.batch_size
        stacked = [
            part.expand(runs, *part.shape) if dim is None else part.movedim(dim, 0)
            for part, dim in zip(args, in_dims, strict=True)
        ]
        rows, cols = stacked[0].shape[1] - 1, stacked[3].shape[1] - 1
        tall = stacked[6].flatten(0, 1)
        forth = _diagonal(stacked[0], stacked[1], stacked[2], cols)
        own_transpose = all(
            a.data_ptr() == b.data_ptr() for a, b in zip(stacked[:3], stacked[3:6], strict=True)
        )
        back = forth if own_transpose else _diagonal(stacked[3], stacked[4], stacked[5], rows)
        out = _Product.apply(*forth, *back, tall)  # type: ignore[no-untyped-call]
        return out.unflatten(0, (runs, rows)), 0


def _diagonal(crow: Tensor, col: Tensor, val: Tensor, cols: int) -> tuple[Tensor, Tensor, Tensor]:
    """Lay the matrices of all runs on one block diagonal; padding falls to each block's last row."""
    runs, capacity = col.shape
    shift = torch.arange(runs, device=col.device, dtype=col.dtype).unsqueeze(1)
    end = crow.new_full((1,), runs * capacity)
    starts = (crow[:, :-1] + shift * capacity).flatten()
    return torch.cat([starts, end]), (col + shift * cols).flatten(), val.flatten()


def _csr(crow: Tensor, col: Tensor, val: Tensor, cols: int) -> Tensor:
    return torch.sparse_csr_tensor(crow, col, val, size=(crow.shape[0] - 1, cols))


def _scipy(matrix: SparseMatrix) -> scipy.sparse.csr_array:
    parts = (part.cpu().numpy() for part in (matrix.val, matrix.col, matrix.crow))
    return scipy.sparse.csr_array(tuple(parts), shape=matrix.shape)


def _pointers(sorted_or_not: Tensor, rows: int) -> Tensor:
    counts = torch.bincount(sorted_or_not, minlength=rows)
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int()
