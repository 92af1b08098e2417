"""The ends of edges: which columns they are, and which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heterophily.reading import cells
from heterophily.reading.cells import CellError
from heterophily.reading.graphs import Whole
from heterophily.reading.kinds import LABEL_WORDS
from heterophily.reading.mistakes import ReadingError, listed, no_column
from heterophily.reading.tables import Table
from heterophily.reading.textfile import plain

PAIRS = (
    *(("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"), ("start", "end")),
    *(("fromnodeid", "tonodeid"), ("fromid", "toid"), ("sourceid", "targetid"), ("srcid", "dstid")),
    *(("id1", "id2"), ("node1", "node2"), ("nodeid1", "nodeid2"), ("user1", "user2"), ("txid1", "txid2")),
)

MANY = 1 << 25
"""Beyond this many edges memory matters more than time: the two ends are read one after the other."""
STEP = 1 << 22


@dataclass(frozen=True)
class End:
    """One end of all edges: the different ids there, and which of them each edge has."""

    values: Any
    """Arrow array of int64 or text."""
    codes: np.ndarray
    """(E,), int32, places in ``values``."""


def find_pair(names: Sequence[str]) -> tuple[str, str] | None:
    """The columns of sources and targets, by their names."""
    by = {plain(name): name for name in names}
    return next(((by[a], by[b]) for a, b in PAIRS if a in by and b in by), None)


def read_ends(
    table: Table,
    source: str | None,
    target: str | None,
    nodes: Table | None,
    label: str | None,
    notes: list[str],
) -> list[End]:
    """The ids at the two ends of all edges."""
    for name, option in ((source, "source="), (target, "target=")):
        if name is not None and name not in table.names:
            raise no_column(table.source, name, table.names, option)
    if len(table.names) < 2:
        raise ReadingError(
            f"{table.source} has one column, `{table.names[0][:60]}`, but an edge has two ends; if the file "
            "has another delimiter than comma, tab, semicolon, bar or space, say delimiter=..."
        )
    pair = find_pair(table.names)
    headless = table.names[:2] == ("column1", "column2")
    if source is not None or target is not None:
        rest = [name for name in table.names if name not in (source, target)]
        if (source is None or target is None) and len(rest) != 1:
            raise ReadingError(f"{table.source}: name both source= and target=; it has {listed(table.names)}")
        pair = (source or rest[0], target or rest[0])
        if pair[0] == pair[1]:
            raise ReadingError(f"{table.source}: source= and target= are both `{source}`; name two columns")
    elif pair is None and (len(table.names) == 2 or headless):
        first, second = table.names[:2]
        odd = {plain(first), plain(second)} & (LABEL_WORDS - {"target"})
        if odd or label in table.names:
            raise ReadingError(
                f"{table.source} has the columns {listed(table.names)}, those of a node table; pass it as "
                "nodes, or name the ends of the edges with source= and target="
            )
        pair = (first, second)
    elif pair is None:
        swapped = nodes is not None and len(nodes.names) == 2
        raise ReadingError(
            f"{table.source} has the columns {listed(table.names)}; which two are the ends of an edge? name "
            "them with source= and target="
            + (f", or swap the files: {nodes.source} looks like the edges" if swapped and nodes else "")
        )
    chunks: dict[str, list[Any]] = {name: [] for name in pair}
    rows = 0
    for block in table.blocks(pair):
        for name in pair:
            with table.reading(name):
                try:
                    chunks[name].append(_shrunk(block.column(name)))
                except CellError as error:
                    raise CellError(rows + error.row, str(error)) from None
        rows += len(block)
    notes.append(f"{table.note(rows)}; edges from `{pair[0]}` to `{pair[1]}`")
    if unused := [name for name in table.names if name not in pair]:
        notes.append(f"{table.source}: {listed(unused)} not used")
    with ThreadPoolExecutor(1 if rows > MANY else 2) as pool:
        found = list(pool.map(_end, [chunks.pop(name) for name in pair]))
    pa.default_memory_pool().release_unused()
    return found


def _shrunk(column: Any) -> Any:
    """Ids of some edges, each different one kept once: whole numbers as int64, or texts."""
    column = cells.flat(column)
    if column.null_count:
        raise CellError(pc.index(pc.is_null(column), True).as_py(), "the id is missing")
    if not cells.is_text(column) or cells.starts_whole(column):
        return joined(cells.ids(column)).dictionary_encode()
    coded = joined(column.dictionary_encode().unify_dictionaries())
    try:
        values = cells.ids(coded.dictionary)
    except CellError as error:
        row = pc.index(coded.indices, pa.scalar(error.row, coded.indices.type)).as_py()
        raise CellError(row, str(error)) from None
    if pa.types.is_integer(values.type):
        return values.take(coded.indices).dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices, values)


def _end(chunks: list[Any]) -> End:
    """All ids of one end, the different ones and which of them each edge has."""
    whole = all(pa.types.is_integer(chunk.type.value_type) for chunk in chunks)
    coded = pa.chunked_array(chunks if whole else [_texts(chunk) for chunk in chunks])
    chunks.clear()
    coded = joined(coded.unify_dictionaries())
    return End(coded.dictionary, coded.indices.to_numpy())


def _texts(chunk: Any) -> Any:
    """Ids as texts, each different one once."""
    return pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))


def alike(*arrays: Any) -> list[Any]:
    """Arrays of ids in one type: whole numbers where all are, else texts."""
    if all(pa.types.is_integer(each.type) for each in arrays):
        return list(arrays)
    return [each.cast(pa.string()) for each in arrays]


def joined(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def positions(table: Table, ends: list[End], ids: Any, nodes: Table | None) -> np.ndarray:
    """The ends of edges as numbers of nodes, (2, E)."""
    edge_index = np.empty((2, len(ends[0].codes)), dtype=np.int64)
    for side, end in enumerate(ends):
        values, known = alike(end.values, ids)
        place = pc.index_in(values, value_set=known)
        if place.null_count:
            unknown = np.asarray(pc.is_null(place))[end.codes]
            row = int(unknown.argmax())
            raise _unknown(
                table, row, values[int(end.codes[row])].as_py(), int(unknown.sum()), len(ids), nodes
            )
        numbers = place.to_numpy().astype(np.int64)
        for begin in range(0, len(end.codes), STEP):  # NumPy makes large indices of small ones, in a copy
            edge_index[side, begin : begin + STEP] = numbers[end.codes[begin : begin + STEP]]
    return edge_index


def _unknown(
    table: Table, row: int, said: int | str, count: int, known: int, nodes: Table | None
) -> ReadingError:
    """The error for an edge that ends at a node which is not there."""
    where = nodes.source if nodes else "the nodes"
    hint = "add it there, or take the edge out"
    if row == 0 and isinstance(said, str) and count == 1:
        hint += "; if this line is a header, say header=True"
    elif nodes and str(said) in nodes.names:
        hint += f"; if {where} has no header, say header=False"
    elif isinstance(said, str) and said.endswith(".0"):
        hint += "; ids that are whole numbers must be written without .0"
    return ReadingError(
        f"{table.place(row, '')}: node {said!r} is not in {where} ({known:,} nodes; such ends: "
        f"{count:,}); {hint}"
    )


def numbered(whole: Whole, ids: Any, own: bool) -> np.ndarray:
    """The edges of a graph file as numbers of nodes; beside a node table by the ids of both."""
    low, high = whole.edges.min(initial=0), whole.edges.max(initial=-1)
    count = len(whole.nodes.load(["id"]))
    if low < 0 or high >= count:
        raise ReadingError(f"{whole.source}: an edge ends at node {low if low < 0 else high}, of {count:,}")
    if own:
        return np.ascontiguousarray(whole.edges)
    mine, those = alike(cells.ids(whole.nodes.load(["id"]).column("id")), ids)
    place = pc.index_in(mine, value_set=joined(those))
    if place.null_count:
        row = pc.index(pc.is_null(place), True).as_py()
        raise ReadingError(
            f"{whole.nodes.place(row, 'id')} is not in the node table ({len(ids):,} nodes); add it there"
        )
    return np.asarray(place).astype(np.int64)[whole.edges]
