"""A step of Adam.

Written as tensor operations a step reads and writes each parameter, gradient and moment some twenty times
over, which is most of the traffic of small models. Here it does so once.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
PLAIN, COUPLED, DECOUPLED = 0, 1, 2


@triton.jit
def _adam_kernel(  # type: ignore[no-untyped-def]
    p_at, g_at, m_at, v_at, decay_at, floor_at, slope_at, size,
    beta_1: tl.constexpr, beta_2: tl.constexpr, kind: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * block + tl.arange(0, block)
    inside = column < size
    at = run * size + column
    p = tl.load(p_at + at, inside)
    g = tl.load(g_at + at, inside)
    m = tl.load(m_at + at, inside)
    v = tl.load(v_at + at, inside)
    if kind == 1:
        g += p * tl.load(decay_at + run)
    if kind == 2:
        p *= tl.load(decay_at + run)
    m += (g - m) * (1 - beta_1)
    v = v * beta_2 + g * g * (1 - beta_2)
    p -= m / (tl.load(floor_at + run) + tl.sqrt(v) * tl.load(slope_at + run))
    tl.store(p_at + at, p, inside)
    tl.store(m_at + at, m, inside)
    tl.store(v_at + at, v, inside)


def adam_step(
    p: Tensor, g: Tensor, m: Tensor, v: Tensor, decay: Tensor | None, floor: Tensor, slope: Tensor,
    betas: tuple[float, float], decoupled: bool,
) -> None:  # fmt: skip
    """Move the stacked parameter ``p`` (R, ...) and its moments in place.

    ``decay`` of each run is what p is multiplied by (``decoupled``) or what of it is added to the gradient;
    then p loses m / (floor + slope sqrt(v)).
    """
    size = p[0].numel()
    kind = PLAIN if decay is None else DECOUPLED if decoupled else COUPLED
    grid = (triton.cdiv(size, BLOCK), len(p))
    _adam_kernel[grid](p, g, m, v, floor if decay is None else decay, floor, slope, size, *betas, kind, BLOCK)
