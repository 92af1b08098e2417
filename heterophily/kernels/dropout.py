"""Dropout by the hash of ``layers.py``, and ReLU before it, with no mask in memory.

The backward pass of dropout hashes once more. What is positive after ReLU and dropout is what they let
through, so that their gradient asks for nothing else.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def gone(entry, word, cut, odd_0: tl.constexpr, odd_1: tl.constexpr, odd_2: tl.constexpr):  # type: ignore[no-untyped-def]
    """Say of entries, by their places, which go: those whose hash is below the cut."""
    word = (entry >> 2) * odd_0 + word
    word = (word ^ ((word >> 32) & 0xFFFFFFFF)) * odd_1
    word = (word ^ ((word >> 32) & 0xFFFFFFFF)) * odd_2
    word = word ^ ((word >> 32) & 0xFFFFFFFF)
    return (word >> ((entry & 3) * 16)).to(tl.int16) < cut


@triton.jit(do_not_specialize=["start"])
def _dropout_kernel(  # type: ignore[no-untyped-def]
    h_at, out_at, word_at, cut_at, scale_at, size, step, start, relu: tl.constexpr,
    odd_0: tl.constexpr, odd_1: tl.constexpr, odd_2: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    inside = place < size
    h = tl.load(h_at + run * step + place, inside)
    lost = gone(start + place, tl.load(word_at + run), tl.load(cut_at + run), odd_0, odd_1, odd_2)
    if relu:
        lost = lost | (h < 0)  # what is not a number stays, and is noticed
    tl.store(out_at + run * size + place, tl.where(lost, 0.0, h * tl.load(scale_at + run)), inside)


@triton.jit
def _gate_kernel(  # type: ignore[no-untyped-def]
    grad_at, out_at, down_at, scale_at, size, block: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    inside = place < size
    at = run * size + place
    open = tl.load(out_at + at, inside) > 0
    down = tl.where(open, tl.load(grad_at + at, inside) * tl.load(scale_at + run), 0.0)
    tl.store(down_at + at, down, inside)


def drop(
    word: Tensor, cut: Tensor, scale: Tensor, h: Tensor, start: int, odd: tuple[int, int, int], relu: bool
) -> Tensor:
    """Return ``h`` of each run, (R, ...), with the entries zero whose hash is below the run's ``cut``.

    ``word`` is what the run adds to the hash, ``start`` the place of the first entry, ``odd`` the hash's
    multipliers. What is kept is multiplied by ``scale``; with ``relu``, what is negative goes too. Runs may
    share one ``h``, expanded.
    """
    size = h[0].numel()
    shared = h.stride(0) == 0
    h = h[0].contiguous() if shared else h.contiguous()
    out = h.new_empty(len(word), *(h.shape if shared else h.shape[1:]))
    if size:
        grid = (triton.cdiv(size, BLOCK), len(word))
        step = 0 if shared else size
        _dropout_kernel[grid](h, out, word, cut, scale, size, step, start, relu, *odd, BLOCK)
    return out


def gate(scale: Tensor, out: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient times ``scale`` of each run where ``out`` is positive, else zero."""
    down, size = grad.new_empty(out.shape), out[0].numel()
    if size:
        grid = (triton.cdiv(size, BLOCK), len(out))
        _gate_kernel[grid](grad.contiguous(), out.contiguous(), down, scale, size, BLOCK)
    return down
