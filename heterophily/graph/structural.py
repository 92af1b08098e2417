"""How alike the places of two nodes are: distances between the degrees found ring by ring around them.

Ring k of a node holds the nodes k steps away; as a sequence it is its (degree, count), by degree. For
two nodes f_k = f_{k-1} + DTW(ring k of one, ring k of the other), where matching (d, n) with (d', n') costs

    ((max(d, d') + ½) / (min(d, d') + ½) - 1) · max(n, n')

Each node is compared with ⌊2 log₂ N⌋ + 1 others, those of the closest degrees (struc2vec, Ribeiro et al.,
KDD 2017; WRGAT, Suresh et al., KDD 2021).

With P pairs, depth r and L distinct degrees: O(N |E| r / 64) steps of breadth-first search, from many
sources at a time, then O(P r L²) time and O(r (N L + P)) memory. What took long is kept in the cache folder.
To bound the time, P L² is kept to `MATCHES`: a graph of more degrees has them rounded to so many that fit,
which moves d + ½ by a factor below (range of d + ½)^(1 / L). The usual benchmarks are exact.
"""

from __future__ import annotations

import hashlib
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track

from heterophily.graph.graph import Graph

MATCHES = 1 << 34
"""Most pairs of entries that are matched for one ring: about a minute and a half."""
CELLS = 1 << 15
"""Entries of all sequences that are matched at a time: what a processor's cache holds."""
REACH = 1 << 22
"""Bytes that a step of all searches of a block gathers, for the same reason."""

Item = TypeVar("Item")


class Similarity(NamedTuple):
    """Pairs of nodes and how far they are from each other, ring by ring."""

    pairs: np.ndarray
    """(2, P), each pair once, the lower node first."""
    listed: np.ndarray
    """(P,): 2 where each of the two is among the other's closest in degree, 1 where one is."""
    distance: np.ndarray
    """(depth + 1, P): f_k, infinite where one of the two has no ring k."""


