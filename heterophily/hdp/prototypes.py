"""Trust set, class prototypes and the trusted prototype contrastive (TPC) loss (Eq. 24-28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.rows import by_rows, step
from heterophily.selection import largest

ABSENT = -1e4
"""Exponent of a class without prototype: its term vanishes, and gradients stay finite."""

Total = Callable[[Tensor], Tensor]
"""Adds up what several processes have summed over their nodes; one process has summed over all already."""


def alone(part: Tensor) -> Tensor:
    """Return the sum over all nodes where one process holds them all: the sum itself."""
    return part


class TrustSet(NamedTuple):
    """The nodes whose predicted class is believed."""

    trusted: Tensor  # (N,) bool
    predicted: Tensor  # (N,) int64


def trust_set(z: Tensor, labels: Tensor, known: Tensor) -> TrustSet:
    """Trust the ρ|V| nodes with the surest assignments (Eq. 24-25).

    ρ is the accuracy on the training and validation sets (``known``): the one place outside early
    stopping where validation labels are read. Ties at δ go to the earlier node.
    """
    surest, predicted = z.max(-1)
    rho = ((predicted == labels) & known).sum() / known.sum()
    count = (rho * z.shape[0]).round().long()
    return TrustSet(largest(surest, count)[1], predicted)


def prototypes(h_ego: Tensor, trust: TrustSet, classes: int, total: Total = alone) -> tuple[Tensor, Tensor]:
    """Return c_j, the mean ego representation of the trusted nodes of each class, (K, D) (Eq. 26).

    Also which classes have one: a class that nobody in the trust set is predicted to be has none.
    Gradients flow through the prototypes.
    """
    every = torch.arange(classes, device=h_ego.device)
    member = ((trust.predicted.unsqueeze(-1) == every) & trust.trusted.unsqueeze(-1)).to(h_ego.dtype)
    size = total(member.sum(0))
    return total(member.T @ h_ego) / size.clamp(min=1).unsqueeze(-1), size > 0


def tpc_loss(
    h_ego: Tensor, trust: TrustSet, classes: int, temperature: Tensor | float, total: Total = alone
) -> Tensor:
    """Pull trusted nodes to their prototype and push them to a right angle with the others (Eq. 27-28).

    The denominator clips similarities at zero, so nothing is gained beyond orthogonality; the
    numerator is not clipped. Mean over the trust set; times |S^tru| it is the sum that Eq. 27 prints. Of
    several processes each returns the share of its own nodes.
    """
    c, present = prototypes(h_ego, trust, classes, total)
    directions = F.normalize(c, dim=-1).T

    def some(h_ego: Tensor, predicted: Tensor, trusted: Tensor) -> Tensor:
        s = F.normalize(h_ego, dim=-1) @ directions  # Eq. 28, (N, K)
        own = s.gather(-1, predicted.unsqueeze(-1)).squeeze(-1) / temperature
        every = (s.clamp(min=0) / temperature).masked_fill(~present, ABSENT)
        return (torch.logsumexp(every, -1) - own) * trusted

    rows = h_ego, trust.predicted, trust.trusted
    count, dim = h_ego.shape
    size = step(count, dim, h_ego.device)
    each = some(*rows) if size == count else by_rows(some, zip(*(part.split(size) for part in rows)))
    return each.sum() / total(trust.trusted.sum()).clamp(min=1)
