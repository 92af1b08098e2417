"""A graph small enough to train on in a blink, settings to match, and a run driven by hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from heterophily.config import Config, types
from heterophily.graph import Graph, Split
from heterophily.graph.synthetic import synthetic
from heterophily.models import MODELS
from heterophily.stage import Stage, Trained
from heterophily.training.runs import train_stages

CPU = torch.device("cpu")
SETTINGS = {
    "hidden_dim": 8,
    "embedding_dim": 4,
    "epoch": 12,
    "epoch_init": 10,
    "patience": 6,
    "patience_init": 4,
    "structural_dim": 16,
}
"""What makes any model small; a model takes those it knows."""
LEARNERS = [name for name, model in MODELS.items() if model.learns]


@cache
def tiny_graph(num_nodes: int = 48, seed: int = 0) -> Graph:
    """A heterophilous graph of three classes, with features that help and three splits."""
    return synthetic(
        num_nodes, num_classes=3, num_features=5, average_degree=4, homophily=0.3, splits=3, seed=seed
    )


def tiny_config(model: str, **changes: Any) -> Config:
    """The settings of a model, made small; changes that the model has no field for are left out."""
    kind = MODELS[model].config
    known = types(kind)
    if model.endswith("-init"):  # its training is the one whose settings are called so
        changes |= {f"{name}_init": v for name, v in changes.items() if f"{name}_init" in known}
    return kind.parse({name: v for name, v in (SETTINGS | changes).items() if name in known})


def stages(
    model: str, graph: Graph, split: Split, config: Config, seed: int = 0
) -> Iterator[tuple[Stage, Trained]]:
    """Drive a model by hand: yield each of its stages with what the training of it left."""
    procedure = MODELS[model].procedure(graph, split, config, seed)
    stage = next(procedure)
    while True:
        (trained,) = train_stages([stage], CPU)
        yield stage, trained
        try:
            stage = procedure.send(trained)
        except StopIteration:
            return