class Ring(NamedTuple):
    """The sequences of one ring of all nodes, one after another."""

    length: np.ndarray
    start: np.ndarray
    degree: np.ndarray
    """Degree + ½, rising within a sequence."""
    number: np.ndarray
    """How many nodes have it."""

    @classmethod
    def join(cls, parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Ring:
        """Join the (lengths, degrees, numbers) of blocks of nodes."""
        length, degree, number = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(length, np.cumsum(length) - length, degree, number)

    def padded(self, nodes: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return degrees and numbers at places of the nodes' sequences; the last one repeats past the end."""
        at = self.start[nodes] + np.minimum(places[:, None], self.length[nodes] - 1)
        return self.degree[at], self.number[at]


def similarity(graph: Graph, depth: int) -> Similarity:
    """Return f_0 to f_depth for all pairs of nodes close in degree, on the graph made undirected.

    Loops count in degrees. Nodes without edges are in no pair.
    """
    edges = graph.undirected().edge_index.cpu().numpy()
    from heterophily.graph.datasets import SLOW, cache_folder  # with PyG, which few need

    kept = cache_folder() / "structural" / f"{_name(edges, graph.num_nodes, depth)}.npz"
    found = _recall(kept, depth)
    if found is None:
        start = time.perf_counter()
        found = compute(edges, graph.num_nodes, depth)
        if time.perf_counter() - start > SLOW:
            _keep(kept, found)
    return found


def compute(edges: np.ndarray, num_nodes: int, depth: int) -> Similarity:
    """Compute what `similarity` returns from edges in both directions, sorted and none twice."""
    if not edges.size:
        return Similarity(np.zeros((2, 0), int), np.zeros(0, int), np.zeros((depth + 1, 0)))
    degree = np.bincount(edges[0], minlength=num_nodes)
    nodes = np.argsort(degree, kind="stable")
    nodes = nodes[degree[nodes] > 0]  # from here on, nodes are numbered by degree, then index
    place = np.zeros(num_nodes, np.int64)
    place[nodes] = np.arange(len(nodes))
    source, target = place[edges]
    target = target[np.argsort(source, kind="stable")]
    pairs, listed = candidates(degree[nodes], int(2 * math.log2(num_nodes)) + 1)
    most = math.isqrt(MATCHES // max(len(listed), 1))
    distance = distances(rings(degree[nodes], target, depth, most), *pairs)
    return Similarity(np.sort(nodes[pairs], axis=0), listed, distance)


def candidates(degree: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs in which one is among the ``most`` closest in degree of the other, and how often.

    Nodes are sorted by degree. Of those equally close, higher degrees come first, then lower numbers.
    """
    groups, starts, sizes = np.unique(degree, return_index=True, return_counts=True)
    found = []
    for group, start, size in zip(groups, starts, sizes, strict=True):
        nearest = np.lexsort((-groups, abs(groups - group)))
        enough = np.searchsorted(np.cumsum(sizes[nearest]), most + 1) + 1
        others = np.concatenate([np.arange(starts[g], starts[g] + sizes[g]) for g in nearest[:enough]])
        others = others[: most + 1]  # the group's own nodes come first, so each knows its place among them
        chosen = np.ones((size, len(others)), bool)
        own = np.arange(size)
        chosen[own, np.minimum(own, len(others) - 1)] = False  # without itself, or without one too many
        row, col = chosen.nonzero()
        found.append(np.stack([start + row, others[col]]))
    pairs = np.sort(np.concatenate(found, 1), axis=0)
    keys, listed = np.unique(pairs[0] * len(degree) + pairs[1], return_counts=True)
    return np.stack(np.divmod(keys, len(degree))), listed


def rings(degree: np.ndarray, target: np.ndarray, depth: int, most: int) -> list[Ring]:
    """Return the rings 0 to ``depth`` of all nodes, which are sorted by degree and have one neighbor or more.

    ``target`` has the neighbors of the first node, then of the second and so on. Many sources are searched
    from at a time: the row of each node has a bit for each of them. At most ``most`` degrees are told apart.
    """
    nodes = len(degree)
    first = np.cumsum(degree) - degree
    value, starts = levels(degree, most)
    width = 8 * math.ceil(min(REACH / max(len(target), 8 * nodes), nodes / 8) / 8)  # in bytes, whole words
    parts: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = [[] for _ in range(depth + 1)]
    for low in _shown(range(0, nodes, 8 * width), "structural similarity: rings"):
        sources = np.arange(low, min(low + 8 * width, nodes))
        front = np.zeros((nodes, width), np.uint8)
        front[sources, (sources - low) // 8] = 128 >> (sources - low) % 8
        seen = front.copy()
        for part in parts:
            inside = np.unpackbits(front, axis=1, count=len(sources))
            counts = np.add.reduceat(inside, starts, axis=0, dtype=np.int32)
            node, entry = counts.T.nonzero()
            part.append((np.count_nonzero(counts, axis=0), value[entry], counts[entry, node]))
            words = front.view(np.uint64)
            front = np.bitwise_or.reduceat(words[target], first, axis=0).view(np.uint8) & ~seen
            seen |= front
    return [Ring.join(part) for part in parts]


def levels(degree: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of degree + ½ and where each starts among the nodes.

    Where there are more than ``most``, those in a bucket of equal width in log(degree + ½) become their mean.
    """
    size = degree + 0.5
    value, starts = np.unique(size, return_index=True)
    if len(value) <= most:
        return value, starts
    height = np.log(size / size[0]) / np.log(size[-1] / size[0])
    bucket = np.minimum((height * most).astype(int), most - 1)
    starts, counts = np.unique(bucket, return_index=True, return_counts=True)[1:]
    return np.add.reduceat(size, starts) / counts, starts


def distances(around: Sequence[Ring], u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return f_k of every pair (u_i, v_i), (rings, pairs); infinite where a ring is empty."""
    far = np.full((len(around), len(u)), np.inf)
    batches = [(k, batch) for k, ring in enumerate(around) for batch in _batches(ring, u, v)]
    for k, batch in _shown(batches, "structural similarity: distances"):
        far[k, batch] = dtw(around[k], u[batch], v[batch])
    return np.cumsum(far, axis=0)


def _batches(ring: Ring, u: np.ndarray, v: np.ndarray) -> Iterator[np.ndarray]:
    """Yield which pairs to match together: pairs that both have the ring, of like lengths."""
    long, short = np.maximum(ring.length[u], ring.length[v]), np.minimum(ring.length[u], ring.length[v])
    order = np.lexsort((short, long))[::-1]
    order = order[short[order] > 0]
    while len(order):
        count = max(1, CELLS // int(long[order[0]]))
        yield order[:count]
        order = order[count:]


def dtw(ring: Ring, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the cost of the best monotone matching of the sequences of u_i and v_i, for all i at once.

    Anti-diagonal by anti-diagonal, each made of the two before it; what pads a sequence comes after its
    end and cannot reach the cell where its pair ends.
    """
    rows, cols = ring.length[u], ring.length[v]
    height, width = int(rows.max()), int(cols.max())
    a, a_number = ring.padded(u, np.arange(height))
    b, b_number = ring.padded(v, np.arange(width)[::-1])  # backward: a diagonal is a slice of both
    out = np.empty(len(u))
    before, last, now = (np.full((height + 1, len(u)), np.inf) for _ in range(3))  # row i is at i + 1
    before[0] = 0
    for diagonal in range(height + width - 1):
        top, bottom = max(0, diagonal - width + 1), min(diagonal + 1, height)
        of_a = slice(top, bottom)
        of_b = slice(width - 1 - diagonal + top, width - 1 - diagonal + bottom)
        cost = np.maximum(a[of_a], b[of_b])
        cost /= np.minimum(a[of_a], b[of_b])
        cost -= 1
        cost *= np.maximum(a_number[of_a], b_number[of_b])
        best = now[top + 1 : bottom + 1]
        np.minimum(last[top + 1 : bottom + 1], last[top:bottom], out=best)
        np.minimum(best, before[top:bottom], out=best)
        best += cost
        ending = (rows + cols - 2 == diagonal).nonzero()[0]
        out[ending] = now[rows[ending], ending]
        before[0] = np.inf
        before, last, now = last, now, before
    return out


def _shown(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Go through items with a bar in a terminal, unless a live line is there already."""
    console = Console(stderr=True)
    free = console.is_terminal and not hasattr(sys.stderr, "rich_proxied_file")
    return iter(track(items, what, console=console, transient=True, disable=not free))


def _name(edges: np.ndarray, num_nodes: int, depth: int) -> str:
    """Name the result by all it depends on; the leading number changes with how it is computed."""
    digest = hashlib.sha256(f"1 {num_nodes} {depth} {MATCHES}".encode())
    digest.update(np.ascontiguousarray(edges, "<i8").tobytes())
    return digest.hexdigest()


def _recall(kept: Path, depth: int) -> Similarity | None:
    """What was kept; None if nothing was or it can't be read."""
    if kept.exists():
        with suppress(Exception), kept.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            found = Similarity(*(file[name] for name in Similarity._fields))
            return found if found.distance.shape == (depth + 1, *found.listed.shape) else None
    return None


def _keep(kept: Path, found: Similarity) -> None:
    """Keep a result for the next time: a whole file or none, and none where nothing can be written."""
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, ignore_cleanup_errors=True) as stage:
            np.savez_compressed(Path(stage, kept.name), **found._asdict())
            Path(stage, kept.name).replace(kept)
