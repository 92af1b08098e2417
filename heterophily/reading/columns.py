"""How one column becomes features: what is stored of it, and how later files are read with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse

from heterophily.reading import cells
from heterophily.reading.cells import CellError

LEVELS = 100
"""The most levels of a category; the rarest are pooled."""
ITEMS = 1 << 16
"""The most different items in a column of lists; the rarest are left out."""

Features: TypeAlias = "np.ndarray[Any, Any] | scipy.sparse.csr_array"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Column(ABC):
    """One column of a table and the features made of it."""

    name: str
    kind: ClassVar[str]

    @property
    @abstractmethod
    def features(self) -> tuple[str, ...]:
        """The name of each feature."""

    @abstractmethod
    def encode(self, column: Any, tell: Tell) -> Features:
        """Features (N, width), float32; what is unusual about the cells is told."""

    def to_json(self) -> dict[str, Any]:
        """Everything stored, fit for JSON."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Numeric(Column):
    """A number, standardized; a missing one becomes the mean, and raises a flag where any was missing."""

    mean: float
    std: float
    flag: bool
    kind = "numeric"

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing")[: 1 + self.flag]

    @classmethod
    def fit(cls, name: str, column: Any) -> Self:
        """Take mean and standard deviation of the numbers that are there."""
        values = cells.numbers(column)
        here = values[~np.isnan(values)]
        mean, std = _moments(here[:, None])
        return cls(name, mean[0], std[0], len(here) < len(values))

    def encode(self, column: Any, tell: Tell) -> Features:
        values = cells.numbers(column)
        return _flagged((values - self.mean) / self.std, self, tell)


@dataclass(frozen=True)
class Boolean(Column):
    """True or false as 1 or 0; a missing one becomes the share of true ones, and raises a flag."""

    mean: float
    flag: bool
    kind = "boolean"

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing")[: 1 + self.flag]

    @classmethod
    def fit(cls, name: str, column: Any) -> Self:
        """Take the share of true ones."""
        values = cells.truths(column)
        return cls(name, float(np.nanmean(values)), bool(np.isnan(values).any()))

    def encode(self, column: Any, tell: Tell) -> Features:
        return _flagged(cells.truths(column), self, tell, self.mean)


