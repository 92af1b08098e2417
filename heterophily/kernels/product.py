"""A sparse matrix times a dense one.

A program for each row and some columns, which fetches as many rows of the dense matrix at once as it has
registers for. Sums are taken in one order, so that the same product has the same bits each time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS, TILE = 128, 2048
"""Columns of a program, at most, and entries of the dense matrix that it fetches at once."""
LONG = 1024
"""Entries of a row beyond which zeros at its end are looked for: those that only fill up."""


@triton.jit
def _product_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, val_at, h_at, out_at, width,
    exact: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr, long: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    inside = column < width
    begin = tl.load(crow_at + row)
    end = tl.load(crow_at + row + 1)
    filled = end - begin > long
    while filled:
        tail = tl.load(val_at + end - long + tl.arange(0, long))
        filled = tl.sum((tail != 0).to(tl.int32), 0) == 0
        end = tl.where(filled, end - long, end)
        filled = filled & (end - begin > long)
    total = tl.zeros([lanes, columns], exact)
    for first in range(begin, end, lanes):
        at = first + tl.arange(0, lanes)
        there = at < end
        col = tl.load(col_at + at, there, 0).to(tl.int64)
        val = tl.load(val_at + at, there, 0).to(exact)
        both = there[:, None] & inside[None, :]
        total += val[:, None] * tl.load(h_at + col[:, None] * width + column[None, :], both, 0).to(exact)
    tl.store(out_at + row * width + column, tl.sum(total, 0), inside)


def product(crow: Tensor, col: Tensor, val: Tensor, h: Tensor) -> Tensor:
    """Return the product of the CSR matrix (rows, n) and ``h`` (n, width), in the precision of ``h``."""
    rows, width = crow.shape[0] - 1, h.shape[1]
    out = h.new_empty(rows, width)
    if out.numel():
        columns = min(triton.next_power_of_2(width), COLUMNS)
        grid = (rows, triton.cdiv(width, columns))
        exact = tl.float64 if h.dtype == torch.float64 else tl.float32
        lanes = min(TILE // columns, 64)
        given = (part.contiguous() for part in (crow, col, val, h))  # a gradient may be one number, expanded
        _product_kernel[grid](*given, out, width, exact, columns, lanes, LONG)
    return out
