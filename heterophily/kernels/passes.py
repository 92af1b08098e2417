"""The kernels that there are, and a first call of each."""

from __future__ import annotations

import torch

from heterophily.kernels.adam import adam_step
from heterophily.kernels.dropout import drop, gate
from heterophily.kernels.product import product

__all__ = ["adam_step", "drop", "gate", "product", "try_out"]


def try_out(device: torch.device) -> None:
    """Run each once; where Triton does not work this fails."""
    p, g, m, v = torch.ones(4, 1, 1, device=device)
    one = torch.ones(1, device=device)
    adam_step(p, g, m, v, one, one, one, (0.9, 0.999), False)
    whole = torch.zeros(1, dtype=torch.int64, device=device)
    gate(one, p, drop(whole, whole.short(), one, p, 0, (1, 1, 1), relu=True))
    product(torch.tensor([0, 1], dtype=torch.int32, device=device), whole.int(), one, p)
