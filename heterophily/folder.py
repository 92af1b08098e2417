"""A model folder: JSON and safetensors, nothing that runs when it is read; each file with its checksum.

    model.json           what it is: format, library, settings, classes, encoding, calibration, checksums
    weights.safetensors  the weights, and the numbers that were read off the training graph
    history.csv          losses and scores, epoch by epoch
    graph.safetensors    features, edges, and the labels that were trained on; may be left out
    ids.json             what the user calls the nodes, if not 0, 1, ...

A folder is written beside its place and moved there when complete: it is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import safetensors
import safetensors.torch
import torch
from torch import Tensor

from heterophily._version import __version__
from heterophily.files import OutputError, digest, found_folder, reason, write_folder
from heterophily.graph import Graph, Split
from heterophily.stage import Frozen

FORMAT = 1
"""Raised when a folder of this version could not be read by the versions before it."""
HEAD, WEIGHTS, HISTORY, GRAPH, IDS = (
    "model.json", "weights.safetensors", "history.csv", "graph.safetensors", "ids.json",
)  # fmt: skip
OF_THE_GRAPH = ("targets", "probability", "is_homophilous")
"""Frozen numbers that speak of the training graph's nodes and edges, and stay behind with it."""


class FolderError(ValueError):
    """A model folder that cannot be read or written; the message names the file and says what to do."""


@dataclass(frozen=True, eq=False)
class Kept:
    """What a folder holds."""

    model: str
    params: dict[str, Any]
    """Parameters of the estimator."""
    classes: list[Any]
    features: int
    metric: str
    frozen: Frozen
    temperature: float
    training: dict[str, Any]
    """What was trained on, for how long, and how well it did on validation."""
    history: pd.DataFrame
    graph: Graph | None = None
    """With the labels that were trained on, no others; None where it was left out."""
    split: Split | None = None
    ids: list[Any] | None = None
    encoding: Mapping[str, Any] | None = None
    """How tables become features, as JSON."""
    library: str = __version__


