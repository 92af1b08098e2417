"""H2GCN (Zhu et al., NeurIPS 2020): a node, its neighbors and theirs, always kept apart.

    R₀ = σ(X W),  R_k = [S(A₁) R_{k-1} ‖ S(A₂) R_{k-1}],  logits = drop([R₀ ‖ … ‖ R_K]) W'

A₁ are the edges without loops, A₂ the pairs at distance exactly two, S(M) is D^-1/2 M D^-1/2. No node
is among its own neighbors, so no round mixes it with them; a round has neither weights nor bends.

An epoch takes O(nnz(X) h + (|A₁| + |A₂|) 2^K h) time and O(2^K N h + |A₂|) memory. On a graph with
hubs A₂ is far larger than A₁. The penalty l2·ΣW² of the authors is a weight decay of 2·l2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import adjacency, edges
from heterophily.config import Choice, Count, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout
from heterophily.sparse import Features, SparseMatrix, multiply
from heterophily.stage import Procedure, drawn, node_features, remember
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class H2GCNConfig(TrainingConfig):
    """Settings of H2GCN."""

    weight_decay: Annotated[float, Choice(0.0, 2e-5, 1e-4, 1e-3, 5e-3)] = 1e-3
    """Weight decay (L2, as in Adam)."""
    hidden_dim: Annotated[Count, Choice(32, 64, 128)] = 64
    """Width of R₀; every round doubles it."""
    rounds: Annotated[Literal[1, 2], Choice(1, 2)] = 1
    """K: how often the neighborhoods are summed up."""
    activation: Annotated[Literal["relu", "none"], Choice("relu", "none")] = "relu"
    """σ, of the embedding R₀."""
    dropout: Annotated[Share, Choice(0.0, 0.2, 0.5, 0.7)] = 0.5
    """Dropout before the last linear map."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""


class H2GCN(nn.Module):
    """The network, given the two normalized neighborhoods."""

    def __init__(self, features: int, hidden: int, classes: int, rounds: int, bends: bool, dropout: float):
        super().__init__()
        self.rounds, self.bends = rounds, bends
        self.embed = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, hidden)))
        self.drop = Dropout(dropout)
        width = hidden * (2 ** (rounds + 1) - 1)
        self.classify = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, classes)))

    def forward(self, x: Features, near: SparseMatrix, far: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        out: Tensor = self.drop(torch.cat(self.representations(x, near, far), 1)) @ self.classify
        return out

    def representations(self, x: Features, near: SparseMatrix, far: SparseMatrix) -> list[Tensor]:
        """Return R₀ to R_K."""
        r = multiply(x, self.embed)
        found = [F.relu(r) if self.bends else r]
        for _ in range(self.rounds):
            found.append(torch.cat([multiply(near, found[-1]), multiply(far, found[-1])], 1))
        return found

    def extra_repr(self) -> str:
        return f"{tuple(self.embed.shape)}, rounds={self.rounds}, bends={self.bends}"


def distance_two(graph: Graph) -> SparseMatrix:
    """Return S(A₂): two nodes are joined when they have a common neighbor, but no edge."""

    def build() -> SparseMatrix:
        one = graph._replace(edge_index=edges(graph, "none"))
        two = one.two_hop().without_self_loops()
        step = torch.tensor([[graph.num_nodes], [1]], device=one.edge_index.device)
        joined = torch.isin(
            (two.edge_index * step).sum(0), (one.edge_index * step).sum(0), assume_unique=True
        )
        return SparseMatrix.from_edges(two.edge_index[:, ~joined], graph.num_nodes, True).normalized(
            "symmetric"
        )

    found: SparseMatrix = remember([graph.edge_index], ("distance two", graph.num_nodes), build)
    return found


def h2gcn(graph: Graph, split: Split, config: H2GCNConfig, seed: int) -> Procedure:
    """Train H2GCN with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    near, far = adjacency(graph, "symmetric", loops="none"), distance_two(graph)
    module = drawn(
        seed,
        H2GCN,
        graph.num_features,
        config.hidden_dim,
        graph.num_classes,
        config.rounds,
        config.activation == "relu",
        config.dropout,
    )
    return supervised(module, (x, near, far), graph, split, config, "H2GCN")
