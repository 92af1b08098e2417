"""The largest of many numbers: which they are, and where the cut is, without sorting the rest."""

from __future__ import annotations

import torch
from torch import Tensor

SORTED = {"cpu": 2**20, "cuda": 2**24}
"""Numbers up to which one sort takes less time than a search for the cut, by device; it takes more memory."""
LOWEST = -(2**63)


def largest(values: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Return the ``count``-th largest value, and a mask of exactly ``count`` values from there up.

    Of equal values at the cut the earlier ones are marked. With none to mark the cut is infinite. Nothing
    is read back from the device, so ``count`` may differ from run to run.
    """
    few = values.shape[-1] <= SORTED.get(values.device.type, SORTED["cpu"])
    cut, marked = (_sorted if few else _searched)(values, count)
    return torch.where(count > 0, cut, torch.inf), marked


def _sorted(values: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    order = torch.argsort(values, dim=-1, descending=True, stable=True)
    rank = torch.arange(order.shape[-1], device=order.device)
    marked = torch.zeros_like(order).scatter(-1, order, (rank < count).long()).bool()
    last = values.gather(-1, order.gather(-1, (count - 1).clamp(min=0).reshape(1)))
    return last.squeeze(-1), marked


def _searched(values: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Find the cut bit by bit, from the highest: as whole numbers, the bits of floats keep their order."""
    bits = values.double().view(torch.int64)
    bits = bits ^ ((bits >> 63) & ~LOWEST)  # of negative floats, the larger are the lower whole numbers
    cut = torch.full_like(count, LOWEST)
    for place in reversed(range(64)):
        higher = cut + (1 << place if place < 63 else LOWEST)  # the first step is that to 0
        cut = torch.where((bits >= higher).sum(-1) >= count, higher, cut)
    above, at = bits > cut, bits == cut
    left = count - above.sum(-1)
    marked = above | (at & (at.cumsum(-1, dtype=torch.int32) <= left))
    found = cut ^ ((cut >> 63) & ~LOWEST)
    return found.reshape(1).view(torch.float64).squeeze(0).to(values.dtype), marked
