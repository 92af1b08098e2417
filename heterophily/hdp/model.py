"""HDP: ego representation, the two neighborhood representations, classifier (Eq. 9, 18-19)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.hdp.partition import Partition
from heterophily.hdp.propagation import SemanticMessagePassing, neighbor_distribution
from heterophily.layers import MLP, Dropout, dropped
from heterophily.rows import by_rows, step
from heterophily.sparse import Features


class Representations(NamedTuple):
    """What HDP computes for every node."""

    logits: Tensor  # (N, K); their softmax is the soft assignment Z
    h_ego: Tensor  # (N, D)
    h_hm: Tensor  # (N, D)
    h_ht: Tensor  # (N, D)
    parts: tuple[Tensor, ...]  # those of H^hm and H^ht that make up H

    @property
    def h(self) -> Tensor:
        """The final representation H, (N, D) or (N, 2D) (Eq. 18)."""
        return torch.cat(self.parts, -1)


class HDP(nn.Module):
    """Heterophilous distribution propagation, given a partition of the neighborhoods.

    A plain module: hand it the feature blocks [X, X^str] and a `Partition`, train it as any other.
    """

    def __init__(
        self,
        widths: Sequence[int],
        classes: int,
        hidden: int = 512,
        dim: int = 128,
        layers_hm: int = 2,
        layers_ht: int = 1,
        dropout: float = 0.7,
        input_dropout: float = 0.0,
        homophilous: bool = True,
        heterophilous: bool = True,
    ):
        super().__init__()
        self.homophilous, self.heterophilous = homophilous, heterophilous
        self.ego = MLP(widths, hidden, dim, dropout, input_dropout)
        self.smp_hm = SemanticMessagePassing(dim, layers_hm if homophilous else 0)
        self.smp_ht = SemanticMessagePassing(dim, layers_ht if heterophilous else 0)
        self.drop = Dropout(dropout)
        self.classify = nn.Linear(dim * (homophilous + heterophilous), classes)

    def forward(self, blocks: Sequence[Features], parts: Partition) -> Representations:
        """Return the logits and every representation on the way to them."""
        h_ego = self.ego(blocks)  # Eq. 9
        h_nb = neighbor_distribution(parts, h_ego)  # Eq. 14
        h_ht = self.smp_ht(h_nb, parts)  # Eq. 16
        h_hm = self.smp_hm(h_ego, parts)  # Eq. 17
        taken = (h_hm,) * self.homophilous + (h_ht,) * self.heterophilous  # Eq. 18
        logits = self._logits(taken)  # Eq. 19
        return Representations(logits, h_ego, h_hm, h_ht, taken)

    def _logits(self, parts: tuple[Tensor, ...]) -> Tensor:
        """Classify H, the parts side by side (Eq. 18-19); that of a large graph is never there as a whole."""
        mask, weight, bias = self.drop.taken(), self.classify.weight, self.classify.bias
        rows, width = parts[0].shape[0], weight.shape[1]
        first = self.drop.begin(parts[0].new_empty(0, width)) if self.drop.begin else 0

        def some(start: int, *parts: Tensor) -> Tensor:
            return F.linear(dropped(mask, torch.cat(parts, -1), first + start * width), weight, bias)

        size = step(rows, width, weight.device)
        if size == rows:
            return some(0, *parts)
        return by_rows(some, zip(range(0, rows, size), *(part.split(size) for part in parts)))

    def contributions(self, blocks: Sequence[Features], parts: Partition, node: int) -> dict[str, Tensor]:
        """Return what each part adds to the logits of a node, (K,) each; with the bias they are the logits.

        The classifier is linear in H^hm and H^ht, and H^hm, given the α of Eq. 15, in H^ego: the node's own
        row of it is ``ego``, the rows of others that came along homophilous edges are ``homophilous``.
        """
        out = self(blocks, parts)
        weights = list(self.classify.weight.split(out.h_ego.shape[1], 1))
        found: dict[str, Tensor] = {}
        if self.homophilous:
            own = self.smp_hm.own_share(out.h_ego, parts, node) * out.h_ego[node]
            weight = weights.pop(0)
            found |= {"ego": weight @ own, "homophilous": weight @ (out.h_hm[node] - own)}
        if self.heterophilous:
            found["heterophilous"] = weights.pop(0) @ out.h_ht[node]
        return found | {"bias": self.classify.bias}

    def extra_repr(self) -> str:
        return f"homophilous={self.homophilous}, heterophilous={self.heterophilous}"
