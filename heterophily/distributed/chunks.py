"""MLPs of many rows, some rows at a time: what is needed on the way is never there as a whole.

What the gradient needs of the hidden layers is kept, or each chunk is computed once more with the same
dropout: then what is kept of a graph is as wide as its representations and not as its hidden layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heterophily.layers import MLP, Dropout
from heterophily.sparse import Features

ROWS = 2048
"""Rows of a chunk."""

Chunk = tuple[Features, ...]
"""The feature blocks of some rows."""


class Places:
    """Says of each chunk where its entries stand among those of all nodes, so that dropout is the same."""

    def __init__(self, first: int):
        self.first, self.row = first, 0
        """The first own node, and the first own row of the chunk that is at work."""
        self.starts: dict[int, int] = {}
        """Entries in front of those of a sparse block, by where its columns lie in memory."""

    def begin(self, h: Features) -> int:
        """Return the place of the first entry."""
        return (
            (self.first + self.row) * h.shape[1] if isinstance(h, Tensor) else self.starts[h.col.data_ptr()]
        )


def in_chunks(module: nn.Module, places: Places, recompute: bool) -> None:
    """Let every MLP of a module take a sequence of chunks, and every dropout know where it is."""
    for part in module.modules():
        if isinstance(part, Dropout):
            part.begin = places.begin
        if isinstance(part, MLP):
            part.forward = _Rows(part, places, recompute)  # type: ignore[method-assign, assignment]


class _Rows:
    """The forward pass of an MLP over chunks."""

    def __init__(self, mlp: MLP, places: Places, recompute: bool):
        self.mlp = mlp
        self.recompute, self.places, self.params = recompute, places, list(mlp.parameters())
        self.dropouts = [part for part in mlp.modules() if isinstance(part, Dropout)]

    def __call__(self, chunks: Sequence[Chunk]) -> Tensor:
        if not self.recompute:
            return torch.cat(list(self.each(chunks, self.keys())))
        out: Tensor = _Recomputed.apply(self, chunks, *self.params)  # type: ignore[no-untyped-call]
        return out

    def compute(self, chunk: Chunk) -> Tensor:
        """Compute what the MLP computes, and keep one hidden matrix where it would keep three."""
        h = self.mlp.first([self.mlp.drop_input(block) for block in chunk])
        out: Tensor = self.mlp.second(_Hidden.apply(h, self.mlp.drop_hidden))  # type: ignore[no-untyped-call]
        return out

    def keys(self) -> list[Tensor]:
        return [part.key.clone() for part in self.dropouts]

    def each(self, chunks: Sequence[Chunk], keys: Sequence[Tensor]) -> Any:
        """Yield what comes out for each chunk, dropout beginning with the same keys."""
        for chunk in chunks:
            for part, key in zip(self.dropouts, keys, strict=True):
                part.key.copy_(key)
            yield self.compute(chunk)
            self.places.row += chunk[0].shape[0]
        self.places.row = 0


class _Hidden(torch.autograd.Function):
    """Dropout of ReLU: what comes out is positive just where the gradient goes through."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, drop: Dropout) -> Tensor:
        out: Tensor = drop(torch.relu(h))
        ctx.scale = 1 / (1 - drop.p) if drop.training and drop.active else 1
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        return (grad * (out > 0)).mul_(ctx.scale), None


class _Recomputed(torch.autograd.Function):
    """Keeps nothing but the output; the backward pass computes chunk after chunk anew."""

    @staticmethod
    def forward(ctx: Any, rows: _Rows, chunks: Sequence[Chunk], *params: Tensor) -> Tensor:
        ctx.rows, ctx.chunks, ctx.keys = rows, chunks, rows.keys()
        return torch.cat(list(rows.each(chunks, ctx.keys)))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        rows, after = ctx.rows, ctx.rows.keys()
        sums = [torch.zeros_like(p) for p in rows.params]
        pieces = iter(grad.split([chunk[0].shape[0] for chunk in ctx.chunks]))
        with torch.enable_grad():
            for out in rows.each(ctx.chunks, ctx.keys):
                for whole, part in zip(
                    sums, torch.autograd.grad(out, rows.params, next(pieces)), strict=True
                ):
                    whole += part
        for part, key in zip(rows.dropouts, after, strict=True):
            part.key.copy_(key)
        return None, None, *sums
