"""Semantic structural encoding: where random walks from a node land in the training set (Eq. 7-8)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from heterophily.graph.graph import GraphError
from heterophily.room import available
from heterophily.sparse import Features, SparseMatrix, features, from_scipy, multiply, to_scipy

ROOM = 2**26
"""Entries of an intermediate result: a few targets, or a few rows, are encoded at a time to stay within."""
ENTRY = 40
"""Bytes that an entry takes by the time it is a feature: its value and its places, forth and back."""
DENSE = 2**29
"""Entries, zeros included, beyond which X^str is never dense, not even a few columns at a time."""


def target_set(y: Tensor, train: Tensor, size: int, seed: int = 0) -> Tensor:
    """Choose S^tar from the training set: all of it, or a class-balanced sample of ``size`` nodes.

    The paper is silent on which targets are taken when there are fewer than training nodes: each
    class gives one node in turn, in a random order fixed by ``seed``.
    """
    nodes = train.nonzero().flatten()
    if size >= nodes.numel():
        return nodes
    shuffle = torch.randperm(nodes.numel(), generator=torch.Generator().manual_seed(seed))
    nodes = nodes[shuffle.to(nodes.device)]
    one_hot = torch.nn.functional.one_hot(y[nodes])
    turn = (one_hot.cumsum(0) * one_hot).sum(1)
    return nodes[torch.argsort(turn, stable=True)[:size]].sort().values


def structural_encoding(
    walk: SparseMatrix, targets: Tensor, hops: int, width: int | None = None, top: int = 0
) -> Features:
    """Return X^str = (D⁻¹A)^κ X̂^str, the landing probabilities on each target (Eq. 7-8).

    Column i belongs to the i-th target; further columns up to ``width`` are zero, so that splits of
    different sizes give matrices of one shape. Sparse where few walks land.

    ``top`` keeps the so many largest entries of each row after every step. What is left out of a row are
    its smallest entries, and a row sums to at most 1, so that each of them is at most 1 / (top + 1); a later
    step takes means of rows and makes no error larger. After κ steps, then, no entry is too high, and none
    is too low by more than κ / (top + 1).
    """
    size = walk.shape[0]
    width = targets.numel() if width is None else width
    if top or size * width > DENSE:
        return _sparsely(walk, targets, hops, width, top)
    chunks = []
    step = max(1, ROOM // size)
    for start in range(0, width, step):
        some = targets[start : start + step]
        x_str = walk.val.new_zeros(size, min(step, width - start))
        x_str[some, torch.arange(some.numel(), device=some.device)] = 1  # Eq. 7
        for _ in range(hops):
            x_str = multiply(walk, x_str)  # Eq. 8
        sparse = x_str.count_nonzero() < 0.2 * x_str.numel()
        chunks.append(x_str.to_sparse_coo() if sparse else x_str)
    if not chunks:
        return walk.val.new_zeros(size, 0)
    if not all(chunk.is_sparse for chunk in chunks):
        chunks = [chunk.to_dense() for chunk in chunks]
    return features(torch.cat(chunks, 1))


def _sparsely(walk: SparseMatrix, targets: Tensor, hops: int, width: int, top: int) -> SparseMatrix:
    """The same by products of sparse matrices, on the host: time and memory go by the walks that land."""
    step = to_scipy(walk)
    one = np.ones(targets.numel(), dtype=step.dtype)
    where = targets.cpu().numpy(), np.arange(targets.numel())
    x_str = scipy.sparse.csr_array((one, where), shape=(walk.shape[0], width))  # Eq. 7
    for _ in range(hops):
        x_str = _stepped(step, x_str, top)  # Eq. 8
    return from_scipy(x_str, walk.val.device)


def _stepped(step: Any, x_str: Any, top: int) -> Any:
    """Return ``step @ x_str`` with the largest entries of each row, some rows at a time."""
    walks = np.cumsum(step.astype(bool).astype(np.int64) @ np.diff(x_str.indptr))
    cuts = np.searchsorted(walks, np.arange(ROOM, walks[-1], ROOM))
    entries, parts = 0, []
    for a, b in pairwise(np.unique([0, *cuts, step.shape[0]])):
        parts.append(_highest(step[a:b] @ x_str, top))
        entries += parts[-1].nnz
        forecast = ENTRY * entries * walks[-1] / max(walks[b - 1], 1)
        if forecast > (left := available()):
            raise GraphError(
                f"the structural encoding would take about {forecast / 2**30:,.1f} GiB, and "
                f"{left / 2**30:,.1f} GiB are free; keep the largest entries of each row "
                "(structural_top=32), or lower hops or structural_dim"
            )
    return scipy.sparse.vstack(parts, "csr")


def _highest(rows: Any, top: int) -> Any:
    """Keep the ``top`` largest entries of each row, of equal ones those of the earlier columns; 0 is all."""
    rows.sort_indices()
    count = np.diff(rows.indptr)
    if not top or count.max(initial=0) <= top:
        return rows
    row = np.repeat(np.arange(rows.shape[0]), count)
    order = np.lexsort((-rows.data, row))  # stable: rows stay together, and of equal entries the order
    rank = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], count)
    kept = np.sort(order[rank < top])
    ends = np.concatenate([[0], np.cumsum(np.minimum(count, top))])
    return scipy.sparse.csr_array((rows.data[kept], rows.indices[kept], ends), shape=rows.shape)


def scaled(x_str: Features, length: float) -> Features:
    """Scale X^str so that its rows have the given mean length; 0 leaves it alone.

    Landing probabilities are about 1 / degree, far too small for an MLP at the paper's learning
    rates; the paper does not say how it scales them.
    """
    val = x_str if isinstance(x_str, Tensor) else x_str.val
    return x_str if length == 0 or val.numel() == 0 else times(x_str, length / mean_length(x_str))


def mean_length(x_str: Features) -> Tensor:
    """Return the mean length of the rows."""
    if isinstance(x_str, Tensor):
        return x_str.norm(dim=1).mean().clamp(min=1e-12)
    squares = multiply(x_str._replace(val=x_str.val.square()), x_str.val.new_ones(x_str.shape[1], 1))
    return squares.sqrt().mean().clamp(min=1e-12)


def times(x_str: Features, factor: Tensor) -> Features:
    """Return ``x_str`` times a number."""
    return x_str * factor if isinstance(x_str, Tensor) else x_str._replace(val=x_str.val * factor)
