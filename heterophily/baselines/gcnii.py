"""GCNII and GCNII* (Chen et al., ICML 2020): deep graph convolution with initial residual and identity map.

    H₀ = ReLU(Lin(drop(X))),  logits = Lin(drop(H_L)),  P = S(A + I),  θ_ℓ = ln(1 + λ/ℓ)
    T  = P drop(H_{ℓ-1}),  M = (1 - α) T + α H₀
    H_ℓ = ReLU(θ_ℓ M W_ℓ + (1 - θ_ℓ) M)           GCNII
    H_ℓ = ReLU(θ_ℓ [T ‖ H₀] W_ℓ + (1 - θ_ℓ) M)    GCNII*

S(M) is D^-1/2 M D^-1/2. W_ℓ has no bias and starts uniform within 1/sqrt(width). A layer takes
O(|E| h + N h²) time, and training keeps O(N h) numbers per layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import adjacency
from heterophily.config import Choice, Count, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout, FeatureLinear
from heterophily.sparse import Features, SparseMatrix, multiply
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class GCNIIConfig(TrainingConfig):
    """Settings of GCNII."""

    weight_decay: Annotated[float, Choice(5e-6, 1e-4, 5e-4, 1e-3)] = 5e-4
    """Weight decay (L2, as in Adam)."""
    layers: Annotated[Count, Choice(2, 4, 8, 16, 32, 64)] = 8
    """L, the number of graph convolutions."""
    alpha: Annotated[Share, Choice(0.1, 0.2, 0.5)] = 0.5
    """α: the share of the first layer's output in the input of every other."""
    strength: Annotated[float, Choice(0.5, 1.0, 1.5)] = 1.0
    """λ of θ_ℓ = ln(1 + λ/ℓ): how far a layer's map is from the identity, the less the deeper it lies."""
    hidden_dim: Annotated[Count, Choice(16, 64)] = 64
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.0, 0.5, 0.6)] = 0.5
    """Dropout of the features and of what every layer but the first reads."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""
    directed: Annotated[bool, Choice(False, True)] = False
    """Collect from out-neighbors only, instead of from both directions."""
    star: bool = False
    """Give the neighborhood and the initial representation a map each (GCNII*)."""


@dataclass(frozen=True, kw_only=True)
class GCNIIStarConfig(GCNIIConfig):
    """Settings of GCNII*."""

    star: bool = True
    """Give the neighborhood and the initial representation a map each (GCNII*)."""


class GCNII(nn.Module):
    """The first layer, L convolutions and the last layer, given P as a sparse matrix."""

    alpha: Tensor
    theta: Tensor

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        layers: int,
        alpha: float,
        strength: float,
        dropout: float,
        star: bool = False,
    ):
        super().__init__()
        self.star = star
        theta = torch.log1p(strength / torch.arange(1, layers + 1))
        self.register_buffer("alpha", torch.tensor(alpha), persistent=False)
        self.register_buffer("theta", theta, persistent=False)
        self.drop = Dropout(dropout)
        self.first = FeatureLinear([features], hidden)
        bound = 1 / math.sqrt(hidden)
        shape = (layers, 2 * hidden if star else hidden, hidden)
        self.weights = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.last = nn.Linear(hidden, classes)

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        h = initial = F.relu(self.first([self.drop(x)]))
        for theta, weight in zip(self.theta, self.weights, strict=True):
            t = multiply(p, self.drop(h))
            mixed = torch.lerp(t, initial, self.alpha)
            mapped = torch.cat([t, initial], 1) @ weight if self.star else mixed @ weight
            h = F.relu(torch.lerp(mixed, mapped, theta))
        out: Tensor = self.last(self.drop(h))
        return out

    def extra_repr(self) -> str:
        return f"star={self.star}"


def gcnii(graph: Graph, split: Split, config: GCNIIConfig, seed: int) -> Procedure:
    """Train GCNII, or GCNII*, with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(
        seed,
        GCNII,
        graph.num_features,
        config.hidden_dim,
        graph.num_classes,
        config.layers,
        config.alpha,
        config.strength,
        config.dropout,
        config.star,
    )
    p = adjacency(graph, "symmetric", directed=config.directed)
    return supervised(module, (x, p), graph, split, config, "GCNII*" if config.star else "GCNII")
