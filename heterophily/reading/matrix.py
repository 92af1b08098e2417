"""Features in a ``.npy`` file: mapped into memory, so that only the rows in use are there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heterophily.reading.mistakes import ReadingError, reason
from heterophily.reading.tables import existing, suffix


def is_matrix(given: Any) -> bool:
    """Whether this is a file with a matrix."""
    return isinstance(given, str | os.PathLike) and suffix(Path(given)) == ".npy"


def mapped(given: str | os.PathLike[str], notes: list[str]) -> Tensor:
    """The matrix of a file; one in float32 stays on the disk, another is converted in memory.

    What is written to it, were anything, would not reach the file.
    """
    path = existing(given)
    try:
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except Exception as error:  # whatever a damaged file makes it stumble over
        raise ReadingError(f"{path.name} cannot be read ({reason(error)}); save it with numpy.save") from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ReadingError(
            f"{path.name} holds {array.dtype} of shape {array.shape}; features are a matrix of numbers, "
            "a row for each node"
        )
    direct = array.dtype == np.float32 and array.flags.c_contiguous
    how = "mapped" if direct else f"{array.dtype} made float32 in memory; save float32 to have it mapped"
    notes.append(f"read {path.name}: {array.shape[0]:,} rows of {array.shape[1]:,} features, {how}")
    return torch.from_numpy(array if direct else np.ascontiguousarray(array, dtype=np.float32))
