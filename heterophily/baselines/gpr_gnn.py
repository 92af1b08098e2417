"""GPR-GNN (Chien et al., ICLR 2021): a perceptron's output, propagated with learned weights for every step.

    Z = drop'(Lin₂(drop(ReLU(Lin₁(drop(X)))))),  logits = Σ_{k = 0 … K} γ_k P^k Z,  P = S(A + I)

S(M) is D^-1/2 M D^-1/2. The weights γ start as those of personalized PageRank, γ_k = α (1 - α)^k and
γ_K = (1 - α)^K, may become negative, and are not decayed. Time O(nnz(X) h + K |E| C) and memory
O(N (h + K C)) for C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from heterophily.adjacency import adjacency
from heterophily.config import Choice, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import MLP, Dropout
from heterophily.sparse import Features, SparseMatrix, multiply
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class GPRGNNConfig(TrainingConfig):
    """Settings of GPR-GNN."""

    learning_rate: Annotated[Rate, Choice(0.002, 0.01, 0.05)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(0.0, 5e-5, 5e-4)] = 5e-4
    """Weight decay (L2, as in Adam) of all but γ."""
    hidden_dim: Count = 64
    """Hidden width."""
    hops: Annotated[Count, Choice(4, 8, 10, 16)] = 10
    """K, the number of propagation steps."""
    alpha: Annotated[float, Choice(0.0, 0.1, 0.2, 0.5, 0.9, 1.0)] = 0.1
    """α of the first γ: at 1 the perceptron alone, at 0 the last step alone."""
    dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.5
    """Dropout before each linear map."""
    propagation_dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.5
    """Dropout of what is propagated."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""
    directed: Annotated[bool, Choice(False, True)] = False
    """Collect from out-neighbors only, instead of from both directions."""


class GPRGNN(nn.Module):
    """The perceptron and the propagation of its output, given P as a sparse matrix."""

    def __init__(
        self,
        features: int,
        hidden: int,
        classes: int,
        hops: int,
        alpha: float,
        dropout: float,
        propagation_dropout: float,
    ):
        super().__init__()
        self.mlp = MLP([features], hidden, classes, dropout, dropout)
        self.drop = Dropout(propagation_dropout)
        self.gamma = nn.Parameter(pagerank(alpha, hops))

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        z = self.drop(self.mlp([x]))
        first, *others = self.gamma
        out: Tensor = first * z
        for weight in others:
            z = multiply(p, z)
            out = out + weight * z
        return out


def pagerank(alpha: float, hops: int) -> Tensor:
    """Return the weights of every step of personalized PageRank that stops after ``hops``; their sum is 1."""
    left = (1 - alpha) ** torch.arange(hops + 1)
    return torch.cat([alpha * left[:-1], left[-1:]])


def gpr_gnn(graph: Graph, split: Split, config: GPRGNNConfig, seed: int) -> Procedure:
    """Train GPR-GNN with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(
        seed,
        GPRGNN,
        graph.num_features,
        config.hidden_dim,
        graph.num_classes,
        config.hops,
        config.alpha,
        config.dropout,
        config.propagation_dropout,
    )
    p = adjacency(graph, "symmetric", directed=config.directed)
    return supervised(module, (x, p), graph, split, config, "GPR-GNN", spared=("gamma",))
