"""Twin-Copy: a node takes the class of the training nodes that have exactly its neighbors.

Twins are nodes u, v with N(u) = N(v) ≠ ∅, where N(u) holds all w ≠ u with an edge u → w or w → u (the open
neighborhood of the undirected graph). A node without neighbors is nobody's twin. Training twins vote, ties
going to the lower class; a training node votes on itself, too. A node without a training twin gets the most
frequent training class.

A rule that reads no features and learns nothing. What it scores above the majority is owed to duplicates
that lie in both training and test set, as Platonov et al. (ICLR 2023) found in Chameleon and Squirrel: a
leak, which a model may live on as well. Time O(|E| log |E| + N C), memory O(|E| + N C).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heterophily.adjacency import edges
from heterophily.config import Config
from heterophily.graph import Graph, Split
from heterophily.graph.twins import Rows, number_rows
from heterophily.stage import Procedure, remember
from heterophily.supervised import counted


@dataclass(frozen=True, kw_only=True)
class TwinCopyConfig(Config):
    """It has no settings."""


def neighborhoods(graph: Graph) -> Tensor:
    """Number the neighborhoods, (N,): twins have the same number, nodes without neighbors have 0."""

    def build() -> Tensor:
        row, col = edges(graph, "none").cpu().numpy()  # sorted, so that equal sets are equal lists
        ends = np.bincount(row, minlength=graph.num_nodes).cumsum()
        found = number_rows(Rows(np.concatenate([[0], ends]), col, None))
        return torch.from_numpy(found).to(graph.y.device)

    found: Tensor = remember([graph.edge_index], ("neighborhoods", graph.num_nodes), build)
    return found


def twin_copy(graph: Graph, split: Split, config: TwinCopyConfig, seed: int) -> Procedure:
    """Let training twins vote, and all training nodes where there are none."""
    classes, train = graph.num_classes, graph.y[split.train]
    number = neighborhoods(graph)
    ballots = number[split.train] * classes + train
    votes = torch.bincount(ballots, minlength=classes * (int(number.max()) + 1)).view(-1, classes)
    votes[0] = 0  # having no neighbors makes no twins
    twins = votes[number]
    overall = torch.bincount(train, minlength=classes)
    votes = torch.where(twins.any(1, keepdim=True), twins, overall)
    return counted(votes, graph, split, "Twin-Copy")
