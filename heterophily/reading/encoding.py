"""How the columns of a node table become features, stored so that later files are read in the same way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse

from heterophily.reading import cells, columns
from heterophily.reading.columns import Category, Column, Features, Items, Matrix, Tell
from heterophily.reading.kinds import fit_column
from heterophily.reading.mistakes import ReadingError, listed
from heterophily.reading.tables import Table, open_table

FORMAT = 1
MANY = 6
"""Columns of a kind from which on one line tells of all."""
WIDE = 256
"""From this many features on, mostly of levels and items, the matrix is sparse."""


@dataclass(frozen=True)
class Encoding:
    """How columns become features, and classes their numbers."""

    columns: tuple[Column, ...] = ()
    """The columns that are used, in the order of their features."""
    dropped: tuple[tuple[str, str], ...] = ()
    """The columns that are not, each with the reason."""
    classes: tuple[str, ...] = ()
    """The name of class 0, 1, ..."""
    id: str | None = None
    """The column of ids, where there was one."""
    label: str | None = None
    """The column of labels, where there was one."""

    @property
    def features(self) -> tuple[str, ...]:
        """The name of each feature."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def sparse(self) -> bool:
        """Whether features are kept as a sparse matrix: many levels and items, few numbers."""
        thin = sum(len(c.features) for c in self.columns if isinstance(c, Category | Items))
        return thin >= WIDE and 10 * thin >= 9 * len(self.features)

    @classmethod
    def fit(
        cls,
        table: Table,
        data: pa.Table,
        kinds: Mapping[str, str] | None = None,
        drop: Collection[str] = (),
        **facts: Any,
    ) -> Self:
        """Decide for every column of a table how it is encoded. Statistics are taken over all its rows."""
        found: list[Column] = []
        dropped: list[tuple[str, str]] = []
        for name in data.column_names:
            if name in drop:
                dropped.append((name, "asked to drop it"))
                continue
            with table.reading(name):
                column = fit_column(name, data.column(name), (kinds or {}).get(name))
            if isinstance(column, str):
                dropped.append((name, column))
            else:
                found.append(column)
        return cls(tuple(found), tuple(dropped), **facts)

    def encode(self, frame: Any) -> Features:
        """Features (N, F), float32, of a frame or table with the same columns, in any order.

        A column that is not there is an error; other columns are ignored. Unknown levels go to the pooled
        level where there is one and else set no level; unknown items are left out; a missing number becomes
        the mean.
        """
        table = open_table(frame, "nodes")
        return self.transform(table, table.load(None), lambda said: None)

    def transform(self, table: Table, data: pa.Table, tell: Tell) -> Features:
        """Features of a loaded table; what is unusual about it is told."""
        if missing := [column.name for column in self.columns if column.name not in data.column_names]:
            raise ReadingError(
                f"{table.source} lacks {listed(missing)}, which the encoding needs "
                f"(it has {listed(data.column_names)}); add the column, empty where nothing is known"
            )
        parts: list[Any] = []
        for column in self.columns:
            if isinstance(column, Matrix):
                raise ReadingError(
                    f"{table.source} is a table, but `{column.name}` came from a graph file; pass one"
                )
            with table.reading(column.name):
                part = column.encode(data.column(column.name), tell)
            parts.append(part if self.sparse or isinstance(part, np.ndarray) else part.toarray())
        if not parts:
            return np.zeros((len(data), 0), np.float32)
        if self.sparse:
            return scipy.sparse.csr_array(scipy.sparse.hstack(parts, "csr", np.float32))
        return np.hstack(parts)

    def labels(self, table: Table, column: Any, name: str) -> np.ndarray:
        """The number of each row's class, -1 where the label is missing."""
        with table.reading(name):
            words = cells.text(column)
        place = pc.index_in(words, value_set=pa.array(self.classes, pa.string()))
        unknown = np.asarray(pc.and_(pc.is_null(place), pc.is_valid(words)))
        if unknown.any():
            row = int(unknown.argmax())
            raise ReadingError(
                f"{table.place(row, name)} column `{name}`: {words[row].as_py()!r} is none of the classes "
                f"{listed(self.classes)}; correct it, or leave it empty"
            )
        return np.asarray(pc.fill_null(place, -1)).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """Everything stored, fit for JSON; ``from_json`` gives back an equal encoding."""
        return {
            "format": FORMAT,
            "id": self.id,
            "label": self.label,
            "classes": list(self.classes),
            "columns": [column.to_json() for column in self.columns],
            "dropped": [list(pair) for pair in self.dropped],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The encoding that ``to_json`` wrote."""
        try:
            if stored["format"] > FORMAT:
                raise ReadingError(
                    "the encoding was made by a newer version of heterophily; upgrade to read it"
                )
            return cls(
                tuple(columns.from_json(column) for column in stored["columns"]),
                tuple((name, why) for name, why in stored["dropped"]),
                tuple(stored["classes"]),
                stored["id"],
                stored["label"],
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            if isinstance(error, ReadingError):
                raise
            raise ReadingError(f"the stored encoding is damaged ({type(error).__name__}: {error})") from None

    def describe(self) -> list[str]:
        """One line per column, used or dropped; one for many of a kind."""
        facts = [
            (column.name, f"{column.kind}, {(width := len(column.features)):,} feature{'s' * (width != 1)}")
            for column in self.columns
        ] + [(name, f"dropped, {why}") for name, why in self.dropped]
        alike: dict[str, list[str]] = {}
        for name, fact in facts:
            alike.setdefault(fact, []).append(name)
        lines = []
        for fact, names in alike.items():
            if len(names) < MANY:
                lines += [f"column `{name}`: {fact}" for name in names]
            else:
                lines.append(f"{len(names):,} columns, `{names[0]}` to `{names[-1]}`, each: {fact}")
        return lines


def fit_classes(table: Table, column: Any, name: str) -> tuple[str, ...]:
    """The classes of a label column, in order; refuses what cannot be labels."""
    with table.reading(name):
        words = cells.text(column)
    counts = columns.count_levels(words)
    labelled = len(words) - words.null_count
    where = f"{table.source} column `{name}`"
    if not labelled:
        raise ReadingError(f"{where}: all {len(words):,} labels are missing; name the column that has them")
    if len(counts) == 1:
        raise ReadingError(
            f"{where}: all {labelled:,} labels are {next(iter(counts))!r}; there must be two classes or more"
        )
    if len(counts) == labelled > 2 or len(counts) > max(20, labelled / 2):
        raise ReadingError(
            f"{where}: {len(counts):,} different values in {labelled:,} labelled rows, so it seems an id "
            "or a measurement, not a class; name another column, or put the values into a few classes"
        )
    numbers = _numbers(words)
    if numbers is not None and (numbers != np.round(numbers)).any() and len(counts) > 10:
        raise ReadingError(
            f"{where}: {len(counts):,} fractional numbers, so it seems to be a measurement, not a class; "
            "put the values into a few classes"
        )
    return tuple(columns.in_order(list(counts)))


def _numbers(words: Any) -> np.ndarray | None:
    """The numbers that texts are, missing ones aside; None where one is no number."""
    try:
        return np.asarray(words.drop_null().cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


def settle(data: pa.Table, keep: Collection[str]) -> pa.Table:
    """The table with texts that are all numbers as numbers, once for all; those of ``keep`` stay texts."""
    for name in data.column_names:
        if name not in keep and cells.is_text(column := data.column(name)):
            try:
                column = cells.parsed(cells.present(column), pa.float64())
            except pa.ArrowInvalid:
                continue
            data = data.set_column(data.column_names.index(name), name, column)
    return data
