"""What raw files say that the graph made of them no longer shows: repeated lines, loops, wrong headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from heterophily.graph import pickles

Oddity = tuple[str, str, int]
"""A code, a sentence and a count."""


def read_raw(files: Iterable[Path], features: int) -> list[Oddity]:
    """Return the oddities of a dataset's raw files; ``features`` is how many the graph has in the end."""
    found: list[Oddity] = []
    for file in files:
        if file.name.endswith("graph_edges.txt"):
            found += _edge_lines(file)
        elif file.name.endswith("node_feature_label.txt"):
            found += _node_lines(file, features)
        elif file.name.startswith("ind.") and file.name.endswith(".graph"):
            found += _planetoid(file)
    return found


def _edge_lines(file: Path) -> list[Oddity]:
    lines = file.read_text(encoding="utf-8").split("\n")[1:]
    counts = Counter(line.strip() for line in lines if line.strip())
    again = counts.total() - len(counts)
    return (
        [("raw-duplicates", f"{file.name} repeats {again:,} lines, which are merged", again)] if again else []
    )


def _node_lines(file: Path, features: int) -> list[Oddity]:
    found: list[Oddity] = []
    with file.open(encoding="utf-8") as stream:
        header = next(stream)
        ids = np.array([int(line.partition("\t")[0]) for line in stream if line.strip()])
    if (amount := re.search(r"feature_amount:(\d+)", header)) and int(amount[1]) != features:
        said = f"the header of {file.name} says {int(amount[1]):,} features, there are {features:,}"
        found.append(("raw-header", said, abs(int(amount[1]) - features)))
    if (moved := int((ids != np.arange(len(ids))).sum())) > 0:
        said = f"rows of {file.name} are not in the order of the nodes ({moved:,} are elsewhere)"
        found.append(("raw-order", said, moved))
    return found


def _planetoid(file: Path) -> list[Oddity]:
    lists: dict[int, list[int]] = pickles.load(file)
    loops = sum(node in others for node, others in lists.items())
    again = sum(len(others) - len(set(others)) for others in lists.values())
    found: list[Oddity] = []
    if loops:
        found.append(("raw-loops", f"{file.name} has {loops:,} loops, which are dropped", loops))
    if again:
        found.append(("raw-duplicates", f"{file.name} repeats {again:,} neighbors, which are merged", again))
    return found
