"""Pickles among the raw files of benchmark graphs, read as the data they should be: nothing in them can run.

A pickle may name any function to be called when it is read. Those of Planetoid and the splits of Penn94 need
arrays, sparse matrices, dictionaries and lists; what names anything else is refused before it is found.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from numpy.lib import format as npy

HARMLESS = {
    ("__builtin__", "list"),
    ("_codecs", "encode"),
    ("collections", "defaultdict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("scipy.sparse.csr", "csr_matrix"),
    ("scipy.sparse._csr", "csr_matrix"),
}
"""What a pickle may name."""


class Plain(pickle.Unpickler):
    """Reads data alone."""

    def find_class(self, module: str, name: str) -> Any:
        """Find what a pickle names, if it is harmless."""
        if (module, name) not in HARMLESS:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no data and could run code")
        return super().find_class(module, name)


def load(file: Path) -> Any:
    """Read a pickle of data, or one in an array; what names anything else raises `pickle.UnpicklingError`."""
    with file.open("rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy has moved its matrices since these were written
        if file.suffix == ".npy" and not _objects(stream):
            return None
        return Plain(stream, encoding="latin1").load()


def _objects(stream: IO[bytes]) -> bool:
    """Go to the content of an array; say whether it is a pickle."""
    version = npy.read_magic(stream)
    head = npy.read_array_header_1_0(stream) if version == (1, 0) else npy.read_array_header_2_0(stream)
    return bool(head[2].hasobject)


def check(files: Iterable[Path]) -> None:
    """Refuse raw files that hold more than data; PyG would read them without a look."""
    for file in files:
        if file.suffix == ".npy" or (file.name.startswith("ind.") and file.suffix != ".index"):
            try:
                load(file)
            except pickle.UnpicklingError as error:
                raise pickle.UnpicklingError(f"{file.name}: {error}") from None
