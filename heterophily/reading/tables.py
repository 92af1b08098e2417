"""Tables from wherever they are: text files, JSON, Parquet, and frames of pandas, polars or Arrow.

A ``Table`` knows its column names before it is loaded, so that only the columns that matter are, and
says where a row is in the words of its file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from heterophily.reading import textfile
from heterophily.reading.cells import CellError
from heterophily.reading.mistakes import ReadingError, reason

BLOCK = 1 << 22
"""Rows of a Parquet file that are read at once where it is streamed."""
TOO_NEW = {".xlsx": "a spreadsheet", ".xls": "a spreadsheet", ".pkl": "a pickle", ".pickle": "a pickle"}


@dataclass(frozen=True)
class Table:
    """Columns of a file or frame, loaded when asked for."""

    source: str
    """What messages call it."""
    names: tuple[str, ...]
    form: str
    load: Callable[[Sequence[str] | None], pa.Table]
    """The columns of these names; None: all."""
    place: Callable[[int, str], str]
    """Where a row, counted from 0, of a column is: ``nodes.csv line 17``."""
    stream: Callable[[Sequence[str]], Iterator[pa.Table]] | None = None
    """The columns of these names block by block, where that is of use."""

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The columns of these names, in one block or more."""
        return self.stream(names) if self.stream else iter([self.load(names)])

    def note(self, rows: int) -> str:
        """What was read, in words."""
        return f"read {self.source}: {rows:,} rows, {self.form}"

    @contextmanager
    def reading(self, column: str) -> Iterator[None]:
        """Give a bad cell of a column its place."""
        try:
            yield
        except CellError as error:
            raise ReadingError(f"{self.place(error.row, column)} column `{column}`: {error}") from None


def in_memory(data: pa.Table, source: str, form: str, where: Callable[[int], str] | None = None) -> Table:
    """A table that is loaded already; ``where`` is the place of a row."""
    if len(set(data.column_names)) < data.num_columns:
        twice = next(name for name in data.column_names if data.column_names.count(name) > 1)
        raise ReadingError(f"{source} has two columns named `{twice}`; give each column its own name")
    if not data.num_columns or not len(data):
        raise ReadingError(f"{source} is empty: {len(data)} rows, {data.num_columns} columns")
    load = lambda names: data if names is None else data.select(list(names))  # noqa: E731
    where = where or (lambda row: f"{source} row {row + 1}")
    return Table(source, tuple(data.column_names), form, load, lambda row, column: where(row))


def open_table(
    given: Any,
    role: str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    expected: Collection[str] = (),
    ids: Container[str] | None = None,
) -> Table:
    """A table from a path or a frame; ``role`` is what it is for: edges, nodes or features."""
    if isinstance(given, str | os.PathLike):
        path = existing(given)
        return _from_file(path, role, delimiter, header, expected, ids)
    if isinstance(given, Table):
        return given
    return in_memory(_arrow(given, role), f"the {role} frame", "a frame")


def existing(given: str | os.PathLike[str]) -> Path:
    """The path of a file that is there and not empty."""
    path = Path(given).expanduser()
    if path.is_dir():
        raise ReadingError(f"{path} is a folder; name a file in it")
    if not path.is_file():
        near = sorted(p.name for p in path.parent.glob("*") if p.is_file()) if path.parent.is_dir() else []
        there = f"; its folder has {', '.join(near[:6])}" if near else ""
        raise ReadingError(f"there is no file {path}{there}")
    try:
        empty = not path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise textfile.unreadable(path, error) from None
    if empty:
        raise ReadingError(f"{path.name} is empty (0 bytes); check that it was written to the end")
    return path


