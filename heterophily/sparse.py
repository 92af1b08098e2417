"""The one aggregation: a sparse matrix times a dense one, alone or for many runs at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from heterophily.kernels import kernels

with warnings.catch_warnings():  # torch announces once per process that CSR tensors are young
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), size=(1, 1))


LONG_ROWS = 64
"""Entries of a row on average from which on our own product is faster than cuSPARSE, up to four times."""


class SparseMatrix(NamedTuple):
    """A CSR matrix as plain tensors, with the pattern of its transpose for the backward pass.

    Plain tensors, because ``torch.func.vmap`` refuses sparse ones. ``order[i]`` is where the i-th
    entry of the transpose stands in ``val``; ``None`` means the matrix equals its transpose.
    Gradients flow to the dense factor, not to ``val``; where they must, as in attention, see `Pattern`.
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
        key = (edge_index[0] * num_nodes + edge_index[1]).sort().values
        row, col = key // num_nodes, key % num_nodes
        ones = torch.ones(key.numel(), device=key.device)
        if undirected:
            return cls.symmetric(_pointers(row, num_nodes), col.int(), ones)
        return cls.from_entries(row, col, ones, num_nodes, num_nodes)

    @classmethod
    def symmetric(cls, crow: Tensor, col: Tensor, val: Tensor) -> SparseMatrix:
        """Build a matrix that is its own transpose, entry by entry."""
        return cls(crow, col, val, crow, col, None)

    def normalized(self, how: str) -> SparseMatrix:
        """Return D⁻¹A ("walk") or D^-1/2 A D^-1/2 ("symmetric"), where D counts the entries of each row."""
        dtype = self.val.dtype
        rows = inverse(self.crow.diff(), dtype).repeat_interleave(self.crow.diff())
        if how == "walk":
            return self._replace(val=self.val * rows, order=self._order())
        cols = inverse(self.crow.diff(), dtype)[self.col.long()]
        return self._replace(val=self.val * (rows * cols).sqrt())

    def _order(self) -> Tensor:
        return torch.argsort(self.col, stable=True) if self.order is None else self.order

    def to_dense(self) -> Tensor:
        """Return the dense matrix; for tests and small graphs."""
        return _csr(self.crow, self.col, self.val, self.shape[1]).to_dense()


class Pattern(NamedTuple):
    """Where the entries of a square matrix stand; their values are computed, and get gradients.

    Row i holds those from whom node i collects. Every operation below takes values of shape (nnz,),
    or (heads, nnz) with a dense factor of shape (heads, N, width).
    """

    crow: Tensor  # (N + 1,) int32
    col: Tensor  # (nnz,) int32
    t_crow: Tensor  # (N + 1,) int32
    t_col: Tensor  # (nnz,) int32
    order: Tensor  # (nnz,) int64, where each entry of the transpose stands among the entries

    @classmethod
    def from_edges(cls, edge_index: Tensor, num_nodes: int) -> Pattern:
        """Build from edges, none of them twice: entry (u, v) for u → v, sorted by row, then column."""
        whole = SparseMatrix.from_edges(edge_index, num_nodes)
        assert whole.order is not None
        return cls(whole.crow, whole.col, whole.t_crow, whole.t_col, whole.order)

    @property
    def row(self) -> Tensor:
        """The row of every entry, int64; for preparations, as its length is read back from the device."""
        return torch.arange(self.crow.shape[0] - 1, device=self.crow.device).repeat_interleave(
            self.crow.diff()
        )


