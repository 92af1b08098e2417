"""Files and objects that hold a whole graph: NetworkX, GraphML, GML, ``.npz`` and PyG's ``.pt``.

Each becomes edges between the numbers of nodes, and a table of the nodes; features that are a matrix
already are taken as they are.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
import torch
from torch import Tensor

from heterophily.graph import Split
from heterophily.reading import textfile
from heterophily.reading.mistakes import ReadingError, reason
from heterophily.reading.tables import Table, existing, in_memory, suffix, to_column

EDGES = ("edge_index", "edges")
FEATURES = ("x", "node_features", "features", "attr")
LABELS = ("y", "node_labels", "labels", "label")
MASKS = (("train_mask", "train_masks"), ("val_mask", "val_masks"), ("test_mask", "test_masks"))


@dataclass(frozen=True)
class Whole:
    """A graph as its file holds it."""

    source: str
    form: str
    edges: np.ndarray
    """(2, E), numbers of nodes."""
    nodes: Table
    """One row per node: its ``id`` and what else is known of it, labels as ``y``."""
    matrix: Any = None
    """Features (N, F), where they are a matrix."""
    splits: tuple[Split, ...] = ()


def is_whole(given: Any) -> bool:
    """Whether this holds a graph, not a table."""
    if isinstance(given, Whole):
        return True
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(given, networkx.Graph):
        return True
    if not isinstance(given, str) and not hasattr(given, "__fspath__"):
        return False
    return suffix(Path(given)) in {".npz", ".pt", ".pth", ".graphml", ".gml"}


def open_whole(given: Any) -> Whole:
    """A graph from a path or a NetworkX graph."""
    if isinstance(given, Whole):
        return given
    if not isinstance(given, str) and not hasattr(given, "__fspath__"):
        return _networkx(given, "the NetworkX graph", "NetworkX")
    path = existing(given)
    kind = suffix(path)
    if kind in {".graphml", ".gml"}:
        return _networkx(_parsed(path, kind), path.name, "GraphML" if kind == ".graphml" else "GML")
    values = _npz(path) if kind == ".npz" else _pt(path)
    return _arrays(values, path.name, "npz" if kind == ".npz" else "PyG")


def _parsed(path: Path, kind: str) -> Any:
    try:
        import networkx
    except ImportError:
        raise ReadingError(f"{path.name} needs NetworkX: pip install 'heterophily[networkx]'") from None
    text = textfile.read_text(path)
    try:
        if kind == ".gml":
            return networkx.parse_gml(text, label="id")
        return networkx.read_graphml(io.BytesIO(text.encode()))
    except Exception as error:  # its parsers raise whatever a damaged file makes them stumble over
        raise ReadingError(
            f"{path.name} cannot be read by NetworkX ({reason(error)}); check that it is whole"
        ) from None


def _networkx(g: Any, source: str, form: str) -> Whole:
    """Undirected edges get both directions; node attributes become columns."""
    if not len(g):
        raise ReadingError(f"{source} has no node")
    place = {node: i for i, node in enumerate(g)}
    edges = np.array([(place[u], place[v]) for u, v in g.edges()], dtype=np.int64).reshape(-1, 2).T
    if not g.is_directed():
        edges = np.concatenate([edges, edges[::-1, edges[0] != edges[1]]], axis=1)
    keys = list(g)
    if not (all(type(key) is int for key in keys) or all(isinstance(key, str) for key in keys)):
        keys = [str(key) for key in keys]
    where = lambda row: f"{source} node {keys[row]!r}"  # noqa: E731
    names = dict.fromkeys(str(name) for _, values in g.nodes(data=True) for name in values)
    by = [{str(name): value for name, value in values.items()} for _, values in g.nodes(data=True)]
    names.pop("id", None)
    columns = {name: to_column([_plain(row.get(name)) for row in by], name, where) for name in names}
    ids = to_column(keys, "id", where)
    return Whole(source, form, edges, in_memory(pa.table({"id": ids, **columns}), source, form, where))


def _plain(value: Any) -> Any:
    """A value of NumPy or torch as one of Python."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray | Tensor) else value


