"""Adam for many runs at once, each with its own learning rate and weight decay."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from heterophily.kernels import kernels

FusedStep = Callable[..., None]
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Alike(NamedTuple):
    """Runs one after another that have the same learning rate and weight decay."""

    rows: slice
    learning_rate: float
    weight_decay: float


class Adam:
    """Adam (Kingma and Ba) as ``torch.optim.Adam`` computes it, over stacked parameters (R, ...).

    ``decoupled`` makes it ``torch.optim.AdamW``; parameters named in ``spared`` are not decayed. On a GPU a
    kernel of ours moves all runs in one pass over memory; elsewhere torch's does so for runs that are alike.
    """

    def __init__(
        self,
        params: dict[str, Tensor],
        learning_rate: Tensor,
        weight_decay: Tensor,
        decoupled: bool = False,
        spared: Collection[str] = (),
    ):
        # A kernel reads them run by run, as they lie in memory.
        self.learning_rate, self.weight_decay = learning_rate.contiguous(), weight_decay.contiguous()
        self.decoupled, self.spared = decoupled, spared
        self.decays = bool((weight_decay > 0).any())
        self.mean = {name: torch.zeros_like(p) for name, p in params.items()}
        self.square = {name: torch.zeros_like(p) for name, p in params.items()}
        self.steps = learning_rate.new_zeros(())
        self.fused = kernels(self.steps.device)
        self.alike = alike(self.learning_rate, self.weight_decay)

    def step(self, params: dict[str, Tensor], grads: dict[str, Tensor]) -> None:
        """Move the parameters in place."""
        if self.fused is not None:
            self._in_one_pass(self.fused.adam_step, params, grads)
            return
        grads = {name: g.contiguous() for name, g in grads.items()}
        bare = [name for name in params if name in self.spared]
        for runs in self.alike:
            self._by_torch(runs, [name for name in params if name not in bare], params, grads)
            self._by_torch(runs._replace(weight_decay=0.0), bare, params, grads)
        self.steps += 1

    def _by_torch(
        self, runs: Alike, names: list[str], params: dict[str, Tensor], grads: dict[str, Tensor]
    ) -> None:
        def some(tensors: dict[str, Tensor]) -> list[Tensor]:
            return [tensors[name][runs.rows] for name in names]

        steps = [self.steps.float() for _ in names]
        (adamw if self.decoupled else adam)(
            some(params), some(grads), some(self.mean), some(self.square), [], steps, fused=True,
            lr=runs.learning_rate, weight_decay=runs.weight_decay,
            beta1=BETA_1, beta2=BETA_2, eps=EPSILON, amsgrad=False, maximize=False,
        )  # fmt: skip

    def _in_one_pass(self, step: FusedStep, params: dict[str, Tensor], grads: dict[str, Tensor]) -> None:
        self.steps += 1
        rate = self.learning_rate / (1 - BETA_1**self.steps)
        root = (1 - BETA_2**self.steps).sqrt()
        decay = 1 - self.learning_rate * self.weight_decay if self.decoupled else self.weight_decay
        dtype = next(iter(params.values())).dtype
        decay, floor, slope = (value.to(dtype) for value in (decay, EPSILON / rate, 1 / (rate * root)))
        for name, p in params.items():
            g, m, v = grads[name].contiguous(), self.mean[name], self.square[name]
            decays = self.decays and name not in self.spared
            step(p, g, m, v, decay if decays else None, floor, slope, (BETA_1, BETA_2), self.decoupled)

    def keep(self, rows: Tensor) -> None:
        """Go on with some of the runs."""
        self.learning_rate, self.weight_decay = self.learning_rate[rows], self.weight_decay[rows]
        self.mean = {name: m[rows] for name, m in self.mean.items()}
        self.square = {name: v[rows] for name, v in self.square.items()}
        self.alike = alike(self.learning_rate, self.weight_decay)


def alike(learning_rate: Tensor, weight_decay: Tensor) -> list[Alike]:
    """Find the runs one after another that have both in common."""
    found: list[Alike] = []
    for pair, some in groupby(zip(learning_rate.tolist(), weight_decay.tolist(), strict=True)):
        start = found[-1].rows.stop if found else 0
        found.append(Alike(slice(start, start + len(list(some))), *pair))
    return found
