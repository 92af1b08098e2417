"""The k largest of values that lie with several processes: what the thresholds of HDP need (Eq. 4, 25)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from heterophily.distributed.world import World

DIGIT = 16
"""Bits that one round settles; a round adds up a histogram of all processes."""


class Cut(NamedTuple):
    """Where the chosen values end: those above the threshold, and of those on it the ones up to ``key``."""

    threshold: Tensor  # () float64; infinite where none is chosen
    key: Tensor  # () int64

    def chosen(self, values: Tensor, keys: Tensor) -> Tensor:
        """Say which values are among the chosen."""
        return (values > self.threshold) | ((values == self.threshold) & (keys <= self.key))


def largest(world: World, values: Tensor, keys: Tensor, count: int) -> Cut:
    """Find the ``count`` largest values of all processes, exactly; ties go to the smaller key.

    ``values`` are float64 and not negative, so that they are ordered as the whole numbers that have their
    bits. ``keys`` grow from process to process and within each.
    """
    if count <= 0:
        return Cut(values.new_tensor(torch.inf), keys.new_tensor(-1))
    bits = values.view(torch.int64)
    left, prefix, among = count, 0, bits
    for shift in range(64 - DIGIT, -1, -DIGIT):
        digit = (among >> shift) & (2**DIGIT - 1)
        histogram = world.total(torch.bincount(digit, minlength=2**DIGIT))
        reached = histogram.flip(0).cumsum(0)  # how many have this digit or a higher one
        place = int(torch.searchsorted(reached, left))
        left -= int(reached[place - 1]) if place else 0
        here = 2**DIGIT - 1 - place
        prefix = prefix << DIGIT | here
        among = among[digit == here]
    threshold = torch.tensor(prefix, device=values.device).view(torch.float64)
    tied = keys[bits == prefix]
    before, _ = world.before(len(tied))
    mine = before < left <= before + len(tied)
    last = tied[left - before - 1] if mine else keys.new_zeros(())
    return Cut(threshold, world.total(last))
