"""The nodes: their ids, and all that the tables know of them, side by side in one order."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import torch

from heterophily.graph import Split
from heterophily.reading import cells
from heterophily.reading.cells import CellError
from heterophily.reading.edges import End, alike, find_pair, joined
from heterophily.reading.kinds import id_like
from heterophily.reading.mistakes import ReadingError, listed, no_column
from heterophily.reading.tables import Table
from heterophily.reading.textfile import plain

PARTS = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "te"), "test"),
}
NODE_WORDS = {"node", "nodes", "vertex", "name"}


@dataclass(frozen=True)
class Nodes:
    """All nodes, in the order of their numbers."""

    ids: Any
    """Arrow array of int64 or text."""
    table: Table
    data: pa.Table
    """The columns of all tables but the ids; without tables it has none."""
    id: str | None = None
    """The column the ids are from."""


class KnownIds(Container[str]):
    """The ids of a node table as texts, to tell an edge from a header; read when first asked for."""

    def __init__(self, table: Table, column: str):
        self.table, self.column = table, column

    @cached_property
    def _texts(self) -> Any:
        try:
            return cells.ids(self.table.load([self.column]).column(0)).cast(pa.string())
        except CellError:
            return pa.array([], pa.string())  # ids that cannot be read are told of later

    def __contains__(self, word: object) -> bool:
        return pc.index(self._texts, pa.scalar(str(word))).as_py() >= 0


def known_ids(table: Table, id: str | None) -> KnownIds | None:
    """The ids of a node table, where it is clear which column they are."""
    names = [id] if id in table.names else [name for name in table.names if id_like(name)]
    return KnownIds(table, names[0]) if names and names[0] else None


def ends_as_nodes(table: Table, ends: Sequence[End], notes: list[str]) -> Nodes:
    """The nodes where nothing but the edges is known: their ends, sorted."""
    ids = pc.unique(pa.chunked_array(alike(*(end.values for end in ends))))
    ids = ids.take(pc.sort_indices(ids))
    notes.append(f"{len(ids):,} nodes, the ends of the edges; no features")
    return Nodes(ids, table, pa.table({}))


def rows_as_nodes(table: Table, count: int, notes: list[str]) -> Nodes:
    """The nodes where a matrix of features has a row for each: its rows, numbered from 0."""
    notes.append(f"{count:,} nodes, the rows of the features, numbered from 0")
    return Nodes(pa.array(np.arange(count)), table, pa.table({}))


def join(
    tables: Sequence[Table], ends: Sequence[End] | None, id: str | None, known: str | None, notes: list[str]
) -> Nodes:
    """The nodes of the first table, with the rows of the others that belong to them.

    ``id`` is the id column the caller names, ``known`` that of an earlier reading, used where it is there.
    """
    first: Nodes | None = None
    for table in tables:
        data = table.load(None)
        asked = id if first is None or id in table.names else None
        asked = known if asked is None and known in table.names else asked
        name = _id_column(table, data, asked, [first.ids] if first else ends and [end.values for end in ends])
        with table.reading(name):
            ids = joined(cells.ids(data.column(name)))
        _refuse_twice(ids, table, name)
        notes.append(f"{table.note(len(data))}; ids from `{name}`")
        here = Nodes(ids, table, data.drop_columns([name]), name)
        first = here if first is None else _beside(first, here, notes)
    assert first is not None
    return first


def _beside(nodes: Nodes, more: Nodes, notes: list[str]) -> Nodes:
    """The nodes with the columns of another table about them."""
    source, first = more.table.source, nodes.table.source
    if both := set(nodes.data.column_names) & set(more.data.column_names):
        raise ReadingError(
            f"{listed(sorted(both))} is a column of {first} and of {source}; rename or drop one"
        )
    ours, theirs = alike(nodes.ids, more.ids)
    order = pc.index_in(ours, value_set=theirs)
    found = len(order) - order.null_count
    if not found:
        raise ReadingError(
            f"{source}: no id in `{more.id}` is one of {first} ({theirs[0].as_py()!r} against "
            f"{ours[0].as_py()!r}); name the id column with id=..."
        )
    if order.null_count:
        notes.append(f"{source} has no row for {order.null_count:,} of {len(ours):,} nodes")
    if len(theirs) > found:
        notes.append(f"{source}: {len(theirs) - found:,} rows of other nodes not used")
    rows = np.asarray(pc.fill_null(order, 0))
    data = nodes.data
    for name, column in zip(more.data.column_names, more.data.take(order).columns):
        data = data.append_column(name, column) if data.num_columns else pa.table({name: column})

    def place(row: int, column: str) -> str:
        inside = column in more.data.column_names
        return more.table.place(int(rows[row]), column) if inside else nodes.table.place(row, column)

    table = replace(nodes.table, source=f"{first} and {source}", place=place, names=tuple(data.column_names))
    return replace(nodes, table=table, data=data)


def _refuse_twice(ids: Any, table: Table, name: str) -> None:
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    twice = np.asarray(pd.Index(ids.to_pandas()).duplicated())
    row = int(twice.argmax())
    before = pc.index(ids, ids[row]).as_py()
    hint = "; is this the edge list?" if find_pair(table.names) or len(table.names) == 2 else ""
    raise ReadingError(
        f"{table.place(row, name)} column `{name}`: the id {ids[row].as_py()!r} is there already "
        f"({table.place(before, name)}; such rows: {int(twice.sum()):,}); keep one row per node, or name "
        f"the id column with id=...{hint}"
    )


def _id_column(table: Table, data: pa.Table, asked: str | None, ends: Sequence[Any] | None) -> str:
    """The column of ids: the one named, else the one that all ends of edges are in."""
    if asked is not None:
        if asked not in table.names:
            raise no_column(table.source, asked, table.names, "id=")
        return asked
    likely = [name for name in table.names if id_like(name) or plain(name) in NODE_WORDS]
    best = next((name for name in likely if plain(name) == "id"), likely[0] if likely else None)
    for group in (likely, [name for name in table.names if name not in likely]):
        fit = [name for name in group if ends is not None and _covers(data.column(name), ends)]
        if len(fit) > 1:
            raise ReadingError(
                f"{table.source}: {listed(fit)} could each be the ids; name the right one with id=..."
            )
        if fit:
            return fit[0]
    if best is not None:  # an unknown node in an edge is told with its place
        return best
    raise ReadingError(
        f"{table.source}: no column has all nodes of the edges, as an id column would (columns: "
        f"{listed(table.names)}); name it with id=..., or check that the two files belong together"
    )


def _covers(column: Any, ends: Sequence[Any]) -> bool:
    """Whether a column could be the ids: all different, and all ends among them."""
    try:
        ids = joined(cells.ids(column))
    except CellError:
        return False
    if pc.count_distinct(ids).as_py() < len(ids):
        return False
    pairs = (alike(end, ids) for end in ends)
    return all(pc.all(pc.is_in(these, value_set=those)).as_py() for these, those in pairs)


def read_split(nodes: Nodes, name: str, y: np.ndarray, notes: list[str]) -> Split:
    """The split that a column of train, val, test or nothing says, unlabelled nodes left out."""
    table, column = nodes.table, nodes.data.column(name)
    with table.reading(name):
        words = cells.text(column)
    given = [None if word is None else PARTS.get(word.lower(), "") for word in words.to_pylist()]
    if "" in given:
        row = given.index("")
        raise ReadingError(
            f"{table.place(row, name)} column `{name}`: {words[row].as_py()!r} is no part of a split; "
            "write train, val, test, or nothing"
        )
    masks = {part: np.array([each == part for each in given]) for part in ("train", "validation", "test")}
    for part, mask in masks.items():
        if gone := int((mask & (y < 0)).sum()):
            notes.append(f"split `{name}`: {gone:,} unlabelled {part} nodes cannot be scored: in no part")
        mask &= y >= 0
    if not masks["train"].any():
        raise ReadingError(
            f"{table.source} column `{name}`: no labelled node is for training; mark some as train"
        )
    counts = ", ".join(f"{mask.sum():,} {part}" for part, mask in masks.items())
    notes.append(f"split from `{name}`: {counts}")
    train, validation, test = (torch.from_numpy(mask) for mask in masks.values())
    return Split(train, validation, test)
