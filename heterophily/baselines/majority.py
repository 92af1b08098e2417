"""Majority: every node gets the most frequent class of the training nodes; ties go to the lower class.

A rule that reads neither features nor edges and learns nothing: what any model must beat. Its
probabilities are the shares of the classes among the training nodes. Time and memory O(N C).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from heterophily.config import Config
from heterophily.graph import Graph, Split
from heterophily.stage import Procedure
from heterophily.supervised import counted


@dataclass(frozen=True, kw_only=True)
class MajorityConfig(Config):
    """It has no settings."""


def majority(graph: Graph, split: Split, config: MajorityConfig, seed: int) -> Procedure:
    """Let the training nodes vote on every node."""
    votes = torch.bincount(graph.y[split.train], minlength=graph.num_classes)
    return counted(votes.expand(graph.num_nodes, -1), graph, split, "Majority")
