"""How much memory there is, so that what cannot fit is refused in words before it is begun."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

PLENTY = 2**60
"""Bytes, where nobody knows: nothing is refused."""


def available() -> int:
    """Return the bytes that this machine can still give to a process."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return PLENTY


@cache
def total() -> int:
    """Return the bytes that this machine has, or that its container may use of them."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        found = PLENTY
    with suppress(OSError, ValueError):
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return found
