"""Heterophilous neighbor distribution and semantic-aware message passing (Eq. 14-17)."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.hdp.partition import Partition
from heterophily.sparse import SparseMatrix, multiply


def neighbor_mean(adjacency: SparseMatrix, inverse_degree: Tensor, h: Tensor) -> Tensor:
    """Return D⁻¹ A h; a node without neighbors gets a zero row, on which the paper is silent."""
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