@dataclass(frozen=True)
class Category(Column):
    """One feature per level, 1 where the cell is that level; rare and unknown levels share one, if there is
    one; a missing cell is all zeros."""

    levels: tuple[str, ...]
    pooled: bool
    kind = "category"

    @property
    def features(self) -> tuple[str, ...]:
        other = (f"{self.name} = (other)",) if self.pooled else ()
        return tuple(f"{self.name} = {level}" for level in self.levels) + other

    @classmethod
    def fit(cls, name: str, column: Any) -> Self:
        """Take the levels that are frequent enough: twice, or in a hundredth of the nodes up to ten times."""
        words = cells.text(column)
        counts = count_levels(words)
        enough = max(2, min(10, len(words) // 100))
        frequent = [level for level, count in counts.items() if count >= enough]
        frequent = sorted(frequent, key=lambda level: (-counts[level], level))[:LEVELS]
        return cls(name, tuple(in_order(frequent)), len(frequent) < len(counts))

    def encode(self, column: Any, tell: Tell) -> Features:
        words = cells.text(column)
        place = pc.index_in(words, value_set=pa.array(self.levels, pa.string()))
        unknown = np.asarray(pc.and_(pc.is_null(place), pc.is_valid(words)))
        place = np.asarray(pc.fill_null(place, -1)).astype(np.int64)
        if self.pooled:
            place[unknown] = len(self.levels)
        elif unknown.any():
            said = words[int(unknown.argmax())].as_py()
            tell(f"column `{self.name}`: {unknown.sum():,} unknown levels, such as {said!r}, set no feature")
        rows = np.flatnonzero(place >= 0)
        return _ones(rows, place[rows], (len(place), len(self.features)))


@dataclass(frozen=True)
class Items(Column):
    """Lists: one feature per item, 1 where the list has it, however often; unknown items are left out."""

    items: tuple[str, ...]
    separator: str | None
    kind = "list"

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"{self.name} has {item}" for item in self.items)

    @classmethod
    def fit(cls, name: str, column: Any, separator: str | None) -> Self:
        """Take all items."""
        _, items = cells.parts(cells.lists(column, separator))
        counts = count_levels(cells.item_names(items))
        counts.pop("", None)
        most = sorted(counts, key=lambda item: (-counts[item], item))[:ITEMS]
        return cls(name, tuple(in_order(most)), separator)

    def encode(self, column: Any, tell: Tell) -> Features:
        lengths, items = cells.parts(cells.lists(column, self.separator))
        place = pc.index_in(cells.item_names(items), value_set=pa.array(self.items, pa.string()))
        known = np.asarray(pc.is_valid(place))
        if not known.all():
            said = items[int((~known).argmax())].as_py()
            tell(f"column `{self.name}`: {(~known).sum():,} unknown items, such as {said!r}, are left out")
        rows = np.repeat(np.arange(len(lengths)), lengths)[known]
        return _ones(rows, np.asarray(pc.drop_null(place)).astype(np.int64), (len(lengths), len(self.items)))


@dataclass(frozen=True)
class Vector(Column):
    """Lists of numbers of one length, such as an embedding, each place standardized; no list: all means.

    Vectors of nothing but zeros and ones stay what they are.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    separator: str | None
    kind = "vector"

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"{self.name}[{i}]" for i in range(len(self.mean)))

    @classmethod
    def fit(cls, name: str, column: Any, separator: str | None) -> Self:
        """Take the mean and standard deviation of each place."""
        values, there = _matrix(column, separator, None)
        mean, std = _moments(values[there])
        if np.isin(values, (0, 1)).all():
            mean, std = [0.0] * len(mean), [1.0] * len(std)
        return cls(name, tuple(mean), tuple(std), separator)

    def encode(self, column: Any, tell: Tell) -> Features:
        values, there = _matrix(column, self.separator, len(self.mean))
        found = (values - np.array(self.mean)) / np.array(self.std)
        found[~there] = 0.0
        return _single(found)


@dataclass(frozen=True)
class Matrix(Column):
    """Features that came as numbers in a graph file, taken as they are."""

    width: int
    kind = "matrix"

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"{self.name}[{i}]" for i in range(self.width))

    def encode(self, column: Any, tell: Tell) -> Features:
        raise CellError(0, "these features come with a graph file, not as a column of a table")


KINDS: dict[str, type[Column]] = {
    each.kind: each for each in (Numeric, Boolean, Category, Items, Vector, Matrix)
}


def from_json(stored: Mapping[str, Any]) -> Column:
    """The column that ``to_json`` wrote."""
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in stored.items()
        if key != "kind"
    }
    made: Any = KINDS[stored["kind"]]
    return made(**values)


def _moments(values: np.ndarray) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each column; 1 for a column that does not vary."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = values.mean(0), values.std(0)
    if not (np.isfinite(mean) & np.isfinite(std)).all():
        raise CellError(int(np.abs(values).max(1).argmax()), "the numbers are too large to be standardized")
    # A spread within rounding of the mean is none.
    std[std <= 1e-12 * np.abs(mean)] = 1.0
    std[std == 0] = 1.0
    return mean.tolist(), std.tolist()


def _flagged(values: np.ndarray, column: Numeric | Boolean, tell: Tell, fill: float = 0.0) -> np.ndarray:
    """Values with missing ones filled in, and the flag beside them."""
    missing = np.isnan(values)
    if missing.any() and not column.flag:
        tell(f"column `{column.name}`: {missing.sum():,} missing cells become the mean")
    found = np.where(missing, fill, values)[:, None]
    return _single(np.hstack([found, missing[:, None]]) if column.flag else found)


def _single(values: np.ndarray) -> np.ndarray:
    """Float32, of numbers that fit it."""
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if not np.isfinite(found).all():
        row = int((~np.isfinite(found)).any(1).argmax())
        raise CellError(row, "this number is far beyond all that the encoding was made from; check it")
    return found


def count_levels(words: Any) -> dict[str, int]:
    """How often each text occurs, missing ones aside."""
    counted = pc.value_counts(words.drop_null())
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist()))


def in_order(names: list[str]) -> list[str]:
    """Names in order, whole numbers by their size."""
    if all(name.lstrip("-").isdecimal() and name.isascii() for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def _ones(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """A sparse matrix with ones at the given places."""
    found = scipy.sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape)
    found.sum_duplicates()
    found.data[:] = 1.0
    return found


def _matrix(column: Any, separator: str | None, width: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Lists of one length as an array (N, width), zeros where there is no list, and where there is one."""
    lists = cells.lists(column, separator)
    lengths, items = cells.parts(lists)
    there = lengths > 0
    width = int(lengths[there][0]) if width is None else width
    if (bad := there & (lengths != width)).any():
        row = int(bad.argmax())
        raise CellError(row, f"a list of {lengths[row]} numbers, the others have {width}")
    owner = np.repeat(np.arange(len(lengths)), lengths)
    try:
        values = cells.numbers(items)
    except CellError as error:
        raise CellError(int(owner[error.row]), str(error)) from None
    if (gone := np.isnan(values)).any():
        raise CellError(
            int(owner[gone.argmax()]), "a list with a missing number; fill it in, or leave out the list"
        )
    found = np.zeros((len(lengths), width))
    found[there] = values.reshape(-1, width)
    return found, there
