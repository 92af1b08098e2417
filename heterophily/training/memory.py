"""How many runs fit: measured on one, forecast for all, halved when the forecast was wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.utils import _pytree as pytree

from heterophily.rows import in_slices
from heterophily.sparse import Pattern, SparseMatrix
from heterophily.stage import Stage, Trained
from heterophily.training.engine import Batch, Watch

SHARE = 0.6
"""Share of the free device memory that a batch may plan on."""


def runs_that_fit(stage: Stage, device: torch.device, dtype: torch.dtype, precision: str = "full") -> int:
    """Forecast how many runs like this stage fit on the device, by training one of them for an epoch.

    Nor may the block diagonal of all runs outgrow its 32-bit indices. A run on a graph so large that it is
    computed slice by slice is trained alone.
    """
    if in_slices(stage.state):
        return 1
    sparse = (SparseMatrix, Pattern)
    leaves = pytree.tree_leaves(stage.state, is_leaf=lambda part: isinstance(part, sparse))
    matrices = [part for part in leaves if isinstance(part, sparse)]
    sizes = [max(part.col.numel(), part.crow.numel(), part.t_crow.numel()) for part in matrices]
    most = (2**31 - 1) // max(sizes, default=1)
    if device.type != "cuda":
        return most
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    Batch([stage], device, dtype, precision=precision).epoch()
    each = torch.cuda.max_memory_allocated(device) - before
    torch.cuda.empty_cache()
    return max(1, min(most, int(SHARE * free_memory(device) / max(each, 1))))


def free_memory(device: torch.device) -> int:
    """Return the bytes that this process may still take of a GPU, which others may share."""
    free, total = torch.cuda.mem_get_info(device)
    own = torch.cuda.get_per_process_memory_fraction(device.index) * total
    return min(free, int(own) - torch.cuda.memory_reserved(device))


def train_within_memory(
    courses: Sequence[Sequence[Stage]],
    size: int,
    device: torch.device,
    dtype: torch.dtype,
    watch: Watch | None,
    precision: str = "full",
) -> list[Trained]:
    """Train so many courses at a time; a batch that runs out of memory is halved, finished ones are kept."""
    done: list[Trained] = []
    begin = 0
    while begin < len(courses):
        some = courses[begin : begin + size]
        try:
            stages = [stage for course in some for stage in course]
            done += Batch(stages, device, dtype, precision=precision).run(watch)
            begin += len(some)
            continue
        except torch.OutOfMemoryError:
            if len(some) == 1:
                raise
        torch.cuda.empty_cache()
        size = len(some) // 2
    return done
