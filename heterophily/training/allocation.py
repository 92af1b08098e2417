"""Large temporaries on a CPU: keep their memory instead of fetching it anew from the system each time."""

from __future__ import annotations

import ctypes
import functools
import platform

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt


@functools.cache
def keep_freed_memory() -> bool:
    """Let the C library reuse what large tensors free; say whether it could be told to.

    By default glibc hands blocks above 32 MiB back at once, and every epoch of a large graph then pays
    for page faults. Holds for the whole process, once.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MMAP_THRESHOLD, 2**30) and library.mallopt(TRIM_THRESHOLD, 2**31 - 1))
