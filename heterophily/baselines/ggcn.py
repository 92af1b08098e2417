"""GGCN (Yan et al., ICDM 2022): neighbors that resemble a node are added, those that oppose it subtracted.

A layer maps its input to Z (linear) and weighs every edge i → j, loops aside, by

    w_ij = P_ij · softplus(a₀ τ_ij + a₁) · cos(z_i, z_j),  P_ij = 1/√(d_i d_j),  τ_ij = √(d_j/d_i) - 1
    out  = softplus(s) · (c₁ [w]₊ Z - c₂ [-w]₊ Z + c₃ Z)

with d the degrees of A + I and a, s and c = softmax(.) learned. Layer 1 reads drop(X); layer l = 2 … L
reads G_l = G_{l-1} + κ_l drop(ELU(output of layer l - 1)), where G_1 = ELU(drop(X) W + b), κ_2 = 1 and
κ_l = ln(1 + η / l^k) shrinks with depth. The last output is the logits.

An epoch takes O((nnz(X) + L |A|) h + L N h²) time and O(L (N h + |A|)) memory: weights live on the edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import pattern
from heterophily.config import Choice, Count, Limit, Rate, Share, Uniform
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout, FeatureLinear
from heterophily.sparse import Features, Pattern, attend, score
from heterophily.stage import Procedure, drawn, node_features, remember
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class GGCNConfig(TrainingConfig):
    """Settings of GGCN."""

    weight_decay: Annotated[float, Choice(0.0, 1e-5, 1e-4, 1e-3, 4e-3, 1e-2)] = 1e-3
    """Weight decay (L2, as in Adam), of a, s and c too."""
    hidden_dim: Annotated[Count, Choice(8, 16, 32, 64, 80)] = 16
    """Hidden width."""
    layers: Annotated[int, Limit(above=1), Choice(2, 3, 4, 5, 6, 10)] = 2
    """L, at least 2."""
    dropout: Annotated[Share, Choice(0.0, 0.3, 0.5, 0.7)] = 0.5
    """Dropout of the input and between layers."""
    decay: Annotated[Rate, Uniform(0.5, 1.5)] = 1.0
    """η: how much of its output a layer after the second hands on."""
    exponent: Annotated[float, Choice(1.0, 2.0, 3.0)] = 3.0
    """k: how fast that shrinks with depth."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""
    directed: Annotated[bool, Choice(False, True)] = False
    """Collect from out-neighbors only, instead of from both directions."""


class Neighbors(NamedTuple):
    """Who collects from whom, without loops, and what degrees say of every such edge."""

    places: Pattern
    p: Tensor  # (nnz,) P_ij
    tau: Tensor  # (nnz,) τ_ij

    @classmethod
    def of(cls, graph: Graph, directed: bool = False) -> Neighbors:
        """Read the edges of a graph; whatever loops it has count as the one of A + I."""

        def build() -> Neighbors:
            places = pattern(graph, "none", directed)
            degree = places.crow.diff() + 1.0
            here, there = degree[places.row], degree[places.col.long()]
            return cls(places, (here * there).rsqrt(), (there / here).sqrt() - 1)

        found: Neighbors = remember([graph.edge_index], ("signed", directed, graph.num_nodes), build)
        return found


class SignedLayer(nn.Module):
    """Add the neighbors of positive cosine, subtract those of negative."""

    def __init__(self, features: int, out: int):
        super().__init__()
        self.linear = FeatureLinear([features], out)
        self.correction = nn.Parameter(torch.tensor([0.5, 0.0]))  # a
        self.scale = nn.Parameter(torch.tensor([2.0]))  # s
        self.mixture = nn.Parameter(torch.zeros(3))  # c, before its softmax

    def forward(self, x: Features, neighbors: Neighbors) -> Tensor:
        """Return (N, out)."""
        z: Tensor = self.linear([x])
        return F.softplus(self.scale) * self.mix(z, neighbors)

    def mix(self, z: Tensor, neighbors: Neighbors) -> Tensor:
        """Return c₁ [w]₊ Z - c₂ [-w]₊ Z + c₃ Z."""
        places, p, tau = neighbors
        unit = F.normalize(z, eps=1e-6)  # a zero row has cosine 0, and a finite gradient
        w = p * F.softplus(self.correction[0] * tau + self.correction[1]) * score(places, unit, unit)
        added, subtracted, own = self.mixture.softmax(0)
        return attend(places, added * F.relu(w) - subtracted * F.relu(-w), z) + own * z


class GGCN(nn.Module):
    """The layers; κ is a buffer, so that runs of other η and k fit into one batch."""

    kappa: Tensor

    def __init__(self, features: int, hidden: int, classes: int, kappa: Sequence[float], dropout: float):
        super().__init__()
        depth = len(kappa) + 1
        widths = [features] + [hidden] * (depth - 1) + [classes]
        self.residual = FeatureLinear([features], hidden)
        self.layers = nn.ModuleList(SignedLayer(a, b) for a, b in pairwise(widths))
        self.drops = nn.ModuleList(Dropout(dropout) for _ in range(depth))
        self.register_buffer("kappa", torch.tensor(kappa), persistent=False)

    def forward(self, x: Features, neighbors: Neighbors) -> Tensor:
        """Return logits, (N, K)."""
        x = self.drops[0](x)
        g = F.elu(self.residual([x]))
        y: Tensor = self.layers[0](x, neighbors)
        for kappa, layer, drop in zip(self.kappa, self.layers[1:], self.drops[1:], strict=True):
            g = g + kappa * drop(F.elu(y))
            y = layer(g, neighbors)
        return y


def kappas(layers: int, decay: float, exponent: float) -> list[float]:
    """Return κ_2 to κ_L."""
    return [1.0] + [math.log1p(decay / depth**exponent) for depth in range(3, layers + 1)]


def ggcn(graph: Graph, split: Split, config: GGCNConfig, seed: int) -> Procedure:
    """Train GGCN with cross-entropy."""
    x, neighbors = node_features(graph, config.feature_norm), Neighbors.of(graph, config.directed)
    kappa = kappas(config.layers, config.decay, config.exponent)
    module = drawn(
        seed, GGCN, graph.num_features, config.hidden_dim, graph.num_classes, tuple(kappa), config.dropout
    )
    return supervised(module, (x, neighbors), graph, split, config, "GGCN")
