"""GAT (Veličković et al., ICLR 2018): two layers in which a node weighs its neighbors by attention.

    H = ELU(‖_k Att_k(drop(X))),  logits = ELU(Att(drop(H)))

Att is `GraphAttention`: the softmax-weighted mean of a node's neighbors and itself, each weight read
off the two nodes' features. The first layer sets several heads side by side, the second has one; ELU on
the logits is a habit of the code that many published tables used. With n heads of width h an epoch takes
O((nnz(X) + |E|) n h) and keeps O((N h + |E|) n) numbers: attention per edge and head, but no messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import pattern
from heterophily.config import Choice, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout, GraphAttention
from heterophily.sparse import Features, Pattern
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class GATConfig(TrainingConfig):
    """Settings of the graph attention network."""

    learning_rate: Annotated[Rate, Choice(0.002, 0.005, 0.01, 0.05)] = 0.005
    """Learning rate of Adam."""
    heads: Annotated[Count, Choice(4, 8)] = 8
    """Attention heads of the first layer."""
    hidden_dim: Annotated[Count, Choice(8, 16, 32, 64)] = 8
    """Width of each head of the first layer."""
    dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.6, 0.8)] = 0.6
    """Dropout on the input of both layers and on the attention."""
    elu_logits: Annotated[bool, Choice(True, False)] = True
    """Pass the logits through ELU, which keeps them above -1."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""
    directed: Annotated[bool, Choice(False, True)] = False
    """Collect from out-neighbors only, instead of from both directions."""


class GAT(nn.Module):
    """The two layers, given who collects from whom."""

    def __init__(self, features: int, hidden: int, heads: int, classes: int, dropout: float, elu: bool):
        super().__init__()
        self.drop_input = Dropout(dropout)
        self.first = GraphAttention(features, hidden, heads, dropout)
        self.drop_hidden = Dropout(dropout)
        self.second = GraphAttention(heads * hidden, classes, 1, dropout)
        self.last = nn.ELU() if elu else nn.Identity()

    def forward(self, x: Features, neighbors: Pattern) -> Tensor:
        """Return logits, (N, K)."""
        h = F.elu(self.first(self.drop_input(x), neighbors))
        out: Tensor = self.last(self.second(self.drop_hidden(h), neighbors))
        return out


def gat(graph: Graph, split: Split, config: GATConfig, seed: int) -> Procedure:
    """Train a GAT with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(
        seed,
        GAT,
        graph.num_features,
        config.hidden_dim,
        config.heads,
        graph.num_classes,
        config.dropout,
        config.elu_logits,
    )
    neighbors = pattern(graph, directed=config.directed)
    return supervised(module, (x, neighbors), graph, split, config, "GAT")