def _npz(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # whatever the damaged file makes the unpacking stumble over
        pickled = "allow_pickle" in str(error)
        why = "it holds pickled objects, which can run code" if pickled else reason(error)
        raise ReadingError(
            f"{path.name} cannot be read ({why}); save plain arrays with numpy.savez"
        ) from None


def _pt(path: Path) -> dict[str, Any]:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import EdgeStorage, GlobalStorage, NodeStorage

    safe = [Data, DataEdgeAttr, DataTensorAttr, EdgeStorage, GlobalStorage, NodeStorage]
    known = torch.serialization.get_safe_globals()  # these stay so afterwards, the others do not
    safe = [kind for kind in safe if kind not in known]
    try:
        with torch.serialization.safe_globals(safe):
            content = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(content, tuple | list) and content:  # what an InMemoryDataset keeps: data, slices, ...
            content = content[0]
        found = content.to_dict() if isinstance(content, Data) else content
    except Exception as error:  # torch raises whatever a damaged file makes it stumble over
        raise ReadingError(
            f"{path.name} cannot be loaded as tensors alone ({reason(error)}); save a PyG Data or a dict of "
            "tensors with torch.save"
        ) from None
    if not isinstance(found, dict):
        raise ReadingError(
            f"{path.name} holds a {type(found).__name__}; save a PyG Data or a dict of tensors"
        )
    return {str(key): value for key, value in found.items()}


def _arrays(values: dict[str, Any], source: str, form: str) -> Whole:
    """A graph of arrays under the names that are common for them."""
    has = f"it has {', '.join(sorted(values)) or 'nothing'}"
    try:
        matrix = _first(values, FEATURES)
        if "adj_indptr" in values or {"indptr", "indices", "shape"} <= values.keys():
            prefix = "adj_" if "adj_indptr" in values else ""
            adjacency = _csr(values, prefix).tocoo()
            edges = np.stack(adjacency.coords).astype(np.int64)
            nodes = int(adjacency.shape[0])
            matrix = _csr(values, "attr_") if "attr_indptr" in values else matrix
        else:
            edges = _first(values, EDGES)
            if edges is None:
                raise ReadingError(f"{source} has no edges ({has}); save them as edge_index, of shape (2, E)")
            edges = np.asarray(edges)
            if edges.ndim != 2 or 2 not in edges.shape:
                raise ReadingError(f"{source}: the edges have shape {edges.shape}; they must be (2, E)")
            edges = edges if edges.shape[0] == 2 else edges.T
            if edges.dtype.kind not in "iu":
                raise ReadingError(f"{source}: the edges are {edges.dtype}; they must be numbers of nodes")
            edges = edges.astype(np.int64)
            nodes = int(edges.max(initial=-1)) + 1
        labels = _first(values, LABELS)
        labels = None if labels is None else np.asarray(labels)
        for known in (labels, matrix):
            nodes = nodes if known is None else max(nodes, known.shape[0])
        columns = {"id": np.arange(nodes)}
        if labels is not None:
            labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
            if labels.shape != (nodes,):
                raise ReadingError(f"{source}: the labels have shape {labels.shape}, the nodes are {nodes:,}")
            columns["y"] = pa.array(labels, mask=labels < 0 if labels.dtype.kind in "if" else None)
        if matrix is not None and matrix.shape[0] != nodes:
            raise ReadingError(f"{source}: features for {matrix.shape[0]:,} nodes, but there are {nodes:,}")
        where = lambda row: f"{source} node {row}"  # noqa: E731
        table = in_memory(pa.table(columns), source, form, where)
        return Whole(source, form, edges, table, matrix, _splits(values, nodes))
    except (
        ValueError,
        TypeError,
        IndexError,
        KeyError,
        RuntimeError,
        MemoryError,
        pa.ArrowException,
    ) as error:
        if isinstance(error, ReadingError):
            raise
        raise ReadingError(f"{source} is not a graph that can be read ({reason(error)}; {has})") from None


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _csr(values: dict[str, Any], prefix: str) -> scipy.sparse.csr_array:
    kind = str(values.get(f"{prefix}format", "csr")).strip("b'")
    rows, columns = (int(size) for size in values[f"{prefix}shape"])
    build: Any = scipy.sparse.csc_array if kind == "csc" else scipy.sparse.csr_array
    found = build(
        tuple(values[prefix + part] for part in ("data", "indices", "indptr")),
        shape=(rows, columns),
    )
    found.check_format()
    return scipy.sparse.csr_array(found)


def _splits(values: dict[str, Any], nodes: int) -> tuple[Split, ...]:
    """Splits of masks (N,), (N, S) or (S, N)."""
    masks = [_first(values, names) for names in MASKS]
    if masks[0] is None:
        return ()
    rows = []
    for mask in masks:
        mask = np.zeros(nodes, bool) if mask is None else np.asarray(mask).astype(bool)
        mask = mask[None] if mask.ndim == 1 else mask if mask.shape[1] == nodes else mask.T
        if mask.shape[1] != nodes:
            raise ReadingError(f"a mask of shape {mask.shape} for {nodes:,} nodes; give one entry per node")
        rows.append(mask)
    count = max(len(row) for row in rows)
    each = [torch.from_numpy(np.broadcast_to(row, (count, nodes)).copy()) for row in rows]
    return tuple(
        Split(train, validation, test, str(i)) for i, (train, validation, test) in enumerate(zip(*each))
    )
