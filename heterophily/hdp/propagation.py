"""Heterophilous neighbor distribution and semantic-aware message passing (Eq. 14-17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from heterophily.hdp.partition import Partition
from heterophily.kernels import kernels
from heterophily.sparse import SparseMatrix, multiply, of_runs


def neighbor_mean(adjacency: SparseMatrix, inverse_degree: Tensor, h: Tensor) -> Tensor:
    """Return D⁻¹ A h; a node without neighbors gets a zero row, on which the paper is silent."""
    if in_one_pass(adjacency, h):
        given = (part.unsqueeze(0) for part in (adjacency.crow, adjacency.col, inverse_degree, h))
        mean: Tensor = _Mean.apply(*given)  # type: ignore[no-untyped-call]
        return mean.squeeze(0)
    total = multiply(adjacency, h)
    return (total * inverse_degree.unsqueeze(-1)).to(total.dtype)  # which may be less precise than 1 / D


def neighbor_distribution(parts: Partition, h_ego: Tensor) -> Tensor:
    """Return H^nb, the mean ego representation of each node's heterophilous neighbors (Eq. 14)."""
    return neighbor_mean(parts.a_ht, parts.inverse_ht, h_ego)


class SemanticMessagePassing(nn.Module):
    """SMP: H^l = α^l H⁰ + (1 - α^l) D^hm⁻¹ A^hm H^(l-1), along homophilous edges only (Eq. 15).

    Each layer has its own weight learner f_φ, on whose form the paper is silent: a linear map of
    [H⁰ ‖ H̃^l] and a sigmoid, one weight per node. With no layers SMP is the identity.
    """

    def __init__(self, dim: int, layers: int):
        super().__init__()
        self.weigh = nn.ModuleList(nn.Linear(2 * dim, 1) for _ in range(layers))

    def forward(self, h: Tensor, parts: Partition) -> Tensor:
        """Propagate (N, dim) to (N, dim): H^ht from H^nb (Eq. 16), H^hm from H^ego (Eq. 17)."""
        if len(self.weigh) and in_one_pass(parts.a_hm, h):
            weight, bias = (torch.cat([getattr(w, name) for w in self.weigh]) for name in ("weight", "bias"))
            edges = parts.a_hm.crow, parts.a_hm.col, parts.inverse_hm
            given = (part.unsqueeze(0) for part in (*edges, h, weight, bias))
            return _Mixed.apply(*given, torch.is_grad_enabled())[0].squeeze(0)  # type: ignore[no-untyped-call]
        found = h
        for _, found in self.layers(h, parts):  # noqa: B007
            pass
        return found

    def layers(self, h: Tensor, parts: Partition) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield α^l, (N, 1), and H^l, (N, dim), of each layer."""
        h_0 = h
        for weigh in self.weigh:
            assert isinstance(weigh, nn.Linear)
            h_tilde = neighbor_mean(parts.a_hm, parts.inverse_hm, h)
            own, theirs = weigh.weight.chunk(2, -1)  # of [H⁰ ‖ H̃], which is never built
            alpha = torch.sigmoid(F.linear(h_0, own, weigh.bias) + F.linear(h_tilde, theirs))
            h = torch.lerp(h_tilde, h_0, alpha)
            yield alpha, h

    def own_share(self, h: Tensor, parts: Partition, node: int) -> Tensor:
        """Return the coefficient of a node's own H⁰ in its H^l, which given all α is linear in H⁰."""
        own = share = torch.zeros_like(h[:, :1]).index_fill(0, torch.tensor(node, device=h.device), 1)
        for alpha, _ in self.layers(h, parts):
            share = torch.lerp(neighbor_mean(parts.a_hm, parts.inverse_hm, share), own, alpha)
        return share[node]


def in_one_pass(adjacency: SparseMatrix, h: Tensor) -> bool:
    """Say whether to leave means over neighbors to the GPU's own kernels, of this module's formulas."""
    fused = kernels(h.device)
    suits = isinstance(adjacency, SparseMatrix) and h.dtype == torch.float32
    return suits and fused is not None and h.shape[-1] <= fused.WIDEST


class _Mean(torch.autograd.Function):
    """D⁻¹ A h of runs, (R, N, D) (Eq. 14)."""

    @staticmethod
    def forward(crow: Tensor, col: Tensor, inverse: Tensor, h: Tensor) -> Tensor:
        given = (part.contiguous() for part in (crow, col, inverse, h))
        out: Tensor = kernels(h.device).neighbor_mean(*given)
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:3])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        given = (part.contiguous() for part in (*ctx.saved_tensors, grads[0]))
        return None, None, None, kernels(grads[0].device).neighbor_mean(*given, back=True)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Tensor, int]:
        runs = (part.squeeze(1) for part in of_runs(info.batch_size, in_dims, args))
        return _Mean.apply(*runs).unsqueeze(1), 0  # type: ignore[no-untyped-call]


class _Mixed(torch.autograd.Function):
    """All layers of SMP of runs (Eq. 15); returns H^l (R, N, D), and what the backward pass asks for."""

    @staticmethod
    def forward(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
        *tensors, keep = args
        given = (part.contiguous() for part in tensors)
        out: tuple[Tensor, Tensor, Tensor] = kernels(args[3].device).mix(*given, keep)
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs[:5], *output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        given = (part.contiguous() for part in (*ctx.saved_tensors, grads[0]))
        return None, None, None, *kernels(grads[0].device).unmix(*given), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, tuple[int, ...]]:
        runs = (part.squeeze(1) for part in of_runs(info.batch_size, in_dims[:-1], args[:-1]))
        out = _Mixed.apply(*runs, args[-1])  # type: ignore[no-untyped-call]
        return tuple(part.unsqueeze(1) for part in out), (0, 0, 0)
