"""The rows of a graph that one process holds: cut out of a graph, or read from a folder without the rest.

A folder of arrays, each of which NumPy maps into memory, so that a process reads its own rows only:

    graph.json               name, classes, metric, splits
    crow.npy, col.npy        the edges: undirected, one loop at each node, as CSR
    x.npy                    features (N, F); sparse ones as x_crow.npy, x_col.npy and x_val.npy
    y.npy                    labels, -1 where there is none
    split-0.npy, ...         0 none, 1 training, 2 validation, 3 test
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from heterophily.adjacency import adjacency
from heterophily.distributed.world import World
from heterophily.files import make_folder, write_files
from heterophily.graph import Graph
from heterophily.graph.graph import GraphError
from heterophily.graph.splits import PARTS
from heterophily.stage import digest

FORMAT = 1
HEAD = "graph.json"
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Shard:
    """Some rows of a graph, with one of its splits."""

    bounds: list[int]
    """Process r holds the nodes from ``bounds[r]`` up to ``bounds[r + 1]``."""
    first: int
    """The first own node."""
    crow: Tensor
    col: Tensor
    """Edges of own nodes, int64; columns are numbered as in the graph."""
    x: Array | scipy.sparse.csr_array
    y: Tensor
    """Labels of own nodes, the test nodes' too until `sealed`."""
    part: Tensor
    """1, 2 or 3 for a node of the training, validation or test set; 0 for others."""
    split: int
    facts: dict[str, Any]
    """The head of the folder: what every process knows of the whole graph."""

    @property
    def num_nodes(self) -> int:
        """Nodes of the whole graph."""
        return self.bounds[-1]

    def mask(self, part: str) -> Tensor:
        """Which own nodes are of a part of the split."""
        return self.part == 1 + PARTS.index(part)

    def sealed(self) -> Shard:
        """Return the shard with only training and validation labels left."""
        known = self.mask("train") | self.mask("validation")
        return replace(self, y=torch.where(known, self.y, -1))


def cut(graph: Graph, split: int, world: World) -> Shard:
    """Cut own rows out of a graph that this process has loaded as a whole."""
    graph.split(split)
    return _shard(_facts(graph), _arrays(graph), split, world)


def read(folder: str | os.PathLike[str], split: int, world: World) -> Shard:
    """Read own rows from a folder that `write` has written."""
    path = Path(folder)
    facts = head(path)
    if not 0 <= split < len(facts["splits"]):
        raise GraphError(
            f"{path} has no split {split}; ask for one of its {len(facts['splits'])} splits, from 0"
        )
    try:
        arrays = {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in path.glob("*.npy")}
        return _shard(facts, arrays, split, world)
    except (OSError, KeyError, ValueError) as error:
        raise GraphError(f"{path} is not whole ({error}); write it anew with `heterophily cut`") from None


def head(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a folder says of its graph."""
    file = Path(folder) / HEAD
    try:
        facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GraphError(
            f"cannot read {file} ({error}); write a folder with `heterophily cut DATASET --out FOLDER`"
        ) from None
    if facts.get("format") != FORMAT:
        raise GraphError(f"{file} has format {facts.get('format')!r}; this version reads format {FORMAT}")
    return facts


def write(graph: Graph, folder: str | os.PathLike[str]) -> Path:
    """Write a graph as a folder of arrays; its head comes last, so that half a folder is none."""
    path = make_folder(folder)
    if (path / HEAD).exists():
        raise GraphError(f"{path} holds a graph already; name another folder, or remove it")
    for name, array in _arrays(graph).items():
        np.save(path / f"{name}.npy", array)
    write_files(path, {HEAD: json.dumps(_facts(graph), indent=2, ensure_ascii=False) + "\n"})
    return path


def shares(crow: Array, size: int) -> list[int]:
    """Share rows out evenly, in order: half of a row's load is the row itself, half are its entries."""
    nodes = len(crow) - 1
    load = crow / crow[-1] + np.arange(nodes + 1) / nodes
    wanted = np.searchsorted(load, 2 * np.arange(size + 1) / size)
    bounds = [0]
    for rank in range(1, size):  # one row at least for each
        bounds.append(int(np.clip(wanted[rank], bounds[-1] + 1, nodes - (size - rank))))
    return [*bounds, nodes]


def _shard(facts: dict[str, Any], arrays: dict[str, Array], split: int, world: World) -> Shard:
    crow = arrays["crow"]
    bounds = shares(crow, world.size)
    first, last = bounds[world.rank], bounds[world.rank + 1]
    start, end = int(crow[first]), int(crow[last])

    def own(array: Array, kind: Any = np.int64) -> Tensor:
        return torch.from_numpy(array.astype(kind)).to(world.device)  # a copy: the file is let go

    x: Array | scipy.sparse.csr_array
    if "x" in arrays:
        x = np.array(arrays["x"][first:last])
    else:
        x_crow = np.array(arrays["x_crow"][first : last + 1])
        where = slice(int(x_crow[0]), int(x_crow[-1]))
        val, col = np.array(arrays["x_val"][where]), np.array(arrays["x_col"][where])
        x = scipy.sparse.csr_array((val, col, x_crow - x_crow[0]), (last - first, facts["features"]))
    return Shard(
        bounds=bounds,
        first=first,
        crow=own(crow[first : last + 1]) - start,
        col=own(arrays["col"][start:end]),
        x=x,
        y=own(arrays["y"][first:last]),
        part=own(arrays[f"split-{split}"][first:last]),
        split=split,
        facts=facts,
    )


def _facts(graph: Graph) -> dict[str, Any]:
    def about(i: int) -> dict[str, Any]:
        masks = dict(graph.splits[i].parts())
        return {
            "name": graph.splits[i].name,
            "nodes": {part: int(mask.sum()) for part, mask in masks.items()},
            "mask": digest(torch.stack([mask.cpu() for mask in masks.values()])).hex()[:16],
        }

    return {
        "format": FORMAT,
        "name": graph.name,
        "nodes": graph.num_nodes,
        "features": graph.num_features,
        "classes": graph.num_classes,
        "class_names": graph.class_names,
        "metric": graph.metric,
        "splits": [about(i) for i in range(len(graph.splits))],
    }


def _arrays(graph: Graph) -> dict[str, Array]:
    edges = adjacency(graph)
    arrays: dict[str, Array] = {
        "crow": edges.crow.long().cpu().numpy(),
        "col": edges.col.cpu().numpy(),
        "y": graph.y.cpu().numpy(),
    }
    if graph.x.layout == torch.strided:
        arrays["x"] = graph.x.cpu().numpy()
    else:
        x = graph.x.to_sparse_csr().cpu()
        parts = {"crow": x.crow_indices(), "col": x.col_indices().int(), "val": x.values()}
        arrays |= {f"x_{name}": part.numpy() for name, part in parts.items()}
    for i, split in enumerate(graph.splits):
        code = sum((1 + PARTS.index(part)) * mask.to(torch.uint8) for part, mask in split.parts())
        assert isinstance(code, Tensor)
        arrays[f"split-{i}"] = code.cpu().numpy()
    return arrays
