"""What came after a graph was read: new nodes and new edges, read as the first files were."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heterophily.reading.columns import Matrix
from heterophily.reading.edges import alike, joined, positions, read_ends
from heterophily.reading.encoding import Encoding
from heterophily.reading.graphs import is_whole
from heterophily.reading.mistakes import ReadingError
from heterophily.reading.nodes import Nodes, ends_as_nodes, join
from heterophily.reading.tables import Table, open_table


@dataclass(frozen=True, eq=False)
class Later:
    """New nodes, numbered after the known ones, and new edges between any."""

    x: Any
    """Features (new nodes, F)."""
    edge_index: np.ndarray
    """(2, E), numbers of known and new nodes."""
    ids: list[Any]
    """Of the new nodes."""
    notes: tuple[str, ...]


def read_later(
    known: Sequence[Any],
    encoding: Encoding,
    edges: Any = None,
    nodes: Any = None,
    features: Any = None,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    delimiter: str | Mapping[str, str] | None = None,
    header: bool | Mapping[str, bool] | None = None,
) -> Later:
    """Read what is new beside the ``known`` nodes, ids in the order of their numbers.

    Files and frames are as for ``read``. Rows of known nodes are left out, so that the files may be the
    old ones with more in them. An edge may join known nodes, too.
    """
    if is_whole(edges):
        raise ReadingError(
            "a graph file holds a graph of its own; read it as another graph, not as a later part"
        )
    columns = {each for each in (id, source, target) if each}

    def opened(given: Any, role: str, ids: frozenset[str] | None = None) -> Table:
        cut = delimiter.get(role) if isinstance(delimiter, Mapping) else delimiter
        head = header.get(role) if isinstance(header, Mapping) else header
        return open_table(given, role, delimiter=cut, header=head, expected=columns, ids=ids)

    notes: list[str] = []
    given = ((nodes, "nodes"), (features, "features"))
    tables = [opened(table, role) for table, role in given if table is not None]
    first = tables[0] if tables else None
    old = pa.array(known)
    new = _unknown(join(tables, None, id, encoding.id, notes), old, notes) if tables else None
    edge_index = np.zeros((2, 0), dtype=np.int64)
    if edges is not None:
        frame = not isinstance(edges, str | os.PathLike)
        table = opened(edges, "edges", None if frame else frozenset(map(str, known[:1_000_000])))
        ends = read_ends(table, source, target, first, encoding.label, notes)
        if new is None and not encoding.columns:
            new = _unknown(ends_as_nodes(table, ends, notes), old, notes)
        every = old if new is None else pa.concat_arrays(alike(old, new.ids))
        edge_index = positions(table, ends, every, first)
    if new is None or not len(new.ids):
        return Later(np.zeros((0, len(encoding.features)), np.float32), edge_index, [], tuple(notes))
    x = _features(new, encoding, notes)
    return Later(x, edge_index, new.ids.to_pylist(), tuple(notes))


def _features(nodes: Nodes, encoding: Encoding, notes: list[str]) -> Any:
    if any(isinstance(column, Matrix) for column in encoding.columns):
        raise ReadingError(
            "the features came from a graph file, not from a table; pass them in Python: extended"
        )
    if not encoding.columns:
        return np.zeros((len(nodes.ids), 0), np.float32)
    return encoding.transform(nodes.table, nodes.data, notes.append)


def _unknown(nodes: Nodes, known: Any, notes: list[str]) -> Nodes:
    """Only the nodes that are new."""
    ours, theirs = alike(nodes.ids, known)
    rows = np.flatnonzero(~np.asarray(pc.is_in(joined(ours), value_set=joined(theirs))))
    if again := len(nodes.ids) - len(rows):
        notes.append(
            f"{again:,} rows of nodes that the model knows are not read again, {len(rows):,} are new"
        )
    place = nodes.table.place
    table = replace(nodes.table, place=lambda row, column: place(int(rows[row]), column))
    return replace(nodes, ids=joined(nodes.ids).take(rows), data=nodes.data.take(rows), table=table)
