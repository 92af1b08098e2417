"""ACM-GCN (Luan et al., NeurIPS 2022): each node mixes a low-pass, a high-pass and an identity channel.

With P = D⁻¹(A + I), a layer has the channels

    ACM:    H_L = ReLU(P X W_L),  H_H = ReLU((I - P) X W_H),  H_I = ReLU(X W_I)
    ACMII:  H_L = P ReLU(X W_L),  H_H = (I - P) ReLU(X W_H),  H_I = ReLU(X W_I)

and a node adds them up by its own shares α = softmax(sigmoid([H_L a_L, H_H a_H, H_I a_I]) W_mix / 3),
times 3. The variants with a plus add a fourth channel H_S = ReLU(A W_S) with a row of W_S for every node
(A as given, no loops added); then 3 and 3 × 3 become 4 and 4 × 4, and the sum is not scaled. The output
layer keeps its inner ReLUs. Time O((nnz(X) + |E|) h), memory O(N h); W_S has N h entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import adjacency
from heterophily.config import Choice, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout
from heterophily.sparse import Features, SparseMatrix, multiply
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class ACMGCNConfig(TrainingConfig):
    """Settings of ACM-GCN."""

    learning_rate: Annotated[Rate, Choice(0.002, 0.01, 0.05, 0.1)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(0.0, 5e-6, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2)] = 5e-4
    """Weight decay (L2, as in Adam)."""
    hidden_dim: Annotated[Count, Choice(32, 64, 128)] = 64
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)] = 0.5
    """Dropout on the features and before the second layer."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""
    inner: bool = False
    """Apply the ReLU before the filter (ACMII) instead of after it."""
    structure: bool = False
    """Add the channel of the edges alone, which has a weight for every node."""


@dataclass(frozen=True, kw_only=True)
class ACMIIGCNConfig(ACMGCNConfig):
    """Settings of ACMII-GCN."""

    inner: bool = True
    """Apply the ReLU before the filter (ACMII) instead of after it."""


@dataclass(frozen=True, kw_only=True)
class ACMGCNPlusConfig(ACMGCNConfig):
    """Settings of ACM-GCN+."""

    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""
    structure: Annotated[bool, Choice(False, True)] = True
    """Add the channel of the edges alone, which has a weight for every node."""


@dataclass(frozen=True, kw_only=True)
class ACMIIGCNPlusConfig(ACMGCNPlusConfig):
    """Settings of ACMII-GCN+."""

    inner: bool = True
    """Apply the ReLU before the filter (ACMII) instead of after it."""


class MixedConvolution(nn.Module):
    """The channels of a layer and their mixture; ``nodes`` is 0 without the structure channel."""

    def __init__(self, features: int, out: int, nodes: int, inner: bool):
        super().__init__()
        self.inner = inner
        bound = 1 / math.sqrt(out)
        self.weight = nn.Parameter(torch.empty(features, 3 * out).uniform_(-bound, bound))  # W_L ‖ W_H ‖ W_I
        self.structure = nn.Parameter(torch.empty(nodes, out).uniform_(-bound, bound)) if nodes else None
        count = 4 if nodes else 3
        self.gate = nn.Parameter(torch.empty(count, out).uniform_(-1, 1))  # a
        bound = 1 / math.sqrt(count)
        self.mixing = nn.Parameter(torch.empty(count, count).uniform_(-bound, bound))  # W_mix

    def forward(self, x: Features, p: SparseMatrix, a: SparseMatrix | None) -> Tensor:
        """Return (N, out)."""
        h = self.channels(x, p, a)
        mixed = (self.shares(h).unsqueeze(2) * h).sum(1)
        return 3 * mixed if self.structure is None else mixed

    def channels(self, x: Features, p: SparseMatrix, a: SparseMatrix | None) -> Tensor:
        """Return H_L, H_H, H_I and, if there is one, H_S: (N, channels, out)."""
        z = multiply(x, self.weight)
        z = F.relu(z) if self.inner else z
        low, high, own = z.chunk(3, 1)
        mean_low, mean_high = multiply(p, torch.cat([low, high], 1)).chunk(2, 1)
        h = torch.stack([mean_low, high - mean_high, own], 1)
        h = h if self.inner else F.relu(h)
        if self.structure is None or a is None:
            return h
        return torch.cat([h, F.relu(multiply(a, self.structure)).unsqueeze(1)], 1)

    def shares(self, h: Tensor) -> Tensor:
        """Return α: how much each node takes of each channel, (N, channels)."""
        g = torch.sigmoid((h * self.gate).sum(2))
        return torch.softmax(g @ self.mixing / len(self.mixing), 1)

    def extra_repr(self) -> str:
        return f"inner={self.inner}"


class ACMGCN(nn.Module):
    """Two layers, given P and, for the structure channel, A."""

    def __init__(
        self, features: int, hidden: int, classes: int, dropout: float, inner: bool = False, nodes: int = 0
    ):
        super().__init__()
        self.drop_input = Dropout(dropout)
        self.first = MixedConvolution(features, hidden, nodes, inner)
        self.drop_hidden = Dropout(dropout)
        self.second = MixedConvolution(hidden, classes, nodes, inner)

    def forward(self, x: Features, p: SparseMatrix, a: SparseMatrix | None = None) -> Tensor:
        """Return logits, (N, K)."""
        h = F.relu(self.first(self.drop_input(x), p, a))
        out: Tensor = self.second(self.drop_hidden(h), p, a)
        return out


def acm_gcn(graph: Graph, split: Split, config: ACMGCNConfig, seed: int) -> Procedure:
    """Train ACM-GCN, or the variant that the config says, with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    nodes = graph.num_nodes if config.structure else 0
    module = drawn(
        seed,
        ACMGCN,
        graph.num_features,
        config.hidden_dim,
        graph.num_classes,
        config.dropout,
        config.inner,
        nodes,
    )
    edges = (adjacency(graph, loops="given"),) if config.structure else ()
    name = f"ACM{'II' * config.inner}-GCN{'+' * config.structure}"
    return supervised(module, (x, adjacency(graph, "walk"), *edges), graph, split, config, name)
