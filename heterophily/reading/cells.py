"""What the cells of a column mean: ids, numbers, words, truth values, lists. Nothing is guessed per cell."""

from __future__ import annotations

import ast
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

MISSING = (
    "",
    *(
        "NA",
        "N/A",
        "n/a",
        "#N/A",
        "#NA",
        "<NA>",
        "#N/A N/A",
        "NaN",
        "nan",
        "-NaN",
        "-nan",
        "NULL",
        "null",
        "None",
    ),
    *("1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
"""Texts that stand for nothing, as pandas has it, except in an id column, where only an empty cell does."""
TRUE, FALSE = ("true", "yes", "t", "y", "1", "1.0"), ("false", "no", "f", "n", "0", "0.0")
EXACT = 2**53  # whole numbers beyond it are not all floats


class CellError(ValueError):
    """A cell that cannot be read; the caller knows the file and the column."""

    def __init__(self, row: int, why: str):
        super().__init__(why)
        self.row = row


def flat(column: Any) -> Any:
    """A column without a dictionary, one kind of text, decimals as floats."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return column.cast(pa.float64())
    return column


def is_text(column: Any) -> bool:
    """Whether the cells are texts."""
    return pa.types.is_string(column.type)


def is_list(column: Any) -> bool:
    """Whether the cells are lists."""
    kind = column.type
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def is_number(column: Any) -> bool:
    """Whether the cells are numbers."""
    return pa.types.is_integer(column.type) or pa.types.is_floating(column.type)


def present(column: Any) -> Any:
    """The column with nothing where a cell stands for nothing; texts are stripped of spaces around them."""
    column = flat(column)
    if is_text(column):
        column = pc.ascii_trim_whitespace(column)
        gone = pc.is_in(column, value_set=pa.array(MISSING))
        return pc.if_else(gone, pa.scalar(None, pa.string()), column) if pc.any(gone).as_py() else column
    if pa.types.is_floating(column.type):
        gone = pc.fill_null(pc.is_nan(column), False)
        return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column
    return column


def _first(mask: Any) -> int:
    """The row of the first true one."""
    return int(pc.index(mask, pa.scalar(True)).as_py())


def parsed(column: Any, kind: Any) -> Any:
    """Texts as numbers, or ``pa.ArrowInvalid``. A first look at a few spares Arrow a complaint per cell."""
    column.slice(0, 100).cast(kind)
    return column.cast(kind)


def starts_whole(column: Any) -> bool:
    """Whether the first texts are whole numbers, so that the rest may be, too."""
    try:
        column.slice(0, 100).cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def ids(column: Any) -> Any:
    """Ids: int64 where every one is a plain whole number, else text. ``007`` and ``7`` are two ids."""
    column = flat(column)
    kind = column.type
    if column.null_count:
        raise CellError(_first(pc.is_null(column)), "the id is missing")
    if pa.types.is_integer(kind):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column.cast(pa.string())  # larger than int64
    if pa.types.is_floating(kind):
        bad = pc.or_(
            pc.not_equal(pc.round(column), column), pc.greater(pc.abs(column), pa.scalar(EXACT, kind))
        )
        bad = pc.or_(pc.is_nan(column), bad)
        if pc.any(bad).as_py():
            row = _first(bad)
            raise CellError(row, f"{column[row].as_py()} is no id; ids are whole numbers or texts")
        return column.cast(pa.int64())
    if not is_text(column):
        raise CellError(0, f"ids cannot be of type {kind}; they are whole numbers or texts")
    try:
        return _whole(column)
    except pa.ArrowInvalid:
        column = pc.ascii_trim_whitespace(column)
        if pc.any(empty := pc.equal(column, "")).as_py():
            raise CellError(_first(empty), "the id is missing") from None
    try:
        return _whole(column)
    except pa.ArrowInvalid:
        return column


def _whole(column: Any) -> Any:
    """Texts as int64, if each is how that number is written."""
    numbers = parsed(column, pa.int64())
    padded = pc.and_(pc.starts_with(column, "0"), pc.greater(pc.binary_length(column), 1))
    if pc.any(pc.or_(padded, pc.starts_with(column, "-0"))).as_py():
        raise pa.ArrowInvalid("a zero in front")
    return numbers


def text(column: Any) -> Any:
    """Words: each cell's text, nothing where it is missing. 1.0 in a column of whole numbers is ``1``."""
    column = present(column)
    if is_text(column):
        return column
    if pa.types.is_floating(column.type):
        whole = pc.and_(pc.equal(pc.round(column), column), pc.less(pc.abs(column), EXACT))
        if pc.all(whole).as_py() is not False:
            column = column.cast(pa.int64())
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "True", "False")
    if is_number(column) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    raise CellError(0, f"cells of type {column.type} are no words; write them as text or numbers")


def numbers(column: Any) -> np.ndarray:
    """Float64 numbers (N,), NaN where missing; a text that is no number, or an infinite one, is an error."""
    column = present(column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not (is_text(column) or is_number(column) or pa.types.is_boolean(column.type)):
        raise CellError(0, f"cells of type {column.type} are no numbers")
    try:
        found = column.cast(pa.float64(), safe=False)
    except pa.ArrowInvalid:
        guess = pd.to_numeric(column.to_pandas().astype(object), errors="coerce")
        bad = np.asarray(guess.isna()) & np.asarray(column.is_valid())
        row = int(bad.argmax()) if bad.any() else 0
        said = column[row].as_py()
        hint = ""
        if "," in said:
            hint = "; write decimals with a point and thousands without a comma"
        raise CellError(row, f"{said!r} is not a number{hint}") from None
    values = np.asarray(found.to_numpy(), dtype=np.float64)
    if (bad := np.isinf(values)).any():
        row = int(bad.argmax())
        raise CellError(row, f"{column[row].as_py()!r} is infinite; empty the cell where there is no number")
    return values


def truths(column: Any) -> np.ndarray:
    """1.0 for true, 0.0 for false, NaN where missing."""
    column = present(column)
    if pa.types.is_boolean(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    words = pc.ascii_lower(text(column))
    yes, no = (np.asarray(pc.is_in(words, value_set=pa.array(each))) for each in (TRUE, FALSE))
    known = yes | no | np.asarray(pc.is_null(words))
    if not known.all():
        row = int((~known).argmax())
        raise CellError(row, f"{words[row].as_py()!r} is neither true nor false")
    return np.where(yes, 1.0, np.where(no, 0.0, np.nan))


def lists(column: Any, separator: str | None = None) -> Any:
    """An Arrow array of lists: lists as they are, texts cut at a separator or, without it, read as ``[...]``.

    ``separator`` is a character, or a space for words apart by any white space.
    """
    column = flat(column)
    if is_list(column):
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.list_(pa.string()))
    if not is_text(column):
        raise CellError(0, f"cells of type {column.type} are no lists")
    column = present(column)
    if separator == " ":
        found = pc.ascii_split_whitespace(column)
    elif separator:
        found = pc.split_pattern(column, separator)
    else:
        return _bracketed(column)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _bracketed(column: Any) -> Any:
    """Texts such as ``[1, 2]`` or ``['a', 'b']`` as lists."""
    rows: list[list[Any] | None] = []
    for row, cell in enumerate(column.to_pylist()):
        value = None
        if cell is not None:
            try:
                value = json.loads(cell)
            except (ValueError, RecursionError):
                try:
                    value = ast.literal_eval(cell)
                except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                    raise CellError(row, f"{cell[:60]!r} is no list; write lists as [1, 2, 3]") from None
            if not isinstance(value, list):
                raise CellError(row, f"{cell[:60]!r} is no list; write lists as [1, 2, 3]")
        rows.append(value)
    try:
        return pa.array(rows)
    except (pa.ArrowException, OverflowError, ValueError):
        raise CellError(0, "the lists hold values of mixed types; make all numbers or all texts") from None


def parts(lists: Any) -> tuple[np.ndarray, Any]:
    """Lengths (N,) of the lists, 0 where missing, and all their items one after another."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
    return lengths, flat(pc.list_flatten(lists))


def item_names(items: Any) -> Any:
    """Items of lists as texts; spaces around them go."""
    if pa.types.is_null(items.type):
        return items.cast(pa.string())
    if is_text(items):
        return pc.ascii_trim_whitespace(items)
    if is_number(items) or pa.types.is_boolean(items.type):
        return text(items)
    raise CellError(0, f"lists of {items.type} are not read; lists hold whole numbers, texts or decimals")
