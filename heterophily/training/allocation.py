"""Large temporaries on a CPU: keep their memory instead of fetching it anew from the system each time."""

from __future__ import annotations

import ctypes
import platform

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt
USUAL, TIGHT = 2**30, 2**26
"""Bytes of a block up to which its memory is kept: where there is enough of it, and where there is not."""


def keep_freed_memory(most: int = USUAL) -> bool:
    """Let the C library reuse what tensors of up to so many bytes free; say whether it could be told to.

    By default glibc hands blocks above 32 MiB back at once, and every epoch then pays for page faults. But
    what is kept falls into pieces, which the tensors of a very large graph do not fit into: theirs is handed
    back, or a training would take up to twice its memory. Holds for the whole process.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MMAP_THRESHOLD, most) and library.mallopt(TRIM_THRESHOLD, 2**31 - 1))
