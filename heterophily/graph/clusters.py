"""Clusters: a graph cut into pieces of about one size with few edges between them, for mini-batches."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from heterophily.graph.graph import Graph, GraphError

try:
    import pymetis
except ImportError:  # the extra "large" has it
    pymetis = None

METIS = pymetis is not None
Method = Literal["auto", "metis", "breadth", "random"]


def clusters(graph: Graph, count: int, method: Method = "auto", seed: int = 0) -> tuple[Tensor, ...]:
    """Return the nodes of each of ``count`` clusters, in ascending order.

    "metis" is the partitioner of that name (`pip install 'heterophily[large]'`), which cuts few edges.
    "breadth" numbers the nodes outward from one at the rim, as reverse Cuthill-McKee does, and cuts the row
    into pieces. "random" heeds no edge. "auto" is METIS where it is installed, else "breadth".
    """
    if not 1 <= count <= graph.num_nodes:
        raise GraphError(f"cannot cut {graph.num_nodes:,} nodes into {count:,} clusters; use 1 to that many")
    if method == "metis" and not METIS:
        raise GraphError("METIS is not installed: pip install 'heterophily[large]'; or use method='breadth'")
    if METIS and method in ("auto", "metis") and count > 1:
        bare = graph.undirected().without_self_loops().to_scipy()
        _, member = pymetis.part_graph(count, pymetis.CSRAdjacency(bare.indptr, bare.indices))
        order = np.argsort(member, kind="stable")
        pieces = np.split(order, np.cumsum(np.bincount(member, minlength=count))[:-1])
    else:
        if method == "random":
            order = np.random.Generator(np.random.PCG64(seed)).permutation(graph.num_nodes)
        else:
            order = reverse_cuthill_mckee(graph.undirected().to_scipy().astype(bool), symmetric_mode=True)
        pieces = [np.sort(piece) for piece in np.array_split(order, count)]
    device = graph.y.device
    return tuple(torch.from_numpy(piece.astype(np.int64)).to(device) for piece in pieces if len(piece))
