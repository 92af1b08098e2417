"""MixHop (Abu-El-Haija et al., ICML 2019): every layer mixes powers of the propagation matrix.

    layer(H) = ‖_{k = 0 … K} P^k H W_k,  P = S(A + I)
    H_ℓ = drop(ReLU(BN(layer_ℓ(H_{ℓ-1})))),  H₀ = drop(X),  logits = Lin(layer_L(H_{L-1}))

S(M) is D^-1/2 M D^-1/2. The last layer has one column per class and power. This is the form in which
later work runs the model; the paper's own adds the last layer's powers with learned weights instead.
Layers have no bias, as the batch normalization (BN) would undo it and has a shift of its own; on a graph
of few nodes a bias in place of it (``bias``) may do better. A layer takes O(|E| K² h + N K² h²) time and
O(N K h) memory: P is applied to what is left to propagate, and its powers are never built.
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
class MixHopConfig(TrainingConfig):
    """Settings of MixHop."""

    learning_rate: Annotated[Rate, Choice(0.001, 0.005, 0.01, 0.05)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(1e-4, 5e-4, 1e-3, 5e-3, 1e-2)] = 5e-3
    """Weight decay."""
    decoupled: Annotated[bool, Choice(False, True)] = False
    """Decay weights apart from the gradient (AdamW), instead of as an L2 penalty (Adam)."""
    layers: Annotated[Count, Choice(2, 3)] = 2
    """L, the number of layers."""
    hops: Count = 2
    """K, the highest power of P."""
    hidden_dim: Annotated[Count, Choice(8, 16, 32, 64)] = 32
    """Hidden width of each power."""
    dropout: Annotated[Share, Choice(0.0, 0.5, 0.7, 0.9)] = 0.5
    """Dropout before every layer but the first."""
    input_dropout: Annotated[Share, Choice(0.0, 0.5, 0.7)] = 0.5
    """Dropout of the features."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""
    bias: Annotated[bool, Choice(False, True)] = False
    """Add a bias to every layer but the last, in place of the batch normalization."""
    directed: Annotated[bool, Choice(False, True)] = False
    """Collect from out-neighbors only, instead of from both directions."""


class MixHopLayer(nn.Module):
    """‖_{k = 0 … hops} P^k X W_k, each block ``out`` wide."""

    def __init__(self, features: int, out: int, hops: int):
        super().__init__()
        self.out = out
        bound = 1 / math.sqrt(max(features, 1))
        self.weight = nn.Parameter(torch.empty(features, (hops + 1) * out).uniform_(-bound, bound))

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return (N, (hops + 1) · out)."""
        rest = multiply(x, self.weight)
        blocks = []
        while rest.shape[1] > self.out:
            blocks.append(rest[:, : self.out])
            rest = multiply(p, rest[:, self.out :])
        return torch.cat([*blocks, rest], 1)


class Shift(nn.Module):
    """H + b."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, h: Tensor) -> Tensor:
        """Return (N, features)."""
        return h + self.bias


class MixHop(nn.Module):
    """The layers with batch normalization or a bias between them, and a linear map of the last's powers."""

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        layers: int,
        hops: int,
        dropout: float,
        input_dropout: float,
        bias: bool = False,
    ):
        super().__init__()
        wide = (hops + 1) * hidden
        widths = [features, *[wide] * (layers - 1)]
        outs = [*[hidden] * (layers - 1), classes]
        self.drop_input = Dropout(input_dropout)
        self.drop = Dropout(dropout)
        self.layers = nn.ModuleList(MixHopLayer(w, out, hops) for w, out in zip(widths, outs, strict=True))
        self.norms = nn.ModuleList((Shift if bias else nn.BatchNorm1d)(wide) for _ in range(layers - 1))
        self.last = nn.Linear((hops + 1) * classes, classes)

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        *inner, outer = self.layers
        h = self.drop_input(x)
        for layer, norm in zip(inner, self.norms, strict=True):
            h = self.drop(F.relu(norm(layer(h, p))))
        out: Tensor = self.last(outer(h, p))
        return out


def mixhop(graph: Graph, split: Split, config: MixHopConfig, seed: int) -> Procedure:
    """Train MixHop with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(
        seed,
        MixHop,
        graph.num_features,
        config.hidden_dim,
        graph.num_classes,
        config.layers,
        config.hops,
        config.dropout,
        config.input_dropout,
        config.bias,
    )
    p = adjacency(graph, "symmetric", directed=config.directed)
    return supervised(module, (x, p), graph, split, config, "MixHop", config.decoupled)
