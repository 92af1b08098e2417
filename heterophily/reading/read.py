"""A user's own graph: an edge list and what is known of the nodes, read into a ``Graph``.

Nothing is read silently wrong: what was decided is told in ``notes``, what cannot be decided is asked
for, and what contradicts itself is an error with its place and its mend.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse
import torch

from heterophily.graph import Graph, GraphError, Split, random_splits
from heterophily.reading.columns import Matrix
from heterophily.reading.edges import find_pair, numbered, positions, read_ends
from heterophily.reading.encoding import Encoding, fit_classes, settle
from heterophily.reading.graphs import Whole, is_whole, open_whole
from heterophily.reading.kinds import LABEL_WORDS, check_kinds
from heterophily.reading.matrix import is_matrix, mapped
from heterophily.reading.mistakes import ReadingError, listed, no_column
from heterophily.reading.nodes import Nodes, ends_as_nodes, join, known_ids, read_split, rows_as_nodes
from heterophily.reading.tables import Table, open_table
from heterophily.reading.textfile import plain


@dataclass(frozen=True, eq=False)
class Reading:
    """A graph, and all that is needed to speak of it in the words of its files."""

    graph: Graph
    ids: pd.Index
    """The id of node 0, 1, ..."""
    encoding: Encoding
    notes: tuple[str, ...]
    """What was decided, in words."""

    def with_splits(
        self, count: int = 10, train: float = 0.48, validation: float = 0.32, seed: int = 0
    ) -> Self:
        """The same with random splits of the labelled nodes, stratified by class; the rest is the test."""
        splits = random_splits(self.graph.y, count, train, validation, seed, stratified=True)
        note = f"drew {count} stratified splits from seed {seed}: {train:g} train, {validation:g} validation"
        return replace(self, graph=self.graph.with_splits(splits), notes=(*self.notes, note))


def read(
    edges: Any,
    nodes: Any = None,
    features: Any = None,
    *,
    id: str | None = None,
    label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    split: str | None = None,
    drop: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    encoding: Encoding | None = None,
    name: str | None = None,
    delimiter: str | Mapping[str, str] | None = None,
    header: bool | Mapping[str, bool] | None = None,
) -> Reading:
    """Read a graph from files or frames.

    ``edges``, ``nodes`` and ``features`` are paths (CSV, TSV, JSON Lines, JSON, all also as .gz; Parquet)
    or frames of pandas or polars; ``edges`` may also be a NetworkX graph or a file with a whole graph
    (``.npz``, PyG's ``.pt``, GraphML, GML). Without ``nodes``, the nodes are those of ``features``, or
    else the ends of the edges. Edges are kept as given: one direction or both, with loops and duplicates.
    ``features`` may be a ``.npy`` matrix with a row for each node, which is mapped into memory, not loaded.

    ``id``, ``source``, ``target``: columns, found where not named. ``label``: the column of classes,
    empty where unknown. ``split``: a column of train, val, test or nothing. ``drop``: columns to leave
    out. ``columns``: the kind of a column where it is not the one found: numeric, boolean, category,
    list, words or vector. ``encoding``: that of an earlier reading, to read new nodes or another graph
    with. ``delimiter`` and ``header``: of all text files, or of each as ``{"edges": ...}``.
    """
    check_kinds(columns)
    drop = (drop,) if isinstance(drop, str) else tuple(drop)
    kinds = dict(columns or {})
    named = {each for each in (id, label, source, target, split, *drop, *kinds) if each}

    def opened(given: Any, role: str, ids: Container[str] | None = None) -> Table:
        cut = delimiter.get(role) if isinstance(delimiter, Mapping) else delimiter
        head = header.get(role) if isinstance(header, Mapping) else header
        return open_table(given, role, delimiter=cut, header=head, expected=named, ids=ids)

    notes: list[str] = []
    matrix = None
    if is_matrix(features):
        matrix, features = mapped(features, notes), None
    given = ((nodes, "nodes"), (features, "features"))
    tables = [opened(table, role) for table, role in given if table is not None]
    first = tables[0] if tables else None
    whole: Whole | None = None
    if is_whole(edges):
        whole = open_whole(edges)
        notes.append(f"read {whole.source}: {whole.edges.shape[1]:,} edges, {whole.form}")
        found = join(tables if nodes is not None else [whole.nodes, *tables], None, id, _id(encoding), notes)
        edge_index = numbered(whole, found.ids, own=nodes is None)
        whole = whole if nodes is None else None
        if whole is not None and whole.matrix is not None:
            if matrix is not None:
                raise ReadingError(f"{whole.source} has features of its own; take one or the other")
            matrix = whole.matrix
    else:
        table = opened(edges, "edges", known_ids(first, id) if first else None)
        if nodes is not None and first and source is None and find_pair(first.names):
            if not find_pair(table.names):
                raise ReadingError(
                    f"{first.source} has the columns {listed(first.names)}, those of an edge list: "
                    "the files of edges and nodes seem to be swapped"
                )
        ends = read_ends(table, source, target, first, label, notes)
        if tables:
            found = join(tables, ends, id, _id(encoding), notes)
        elif matrix is not None:
            found = rows_as_nodes(table, len(matrix), notes)
        else:
            found = ends_as_nodes(table, ends, notes)
        edge_index = positions(table, ends, found.ids, first)
        ends.clear()

    if matrix is not None and matrix.shape[0] != len(found.ids):
        raise ReadingError(
            f"the features have {matrix.shape[0]:,} rows for {len(found.ids):,} nodes; give a row for each "
            "node, in the order of the node table"
        )
    label, encoding = _encoding(found, encoding, label, split, drop, kinds, whole, matrix, notes)
    y = np.full(len(found.ids), -1, dtype=np.int64)
    if label is not None and encoding.classes:
        y = encoding.labels(found.table, found.data.column(label), label)
        unlabelled = f"{(y < 0).sum():,} of {len(y):,} nodes unlabelled"
        notes.append(f"labels from `{label}`: {len(encoding.classes)} classes, {unlabelled}")
    if loops := int((edge_index[0] == edge_index[1]).sum()):
        notes.append(f"{loops:,} edges join a node to itself")
    try:
        splits: list[Split] = []
        if split is not None:
            splits = [read_split(found, split, y, notes)]
        elif whole is not None:
            labelled = torch.from_numpy(y >= 0)
            splits = [each.map(lambda mask: mask & labelled) for each in whole.splits]
        graph = Graph(
            _features(found, encoding, matrix, notes),
            y,
            torch.from_numpy(edge_index),
            splits,
            num_classes=len(encoding.classes),
            name=name or _name(edges),
            class_names=encoding.classes or None,
        )
    except GraphError as error:
        raise ReadingError(f"{found.table.source}: {error}") from None
    return Reading(graph, pd.Index(found.ids.to_pandas(), name="id"), encoding, tuple(notes))


def _id(encoding: Encoding | None) -> str | None:
    return encoding.id if encoding else None


def _name(edges: Any) -> str:
    """A file's name without its endings."""
    stem = Path(edges).name.split(".")[0] if isinstance(edges, str | os.PathLike) else ""
    return stem or "graph"


def _encoding(
    nodes: Nodes,
    encoding: Encoding | None,
    label: str | None,
    split: str | None,
    drop: Sequence[str],
    kinds: Mapping[str, str],
    whole: Whole | None,
    matrix: Any,
    notes: list[str],
) -> tuple[str | None, Encoding]:
    """The label column, if there is one, and the encoding: the given one, or one made from the columns."""
    names = nodes.data.column_names
    asked = [(split, "split="), *((each, "drop=") for each in drop), *((each, "columns=") for each in kinds)]
    for name, option in [(label, "label=")] * (encoding is None) + asked:
        if name is not None and name == nodes.id:
            raise ReadingError(
                f"{nodes.table.source}: `{name}` is the id column, not for {option}; name another"
            )
        if name is not None and name not in names:
            raise no_column(nodes.table.source, name, names, option)
    if encoding is not None:
        label = label or encoding.label
        used = {column.name for column in encoding.columns} | {name for name, _ in encoding.dropped}
        if extra := [name for name in names if name not in used | {label, split}]:
            notes.append(f"{listed(extra)} not used: the encoding does not know them")
        return (label if label in names else None), encoding

    if label is None and whole is not None and "y" in names:
        label = "y"
    suspects = [
        name for name in names if label is None and plain(name) in LABEL_WORDS and name not in {*drop, *kinds}
    ]
    for name in suspects:
        notes.append(f"column `{name}`: not used, it may hold the answer; name it with label=")
    data = nodes.data.drop_columns([name for name in names if name in {label, split, *suspects}])
    data = settle(data, {name for name, kind in kinds.items() if kind != "numeric"})
    classes = fit_classes(nodes.table, nodes.data.column(label), label) if label else ()
    encoding = Encoding.fit(nodes.table, data, kinds, drop, classes=classes, id=nodes.id, label=label)
    if matrix is not None:
        block = Matrix("x", int(matrix.shape[1]))
        encoding = replace(encoding, columns=(block, *encoding.columns))
    notes += encoding.describe()
    if any(column.kind in ("numeric", "vector") for column in encoding.columns):
        notes.append("numbers are standardized by mean and deviation over all nodes, labelled or not")
    return label, encoding


def _features(nodes: Nodes, encoding: Encoding, matrix: Any, notes: list[str]) -> Any:
    """The feature matrix: that of a file, the encoded columns, or both side by side."""
    parts: list[Any] = []
    for column in encoding.columns:
        if isinstance(column, Matrix):
            if matrix is None or matrix.shape[1] != column.width:
                has = "none" if matrix is None else f"{matrix.shape[1]:,}"
                raise ReadingError(
                    f"{nodes.table.source}: the encoding needs a matrix of {column.width:,} features, "
                    f"it has {has}"
                )
            parts.append(matrix)
    tabular = tuple(column for column in encoding.columns if not isinstance(column, Matrix))
    if tabular:
        parts.append(replace(encoding, columns=tabular).transform(nodes.table, nodes.data, notes.append))
    if len(parts) > 1:
        return scipy.sparse.csr_array(scipy.sparse.hstack([scipy.sparse.csr_array(part) for part in parts]))
    return parts[0] if parts else None
