"""The few layers that every model shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from heterophily.kernels import kernels
from heterophily.rows import Tall, by_rows
from heterophily.sparse import (
    Features,
    Pattern,
    SparseMatrix,
    as_features,
    attend,
    multiply,
    of_runs,
    row_exponentials,
    score,
)


class FeatureLinear(nn.Module):
    """A linear map of concatenated feature blocks [X₁ ‖ X₂ ‖ …] that never builds the concatenation.

    Blocks may be sparse. Weights are stored (inputs, outputs) and drawn as ``nn.Linear`` draws them
    for the whole concatenation.
    """

    def __init__(self, widths: Sequence[int], out: int):
        super().__init__()
        bound = 1 / math.sqrt(max(sum(widths), 1))
        self.weights = nn.ParameterList(torch.empty(w, out).uniform_(-bound, bound) for w in widths if w)
        self.bias = nn.Parameter(torch.empty(out).uniform_(-bound, bound))

    def forward(self, blocks: Sequence[Features]) -> Tensor:
        """Map the blocks of non-zero width, in order."""
        return _sum(blocks, list(self.weights), self.bias)

    def product(self, blocks: Sequence[Features]) -> Tensor:
        """The map without its bias."""
        first, *rest = (multiply(block, w) for block, w in zip(blocks, self.weights, strict=True))
        return sum(rest, first)

    def extra_repr(self) -> str:
        return f"{[tuple(w.shape) for w in self.weights]}"


def _sum(blocks: Sequence[Features], weights: Sequence[Tensor], bias: Tensor) -> Tensor:
    """Return the sum of the products and the bias, which a dense product adds on its way to memory."""
    given = [block for block in blocks if block.shape[1]]
    if not given:
        return bias.expand(blocks[0].shape[0], -1)
    (x, w), *rest = zip(given, weights, strict=True)
    total = torch.addmm(bias, x, w) if isinstance(x, Tensor) else multiply(x, w) + bias
    # Not in place: what vmap hands out is a view, and autograd clones the gradient of a view written to.
    return sum((multiply(block, w) for block, w in rest), total)


class Mask(NamedTuple):
    """One draw of dropout. It may be asked for in pieces, and twice: it is the same mask."""

    key: Tensor
    p: Tensor

    def __call__(self, h: Tensor, start: int = 0) -> Tensor:
        """Drop entries of a tensor that begins at the entry ``start`` of the whole."""
        if kernels(h.device) is not None:
            out: Tensor = _InOnePass.apply(self.key, self.p, h, start)  # type: ignore[no-untyped-call]
            return out
        gone: Tensor = _Dropped.apply(self.key, self.p, h.shape, start)  # type: ignore[no-untyped-call]
        return h.masked_fill(gone, 0).mul_(1 / (1 - self.p))

    def of_relu(self, h: Tensor, start: int = 0) -> Tensor:
        """Drop entries of ReLU(h)."""
        if kernels(h.device) is None:
            return self(F.relu(h), start)
        out: Tensor = _ReluInOnePass.apply(self.key, self.p, h, start)  # type: ignore[no-untyped-call]
        return out


class Dropout(nn.Module):
    """Dropout whose probability and random state are buffers: they belong to the run, not the process.

    The mask is a counter-based hash of ``key``, so it is the same on every device, alone or among
    many runs, and needs no generator. Works on dense and on sparse features.
    """

    p: Tensor
    key: Tensor
    begin: Callable[[Features], int] | None = None
    """Where ``h`` begins among the entries of all nodes, if it holds the rows of some of them only."""

    def __init__(self, p: float):
        super().__init__()
        self.active = p > 0
        self.register_buffer("p", torch.tensor(p), persistent=False)
        self.register_buffer("key", torch.randint(2**62, ()))

    def forward(self, h: Features) -> Any:
        """Zero entries with probability p while training and scale the rest by 1 / (1 - p)."""
        if (mask := self.next()) is None:
            return h
        return dropped(mask, h, self.begin(h) if self.begin else 0)

    def of_relu(self, h: Tensor) -> Tensor:
        """Do so with ReLU(h)."""
        if (mask := self.next()) is None:
            return F.relu(h)
        return mask.of_relu(h, self.begin(h) if self.begin else 0)

    def next(self) -> Mask | None:
        """Move on to the next mask; None drops nothing."""
        if not self.training:
            return None
        self.key.add_(1)
        return Mask(self.key, self.p) if self.active else None

    def taken(self) -> Mask | None:
        """Move on to the next mask, and return it to be kept: it stays when the next is drawn."""
        mask = self.next()
        return None if mask is None else mask._replace(key=mask.key.clone())


def dropped(mask: Mask | None, h: Features, start: int = 0) -> Any:
    """Return dense or sparse features without what the mask takes; they begin at entry ``start`` of it."""
    if mask is None:
        return h
    return h._replace(val=mask(h.val, start)) if isinstance(h, SparseMatrix) else mask(h, start)


class MLP(nn.Module):
    """Linear → ReLU → linear over concatenated feature blocks, with dropout before each linear map."""

    def __init__(self, widths: Sequence[int], hidden: int, out: int, dropout: float, input_dropout: float):
        super().__init__()
        self.drop_input = Dropout(input_dropout)
        self.first = FeatureLinear(widths, hidden)
        self.drop_hidden = Dropout(dropout)
        self.second = nn.Linear(hidden, out)

    def forward(self, blocks: Sequence[Features]) -> Tensor:
        """Return (N, out)."""
        blocks = [as_features(block) for block in blocks]
        if any(isinstance(block, Tall) for block in blocks):
            return self._in_slices(blocks)
        h = self.first([self.drop_input(block) for block in blocks])
        out: Tensor = self.second(self.drop_hidden.of_relu(h))
        return out

    def _in_slices(self, blocks: Sequence[Any]) -> Tensor:
        """The same for blocks that are cut into row slices, with the hidden layer of one slice at a time."""
        masks = [self.drop_input.taken() for _ in blocks], self.drop_hidden.taken()
        first = list(self.first.weights), self.first.bias  # as bound now; a later call may bind others
        second = self.second.weight, self.second.bias

        def some(starts: Sequence[int], *blocks: Features) -> Tensor:
            given = [dropped(*each) for each in zip(masks[0], blocks, starts[1:])]
            h = _sum(given, *first)
            h = F.relu(h) if masks[1] is None else masks[1].of_relu(h, starts[0] * h.shape[1])
            return F.linear(h, *second)

        slices = list(zip(*(block.slices for block in blocks)))
        sizes = [[each[0].shape[0], *(_size(block) for block in each)] for each in slices]
        starts = zip(*(accumulate(column, initial=0) for column in zip(*sizes)))
        return by_rows(some, [(begin, *each) for begin, each in zip(starts, slices)])


def _size(block: Features) -> int:
    return block.numel() if isinstance(block, Tensor) else block.val.numel()


class GraphAttention(nn.Module):
    """Attention over neighbors (Veličković et al., ICLR 2018), with several heads side by side.

    z = X W;  e_ij = LeakyReLU(a₁·z_i + a₂·z_j);  out_i = Σ_j drop(softmax_j(e_ij)) z_j

    The pattern says who collects from whom. No (edges, width) tensor is ever built.
    """

    def __init__(self, features: int, out: int, heads: int, dropout: float, slope: float = 0.2):
        super().__init__()
        self.heads, self.slope = heads, slope
        bound = math.sqrt(2) * math.sqrt(6 / (features + out))  # Xavier's of each head, gain √2
        self.weight = nn.Parameter(torch.empty(features, heads * out).uniform_(-bound, bound))
        bound = math.sqrt(2) * math.sqrt(6 / (2 * out + 1))
        self.collecting = nn.Parameter(torch.empty(heads, 1, out).uniform_(-bound, bound))  # a₁
        self.giving = nn.Parameter(torch.empty(heads, 1, out).uniform_(-bound, bound))  # a₂
        self.drop = Dropout(dropout)

    def forward(self, x: Features, pattern: Pattern) -> Tensor:
        """Return (N, heads · out), the heads one after another."""
        z = multiply(x, self.weight).unflatten(1, (self.heads, -1))
        if (fused := kernels(z.device)) and z.dtype == torch.float32 and z.shape[-1] <= fused.WIDEST_HEAD:
            return self._in_one_pass(z, pattern)
        z = z.movedim(1, 0)
        to, of = (z * self.collecting).sum(-1), (z * self.giving).sum(-1)
        one = torch.ones_like(to)
        scores = score(pattern, torch.stack([to, one], -1), torch.stack([one, of], -1))
        each, total = row_exponentials(pattern, F.leaky_relu(scores, self.slope))
        out = attend(pattern, self.drop(each), z) / total.clamp(min=1e-12).unsqueeze(-1)
        return out.movedim(0, 1).flatten(1)

    def _in_one_pass(self, z: Tensor, pattern: Pattern) -> Tensor:
        """The same on a GPU, from z as (N, heads, out), with nothing per edge in memory."""
        to, of = ((z * part.squeeze(1)).sum(-1) for part in (self.collecting, self.giving))
        mask = self.drop.next()
        key, p = (self.drop.key, self.drop.p) if mask is None else mask
        given = (part.unsqueeze(0) for part in (*pattern, z, to, of, key, p))
        out = _Attended.apply(*given, self.slope, mask is not None)  # type: ignore[no-untyped-call]
        found: Tensor = out[0].squeeze(0).flatten(1)
        return found

    def extra_repr(self) -> str:
        return f"{tuple(self.weight.shape)}, heads={self.heads}, slope={self.slope}"


class _Dropped(torch.autograd.Function):
    """Which entries go: True with probability p, by a hash of (key, position); ``start`` is the first's."""

    @staticmethod
    def forward(key: Tensor, p: Tensor, shape: torch.Size, start: int) -> Tensor:
        runs = key.reshape(-1, 1)
        skip, end = start % 4, start + math.prod(shape)
        places = torch.arange(start // 4, -(-end // 4), device=key.device)
        word = places.mul_(_ODD[0]) + runs.mul(_ODD[1])
        low, high = word.view(torch.int32).view(*word.shape, 2).unbind(-1)
        for odd in _ODD[1:]:
            low.bitwise_xor_(high)
            word.mul_(odd)
        low.bitwise_xor_(high)
        quarters = word.view(torch.int16)[:, skip : end - start + skip]  # four entries from each hashed word
        return (quarters < _cut(p).reshape(-1, 1)).reshape(key.shape + shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], key: Tensor, p: Tensor, shape: torch.Size, start: int
    ) -> Any:
        runs = (info.batch_size,)
        gone = _Dropped.apply(key.expand(runs), p.expand(runs), shape, start)  # type: ignore[no-untyped-call]
        return gone, 0


