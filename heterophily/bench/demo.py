"""The first thing a newcomer runs: HDP beside an MLP on a graph whose neighbors mostly disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch

from heterophily.bench.partition import PartitionQuality, judge_partition, with_truth
from heterophily.bench.protocol import Evaluation, evaluate
from heterophily.graph import Graph
from heterophily.graph.datasets import load
from heterophily.outcomes import edge_table
from heterophily.training.engine import Watch

GRAPH: dict[str, Any] = {"num_nodes": 2000, "homophily": 0.2, "seed": 0}
"""One edge in five joins nodes of one class; most others lead to the two next classes in a circle."""


SETTINGS: dict[str, dict[str, Any]] = {"mlp": {}, "hdp": {}}
"""The defaults of both models."""


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo has seen."""

    graph: Graph
    mlp: Evaluation
    hdp: Evaluation
    edges: pd.DataFrame
    """Every edge of E' with HDP's verdict and the truth."""
    quality: PartitionQuality

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [str(name) for name in self.graph.class_names or range(self.graph.num_classes)]


def run_demo(device: str | torch.device = "cpu", watch: Watch | None = None) -> Demo:
    """Train both models on one split."""
    graph = load("synthetic", **GRAPH)

    def trained(model: str) -> Evaluation:
        return evaluate(graph, model, SETTINGS[model], [0], device=device, watch=watch)

    mlp, hdp = trained("mlp"), trained("hdp")
    edges = edge_table(hdp.outcomes[0])
    assert edges is not None
    train = graph.splits[0].train
    edges = with_truth(edges, graph.y.cpu().numpy(), train.cpu().numpy())
    return Demo(graph, mlp, hdp, edges, judge_partition(edges))
