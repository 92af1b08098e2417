"""The kernels that there are, and a first call of each."""

from __future__ import annotations

import torch

from heterophily.kernels.adam import adam_step
from heterophily.kernels.attention import WIDEST as WIDEST_HEAD
from heterophily.kernels.attention import attend, unattend
from heterophily.kernels.dropout import drop, gate
from heterophily.kernels.neighbors import WIDEST, mix, neighbor_mean, unmix
from heterophily.kernels.product import product

__all__ = [
    "WIDEST", "WIDEST_HEAD", "adam_step", "attend", "drop", "gate", "mix", "neighbor_mean", "product",
    "try_out", "unattend", "unmix",
]  # fmt: skip


def try_out(device: torch.device) -> None:
    """Run each once; where Triton does not work this fails."""
    p, g, m, v = torch.ones(4, 1, 1, device=device)
    one = torch.ones(1, device=device)
    adam_step(p, g, m, v, one, one, one, (0.9, 0.999), False)
    whole = torch.zeros(1, dtype=torch.int64, device=device)
    gate(one, p, drop(whole, whole.short(), one, p, 0, (1, 1, 1), relu=True))
    crow = torch.tensor([[0, 1]], dtype=torch.int32, device=device)
    product(crow[0], whole.int(), one, p)
    edges, h, weight = (crow, whole.int()[None], one[None]), p[None], torch.ones(1, 1, 2, device=device)
    out, means, alphas = mix(*edges, neighbor_mean(*edges, h), weight, p, True)
    unmix(*edges, h, weight, means, alphas, out)
    z, col, drops, odd = h[None], whole.int()[None], (whole, whole.short(), one), (1, 1, 1)
    out, top, total = attend(crow, col, z, h, h, 0.2, drops, odd)
    unattend(crow, col, crow, col, whole[None], z, h, h, 0.2, drops, odd, out, top, total, out)