class _InOnePass(torch.autograd.Function):
    """What the mask leaves of a tensor, scaled; on a GPU, where neither pass keeps the mask."""

    @staticmethod
    def forward(key: Tensor, p: Tensor, h: Tensor, start: int) -> Tensor:
        return _fused_drop(key, p, h, start, relu=False)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0].clone(), inputs[1])  # the key moves on before the gradient comes
        ctx.start = inputs[3]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        down = _InOnePass.apply(*ctx.saved_tensors, grads[0], ctx.start)  # type: ignore[no-untyped-call]
        return None, None, down, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        runs = of_runs(info.batch_size, in_dims[:3], args[:3])
        return _InOnePass.apply(*runs, args[3]), 0  # type: ignore[no-untyped-call]


class _ReluInOnePass(torch.autograd.Function):
    """The same of ReLU; what comes out is positive just where the gradient goes through."""

    @staticmethod
    def forward(key: Tensor, p: Tensor, h: Tensor, start: int) -> Tensor:
        return _fused_drop(key, p, h, start, relu=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        p, out = ctx.saved_tensors
        shape = p.shape if p.dim() else (1,)
        each = (part.reshape(*shape, -1) for part in (out, grads[0]))
        down = kernels(out.device).gate((1 / (1 - p)).reshape(shape), *each)
        return None, None, down.reshape(out.shape), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        runs = of_runs(info.batch_size, in_dims[:3], args[:3])
        return _ReluInOnePass.apply(*runs, args[3]), 0  # type: ignore[no-untyped-call]


class _Attended(torch.autograd.Function):
    """Attention of runs, (R, N, heads, out), and the largest score and the sum that its gradient asks for."""

    @staticmethod
    def forward(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
        crow, col, _, _, _, z, to, of, key, p, slope, drops = args
        z, to, of = (part.contiguous() for part in (z, to, of))
        out: tuple[Tensor, Tensor, Tensor] = kernels(z.device).attend(
            crow, col, z, to, of, slope, _hashing(key, p) if drops else None, _ODD
        )
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *given, key, p, ctx.slope, ctx.drops = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*given, key.clone(), p, *output)  # the key moves on before the gradient comes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        *pattern, z, to, of, key, p, out, top, total = ctx.saved_tensors
        z, to, of, grad = (part.contiguous() for part in (z, to, of, grads[0]))
        how = ctx.slope, _hashing(key, p) if ctx.drops else None, _ODD
        down = kernels(z.device).unattend(*pattern, z, to, of, *how, out, top, total, grad)
        return None, None, None, None, None, *down, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        *tensors, slope, drops = args
        runs = (part.squeeze(1) for part in of_runs(info.batch_size, in_dims[:-2], tensors))
        out = _Attended.apply(*runs, slope, drops)  # type: ignore[no-untyped-call]
        return tuple(part.unsqueeze(1) for part in out), (0, 0, 0)


def _hashing(key: Tensor, p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what a kernel asks for to drop entries of each run."""
    return key * _ODD[1], _cut(p), 1 / (1 - p)


def _fused_drop(key: Tensor, p: Tensor, h: Tensor, start: int, relu: bool) -> Tensor:
    runs = (part.reshape(-1) for part in _hashing(key, p))
    out: Tensor = kernels(h.device).drop(*runs, h if key.dim() else h.unsqueeze(0), start, _ODD, relu)
    return out if key.dim() else out.squeeze(0)


def _cut(p: Tensor) -> Tensor:
    """Return the hash below which an entry goes, as 16 bits."""
    return (p.double() * 65536 - 32768).to(torch.int16)


_ODD = (-7046029254386353131, -4658895280553007687, -7723592293110705685)
"""Odd 64-bit multipliers of the hash."""
