"""Attention over neighbors (``GraphAttention`` of ``layers.py``) with no number per edge in memory.

A program has a node of a run and a head. It goes through the node's edges twice, for the largest score and
for the mean; the backward pass computes scores and dropout once more, first along the edges by which a node
collects, then along those by which it gives. Sums are taken in one order.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from heterophily.kernels.dropout import gone

WIDEST = 512
"""Columns of a head that a program can hold."""
TILE = 1024
"""Entries of neighbors that a program fetches at once."""


@triton.jit
def _leaky(raw, slope):  # type: ignore[no-untyped-def]
    return tl.where(raw > 0, raw, raw * slope)


@triton.jit
def _here(crow_at, crow_step, nodes, heads):  # type: ignore[no-untyped-def]
    """Return the run and the head of a program, the place of its node among all, and where its edges are."""
    row = tl.program_id(0).to(tl.int64)
    run = (tl.program_id(1) // heads).to(tl.int64)
    head = (tl.program_id(1) % heads).to(tl.int64)
    edges_at = crow_at + run * crow_step + row
    return run, head, (run * nodes + row) * heads + head, tl.load(edges_at), tl.load(edges_at + 1)


@triton.jit
def _attend_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, z_at, to_at, of_at, word_at, cut_at, scale_at, out_at, top_at, total_at,
    nodes, entries, heads, width, crow_step, col_step, slope, drops: tl.constexpr,
    odd_0: tl.constexpr, odd_1: tl.constexpr, odd_2: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    run, head, place, begin, end = _here(crow_at, crow_step, nodes, heads)
    column = tl.arange(0, columns)
    inside = column < width
    own = tl.load(to_at + place)
    highest = tl.full([lanes], float("-inf"), tl.float32)
    for first in range(begin, end, lanes):
        at = first + tl.arange(0, lanes)
        there = at < end
        node = run * nodes + tl.load(col_at + run * col_step + at, there, 0)
        highest = tl.maximum(highest, tl.load(of_at + node * heads + head, there, float("-inf")))
    top = tl.where(end > begin, _leaky(own + tl.max(highest, 0), slope), 0.0)
    total = tl.zeros([lanes], tl.float32)
    mean = tl.zeros([lanes, columns], tl.float32)
    for first in range(begin, end, lanes):
        at = first + tl.arange(0, lanes)
        there = at < end
        node = run * nodes + tl.load(col_at + run * col_step + at, there, 0)
        giver = node * heads + head
        raw = own + tl.load(of_at + giver, there, 0.0)
        each = tl.where(there, tl.exp(_leaky(raw, slope) - top), 0.0)
        total += each
        if drops:
            word, cut = tl.load(word_at + run), tl.load(cut_at + run)
            lost = gone(head * entries + at, word, cut, odd_0, odd_1, odd_2)
            each = tl.where(lost, 0.0, each * tl.load(scale_at + run))
        both = there[:, None] & inside[None, :]
        mean += each[:, None] * tl.load(z_at + giver[:, None] * width + column[None, :], both, 0.0)
    sum_of_all = tl.sum(total, 0)
    tl.store(out_at + place * width + column, tl.sum(mean, 0) / tl.maximum(sum_of_all, 1e-12), inside)
    tl.store(top_at + place, top)
    tl.store(total_at + place, sum_of_all)


@triton.jit
def _collecting_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, z_at, to_at, of_at, word_at, cut_at, scale_at, top_at, total_at, out_at, grad_at,
    to_down_at, level_at, nodes, entries, heads, width, crow_step, col_step, slope, drops: tl.constexpr,
    odd_0: tl.constexpr, odd_1: tl.constexpr, odd_2: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    run, head, place, begin, end = _here(crow_at, crow_step, nodes, heads)
    column = tl.arange(0, columns)
    inside = column < width
    own = tl.load(to_at + place)
    top = tl.load(top_at + place)
    total = tl.maximum(tl.load(total_at + place), 1e-12)
    grad = tl.load(grad_at + place * width + column, inside, 0.0)
    level = tl.sum(grad * tl.load(out_at + place * width + column, inside, 0.0), 0)
    down = tl.zeros([lanes], tl.float32)
    for first in range(begin, end, lanes):
        at = first + tl.arange(0, lanes)
        there = at < end
        giver = (run * nodes + tl.load(col_at + run * col_step + at, there, 0)) * heads + head
        raw = own + tl.load(of_at + giver, there, 0.0)
        share = tl.where(there, tl.exp(_leaky(raw, slope) - top), 0.0) / total
        both = there[:, None] & inside[None, :]
        z = tl.load(z_at + giver[:, None] * width + column[None, :], both, 0.0)
        worth = tl.sum(z * grad[None, :], 1)
        if drops:
            word, cut = tl.load(word_at + run), tl.load(cut_at + run)
            lost = gone(head * entries + at, word, cut, odd_0, odd_1, odd_2)
            worth = tl.where(lost, 0.0, worth * tl.load(scale_at + run))
        down += share * (worth - level) * tl.where(raw > 0, 1.0, slope)
    tl.store(to_down_at + place, tl.sum(down, 0))
    tl.store(level_at + place, level)


@triton.jit
def _giving_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, order_at, z_at, to_at, of_at, word_at, cut_at, scale_at, top_at, total_at, level_at,
    grad_at, of_down_at, z_down_at, nodes, entries, heads, width, crow_step, col_step, slope,
    drops: tl.constexpr,
    odd_0: tl.constexpr, odd_1: tl.constexpr, odd_2: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    run, head, place, begin, end = _here(crow_at, crow_step, nodes, heads)
    column = tl.arange(0, columns)
    inside = column < width
    own = tl.load(of_at + place)
    z = tl.load(z_at + place * width + column, inside, 0.0)
    down = tl.zeros([lanes], tl.float32)
    z_down = tl.zeros([lanes, columns], tl.float32)
    for first in range(begin, end, lanes):
        at = first + tl.arange(0, lanes)
        there = at < end
        taker = (run * nodes + tl.load(col_at + run * col_step + at, there, 0)) * heads + head
        raw = own + tl.load(to_at + taker, there, 0.0)
        share = tl.exp(_leaky(raw, slope) - tl.load(top_at + taker, there, 0.0))
        share = tl.where(there, share / tl.maximum(tl.load(total_at + taker, there, 1.0), 1e-12), 0.0)
        both = there[:, None] & inside[None, :]
        grad = tl.load(grad_at + taker[:, None] * width + column[None, :], both, 0.0)
        worth = tl.sum(grad * z[None, :], 1)
        kept = share
        if drops:
            entry = tl.load(order_at + run * col_step + at, there, 0)
            word, cut, scale = tl.load(word_at + run), tl.load(cut_at + run), tl.load(scale_at + run)
            lost = gone(head * entries + entry, word, cut, odd_0, odd_1, odd_2)
            worth = tl.where(lost, 0.0, worth * scale)
            kept = tl.where(lost, 0.0, share * scale)
        level = tl.load(level_at + taker, there, 0.0)
        down += share * (worth - level) * tl.where(raw > 0, 1.0, slope)
        z_down += kept[:, None] * grad
    tl.store(of_down_at + place, tl.sum(down, 0))
    tl.store(z_down_at + place * width + column, tl.sum(z_down, 0), inside)


Drops = tuple[Tensor, Tensor, Tensor]
"""Of each run: what it adds to the hash of an entry, the hash below which one goes, and 1 / (1 - p)."""


def attend(
    crow: Tensor, col: Tensor, z: Tensor, to: Tensor, of: Tensor, slope: float,
    drops: Drops | None, odd: tuple[int, int, int],
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return Σ_j drop(softmax_j(LeakyReLU(to_i + of_j))) z_j, (R, N, H, D), and what `unattend` asks for.

    Of each run, ``crow`` (R, N + 1) and ``col`` (R, E) say who collects from whom; they may be one pattern,
    expanded. ``z`` is (R, N, H, D), ``to`` and ``of`` are (R, N, H).
    """
    out, top, total = z.new_empty(z.shape), to.new_empty(to.shape), to.new_empty(to.shape)
    grid, sizes, how = _plan(crow, col, z)
    if out.numel():
        given = drops or (to, to, to)
        _attend_kernel[grid](
            crow, col, z, to, of, *given, out, top, total, *sizes, slope, drops is not None, *odd, **how
        )
    return out, top, total