def write(folder: str | os.PathLike[str], kept: Kept) -> Path:
    """Write a folder as a whole; over an older model, but over nothing else."""
    path = checked(folder)
    files: dict[str, bytes] = {
        WEIGHTS: _bytes(_named(kept)),
        HISTORY: kept.history.to_csv(index=False).encode(),
    }
    if kept.graph is not None and kept.split is not None:
        files[GRAPH] = _bytes(_graph_tensors(kept.graph, kept.split))
        if kept.ids is not None:
            files[IDS] = json.dumps(kept.ids, ensure_ascii=False, allow_nan=False).encode()
    head = {
        "format": FORMAT,
        "library": kept.library,
        "model": kept.model,
        "params": kept.params,
        "classes": kept.classes,
        "features": kept.features,
        "metric": kept.metric,
        "calibration": {"temperature": kept.temperature, "fitted_on": "validation"},
        "training": kept.training,
        "encoding": kept.encoding,
        "files": {name: _digest(content) for name, content in files.items()},
    }
    text = json.dumps(head | {"checksum": digest(head)}, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        return write_folder(path, files | {HEAD: (text + "\n").encode()})
    except OutputError as error:
        raise FolderError(f"could not write the model: {error}") from None


def checked(folder: str | os.PathLike[str]) -> Path:
    """Return the place of a folder if a model may be written there; said before anything takes time."""
    path = found_folder(Path(folder).expanduser().resolve())
    if path.exists() and not path.is_dir():
        raise FolderError(f"{path} is a file; name a folder for the model")
    there = sorted(file.name for file in path.iterdir()) if path.is_dir() else []
    if others := [name for name in there if name not in (HEAD, WEIGHTS, HISTORY, GRAPH, IDS)]:
        raise FolderError(f"{path} has {others[0]!r} in it, which is no part of a model; name another folder")
    above = next(part for part in path.parents if part.exists())
    if not os.access(above, os.W_OK):
        raise FolderError(f"cannot write the model to {path}: {above} may not be written to; name another")
    return path


def read(folder: str | os.PathLike[str]) -> Kept:
    """Read a folder, on the CPU; what was changed, cut or is missing is refused by name."""
    path = found_folder(Path(folder).expanduser())
    head = _head(path)
    contents = {}
    for name, expected in head["files"].items():
        if name not in (WEIGHTS, HISTORY, GRAPH, IDS):
            raise FolderError(f"{path / HEAD} names a file {name!r} that no model has; get the model again")
        contents[name] = _content(path, name)
        if _digest(contents[name]) != expected:
            raise FolderError(
                f"{path / name} is not what was saved (its checksum differs): cut, changed or of another "
                "model; get the model again"
            )
    try:
        return _kept(head, contents)
    except (KeyError, TypeError, ValueError, RuntimeError, safetensors.SafetensorError) as error:
        raise FolderError(f"{path} is no model that can be read: {error}; get the model again") from None


def _head(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise FolderError(f"there is no model folder {path}; `heterophily fit ... --out {path}` makes one")
    if not (path / HEAD).is_file():
        raise FolderError(f"{path} is no model folder: it has no {HEAD}")
    try:
        head = json.loads(_content(path, HEAD))
        form = int(head["format"])
    except (ValueError, TypeError, KeyError):
        raise FolderError(f"{path / HEAD} is cut or no JSON of a model; get the model again") from None
    if form > FORMAT:
        raise FolderError(
            f"{path} was made by a newer version of heterophily ({head.get('library', 'unknown')}, format "
            f"{form}); this is {__version__}, which reads formats up to {FORMAT}: update it"
        )
    if not isinstance(head.get("files"), dict) or head.pop("checksum", None) != digest(head):
        raise FolderError(
            f"{path / HEAD} is not what was saved (its checksum differs): cut or changed; get the model again"
        )
    return head


def _kept(head: dict[str, Any], contents: dict[str, bytes]) -> Kept:
    tensors = safetensors.torch.load(contents[WEIGHTS])
    parts: dict[str, dict[str, Tensor]] = {"weights": {}, "initial": {}, "numbers": {}}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        parts[part][rest] = tensor
    graph = split = None
    if GRAPH in contents:
        graph, split = _graph_of(safetensors.torch.load(contents[GRAPH]), head)
    return Kept(
        model=head["model"],
        params=head["params"],
        classes=head["classes"],
        features=head["features"],
        metric=head["metric"],
        frozen=Frozen(**parts),
        temperature=float(head["calibration"]["temperature"]),
        training=head["training"],
        history=pd.read_csv(io.BytesIO(contents[HISTORY])),
        graph=graph,
        split=split,
        ids=json.loads(contents[IDS]) if IDS in contents else None,
        encoding=head["encoding"],
        library=head["library"],
    )


def _named(kept: Kept) -> dict[str, Tensor]:
    """Return weights and numbers under one name each; without the graph, none that speak of its nodes."""
    left = OF_THE_GRAPH if kept.graph is None else ()
    parts = {"weights": kept.frozen.weights, "initial": kept.frozen.initial, "numbers": kept.frozen.numbers}
    return {
        f"{part}/{name}": tensor
        for part, tensors in parts.items()
        for name, tensor in tensors.items()
        if name not in left
    }


def _graph_tensors(graph: Graph, split: Split) -> dict[str, Tensor]:
    known = split.train | split.validation
    tensors = {
        "edges": graph.edge_index,
        "labels": torch.where(known, graph.y, -1),
        "train": split.train,
        "validation": split.validation,
    }
    if graph.x.layout == torch.strided:
        return tensors | {"x": graph.x}
    return tensors | {
        "x.crow": graph.x.crow_indices(), "x.col": graph.x.col_indices(), "x.val": graph.x.values(),
    }  # fmt: skip


def _graph_of(tensors: dict[str, Tensor], head: dict[str, Any]) -> tuple[Graph, Split]:
    labels, size = tensors["labels"], (len(tensors["labels"]), head["features"])
    if "x" in tensors:
        x = tensors["x"]
    else:
        x = torch.sparse_csr_tensor(
            tensors["x.crow"], tensors["x.col"], tensors["x.val"], size=size, check_invariants=True
        )
    split = Split(tensors["train"], tensors["validation"], torch.zeros(size[0], dtype=torch.bool), "fitted")
    names = [str(name) for name in head["classes"]]
    graph = Graph(
        x, labels, tensors["edges"], num_classes=len(names), class_names=names, metric=head["metric"],
        name=head["training"].get("graph", "graph"),
    )  # fmt: skip
    return graph, split


def _bytes(tensors: dict[str, Tensor]) -> bytes:
    return safetensors.torch.save(
        {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    )


def _content(path: Path, name: str) -> bytes:
    try:
        return (path / name).read_bytes()
    except OSError as error:
        raise FolderError(f"{path / name} cannot be read: {reason(error)}; get the model again") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
