"""LINKX (Lim et al., NeurIPS 2021): perceptrons of a node's row of A and of its features, joined.

    H_A = MLP_A(A),  H_X = MLP_X(X),  logits = MLP(ReLU([H_A ‖ H_X] W + b + H_A + H_X))

A perceptron is (linear → ReLU → batch norm → dropout) between its linear maps, the first two without
dropout. A is the 0/1 matrix of the graph, undirected unless ``directed``; its first map is a sparse
product with a weight that has a row for every node. Nothing is propagated. The optimizer is AdamW.

An epoch takes O((|A| + nnz(X) + N h) h) time and O((N + F) h) memory. Since weights belong to nodes,
numbering the nodes anew gives the same output only if those rows move along.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import adjacency
from heterophily.config import Choice, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout, FeatureLinear
from heterophily.sparse import Features, SparseMatrix
from heterophily.stage import Procedure, node_features, seeded
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class LINKXConfig(TrainingConfig):
    """Settings of LINKX."""

    learning_rate: Annotated[Rate, Choice(0.002, 0.01, 0.05)] = 0.01
    """Learning rate of AdamW."""
    weight_decay: Annotated[float, Choice(0.0, 1e-3, 1e-2, 1e-1)] = 1e-3
    """Weight decay, apart from the gradient (AdamW)."""
    hidden_dim: Annotated[Count, Choice(64, 128, 256, 512)] = 256
    """Hidden width of all three perceptrons."""
    layers: Annotated[Count, Choice(1, 2, 3, 4)] = 2
    """Linear maps of the last perceptron."""
    layers_edges: Annotated[Count, Choice(1, 2)] = 1
    """Linear maps of the perceptron of A."""
    layers_features: Annotated[Count, Choice(1, 2)] = 1
    """Linear maps of the perceptron of X."""
    dropout: Annotated[Share, Choice(0.0, 0.5)] = 0.5
    """Dropout within the last perceptron."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""
    directed: Annotated[bool, Choice(False, True)] = False
    """A has the out-neighbors of a node only, instead of those of both directions."""


class Perceptron(nn.Module):
    """(Linear → ReLU → batch norm over all nodes → dropout) × (layers - 1) → linear."""

    def __init__(self, features: int, hidden: int, out: int, layers: int, dropout: float = 0.0):
        super().__init__()
        widths = [features] + [hidden] * (layers - 1) + [out]
        self.maps = nn.ModuleList(FeatureLinear([a], b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers - 1))
        self.drops = nn.ModuleList(Dropout(dropout) for _ in range(layers - 1))

    def forward(self, x: Features) -> Tensor:
        """Return (N, out)."""
        for linear, norm, drop in zip(self.maps, self.norms, self.drops):
            x = drop(norm(_rectified(linear, x)))
        out: Tensor = self.maps[-1]([x])
        return out


def _rectified(linear: nn.Module, x: Features) -> Tensor:
    """ReLU(x W + b) ahead of a batch norm.

    Where a unit is on (or off) for all nodes, the norm takes away what b adds: its gradient is 0, but what
    is computed are rounding errors, and Adam scales those up. Such a unit's b is left out of the gradient.
    """
    assert isinstance(linear, FeatureLinear)
    h = linear.product([x])
    on = h + linear.bias > 0
    felt = on.any(0) & ~on.all(0)
    return F.relu(h + torch.where(felt, linear.bias, linear.bias.detach()))


class LINKX(nn.Module):
    """The three perceptrons; an edge of A is a feature of the node whose row it stands in."""

    def __init__(
        self,
        nodes: int,
        features: int,
        hidden: int,
        classes: int,
        layers: int = 2,
        layers_edges: int = 1,
        layers_features: int = 1,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.edges = Perceptron(nodes, hidden, hidden, layers_edges)
        self.features = Perceptron(features, hidden, hidden, layers_features)
        self.join = FeatureLinear([hidden, hidden], hidden)
        self.last = Perceptron(hidden, hidden, classes, layers, dropout)

    def forward(self, x: Features, a: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        h_a, h_x = self.edges(a), self.features(x)
        out: Tensor = self.last(F.relu(self.join([h_a, h_x]) + h_a + h_x))
        return out


def linkx(graph: Graph, split: Split, config: LINKXConfig, seed: int) -> Procedure:
    """Train LINKX with cross-entropy."""
    x, a = (
        node_features(graph, config.feature_norm),
        adjacency(graph, loops="given", directed=config.directed),
    )
    with seeded(seed):
        module = LINKX(
            graph.num_nodes,
            graph.num_features,
            config.hidden_dim,
            graph.num_classes,
            config.layers,
            config.layers_edges,
            config.layers_features,
            config.dropout,
        )
    return supervised(module, (x, a), graph, split, config, "LINKX", decoupled=True)
