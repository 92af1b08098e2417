"""WRGAT (Suresh et al., KDD 2021): attention over relations that join nodes in alike places.

Relation k joins nodes whose surroundings are alike up to k steps (`heterophily.graph.structural`): candidate
pairs u, v in both directions, twice where each is a candidate of the other, with w_uv = e^{-f_k(u,v)} divided
by its sum over the edges leaving u. The edges of the graph may be one more relation, of weight 1. A layer is

    z = H W_r,  α_uv = softmax over the edges u → v of r that enter v of LeakyReLU(a_rᵀ [z_v ‖ z_u])
    out_v = Σ_r Σ over those edges of w_uv α_uv z_u  +  h_v W_root  +  b

and the model is layer, ReLU, dropout, layer. The released code takes a mean for the second sum, although the
α of a node sum to one already: messages shrink with its degree (``summed=False``). An edge that is there
twice stands once here and counts twice.
With R relations, E_r edges in all of them: O(nnz(X) R h + E_r h) time and O(N R h + E_r) memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import edges
from heterophily.config import Choice, Count, Rate, Share
from heterophily.graph import Graph, Split
from heterophily.graph.structural import similarity
from heterophily.layers import Dropout
from heterophily.sparse import Features, Pattern, attend, multiply, row_exponentials, score
from heterophily.stage import Procedure, drawn, node_features, remember
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class WRGATConfig(TrainingConfig):
    """Settings of the weighted relational attention network."""

    learning_rate: Annotated[Rate, Choice(0.005, 0.01)] = 0.01
    """Learning rate of Adam."""
    weight_decay: Annotated[float, Choice(0.0, 5e-6, 5e-5, 5e-4)] = 5e-5
    """Weight decay (L2, as in Adam)."""
    hidden_dim: Annotated[Count, Choice(32, 64, 128)] = 128
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.3, 0.5, 0.7)] = 0.5
    """Dropout before the second layer."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "none"
    """X as given, or every row divided by its sum of absolute values."""
    depth: Annotated[int, Choice(0, 1, 2, 5, 10)] = 2
    """r: structural relations for the depths 0 to r, as far as some pair of nodes reaches."""
    original_edges: bool = True
    """Take the edges of the graph as a relation beside the structural ones."""
    summed: Annotated[bool, Choice(True, False)] = True
    """The messages of a relation are summed, not summed and divided by their number."""


class Relations(NamedTuple):
    """All relations as one pattern, a block of N nodes for each; rows collect."""

    pattern: Pattern
    times: Tensor
    """(nnz,): the logarithm of how often an edge is there; added to a score, it multiplies a softmax."""
    weight: Tensor
    """(nnz,): w_uv, for a mean over the number of edges that enter v."""


class RelationalAttention(nn.Module):
    """One layer; the weights of all relations stand side by side, those of the root last."""

    def __init__(self, features: int, out: int, relations: int):
        super().__init__()
        self.relations = relations
        bound = math.sqrt(6 / (features + out))  # Glorot's, of each relation
        self.weight = nn.Parameter(torch.empty(features, (relations + 1) * out).uniform_(-bound, bound))
        bound = math.sqrt(6 / (2 * out + 1))
        self.attention = nn.Parameter(torch.empty(relations, out, 2).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x: Features, given: Relations) -> Tensor:
        """Return (N, out)."""
        pattern, times, weight = given
        z = multiply(x, self.weight).unflatten(1, (self.relations + 1, -1)).movedim(1, 0)
        z, root = z[:-1], z[-1]
        to, of = (z @ self.attention).flatten(0, 1).unbind(-1)
        one = torch.ones_like(to)
        scores = score(pattern, torch.stack([to, one], -1), torch.stack([one, of], -1))
        each, total = row_exponentials(pattern, F.leaky_relu(scores, 0.2) + times)
        out = attend(pattern, each * weight, z.flatten(0, 1)) / total.clamp(min=1e-12).unsqueeze(-1)
        return out.unflatten(0, (self.relations, -1)).sum(0) + root + self.bias

    def extra_repr(self) -> str:
        return f"{tuple(self.weight.shape)}, relations={self.relations}"


class WRGAT(nn.Module):
    """The two layers."""

    def __init__(self, features: int, hidden: int, classes: int, relations: int, dropout: float):
        super().__init__()
        self.first = RelationalAttention(features, hidden, relations)
        self.drop = Dropout(dropout)
        self.second = RelationalAttention(hidden, classes, relations)

    def forward(self, x: Features, given: Relations) -> Tensor:
        """Return logits, (N, K)."""
        out: Tensor = self.second(self.drop(F.relu(self.first(x, given))), given)
        return out


def relations(graph: Graph, depth: int, original_edges: bool = True, summed: bool = True) -> Relations:
    """Return the structural relations, after that of the graph's own edges if wanted.

    They are computed on the CPU, so that they are the same on every device.
    """

    def build() -> Relations:
        parts = []
        if original_edges:
            own = edges(graph, "given").cpu()
            ones = torch.ones(own.shape[1], dtype=torch.float64)
            parts.append((own, ones, ones))
        pairs, listed, distance = map(torch.from_numpy, similarity(graph, depth))
        both = torch.cat([pairs, pairs.flip(0)], 1)
        times = listed.repeat(2).double()
        for k, far in enumerate(distance.repeat(1, 2)):
            there = far.isfinite()
            if k == 0 or there.any():
                weight = leaving(both[1, there], far[there], times[there], graph.num_nodes)
                parts.append((both[:, there], times[there], weight))
        return stacked(parts, graph.num_nodes, graph.edge_index.device, summed)

    key = ("relations", depth, original_edges, summed, graph.num_nodes)
    found: Relations = remember([graph.edge_index], key, build)
    return found


def leaving(source: Tensor, distance: Tensor, times: Tensor, num_nodes: int) -> Tensor:
    """Return e^-distance over its sum among the edges that leave a source, each counted so many times."""
    nearest = distance.new_zeros(num_nodes).scatter_reduce(0, source, distance, "amin", include_self=False)
    each = (nearest[source] - distance).exp()
    return each / distance.new_zeros(num_nodes).scatter_add(0, source, each * times)[source]


def stacked(
    parts: list[tuple[Tensor, Tensor, Tensor]], num_nodes: int, device: torch.device, summed: bool
) -> Relations:
    """Lay relations of (edges from row to column, times, weights) on one block diagonal."""
    index = torch.cat([part[0] + i * num_nodes for i, part in enumerate(parts)], 1)
    times, weight = (torch.cat([part[i] for part in parts]) for i in (1, 2))
    size = len(parts) * num_nodes
    order = (index[0] * size + index[1]).argsort()
    index, times, weight = index[:, order], times[order], weight[order]
    if not summed:
        weight = weight / times.new_zeros(size).scatter_add(0, index[0], times)[index[0]]
    pattern = Pattern.from_edges(index.to(device), size)
    return Relations(pattern, times.log().float().to(device), weight.float().to(device))


def wrgat(graph: Graph, split: Split, config: WRGATConfig, seed: int) -> Procedure:
    """Train a WRGAT with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    given = relations(graph, config.depth, config.original_edges, config.summed)
    count = (given.pattern.crow.shape[0] - 1) // graph.num_nodes
    module = drawn(
        seed, WRGAT, graph.num_features, config.hidden_dim, graph.num_classes, count, config.dropout
    )
    return supervised(module, (x, given), graph, split, config, "WRGAT")
