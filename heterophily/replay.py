"""What a trained model says of nodes that come later: the same graph grown, or another one, without training.

A model's procedure prepares a graph and yields a stage. Here the stage is not trained but told the stored
weights, so one function serves every model that is one stage; HDP has its own (`heterophily.hdp.replay`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from heterophily.config import Config
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.models import Model
from heterophily.stage import Frozen, Outcome, Trained


def freeze(model: Model, graph: Graph, split: Split, config: Config, seed: int, outcome: Outcome) -> Frozen:
    """Return all that a model takes along from the graph it was trained on, sealed as it was then."""
    numbers = model.numbers(graph, split, config, seed, outcome) if model.numbers else {}
    initial = outcome.initial.weights if outcome.initial else {}
    return Frozen(outcome.trained.weights, initial, numbers)


def replay(
    model: Model,
    graph: Graph,
    split: Split | None,
    config: Config,
    seed: int,
    frozen: Frozen,
    base: Graph | None,
) -> Outcome:
    """Return what the model says of a graph; its first nodes are those of ``base``, if it grew from one.

    Without a base nothing of the training graph is there: a rule, which reads its labels, is refused.
    A weight that belonged to a node of the training graph is zero for every other node.
    """
    if base is None and not model.learns:
        raise GraphError(
            f"{model.title} learns nothing but reads the classes of training nodes, and another graph has "
            "none of them; fit it there"
        )
    if split is None:
        split = Split.from_indices(graph.num_nodes, [0], [], [], "none")  # masks that nothing reads
        split = split.map(lambda mask: mask.to(graph.y.device))
    if model.replay:
        return model.replay(graph, split, config, seed, frozen, base)
    procedure = model.procedure(graph, split, config, seed)
    stage = next(procedure)
    procedure.close()
    parts = [*stage.module.named_parameters(), *stage.module.named_buffers()]
    weights = {name: _fitted(model, name, frozen.weights[name], part, base) for name, part in parts}
    return Outcome(stage.module, Trained.told(stage, weights))


def _fitted(model: Model, name: str, stored: Tensor, wanted: Tensor, base: Graph | None) -> Tensor:
    if name in model.rows:
        rows = torch.zeros(wanted.shape, dtype=stored.dtype, device=stored.device)
        if base is not None:
            rows[: len(stored)] = stored
        return rows
    if stored.shape != wanted.shape:
        raise GraphError(
            f"{model.title} would need weights {name} of shape {tuple(wanted.shape)} on this graph, it was "
            f"trained with {tuple(stored.shape)}; its form goes by the graph, so fit it anew"
        )
    return stored
