"""MLP: a two-layer perceptron on each node's own features; it never sees an edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from torch import Tensor

from heterophily.config import Choice, Config, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import MLP
from heterophily.stage import (
    Network,
    Outcome,
    Procedure,
    Schedule,
    Stage,
    State,
    cross_entropy,
    node_features,
    seeded,
    visible,
)


@dataclass(frozen=True, kw_only=True)
class MLPConfig(Config):
    """Settings of the perceptron."""

    learning_rate: Annotated[Rate, Choice(0.001, 0.003, 0.01, 0.03, 0.05)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(0.0, 1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3)] = 5e-4
    """Weight decay (L2, as in Adam)."""
    epoch: Count = 1500
    """Most epochs."""
    patience: Annotated[Count, Choice(50, 100, 200)] = 100
    """Epochs without a better validation score before training stops."""
    hidden_dim: Annotated[Count, Choice(16, 64, 128, 512)] = 64
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.0, 0.3, 0.5, 0.6, 0.7)] = 0.5
    """Dropout before each linear map."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""


def mlp(graph: Graph, split: Split, config: MLPConfig, seed: int) -> Procedure:
    """Train Lin₂(drop(ReLU(Lin₁(drop(X))))) with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    with seeded(seed):
        module = MLP([x.shape[1]], config.hidden_dim, graph.num_classes, config.dropout, config.dropout)
    schedule = Schedule(config.learning_rate, config.weight_decay, config.epoch, config.patience)
    state = visible(graph, split) | {"x": x}
    trained = yield Stage(module, state, loss, logits, schedule, metric=graph.metric, name="MLP")
    return Outcome(module, trained)


def loss(network: Network, state: State) -> dict[str, Tensor]:
    """Cross-entropy on the training set."""
    return {"loss": cross_entropy(logits(network, state), state["labels"], state["train"])}


def logits(network: Network, state: State) -> Tensor:
    """Return the logits."""
    out: Tensor = network([state["x"]])
    return out
