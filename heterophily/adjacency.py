"""A graph's edges as the matrices that models propagate with; each is made once per graph."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from heterophily.graph import Graph
from heterophily.sparse import Pattern, SparseMatrix
from heterophily.stage import remember

Loops = Literal["one", "none", "given"]
Normalization = Literal["symmetric", "walk", "none"]


def adjacency(
    graph: Graph, normalization: Normalization = "none", loops: Loops = "one", directed: bool = False
) -> SparseMatrix:
    """Return A, or D^-1/2 A D^-1/2 ("symmetric"), or D⁻¹A ("walk").

    Edges are made undirected, unless ``directed``: then row u holds the out-neighbors of u. Every node
    has one loop, whatever it had, or none, or those of the graph.
    """

    def build() -> SparseMatrix:
        bare = SparseMatrix.from_edges(edges(graph, loops, directed), graph.num_nodes, not directed)
        return bare if normalization == "none" else bare.normalized(normalization)

    key = ("adjacency", normalization, loops, directed, graph.num_nodes)
    found: SparseMatrix = remember([graph.edge_index], key, build)
    return found


def pattern(graph: Graph, loops: Loops = "one", directed: bool = False) -> Pattern:
    """Return where A has entries, for models that compute their values."""
    key = ("pattern", loops, directed, graph.num_nodes)
    found: Pattern = remember(
        [graph.edge_index], key, lambda: Pattern.from_edges(edges(graph, loops, directed), graph.num_nodes)
    )
    return found


def edges(graph: Graph, loops: Loops = "one", directed: bool = False) -> Tensor:
    """Return the edges, (2, E), sorted by row, none of them twice."""
    size, (u, v) = graph.num_nodes, graph.edge_index
    if loops == "none":
        u, v = graph.edge_index[:, u != v]
    keys = [u * size + v] + ([] if directed else [v * size + u])
    if loops == "one":
        keys.append(torch.arange(size, device=u.device) * (size + 1))
    key = torch.cat(keys)
    del keys, u, v  # of a large graph each takes gigabytes
    key = key.unique()
    return torch.stack([key // size, key % size])
