"""Which rows of a matrix are equal: nodes with the same neighbors, nodes with the same features.

Rows are hashed to 128 bits, sorted by hash, and compared with the first of their hash entry by entry, so
that a collision cannot make twins. Time O(nnz + N log N); memory is bounded by working on blocks of rows.

The hash is fixed: it gives the same numbers on every machine, in any order of the rows, whether the matrix
is dense or sparse. It serves to recognize a dataset as well (`heterophily.graph.known`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
BLOCK = 1 << 22
"""Entries looked at together."""
LANES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))


class Rows(NamedTuple):
    """A matrix by its rows: CSR with sorted columns and no zeros (values may be None: all 1), or dense."""

    indptr: Ints | None
    indices: NDArray[np.integer] | None
    values: NDArray[np.float32] | None
    dense: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, x: Tensor) -> Rows:
        """The rows of a dense or CSR tensor of features."""
        if not x.is_sparse_csr:
            return cls(None, None, None, x.cpu().numpy())
        parts = [part.cpu().numpy() for part in (x.crow_indices(), x.col_indices(), x.values())]
        indptr, indices, values = parts
        if not values.all():
            kept = values != 0
            indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
            indices, values = indices[kept], values[kept]
        return cls(indptr, indices, values)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.dense) if self.indptr is None and self.dense is not None else self.lengths.size

    @property
    def lengths(self) -> Ints:
        """How many entries each row has."""
        if self.indptr is None:
            assert self.dense is not None
            return np.count_nonzero(self.dense, axis=1)
        return np.diff(self.indptr)

    def entries(self, rows: Ints) -> tuple[Ints, NDArray[np.integer], NDArray[np.float32] | None]:
        """Return the lengths of some rows, and their columns and values one row after another."""
        if self.indptr is None:
            assert self.dense is not None
            part = self.dense[rows]
            row, column = part.nonzero()
            return np.bincount(row, minlength=len(rows)), column, part[row, column]
        assert self.indices is not None
        start, length = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        ends = np.cumsum(length)
        at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - (ends - length), length)
        return length, self.indices[at], None if self.values is None else self.values[at]

    def blocks(self, rows: Ints) -> Iterator[Ints]:
        """Cut rows into blocks of about BLOCK entries."""
        width = self.lengths[rows] + 1 if self.dense is None else np.full(len(rows), self.dense.shape[1] + 1)
        cuts = np.searchsorted(np.cumsum(width), np.arange(BLOCK, width.sum() + BLOCK, BLOCK), side="right")
        start = 0
        for cut in cuts:
            end = max(int(cut), start + 1)
            if start < len(rows):
                yield rows[start:end]
            start = end


def mix(z: Hashes) -> Hashes:
    """Scramble 64 bits (the finalizer of SplitMix64); a one-to-one map."""
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def row_hashes(rows: Rows) -> Hashes:
    """Return 128 bits for each row, (N, 2): sums of hashes of its entries; 0 for an empty row."""
    found = np.zeros((rows.size, 2), np.uint64)
    for part in rows.blocks(np.arange(rows.size)):
        length, column, value = rows.entries(part)
        entry = mix(column.astype(np.uint64) + np.uint64(1))
        if value is not None:
            entry = mix(entry ^ value.view(np.uint32).astype(np.uint64))
        filled = length > 0
        starts = (np.cumsum(length) - length)[filled]
        for lane, constant in enumerate(LANES):
            if len(starts):
                found[part[filled], lane] = np.add.reduceat(mix(entry ^ constant), starts)
    return found


def number_rows(rows: Rows, hashes: Hashes | None = None) -> Ints:
    """Number the rows, (N,): equal rows have the same number from 1 on, rows without entries have 0."""
    hashes = row_hashes(rows) if hashes is None else hashes
    lengths = rows.lengths
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    order = order[lengths[order] > 0]
    ranked = hashes[order]
    new = np.ones(len(order), bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(1)
    group = np.cumsum(new)
    first = order[new]
    number = np.zeros(len(lengths), np.int64)
    number[order] = group
    rest = order[~new]
    odd = rest[~_equal(rows, rest, first[number[rest] - 1])] if len(rest) else rest
    if len(odd):  # a collision of 128 bits: never seen, but never trusted either
        known: dict[bytes, int] = {}
        for row in odd:
            _, column, value = rows.entries(np.array([row]))
            text = column.tobytes() + (b"" if value is None else value.tobytes())
            number[row] = known.setdefault(text, len(first) + len(known) + 1)
    return number


def both(one: Ints, other: Ints) -> Ints:
    """Number the pairs of two numberings; 0 where one of them is 0."""
    pair = one * (other.max(initial=0) + 1) + other
    number = np.unique(pair, return_inverse=True)[1] + 1
    return np.where((one > 0) & (other > 0), number, 0)


def _equal(rows: Rows, ours: Ints, theirs: Ints) -> NDArray[np.bool_]:
    """Return whether row ours[i] equals row theirs[i], entry by entry."""
    lengths = rows.lengths
    same = lengths[ours] == lengths[theirs]
    candidates = np.flatnonzero(same)
    place = 0
    for part in rows.blocks(ours[candidates]):
        here = candidates[place : place + len(part)]
        place += len(part)
        (length, column, value), (_, column_2, value_2) = rows.entries(part), rows.entries(theirs[here])
        alike = column == column_2
        if value is not None:
            alike &= value == value_2
        same[here] = np.logical_and.reduceat(alike, np.cumsum(length) - length)
    return same
