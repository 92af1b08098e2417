"""The graph without its hidden labels, and the one place where they are opened."""

from __future__ import annotations

import torch
from torch import Tensor

from heterophily.graph import Graph, Split
from heterophily.training import metrics


def seal(graph: Graph, split: Split) -> Graph:
    """Return the graph with only training and validation labels left: the others are gone, not masked."""
    known = split.train | split.validation
    return graph.with_labels(torch.where(known, graph.y, -1))


def open_score(graph: Graph, split: Split, logits: Tensor) -> float:
    """Score predictions on the test set of a split, with the labels that training never saw."""
    device = logits.device
    return float(metrics.score(graph.metric, logits, graph.y.to(device), split.test.to(device)))
