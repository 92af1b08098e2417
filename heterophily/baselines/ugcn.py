"""UGCN (Jin et al., NeurIPS 2021): attention over neighbors near, two steps away, and alike in features.

    Z_m = log softmax(GAT_m(X)),  m: the graph, its two-hop graph, the graph of nearest features
    β = softmax_m(vᵀ tanh(U z_m + b)),  logits = Lin(Σ_m β_m Z_m)

Each GAT_m has two layers (ELU after both) and its own weights; all graphs are undirected and have loops.
The code released with the paper never calls the classifier and takes its columns of Z for classes; here
it is called. Preparing takes O(Σ deg²) for the two-hop graph and O(N nnz(X)) for the nearest nodes, in
blocks of rows; an epoch O((nnz(X) + Σ_m |E_m|) n h) with n heads of width h, and O((N h + Σ_m |E_m|) n)
numbers. Mind the two-hop graph: where hubs are, |E₂| is many times |E|.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import edges, pattern
from heterophily.config import Choice, Count, Integer, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout, GraphAttention
from heterophily.sparse import Features, Pattern, multiply
from heterophily.stage import Procedure, drawn, node_features, remember
from heterophily.supervised import TrainingConfig, supervised

ROOM = 2**20
"""Walks of two steps, or similarities, that are held at once while a graph is prepared."""


@dataclass(frozen=True, kw_only=True)
class UGCNConfig(TrainingConfig):
    """Settings of the universal graph convolutional network."""

    learning_rate: Annotated[Rate, Choice(0.005, 0.01)] = 0.005
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(5e-4, 5e-3)] = 5e-3
    """Weight decay (L2, as in Adam)."""
    heads: Count = 8
    """Attention heads of the first layer."""
    hidden_dim: Count = 64
    """Width of each head of the first layer."""
    embedding_dim: Count = 16
    """Width of the second layer, which is that of Z."""
    dropout: Annotated[Share, Choice(0.5, 0.6)] = 0.6
    """Dropout on the input of both layers and on the attention."""
    nearest: Annotated[Count, Integer(2, 9)] = 3
    """How many of the other nodes a node finds most alike, by the cosine of their features."""
    nearest_above: bool = False
    """Join a node only to those of its nearest that are numbered after it, as the released graphs do."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""


class Branch(nn.Module):
    """Two attention layers on one graph: log-probabilities over the columns of Z."""

    def __init__(self, features: int, hidden: int, heads: int, out: int, dropout: float):
        super().__init__()
        self.drop_input = Dropout(dropout)
        self.first = GraphAttention(features, hidden, heads, dropout)
        self.drop_hidden = Dropout(dropout)
        self.second = GraphAttention(heads * hidden, out, 1, dropout)

    def forward(self, x: Features, neighbors: Pattern) -> Tensor:
        """Return (N, out)."""
        h = F.elu(self.first(self.drop_input(x), neighbors))
        return F.elu(self.second(self.drop_hidden(h), neighbors)).log_softmax(1)


class Fusion(nn.Module):
    """The mean of several embeddings of a node, weighed by attention."""

    def __init__(self, width: int):
        super().__init__()
        self.hidden = nn.Linear(width, width)
        self.weight = nn.Linear(width, 1, bias=False)

    def forward(self, z: Tensor) -> Tensor:
        """Map (N, M, width) to (N, width)."""
        beta = self.weight(self.hidden(z).tanh()).softmax(1)
        return (beta * z).sum(1)


class UGCN(nn.Module):
    """A branch for each of the three graphs, their fusion, and the classifier."""

    def __init__(self, features: int, hidden: int, heads: int, width: int, classes: int, dropout: float):
        super().__init__()
        self.branches = nn.ModuleList(Branch(features, hidden, heads, width, dropout) for _ in range(3))
        self.fusion = Fusion(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, x: Features, graphs: tuple[Pattern, ...]) -> Tensor:
        """Return logits, (N, K)."""
        z = [branch(x, graph) for branch, graph in zip(self.branches, graphs, strict=True)]
        out: Tensor = self.classifier(self.fusion(torch.stack(z, 1)))
        return out


