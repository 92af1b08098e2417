"""Means over neighbors, and the layers of SMP (``hdp/propagation.py``), whose every step is one pass.

A program has a node of a run, and all columns of it. Edges have no weights here: what is asked of them is
the inverse degree of each node, which also says how many of the entries at the end of the last row only
fill up. Sums are taken in one order, so that the same sum has the same bits each time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDEST = 1024
"""Columns that a program can hold."""
MEAN, BACK, ADD = 0, 1, 2
"""Kinds of sums: the mean; the gradient to what a mean was taken of; a sum added to what is there."""


@triton.jit
def _here(width, columns: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the node and the run of a program, and its columns."""
    column = tl.arange(0, columns)
    return tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64), column, column < width


@triton.jit
def _total(  # type: ignore[no-untyped-def]
    crow_at, col_at, inverse_at, h_at, run, row, column, inside, nodes, entries, width,
    scaled: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    """Sum h over the neighbors of a node, each times its own inverse degree if scaled."""
    first_node = run * nodes
    begin = run * entries + tl.load(crow_at + run * (nodes + 1) + row)
    inverse = tl.load(inverse_at + first_node + row)
    degree = tl.where(inverse > 0, 1 / tl.maximum(inverse, 1e-30) + 0.5, 0.0).to(tl.int32)
    total = tl.zeros([lanes, columns], tl.float32)
    for first in range(0, degree, lanes):
        place = first + tl.arange(0, lanes)
        there = place < degree
        node = first_node + tl.load(col_at + begin + place, there, 0)
        both = there[:, None] & inside[None, :]
        part = tl.load(h_at + node[:, None] * width + column[None, :], both, 0.0)
        if scaled:
            part *= tl.load(inverse_at + node, there, 0.0)[:, None]
        total += part
    return tl.sum(total, 0), inverse


@triton.jit
def _sum_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, inverse_at, h_at, out_at, nodes, entries, width,
    kind: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    row, run, column, inside = _here(width, columns)
    total, inverse = _total(
        crow_at, col_at, inverse_at, h_at, run, row, column, inside, nodes, entries, width, kind == 1,
        columns, lanes,
    )  # fmt: skip
    at = out_at + (run * nodes + row) * width + column
    if kind == 0:
        total *= inverse
    if kind == 2:
        total += tl.load(at, inside, 0.0)
    tl.store(at, total, inside)


@triton.jit
def _mix_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, inverse_at, h_at, first_at, weight_at, bias_at, out_at, mean_at, alpha_at,
    nodes, entries, width, layers, kept: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    row, run, column, inside = _here(width, columns)
    total, inverse = _total(
        crow_at, col_at, inverse_at, h_at, run, row, column, inside, nodes, entries, width, False,
        columns, lanes,
    )  # fmt: skip
    mean = total * inverse
    at = (run * nodes + row) * width + column
    first = tl.load(first_at + at, inside, 0.0)
    own_at = weight_at + run * layers * 2 * width + column
    own = tl.load(own_at, inside, 0.0)
    theirs = tl.load(own_at + width, inside, 0.0)
    alpha = tl.sigmoid(tl.sum(own * first + theirs * mean, 0) + tl.load(bias_at + run * layers))
    tl.store(out_at + at, mean + alpha * (first - mean), inside)
    if kept:
        kept_row = run * layers * nodes + row
        tl.store(mean_at + kept_row * width + column, mean, inside)
        tl.store(alpha_at + kept_row, alpha)


@triton.jit
def _unmix_kernel(  # type: ignore[no-untyped-def]
    crow_at, col_at, inverse_at, grad_at, first_at, weight_at, mean_at, alpha_at, down_at, share_at, rate_at,
    nodes, entries, width, layers, last: tl.constexpr, columns: tl.constexpr, lanes: tl.constexpr,
):  # fmt: skip
    row, run, column, inside = _here(width, columns)
    at = (run * nodes + row) * width + column
    if last:  # the gradient comes from outside
        grad = tl.load(grad_at + at, inside, 0.0)
        inverse = tl.load(inverse_at + run * nodes + row)
    else:  # or from the shares of the neighbors, one layer on
        grad, inverse = _total(
            crow_at, col_at, inverse_at, grad_at, run, row, column, inside, nodes, entries, width, False,
            columns, lanes,
        )  # fmt: skip
    kept_row = run * layers * nodes + row
    first = tl.load(first_at + at, inside, 0.0)
    mean = tl.load(mean_at + kept_row * width + column, inside, 0.0)
    alpha = tl.load(alpha_at + kept_row)
    own_at = weight_at + run * layers * 2 * width + column
    own = tl.load(own_at, inside, 0.0)
    theirs = tl.load(own_at + width, inside, 0.0)
    rate = tl.sum(grad * (first - mean), 0) * alpha * (1 - alpha)  # the gradient before the sigmoid
    down = alpha * grad + rate * own
    if not last:
        down += tl.load(down_at + at, inside, 0.0)
    tl.store(down_at + at, down, inside)
    tl.store(share_at + at, inverse * ((1 - alpha) * grad + rate * theirs), inside)
    tl.store(rate_at + kept_row, rate)


def neighbor_mean(crow: Tensor, col: Tensor, inverse: Tensor, h: Tensor, back: bool = False) -> Tensor:
    """Return the mean of ``h`` (R, N, D) over the neighbors of each node, or ``back`` its gradient to ``h``.

    Of each run, ``crow`` (R, N + 1) and ``col`` (R, E) are a symmetric adjacency matrix in CSR form and
    ``inverse`` (R, N) has 1 / degree.
    """
    out = torch.empty_like(h)
    if h.numel():
        grid, sizes, how = _plan(col, h)
        _sum_kernel[grid](crow, col, inverse, h, out, *sizes, BACK if back else MEAN, **how)
    return out


def mix(
    crow: Tensor, col: Tensor, inverse: Tensor, h: Tensor, weight: Tensor, bias: Tensor, keep: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Take ``h`` (R, N, D) through all layers: H^l = α^l h + (1 - α^l) mean of H^(l-1) over neighbors.

    α^l is the sigmoid of ``weight`` (R, L, 2D) times [h ‖ mean] plus ``bias`` (R, L). Returns the last
    H^l and, if they are to be kept for `unmix`, the means (R, L, N, D) and α (R, L, N).
    """
    runs, nodes, width = h.shape
    layers = weight.shape[1]
    means, alphas = h.new_empty(runs, layers * keep, nodes, width), h.new_empty(runs, layers * keep, nodes)
    found = h
    grid, sizes, how = _plan(col, h)
    for layer in range(layers if h.numel() else 0):
        at = layer * keep
        out = torch.empty_like(h)
        _mix_kernel[grid](
            crow, col, inverse, found, h, weight[:, layer], bias[:, layer], out,
            means[:, at:], alphas[:, at:], *sizes, layers, keep, **how,
        )  # fmt: skip
        found = out
    return found, means, alphas


def unmix(
    crow: Tensor, col: Tensor, inverse: Tensor, h: Tensor, weight: Tensor, means: Tensor, alphas: Tensor,
    grad: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients to ``h``, ``weight`` and ``bias`` of `mix`, given that to what it returned."""
    runs, nodes, width = h.shape
    layers = weight.shape[1]
    down, rates = torch.empty_like(h), torch.empty_like(alphas)
    grid, sizes, how = _plan(col, h)
    share = grad
    for layer in reversed(range(layers)):
        given, share = share, torch.empty_like(h)
        _unmix_kernel[grid](
            crow, col, inverse, given, h, weight[:, layer], means[:, layer], alphas[:, layer], down, share,
            rates[:, layer], *sizes, layers, layer == layers - 1, **how,
        )  # fmt: skip
    _sum_kernel[grid](crow, col, inverse, share, down, *sizes, ADD, **how)  # of the first layer's neighbors
    own = torch.bmm(rates, h)
    theirs = torch.bmm(rates.view(-1, 1, nodes), means.view(-1, nodes, width)).view(runs, layers, width)
    return down, torch.cat([own, theirs], -1), rates.sum(-1)


def _plan(col: Tensor, h: Tensor) -> tuple[tuple[int, int], tuple[int, int, int], dict[str, int]]:
    """Return the grid of programs, the sizes they ask for, and their shape."""
    runs, nodes, width = h.shape
    columns = triton.next_power_of_2(width)
    usual = triton.next_power_of_2(max(col.shape[1] // max(nodes, 1), 1))  # entries of a row
    lanes = min(max(usual, 2), 16)
    how = {"columns": columns, "lanes": lanes, "num_warps": max(1, lanes * columns // 1024)}
    return (nodes, runs), (nodes, col.shape[1], width), how
