"""Fingerprints of the benchmark graphs: whose nodes, features or edges does a graph have?

A fingerprint is 128 bits, the same for any order of the nodes:

- nodes: features and label of every node
- features: features of every node
- edges: the undirected graph without loops, by three rounds of color refinement from the degrees

and a sketch, the smallest hashes of labelled nodes, by which the overlap of two graphs can be estimated.
``known.json`` has those of the datasets; ``benchmarks/write_fingerprints.py`` computes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heterophily.graph.twins import LANES, Hashes, Ints, Rows, mix

FILE = Path(__file__).with_name("known.json")
ROUNDS = 3
SKETCH = 32
"""How many hashes a sketch has; an overlap is then known to ± 9 points or so."""


class Fingerprint(NamedTuple):
    """What a graph is recognized by; None where there are no features."""

    nodes: str | None
    features: str | None
    edges: str | None
    sketch: tuple[int, ...]
    size: int
    """Nodes."""


def fingerprint(neighbors: Rows, hashes: Hashes | None, y: Ints) -> Fingerprint:
    """Compute the fingerprint from sorted undirected neighbor lists, the hashes of features, and labels."""
    edges = _digest(_colors(neighbors)) if neighbors.indices is not None and len(neighbors.indices) else None
    if hashes is None:
        return Fingerprint(None, None, edges, (), len(y))
    label = mix((y + 2).astype(np.uint64))
    named = np.stack([mix(lane ^ label) for lane in hashes.T], 1)
    smallest = np.unique(named[hashes.any(1), 0])[:SKETCH]
    sketch = tuple(map(int, smallest)) if len(smallest) == SKETCH else ()
    return Fingerprint(_digest(named), _digest(hashes), edges, sketch, len(y))


def overlap(one: Fingerprint, other: Fingerprint) -> float:
    """Estimate which share of the first graph's distinct nodes are nodes of the other as well."""
    if not one.sketch or not other.sketch:
        return 0.0
    union = sorted({*one.sketch, *other.sketch})[:SKETCH]
    jaccard = len({*one.sketch} & {*other.sketch} & {*union}) / len(union)
    return min(1.0, jaccard / (1 + jaccard) * (one.size + other.size) / one.size)


@cache
def known() -> Mapping[str, Fingerprint]:
    """The fingerprints of the datasets, by name, in the order of `DATASETS`."""
    content: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Fingerprint(
            entry["nodes"], entry["features"], entry["edges"], tuple(int(h, 16) for h in entry["sketch"]),
            entry["size"],
        )
        for name, entry in content.items()
    }  # fmt: skip


def to_json(found: Fingerprint) -> dict[str, Any]:
    """Return a fingerprint as it stands in the file."""
    return found._asdict() | {"sketch": [f"{value:016x}" for value in found.sketch]}


def _colors(neighbors: Rows) -> Hashes:
    """Return a color for each node, (N, 1), that depends on its surroundings alone."""
    assert neighbors.indptr is not None and neighbors.indices is not None
    filled = neighbors.lengths > 0
    starts = neighbors.indptr[:-1][filled]
    color = mix(neighbors.lengths.astype(np.uint64) + np.uint64(1))
    for _ in range(ROUNDS):
        seen = mix(color ^ LANES[1])
        around = np.zeros_like(color)
        around[filled] = np.add.reduceat(seen[neighbors.indices], starts)
        color = mix(color + mix(around + LANES[0]))
    return color[:, None]


def _digest(hashes: NDArray[np.uint64]) -> str:
    """Return the sum over rows, whatever their order, as 32 hexadecimal digits."""
    total = [int(mix(mix(hashes ^ lane).sum(0, dtype=np.uint64)).sum(dtype=np.uint64)) for lane in LANES]
    return "".join(f"{part % 2**64:016x}" for part in total)
