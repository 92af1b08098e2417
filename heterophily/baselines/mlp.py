"""MLP: a two-layer perceptron on each node's own features; it never sees an edge.

logits = Lin₂(drop(ReLU(Lin₁(drop(X)))))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from heterophily.config import Choice, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import MLP
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class MLPConfig(TrainingConfig):
    """Settings of the perceptron."""

    learning_rate: Annotated[Rate, Choice(0.001, 0.003, 0.01, 0.03, 0.05)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(0.0, 1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3)] = 5e-4
    """Weight decay (L2, as in Adam)."""
    hidden_dim: Annotated[Count, Choice(16, 64, 128, 512)] = 64
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.0, 0.3, 0.5, 0.6, 0.7)] = 0.5
    """Dropout before each linear map."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""


def mlp(graph: Graph, split: Split, config: MLPConfig, seed: int) -> Procedure:
    """Train the perceptron with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(
        seed, MLP, (x.shape[1],), config.hidden_dim, graph.num_classes, config.dropout, config.dropout
    )
    return supervised(module, ([x],), graph, split, config, "MLP")