def unattend(
    crow: Tensor, col: Tensor, t_crow: Tensor, t_col: Tensor, order: Tensor, z: Tensor, to: Tensor,
    of: Tensor, slope: float, drops: Drops | None, odd: tuple[int, int, int], out: Tensor, top: Tensor,
    total: Tensor, grad: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of `attend` to ``z``, ``to`` and ``of``, given that to what it returned."""
    z_down, to_down, of_down, level = (part.new_empty(part.shape) for part in (z, to, of, to))
    grid, sizes, how = _plan(crow, col, z)
    if z.numel():
        given, more = drops or (to, to, to), (slope, drops is not None, *odd)
        _collecting_kernel[grid](
            crow, col, z, to, of, *given, top, total, out, grad, to_down, level, *sizes, *more, **how
        )
        _giving_kernel[grid](
            t_crow, t_col, order, z, to, of, *given, top, total, level, grad, of_down, z_down,
            *sizes, *more, **how,
        )  # fmt: skip
    return z_down, to_down, of_down


def _plan(crow: Tensor, col: Tensor, z: Tensor) -> tuple[tuple[int, int], tuple[int, ...], dict[str, int]]:
    """Return the grid of programs, the sizes and steps they ask for, and their shape."""
    runs, nodes, heads, width = z.shape
    columns = triton.next_power_of_2(width)
    usual = triton.next_power_of_2(max(col.shape[1] // max(nodes, 1), 1))
    lanes = min(max(usual, 4), max(TILE // columns, 4), 64)
    sizes = nodes, col.shape[1], heads, width, crow.stride(0), col.stride(0)
    how = {"columns": columns, "lanes": lanes, "num_warps": 1 if lanes * columns <= 512 else 2}
    return (nodes, runs * heads), sizes, how