def score(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """Return left_i · right_j for every entry (i, j)."""
    if left.dim() == 3:
        return torch.vmap(lambda a, b: score(pattern, a, b))(left, right)
    out: Tensor = _Sampled.apply(*pattern, left, right)  # type: ignore[no-untyped-call]
    return out


def attend(pattern: Pattern, val: Tensor, h: Tensor) -> Tensor:
    """Return the matrix of these values times ``h``; both get gradients."""
    if h.dim() == 3:
        return torch.vmap(lambda v, b: attend(pattern, v, b))(val, h)
    out: Tensor = _Weighted.apply(*pattern, val, h)  # type: ignore[no-untyped-call]
    return out


def row_exponentials(pattern: Pattern, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return exp(score - the row's largest) of every entry and their sum in every row: a softmax's parts."""
    if scores.dim() == 2:
        return torch.vmap(lambda s: row_exponentials(pattern, s))(scores)
    highest: Tensor = _RowMax.apply(pattern.crow, scores.detach())  # type: ignore[no-untyped-call]
    ones = torch.ones_like(highest).unsqueeze(1)
    top = score(pattern, highest.unsqueeze(1), ones)
    each = (scores - top).exp()
    return each, attend(pattern, each, ones).squeeze(1)


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
    product = (to_scipy(a) @ to_scipy(x)).tocoo()
    index = torch.from_numpy(np.stack([product.row, product.col]).astype(np.int64))
    val = torch.from_numpy(product.data)
    whole = torch.sparse_coo_tensor(index, val, size=product.shape, is_coalesced=False).to(x.val.device)
    return features(whole.coalesce())


def side_by_side(blocks: Sequence[SparseMatrix]) -> SparseMatrix:
    """Join blocks into one matrix [A ‖ B ‖ …]."""
    width = sum(block.shape[1] for block in blocks)
    keys, offset = [], 0
    for block in blocks:
        row = torch.arange(block.shape[0], device=block.col.device).repeat_interleave(block.crow.diff())
        keys.append(row * width + block.col + offset)
        offset += block.shape[1]
    key, order = torch.cat(keys).sort()
    val = torch.cat([block.val for block in blocks])[order]
    return SparseMatrix.from_entries(key // width, key % width, val, blocks[0].shape[0], width)


def to_scipy(matrix: SparseMatrix) -> scipy.sparse.csr_array:
    """Return the matrix as SciPy's, on the host."""
    parts = (part.cpu().numpy() for part in (matrix.val, matrix.col, matrix.crow))
    return scipy.sparse.csr_array(tuple(parts), shape=matrix.shape)


def from_scipy(matrix: scipy.sparse.csr_array, device: torch.device) -> SparseMatrix:
    """Build from a CSR matrix of SciPy's whose columns are in order within each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    parts = rows, matrix.indices.astype(np.int64), matrix.data
    row, col, val = (torch.from_numpy(part).to(device) for part in parts)
    return SparseMatrix.from_entries(row, col, val, *matrix.shape)


class Multiplies(Protocol):
    """A matrix that knows itself how to multiply, such as one whose rows lie with several processes."""

    def times(self, h: Tensor) -> Tensor:
        """Return the matrix times ``h``, with a gradient to ``h``."""


def multiply(a: Features | Multiplies, h: Tensor) -> Tensor:
    """Return ``a @ h``; with a sparse ``a``, ``h`` gets its gradient and ``a`` gets none."""
    if isinstance(a, Tensor):
        return a @ h
    if not isinstance(a, SparseMatrix):
        return a.times(h)
    if torch.is_autocast_enabled(h.device.type):  # torch knows its own products only
        h = h.to(torch.get_autocast_dtype(h.device.type))
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
        return _times(crow, col, val, t_crow.shape[0] - 1, h)

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
        stacked = of_runs(runs, in_dims, args)
        rows, cols = stacked[0].shape[1] - 1, stacked[3].shape[1] - 1
        tall = stacked[6].flatten(0, 1)
        forth = _diagonal(stacked[0], stacked[1], stacked[2], cols)
        own_transpose = all(
            a.data_ptr() == b.data_ptr() for a, b in zip(stacked[:3], stacked[3:6], strict=True)
        )
        back = forth if own_transpose else _diagonal(stacked[3], stacked[4], stacked[5], rows)
        out = _Product.apply(*forth, *back, tall)  # type: ignore[no-untyped-call]
        return out.unflatten(0, (runs, rows)), 0


class _Weighted(torch.autograd.Function):
    """CSR times dense with gradients to the entries; many runs on one block diagonal."""

    @staticmethod
    def forward(*args: Tensor) -> Tensor:
        crow, col, t_crow, _, _, val, h = args
        return _times(crow, col, val, t_crow.shape[0] - 1, h)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        crow, col, t_crow, t_col, order, val, h = ctx.saved_tensors
        entries = down = None
        if ctx.needs_input_grad[5]:
            entries = _dots(crow, col, grad, h)
        if ctx.needs_input_grad[6]:
            down = _times(t_crow, t_col, val[order], crow.shape[0] - 1, grad)
        return None, None, None, None, None, entries, down

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Tensor, int]:
        *pattern, val, h = of_runs(info.batch_size, in_dims, args)
        rows = pattern[0].shape[1] - 1
        out = _Weighted.apply(*_blocks(pattern), val.flatten(), h.flatten(0, 1))  # type: ignore[no-untyped-call]
        return out.unflatten(0, (info.batch_size, rows)), 0


class _Sampled(torch.autograd.Function):
    """The entries of left · rightᵀ at the places of a pattern; many runs on one block diagonal."""

    @staticmethod
    def forward(*args: Tensor) -> Tensor:
        crow, col, _, _, _, left, right = args
        return _dots(crow, col, left, right)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        crow, col, t_crow, t_col, order, left, right = ctx.saved_tensors
        to_left = to_right = None
        if ctx.needs_input_grad[5]:
            to_left = _times(crow, col, grad, t_crow.shape[0] - 1, right)
        if ctx.needs_input_grad[6]:
            to_right = _times(t_crow, t_col, grad[order], crow.shape[0] - 1, left)
        return None, None, None, None, None, to_left, to_right

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Tensor, int]:
        *pattern, left, right = of_runs(info.batch_size, in_dims, args)
        out = _Sampled.apply(*_blocks(pattern), left.flatten(0, 1), right.flatten(0, 1))  # type: ignore[no-untyped-call]
        return out.unflatten(0, (info.batch_size, -1)), 0


class _RowMax(torch.autograd.Function):
    """The largest entry of every row; of an empty row 0. It has no gradient."""

    @staticmethod
    def forward(crow: Tensor, val: Tensor) -> Tensor:
        highest = torch.segment_reduce(val, "max", offsets=crow.long(), unsafe=True)
        return highest.masked_fill(highest.isneginf(), 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Tensor, int]:
        crow, val = of_runs(info.batch_size, in_dims, args)
        rows = crow.shape[1] - 1
        out = _RowMax.apply(_starts(crow, val.shape[1]), val.flatten())  # type: ignore[no-untyped-call]
        return out.unflatten(0, (info.batch_size, rows)), 0


def _dots(crow: Tensor, col: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return left_i · right_j at every entry; never the (nnz, width) products of a gather."""
    places = _csr(crow, col, left.new_zeros(col.shape[0]), right.shape[0])
    found: Tensor = torch.sparse.sampled_addmm(places, left.contiguous(), right.contiguous().T, beta=0.0)
    return found.values()


def of_runs(runs: int, in_dims: Sequence[int | None], args: Sequence[Tensor]) -> list[Tensor]:
    """Give every argument that ``vmap`` hands over a leading axis of runs."""
    pairs = zip(args, in_dims, strict=True)
    return [part.expand(runs, *part.shape) if dim is None else part.movedim(dim, 0) for part, dim in pairs]


def _blocks(pattern: Sequence[Tensor]) -> list[Tensor]:
    """Lay the patterns of all runs on one block diagonal."""
    crow, col, t_crow, t_col, order = pattern
    runs, capacity = col.shape
    nodes = crow.shape[1] - 1
    shift = torch.arange(runs, device=col.device).unsqueeze(1)
    step = (shift * nodes).to(col.dtype)
    return [
        _starts(crow, capacity),
        (col + step).flatten(),
        _starts(t_crow, capacity),
        (t_col + step).flatten(),
        (order + shift * capacity).flatten(),
    ]


def _starts(crow: Tensor, capacity: int) -> Tensor:
    """Return the row pointers of a block diagonal of matrices with ``capacity`` entries each."""
    runs = crow.shape[0]
    if runs * capacity >= 2**31:
        raise torch.OutOfMemoryError(f"{runs * capacity:,} entries are more than 32-bit indices can tell")
    shift = torch.arange(runs, device=crow.device, dtype=crow.dtype).unsqueeze(1)
    return torch.cat([(crow[:, :-1] + shift * capacity).flatten(), crow.new_full((1,), runs * capacity)])


def _diagonal(crow: Tensor, col: Tensor, val: Tensor, cols: int) -> tuple[Tensor, Tensor, Tensor]:
    """Lay the matrices of all runs on one block diagonal; padding falls to each block's last row."""
    shift = torch.arange(col.shape[0], device=col.device, dtype=col.dtype).unsqueeze(1)
    return _starts(crow, col.shape[1]), (col + shift * cols).flatten(), val.flatten()


def _times(crow: Tensor, col: Tensor, val: Tensor, cols: int, h: Tensor) -> Tensor:
    if (fused := kernels(h.device)) is not None and _suits(crow, col):
        out: Tensor = fused.product(crow, col, val, h)
        return out
    if h.device.type == "cpu" and h.dtype == torch.float32 and col.numel() and h.shape[1]:
        # A bag is a row: torch's kernel for it is up to eight times as fast as its sparse products.
        return F.embedding_bag(
            col,
            h.detach().contiguous(),
            crow,
            mode="sum",
            per_sample_weights=val.float(),
            include_last_offset=True,
        )
    a = _csr(crow, col, val.to(h.dtype), cols)
    # On CPU the reduce kernel is two to three times as fast as the product torch takes for ``@``.
    return torch.sparse.mm(a, h.contiguous(), "sum") if h.device.type == "cpu" else a @ h


def _suits(crow: Tensor, col: Tensor) -> bool:
    """Say whether to take our own product on a GPU: for long rows, where it is faster, and for same bits."""
    return col.shape[0] >= LONG_ROWS * crow.shape[0] or torch.are_deterministic_algorithms_enabled()


def _csr(crow: Tensor, col: Tensor, val: Tensor, cols: int) -> Tensor:
    return torch.sparse_csr_tensor(crow, col, val, size=(crow.shape[0] - 1, cols))


def _pointers(sorted_or_not: Tensor, rows: int) -> Tensor:
    counts = torch.bincount(sorted_or_not, minlength=rows)
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int()
