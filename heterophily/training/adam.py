"""Adam for many runs at once, each with its own learning rate and weight decay."""

from __future__ import annotations

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from heterophily.kernels import kernels

FusedStep = Callable[..., None]
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Adam (Kingma and Ba) as ``torch.optim.Adam`` computes it, over stacked parameters (R, ...).

    ``decoupled`` makes it ``torch.optim.AdamW``; parameters named in ``spared`` are not decayed.
    """

    def __init__(
        self,
        params: dict[str, Tensor],
        learning_rate: Tensor,
        weight_decay: Tensor,
        decoupled: bool = False,
        spared: Collection[str] = (),
    ):
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.decoupled, self.spared = decoupled, spared
        self.decays = bool((weight_decay > 0).any())
        self.mean = {name: torch.zeros_like(p) for name, p in params.items()}
        self.square = {name: torch.zeros_like(p) for name, p in params.items()}
        self.steps = learning_rate.new_zeros(())

    def step(self, params: dict[str, Tensor], grads: dict[str, Tensor]) -> None:
        """Move the parameters in place; the gradients are used up as scratch memory."""
        self.steps += 1
        rate = self.learning_rate / (1 - BETA_1**self.steps)
        root = (1 - BETA_2**self.steps).sqrt()
        if (fused := kernels(self.steps.device)) is not None:
            self._fused(fused.adam_step, params, grads, EPSILON / rate, 1 / (rate * root))
            return
        for name, p in params.items():
            g, m, v = grads[name].contiguous(), self.mean[name], self.square[name]
            if self.decays and name not in self.spared:
                if self.decoupled:
                    p.mul_(_like(1 - self.learning_rate * self.weight_decay, p))
                else:
                    g.addcmul_(p, _like(self.weight_decay, p))
            m.lerp_(g, 1 - BETA_1)
            v.mul_(BETA_2).addcmul_(g, g, value=1 - BETA_2)
            # p - rate · m / (sqrt(v) / root + ε), in place: with temporaries it takes several times as long.
            denominator = torch.sqrt(v, out=g)
            torch.addcmul(_like(EPSILON / rate, p), denominator, _like(1 / (rate * root), p), out=denominator)
            p.addcdiv_(m, denominator, value=-1)

    def _fused(
        self,
        step: FusedStep,
        params: dict[str, Tensor],
        grads: dict[str, Tensor],
        floor: Tensor,
        slope: Tensor,
    ) -> None:
        decay = 1 - self.learning_rate * self.weight_decay if self.decoupled else self.weight_decay
        dtype = next(iter(params.values())).dtype
        decay, floor, slope = (value.to(dtype) for value in (decay, floor, slope))
        for name, p in params.items():
            g, m, v = grads[name].contiguous(), self.mean[name], self.square[name]
            decays = self.decays and name not in self.spared
            step(p, g, m, v, decay if decays else None, floor, slope, (BETA_1, BETA_2), self.decoupled)

    def keep(self, rows: Tensor) -> None:
        """Go on with some of the runs."""
        self.learning_rate, self.weight_decay = self.learning_rate[rows], self.weight_decay[rows]
        self.mean = {name: m[rows] for name, m in self.mean.items()}
        self.square = {name: v[rows] for name, v in self.square.items()}


def _like(values: Tensor, p: Tensor) -> Tensor:
    return values.to(p.dtype).view(-1, *[1] * (p.dim() - 1))