def suffix(path: Path) -> str:
    """The ending of a file's name that says what it holds, .gz left away."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _arrow(frame: Any, role: str) -> pa.Table:
    """A pandas, polars or Arrow frame as an Arrow table; an index with meaning becomes a column."""
    try:
        if isinstance(frame, pd.DataFrame):
            meaningful = frame.index.names != [None] or not pd.RangeIndex(len(frame)).equals(frame.index)
            frame = frame.reset_index() if meaningful else frame
            frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
            if not frame.columns.is_unique:
                twice = frame.columns[frame.columns.duplicated()][0]
                raise ReadingError(f"the {role} frame has two columns named `{twice}`; rename one")
            return pa.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        if isinstance(error, ReadingError):
            raise
        raise ReadingError(
            f"the {role} frame has a column of mixed types ({'; '.join(map(str, error.args))}); "
            "make every value of a column of one type"
        ) from None
    raise ReadingError(
        f"{role} is a {type(frame).__name__}; pass a path, a pandas or polars frame"
        + (", or a NetworkX graph" if role == "edges" else "")
    )


def _from_file(
    path: Path,
    role: str,
    delimiter: str | None,
    header: bool | None,
    expected: Collection[str],
    ids: Container[str] | None,
) -> Table:
    ending = suffix(path)
    start = textfile.read_bytes(path, 512)
    if start.startswith(b"PAR1") or ending in {".parquet", ".pq"}:
        return _parquet(path)
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")) or ending in TOO_NEW:
        what = TOO_NEW.get(ending, "a zip archive")
        raise ReadingError(f"{path.name} is {what}; save the table as CSV or Parquet")
    if ending == ".npy":
        raise ReadingError(
            f"{path.name} is a NumPy matrix, not a table; pass it to read as features=, a row for each node"
        )
    if ending in {".jsonl", ".ndjson"}:
        return _json_lines(path)
    if ending == ".json" or (ending not in {".csv", ".tsv", ".txt"} and start.lstrip()[:1] in {b"{", b"["}):
        return _json(path)
    form = textfile.find_form(path, delimiter, header, expected, ids, certain=role == "edges")
    return Table(
        path.name,
        form.names,
        str(form),
        partial(textfile.parse, path, form),
        lambda row, column: f"{path.name} line {textfile.line_of(path, form, row)}",
        partial(textfile.blocks, path, form),
    )


def _parquet(path: Path) -> Table:
    def told(error: BaseException) -> ReadingError:
        return ReadingError(f"{path.name} is no whole Parquet file ({reason(error)}); write it again")

    if textfile.is_gzip(path):
        raise ReadingError(f"{path.name} is gzipped Parquet; unpack it first: Parquet compresses by itself")
    try:
        schema = pa.parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise told(error) from None
    names = [str(name) for name in schema.names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ReadingError(f"{path.name} has two columns named `{twice}`; rename one")

    def opened() -> Any:
        return pa.parquet.ParquetFile(path, page_checksum_verification=True)

    def load(columns: Sequence[str] | None) -> pa.Table:
        try:
            with opened() as file:
                table = file.read(None if columns is None else list(columns))
                table.validate(full=True)
        except (pa.ArrowException, OSError, MemoryError) as error:
            raise told(error) from None
        if not len(table):
            raise no_row()
        return table.replace_schema_metadata(None)

    def stream(columns: Sequence[str]) -> Iterator[pa.Table]:
        rows = 0
        try:
            with opened() as file:
                for batch in file.iter_batches(BLOCK, columns=list(columns)):
                    batch.validate(full=True)
                    rows += len(batch)
                    yield pa.table(batch).replace_schema_metadata(None)
        except (pa.ArrowException, OSError, MemoryError) as error:
            raise told(error) from None
        if not rows:
            raise no_row()

    def no_row() -> ReadingError:
        return ReadingError(f"{path.name} has no row; check that it was written to the end")

    where = lambda row, column: f"{path.name} row {row + 1}"  # noqa: E731
    return Table(path.name, tuple(names), "Parquet", load, where, stream)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise KeyError(twice)
    return found


def _loads(text: str, path: Path, line: int | None = None) -> Any:
    """JSON, strict about keys that come twice."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except KeyError as error:
        where = f"{path.name} line {line}" if line else path.name
        raise ReadingError(
            f"{where}: the key {error.args[0]!r} comes twice in one object; keep one of the two"
        ) from None
    except (ValueError, RecursionError) as error:
        at = line or getattr(error, "lineno", None)
        where = f"{path.name} line {at}" if at else path.name
        raise ReadingError(f"{where} is not JSON ({error}); check that the file is whole") from None


def _columns(records: list[dict[str, Any]], where: Callable[[int], str]) -> pa.Table:
    """Records as an Arrow table, a record without a key having nothing there."""
    names = dict.fromkeys(key for record in records for key in record)
    return pa.table({name: to_column([r.get(name) for r in records], name, where) for name in names})


def to_column(values: list[Any], name: str, where: Callable[[int], str]) -> pa.Array:
    try:
        return pa.array(values, from_pandas=False)
    except (pa.ArrowException, OverflowError, ValueError):
        kinds = [_kind(value) for value in values]
        usual = max({*kinds} - {None}, key=kinds.count)
        row = next((i for i, kind in enumerate(kinds) if kind not in (None, usual)), 0)
        raise ReadingError(
            f"{where(row)} column `{name}`: {str(values[row])[:60]!r} is a {kinds[row]}, most others are a "
            f"{usual}; make every value of a column of one type"
        ) from None


def _kind(value: Any) -> str | None:
    """What a JSON value is called, a list by what it holds."""
    if isinstance(value, list):
        inner = {_kind(item) for item in value}
        return "list of " + " and ".join(sorted(str(kind) for kind in inner)) if inner else None
    names = {bool: "truth value", int: "number", float: "number", str: "text", dict: "object"}
    return names.get(type(value))


def _json_lines(path: Path) -> Table:
    records: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, line in enumerate(textfile.read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        record = _loads(line, path, number)
        if not isinstance(record, dict):
            raise ReadingError(f"{path.name} line {number} is no object; write one {{...}} on each line")
        records.append(record)
        numbers.append(number)
    where = lambda row: f"{path.name} line {numbers[row]}"  # noqa: E731
    return in_memory(_columns(records, where), path.name, "JSON Lines", where)


def _json(path: Path) -> Table:
    text = textfile.read_text(path)
    if text.count("\n{") and text.lstrip().startswith("{"):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return _json_lines(path)  # under another name
    content = _loads(text, path)
    entry = lambda row: f"{path.name} entry {row + 1}"  # noqa: E731
    if isinstance(content, dict) and content:
        keys, values = list(content), list(content.values())
        if all(isinstance(value, list) for value in values):
            table = pa.table({"id": pa.array(keys), "features": to_column(values, "features", entry)})
            return in_memory(table, path.name, "JSON, lists by node", entry)
        if all(isinstance(value, dict) for value in values):
            if any("id" in value for value in values):
                raise ReadingError(f"{path.name} has nodes as keys and a key `id` inside too; remove one")
            table = _columns([{"id": key, **value} for key, value in zip(keys, values)], entry)
            return in_memory(table, path.name, "JSON, objects by node", entry)
    if isinstance(content, list) and content:
        if all(isinstance(value, dict) for value in content):
            return in_memory(_columns(content, entry), path.name, "JSON, a list of objects", entry)
        if all(isinstance(value, list) and len(value) == 2 for value in content):
            records = [dict(zip(("source", "target"), pair)) for pair in content]
            return in_memory(_columns(records, entry), path.name, "JSON, a list of pairs", entry)
    raise ReadingError(
        f'{path.name} is JSON, but not of a form that is read: {{"node": [features]}}, '
        '{"node": {"column": value}}, a list of objects, or a list of pairs'
    )
