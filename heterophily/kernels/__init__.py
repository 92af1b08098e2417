"""Single passes over memory for a GPU on which Triton runs; without one, plain torch computes the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch


@cache
def kernels(device: torch.device) -> Any:
    """Return the module of kernels, where there is a GPU that can have them; else None.

    torch brings Triton along on Linux, and Triton needs a C compiler on the machine.
    """
    if device.type != "cuda":
        return None
    try:
        from heterophily.kernels import passes

        passes.try_out(device)
    except Exception:  # of many kinds: no Triton, no compiler, no driver, no room
        return None
    return passes
