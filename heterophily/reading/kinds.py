"""What kind of column this is: numbers, truth values, categories, lists, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heterophily.reading import cells
from heterophily.reading.cells import CellError
from heterophily.reading.columns import Boolean, Category, Column, Items, Numeric, Vector
from heterophily.reading.mistakes import ReadingError

CHOICES = ("numeric", "boolean", "category", "list", "words", "vector")
SEPARATORS = ("|", ";")
ID_WORDS = {"id", "ids", "uuid", "guid", "key", "index", "idx", "nodeid", "userid"}
LABEL_WORDS = {"label", "labels", "class", "classes", "y", "target"}
COMMA = r"^[+-]?\d+(,\d+)+$"


def check_kinds(kinds: Mapping[str, str] | None) -> None:
    """Refuse a kind that does not exist."""
    for name, kind in (kinds or {}).items():
        if kind not in CHOICES:
            raise ReadingError(f"columns: `{name}` cannot be {kind!r}; choose one of: {', '.join(CHOICES)}")


def id_like(name: str) -> bool:
    """Whether a column's name is one of an id: id, node_id, userId, index ..."""
    tokens = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return bool(tokens) and tokens[-1].lower() in ID_WORDS


def fit_column(name: str, column: Any, kind: str | None) -> Column | str:
    """The column's encoding, or why it is dropped."""
    column = cells.present(column)
    if column.null_count == len(column):
        return "it is empty"
    if cells.is_list(column):
        if kind not in (None, "list", "words", "vector"):
            raise CellError(0, f"lists cannot be read as {kind}")
        kind = kind or _list_kind(cells.lists(column))
        return Vector.fit(name, column, None) if kind == "vector" else _items(name, column, None)
    if pa.types.is_temporal(column.type):
        return "dates and times have no encoding; write what matters of them as a number"
    if not (cells.is_text(column) or cells.is_number(column) or pa.types.is_boolean(column.type)):
        return f"cells of type {column.type} have no encoding"
    if not column.null_count and pc.all(pc.equal(column, column[0])).as_py():
        return f"every value is {column[0].as_py()!r}"[:80]
    if kind is None:
        kind = _kind(name, column)
        if kind not in CHOICES:
            return kind
    if kind == "numeric":
        return Numeric.fit(name, column)
    if kind == "boolean":
        return Boolean.fit(name, column)
    if kind == "category":
        found = Category.fit(name, column)
        return found if found.levels else "no value occurs often enough to be a level"
    if not cells.is_text(column):
        raise CellError(0, f"cells of type {column.type} cannot be read as {kind}")
    separator = " " if kind == "words" else _separator(column)
    return Vector.fit(name, column, separator) if kind == "vector" else _items(name, column, separator)


def _items(name: str, column: Any, separator: str | None) -> Column | str:
    found = Items.fit(name, column, separator)
    return found if found.items else "its lists are empty"


def _kind(name: str, column: Any) -> str:
    """What a column without lists seems to be, or why it is of no use."""
    if pa.types.is_boolean(column.type):
        return "boolean"
    if cells.is_text(column):
        try:
            column = cells.parsed(column, pa.float64())
        except pa.ArrowInvalid:
            return _text_kind(column)
    numbers = cells.numbers(column)
    here = numbers[~np.isnan(numbers)]
    if np.isin(here, (0, 1)).all():
        return "boolean"
    if (
        id_like(name)
        and len(here) > 1
        and (here == np.round(here)).all()
        and len(np.unique(here)) == len(here)
    ):
        return "every value is different, as in an id"
    return "numeric"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def _text_kind(column: Any) -> str:
    """What a column of texts that are not all numbers seems to be; refuses one that is half numbers."""
    there = len(column) - column.null_count
    values = pc.value_counts(column.drop_null())
    words, counts = values.field("values"), np.asarray(values.field("counts"))
    if pc.all(pc.is_in(pc.ascii_lower(words), value_set=pa.array(cells.TRUE + cells.FALSE))).as_py():
        return "boolean"
    numeric = np.array([_is_number(word) for word in words.to_pylist()])
    odd = words.filter(pa.array(~numeric))[0].as_py() if not numeric.all() else words[0].as_py()
    row = pc.index(column, odd).as_py()
    share = counts[numeric].sum() / there
    if share > 0.5:
        raise CellError(
            row,
            f"{odd[:60]!r} is not a number, {counts[numeric].sum():,} of {there:,} values are; correct it, "
            "leave it empty, or say columns={...: 'category'}",
        )
    comma = np.asarray(pc.match_substring_regex(words, COMMA))
    if counts[comma].sum() > 0.5 * there:
        raise CellError(
            row,
            f"{odd[:40]!r} has a comma; write decimals with a point, thousands without, or, for lists, say "
            "columns={...: 'list'} or columns={...: 'vector'}",
        )
    if pc.all(pc.and_(pc.starts_with(words, "["), pc.ends_with(words, "]"))).as_py():
        return _list_kind(cells.lists(column))
    for separator in SEPARATORS:
        if counts[np.asarray(pc.match_substring(words, separator))].sum() >= 0.1 * there:
            return "list"
    if len(words) == there > 1:
        return "every value is different, as in an id"
    if len(words) > max(20, there / 2):
        return "nearly every value is different, as in free text; columns={...: 'words'} takes its words"
    return "category"


def _separator(column: Any) -> str | None:
    """What the items of a text list are apart by; None for ``[...]``."""
    column = cells.present(column).drop_null()
    if pc.all(pc.and_(pc.starts_with(column, "["), pc.ends_with(column, "]"))).as_py():
        return None
    for separator in (*SEPARATORS, ","):
        if pc.any(pc.match_substring(column, separator)).as_py():
            return separator
    return " "


def _list_kind(lists: Any) -> str:
    """Whether lists hold items, or are vectors of numbers; asks where both may be meant."""
    lengths, items = cells.parts(lists)
    if pa.types.is_floating(items.type):
        return "vector"
    some = lengths[lengths > 0]
    if pa.types.is_integer(items.type) and len(some) > 1 and some[0] > 1 and (some == some[0]).all():
        rows = np.sort(np.asarray(items).reshape(-1, some[0]), axis=1)
        if np.isin(rows, (0, 1)).all() and some[0] > 2:
            return "vector"
        if (rows[:, 1:] == rows[:, :-1]).any():
            raise CellError(
                int(lengths.argmax()),
                f"lists of {some[0]} whole numbers, some twice in a list, may be items or measurements; say "
                "columns={...: 'list'} or columns={...: 'vector'}",
            )
    return "list"
