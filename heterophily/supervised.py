"""What most models are: one module, trained with cross-entropy in one stage; or votes, counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from torch import Tensor, nn

from heterophily.config import Choice, Config, Count, Rate
from heterophily.graph import Graph, Split
from heterophily.stage import Network, Outcome, Procedure, Schedule, Stage, State, cross_entropy, visible


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """Settings of the training that every baseline has; a model may give other defaults and ranges."""

    learning_rate: Annotated[Rate, Choice(0.002, 0.005, 0.01, 0.05)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(0.0, 5e-6, 5e-5, 5e-4, 1e-3, 5e-3)] = 5e-4
    """Weight decay (L2, as in Adam)."""
    epoch: Count = 1500
    """Most epochs."""
    patience: Annotated[Count, Choice(50, 100, 200)] = 100
    """Epochs without a better validation score (or loss) before training stops."""
    select: Literal["score", "loss"] = "score"
    """Keep the epoch of the best validation score (ties: the lower loss), or of the lowest loss."""


def supervised(
    module: nn.Module,
    inputs: tuple[Any, ...],
    graph: Graph,
    split: Split,
    config: TrainingConfig,
    name: str,
    decoupled: bool = False,
    spared: tuple[str, ...] = (),
) -> Procedure:
    """Train ``module(*inputs)``, the logits, with cross-entropy on the training nodes.

    ``decoupled`` takes AdamW for Adam; parameters named in ``spared`` are not decayed.
    """
    schedule = Schedule(
        config.learning_rate,
        config.weight_decay,
        config.epoch,
        config.patience,
        config.select == "loss",
        decoupled,
        spared,
    )
    state = visible(graph, split) | {"inputs": inputs}
    trained = yield Stage(module, state, loss, logits, schedule, metric=graph.metric, name=name, blind=True)
    return Outcome(module, trained)


def counted(votes: Tensor, graph: Graph, split: Split, name: str) -> Procedure:
    """Judge a rule, which has nothing to train: each node's class is that of most ``votes``, (N, C).

    A tie goes to the lower class. Probabilities are the shares of the votes, with one more for every
    class, so that none is zero.
    """
    shares = (votes + 1) / (votes + 1).sum(-1, keepdim=True)
    state = visible(graph, split) | {"inputs": (shares.log(),)}
    schedule = Schedule(learning_rate=0.0, weight_decay=0.0, epochs=0, patience=0)
    module = nn.Identity()
    trained = yield Stage(module, state, loss, logits, schedule, metric=graph.metric, name=name)
    return Outcome(module, trained)


def loss(network: Network, state: State) -> dict[str, Tensor]:
    """Cross-entropy on the training set."""
    return {"loss": cross_entropy(logits(network, state), state["labels"], state["train"])}


def logits(network: Network, state: State) -> Tensor:
    """Return the logits."""
    out: Tensor = network(*state["inputs"])
    return out
