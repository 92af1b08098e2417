"""Graphs from and to PyG and NetworkX; Graph's own methods are the way in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from heterophily.graph.checks import GraphError
from heterophily.graph.splits import PARTS, Split

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

    from heterophily.graph.graph import Graph

MASKS = dict(zip(PARTS, ("train_mask", "val_mask", "test_mask")))


def is_of_pyg(given: object) -> bool:
    """Whether this is one of PyG's graphs; where PyG was not imported nothing is."""
    pyg = sys.modules.get("torch_geometric.data.data")
    return pyg is not None and isinstance(given, pyg.BaseData)


def from_pyg(data: Data) -> dict[str, Any]:
    """The fields of a graph in PyG's ``Data``."""
    from torch_geometric.data import Data

    if not isinstance(data, Data) or data.edge_index is None:
        raise GraphError(
            f"from_pyg reads a homogeneous Data with an edge_index, this is {data!r}; "
            "convert HeteroData with to_homogeneous(), and skip ToSparseTensor"
        )
    y = torch.full((data.num_nodes,), -1) if data.y is None else data.y
    y = y.flatten() if y.dim() == 2 and y.shape[1] == 1 else y
    return {"x": data.x, "y": y, "edge_index": data.edge_index, "splits": _splits(data)}


def _splits(data: Data) -> list[Split]:
    """Splits of masks (N,) or (N, S); one (N,) beside others (N, S) serves all S, a missing one is empty."""
    given = {part: data[key].bool() for part, key in MASKS.items() if data.get(key) is not None}
    if "train" not in given:
        return []
    masks = [given.get(part, torch.zeros_like(given["train"])) for part in PARTS]
    try:
        columns = torch.broadcast_tensors(*(mask.unsqueeze(1) if mask.dim() == 1 else mask for mask in masks))
    except RuntimeError:
        shapes = ", ".join(f"{key} {tuple(mask.shape)}" for key, mask in zip(MASKS.values(), masks))
        raise GraphError(f"the masks disagree in shape ({shapes}); each must be (N,) or (N, S)") from None
    each = zip(*(column.unbind(1) for column in columns))
    return [Split(train, validation, test, str(i)) for i, (train, validation, test) in enumerate(each)]


def to_pyg(graph: Graph, sparse: bool) -> Data:
    """PyG's ``Data`` of a graph."""
    from torch_geometric.data import Data

    masks: dict[str, Tensor] = {}
    for part, key in MASKS.items() if graph.splits else ():
        columns = [getattr(split, part) for split in graph.splits]
        masks[key] = torch.stack(columns, dim=1) if len(columns) > 1 else columns[0]
    x = graph.x if sparse else graph.x.to_dense()
    return Data(x=x, edge_index=graph.edge_index, y=graph.y, **masks)


def from_networkx(
    g: networkx.Graph,
    label: str | None,
    features: str | Sequence[str] | None,
    class_names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The fields of a graph in a NetworkX graph."""
    place = {node: i for i, node in enumerate(g)}
    edges = np.array([(place[u], place[v]) for u, v in g.edges()], dtype=np.int64).reshape(-1, 2).T
    if not g.is_directed():
        edges = np.concatenate([edges, edges[::-1, edges[0] != edges[1]]], axis=1)
    found: dict[str, Any] = {"y": np.full(len(g), -1), "x": None, "edge_index": edges}
    if label is not None:
        found |= _labels(g, label, class_names)
    if features is not None:
        found["x"] = _features(g, features)
    return found


def _labels(g: networkx.Graph, label: str, class_names: Sequence[str] | None) -> dict[str, Any]:
    """Labels of the nodes, and the names of the classes where the nodes have names for labels."""
    labels: dict[Any, Any] = {node: value for node, value in g.nodes(data=label) if value is not None}
    if len(g) and not labels:
        raise GraphError(
            f"no node has the attribute {label!r}, the nodes have: {_attributes(g)}; "
            "say which one holds the class with label=..., or label=None for a graph without labels"
        )
    if all(isinstance(value, Integral) for value in labels.values()):
        return {"y": [int(labels.get(node, -1)) for node in g]}
    names = tuple(class_names or sorted({value for value in labels.values() if isinstance(value, str)}))
    for node, value in labels.items():
        if value not in names:
            expected = f"one of the class names {', '.join(names)}" if names else "a whole number or a name"
            raise GraphError(
                f"node {node!r} has {label} {value!r}, expected {expected}; correct it or remove it"
            )
    numbers = {name: i for i, name in enumerate(names)}
    return {"y": [numbers[labels[node]] if node in labels else -1 for node in g], "class_names": names}


def _features(g: Any, features: str | Sequence[str]) -> np.ndarray:
    """The feature matrix (N, F) in an attribute that holds vectors or in several that hold numbers."""
    for attribute in (features,) if isinstance(features, str) else features:
        for node, value in g.nodes(data=attribute):
            if value is None:
                raise GraphError(
                    f"node {node!r} has no attribute {attribute!r}; the nodes have: {_attributes(g)}"
                )
    if not isinstance(features, str):
        rows = [[values[attribute] for attribute in features] for _, values in g.nodes(data=True)]
    else:
        rows = [np.ravel(value).tolist() for _, value in g.nodes(data=features)]
        for node, row in zip(g, rows):
            if len(row) != len(rows[0]):
                raise GraphError(
                    f"node {node!r} has {len(row)} values in {features!r}, the first node "
                    f"has {len(rows[0])}; give all nodes the same number"
                )
    return np.array(rows)


def _attributes(g: networkx.Graph) -> str:
    return ", ".join(sorted({str(key) for _, values in g.nodes(data=True) for key in values})) or "none"


def to_networkx(graph: Graph) -> networkx.Graph:
    """The NetworkX graph of a graph."""
    import networkx

    g: networkx.Graph = networkx.Graph() if graph.is_undirected else networkx.DiGraph()
    for node, (row, label) in enumerate(zip(graph.x.to_dense().tolist(), graph.y.tolist())):
        g.add_node(node, x=row, **({"label": label} if label >= 0 else {}))
    g.add_edges_from(graph.edge_index.T.tolist())
    return g
