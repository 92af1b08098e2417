"""Row slices: what a large graph's nodes compute each for themselves need not exist for all of them at once.

The hidden layer of an MLP is many times as wide as what goes in and comes out. Beyond `most` it is computed
slice by slice, and each slice once more in the backward pass (activation checkpointing), so that it takes
the memory of one slice. The result is the same to rounding, dropout included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

from heterophily.room import total
from heterophily.sparse import Features, SparseMatrix

SHARE = 1 / 4
"""Share of the memory of a machine, or of a GPU, that hidden layers may take up whole."""
MOST = 2**31
"""Entries that a hidden layer may have at most and still be computed whole, however large the machine."""
SLICE = 2**23
"""Entries of a slice on a CPU: 32 MiB in float32. On a GPU a slice is a quarter of what fits whole."""
COPIES = 6
"""Tensors of the size of a hidden layer that a training step has at once: values, masks and gradients."""


class Tall(NamedTuple):
    """A feature matrix of many rows, and its row slices."""

    whole: Features
    slices: tuple[Features, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.whole.shape[0], self.whole.shape[1]


def most(device: torch.device) -> int:
    """Return how many entries a hidden layer may have and still be computed whole."""
    gpu = device.type == "cuda"
    memory = torch.cuda.get_device_properties(device).total_memory if gpu else total()
    return min(MOST, int(SHARE * memory / (COPIES * 4)))


def step(rows: int, width: int, device: torch.device) -> int:
    """Return how many rows of so many columns make up a slice: all of them, where these are few."""
    few = most(device)
    size = few // 4 if device.type == "cuda" else SLICE
    return rows if rows * width <= few else max(1, size // width)


def cut(blocks: Sequence[Features], width: int) -> tuple[Any, ...]:
    """Cut feature blocks into the same row slices, if a hidden layer ``width`` wide asks for it."""
    rows = blocks[0].shape[0]
    size = step(rows, width, _entries(blocks[0]).device)
    return tuple(blocks) if size >= rows else tuple(Tall(block, row_slices(block, size)) for block in blocks)


def whole(block: Any) -> Features:
    """Return a feature matrix in one piece."""
    found: Features = block.whole if isinstance(block, Tall) else block
    return found


def row_slices(x: Features, size: int) -> tuple[Features, ...]:
    """Return the rows in order, ``size`` at a time; dense ones are views."""
    return tuple(rows_of(x, start, start + size) for start in range(0, x.shape[0], size))


def rows_of(x: Features, start: int, stop: int) -> Features:
    """Return the rows from ``start`` to before ``stop``, or to the end."""
    if isinstance(x, Tensor):
        return x[start:stop]
    crow = x.crow[start : stop + 1]
    begin, end = crow[[0, -1]].tolist()
    row = torch.arange(len(crow) - 1, device=crow.device).repeat_interleave(crow.diff())
    return SparseMatrix.from_entries(
        row, x.col[begin:end].long(), x.val[begin:end], len(crow) - 1, x.shape[1]
    )


def pick(x: Features, nodes: Tensor) -> Features:
    """Return the rows of some nodes."""
    if isinstance(x, Tensor):
        return x[nodes]
    row, entry = _entries_of(x, nodes)
    return SparseMatrix.from_entries(row, x.col[entry].long(), x.val[entry], len(nodes), x.shape[1])


def inner(a: SparseMatrix, nodes: Tensor) -> SparseMatrix:
    """Return the entries of a symmetric matrix between some nodes, which are in ascending order.

    Zeros that only fill up are left out.
    """
    place = torch.full((a.shape[0],), -1, dtype=torch.int32, device=nodes.device)
    place[nodes] = torch.arange(len(nodes), dtype=torch.int32, device=nodes.device)
    row, entry = _entries_of(a, nodes)
    col, val = place[a.col[entry]], a.val[entry]
    kept = (col >= 0) & (val != 0)
    degree = torch.bincount(row[kept], minlength=len(nodes))
    crow = torch.nn.functional.pad(degree.cumsum(0), (1, 0)).int()
    return SparseMatrix.symmetric(crow, col[kept], val[kept])


def _entries_of(x: SparseMatrix, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """Return the entries in the rows of some nodes: which of the nodes each is in, and where it stands."""
    first, degree = x.crow[nodes].long(), x.crow.diff()[nodes].long()
    row = torch.arange(len(nodes), device=nodes.device).repeat_interleave(degree)
    before = degree.cumsum(0) - degree
    return row, torch.arange(len(row), device=nodes.device) + (first - before)[row]


def by_rows(function: Callable[..., Tensor], slices: Iterable[Sequence[Any]]) -> Tensor:
    """Return ``function(*slice)`` of all slices, one under another; backward computes each once more.

    The function must be pure: all that changes between two calls, such as weights and masks, is handed over.
    """
    if not torch.is_grad_enabled():
        return torch.cat([function(*each) for each in slices])
    how: Any = {"use_reentrant": False, "preserve_rng_state": False}
    return torch.cat([checkpoint(function, *each, **how) for each in slices])


def in_slices(state: Any) -> bool:
    """Say whether some feature matrix of a state is cut into slices."""
    leaves = pytree.tree_leaves(state, is_leaf=lambda part: isinstance(part, Tall))
    return any(isinstance(part, Tall) for part in leaves)


def _entries(block: Features) -> Tensor:
    return block if isinstance(block, Tensor) else block.val