def ugcn(graph: Graph, split: Split, config: UGCNConfig, seed: int) -> Procedure:
    """Train a UGCN with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(
        seed,
        UGCN,
        graph.num_features,
        config.hidden_dim,
        config.heads,
        config.embedding_dim,
        graph.num_classes,
        config.dropout,
    )
    graphs = three_graphs(graph, config.nearest, config.nearest_above)
    return supervised(module, (x, graphs), graph, split, config, "UGCN")


def three_graphs(graph: Graph, nearest: int, above: bool = False) -> tuple[Pattern, Pattern, Pattern]:
    """Return who collects from whom in the graph, the two-hop graph and the graph of nearest features."""

    def alike() -> Pattern:
        i, j = found = nearest_nodes(node_features(graph), nearest)
        return joined(found[:, i < j] if above else found)

    def joined(pairs: Tensor) -> Pattern:
        return Pattern.from_edges(edges(graph._replace(edge_index=pairs)), graph.num_nodes)

    anchor, count = graph.edge_index, graph.num_nodes
    return (
        pattern(graph),
        remember([anchor], ("two steps", count), lambda: joined(two_hop_pairs(graph).to(anchor.device))),
        remember([graph.x], ("nearest", nearest, above), alike),
    )


def two_hop_pairs(graph: Graph) -> Tensor:
    """Return the pairs u < w that are not joined but have at least two neighbors in common, (2, P)."""
    step = graph._replace(edge_index=edges(graph, "none")).to_scipy()
    walks = np.cumsum(step @ np.diff(step.indptr))
    bounds = np.unique([0, *np.searchsorted(walks, np.arange(ROOM, walks[-1], ROOM)), graph.num_nodes])
    found = []
    for start, stop in pairwise(bounds):
        rows = step[start:stop]
        common = rows @ step
        common.data[common.data < 2] = 0
        u, w = (common - common.multiply(rows)).nonzero()
        found.append(np.stack([u + start, w])[:, u + start < w])
    return torch.from_numpy(np.concatenate(found, 1).astype(np.int64))


def nearest_nodes(x: Features, count: int) -> Tensor:
    """Return a pair (u, v) for each node u and each v of the ``count`` others most alike, (2, N count).

    Alike by the cosine of their features, ties going to the node of the lower number.
    """
    x = x.double() if isinstance(x, Tensor) else x._replace(val=x.val.double())
    nodes, step = x.shape[0], max(1, ROOM // max(x.shape))
    count = min(count, nodes - 1)
    blocks = [(start, min(start + step, nodes)) for start in range(0, nodes, step)]
    squares = torch.cat([dense_rows(x, *block).square().sum(1) for block in blocks])
    found = []
    for block in blocks:
        dots = multiply(x, dense_rows(x, *block).T).T.contiguous()
        # ± cos² times the squared length of the row's own node: the same order, and for whole numbers, as
        # most features are, free of rounding that would tear ties apart.
        alike = dots.abs().mul_(dots).div_(squares.clamp(min=1e-300))
        alike.diagonal(block[0]).fill_(-torch.inf)
        last = alike.topk(count).values[:, -1:]
        above, level = alike > last, alike == last
        chosen = above | (level & (level.cumsum(1) <= count - above.sum(1, keepdim=True)))
        u, v = chosen.nonzero().T
        found.append(torch.stack([u + block[0], v]))
    return torch.cat(found, 1)


def dense_rows(x: Features, start: int, stop: int) -> Tensor:
    """Return some rows of a matrix that may be sparse."""
    if isinstance(x, Tensor):
        return x[start:stop]
    crow = x.crow[start : stop + 1]
    first, last = crow[[0, -1]].tolist()
    size = (stop - start, x.shape[1])
    return torch.sparse_csr_tensor(crow - first, x.col[first:last], x.val[first:last], size=size).to_dense()
