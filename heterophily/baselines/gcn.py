"""GCN (Kipf and Welling, ICLR 2017): two layers of P H W with P = S(A + I).

    H = ReLU(P X W₁ + b₁),  logits = P drop(H) W₂ + b₂

S(M) is D^-1/2 M D^-1/2; all weights start uniform within 1/sqrt(width). The layer is PyG's
`GCNConv`, to which a test holds it; written here with the product that many runs share.
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
class GCNConfig(TrainingConfig):
    """Settings of the graph convolutional network."""

    learning_rate: Annotated[Rate, Choice(0.005, 0.01, 0.03, 0.05)] = 0.01
    """Learning rate of Adam."""
    hidden_dim: Annotated[Count, Choice(16, 32, 64, 128)] = 64
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7, 0.8)] = 0.5
    """Dropout before the second layer."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""
    directed: Annotated[bool, Choice(False, True)] = False
    """Collect from out-neighbors only, instead of from both directions."""


class Convolution(nn.Module):
    """P X W + b."""

    def __init__(self, features: int, out: int):
        super().__init__()
        bound = 1 / math.sqrt(out)
        self.weight = nn.Parameter(torch.empty(features, out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out).uniform_(-bound, bound))

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return (N, out)."""
        return multiply(p, multiply(x, self.weight)) + self.bias


class GCN(nn.Module):
    """The two layers, given P as a sparse matrix."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float):
        super().__init__()
        self.first = Convolution(features, hidden)
        self.drop = Dropout(dropout)
        self.second = Convolution(hidden, classes)

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        out: Tensor = self.second(self.drop(F.relu(self.first(x, p))), p)
        return out


def gcn(graph: Graph, split: Split, config: GCNConfig, seed: int) -> Procedure:
    """Train a GCN with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(seed, GCN, graph.num_features, config.hidden_dim, graph.num_classes, config.dropout)
    p = adjacency(graph, "symmetric", directed=config.directed)
    return supervised(module, (x, p), graph, split, config, "GCN")
