"""Semantic structural encoding: where random walks from a node land in the training set (Eq. 7-8)."""

from __future__ import annotations

import torch
from torch import Tensor

from heterophily.sparse import Features, SparseMatrix, features, multiply

ROOM = 2**26
"""Entries of the dense intermediate; targets are encoded a few at a time to stay within them."""


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


def structural_encoding(walk: SparseMatrix, targets: Tensor, hops: int, width: int | None = None) -> Features:
    """Return X^str = (D⁻¹A)^κ X̂^str, the landing probabilities on each target (Eq. 7-8).

    Column i belongs to the i-th target; further columns up to ``width`` are zero, so that splits of
    different sizes give matrices of one shape. Sparse where few walks land.
    """
    size = walk.shape[0]
    width = targets.numel() if width is None else width
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
