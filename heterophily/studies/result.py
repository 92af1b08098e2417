"""What a study leaves: plain numbers that go to JSON and back, and nothing drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from heterophily.config import ConfigError
from heterophily.files import sealed


class StudyError(ConfigError):
    """A study that cannot be made of what was given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Base of all results: fields are numbers, texts, and lists and dicts of them; scores are fractions."""

    study: ClassVar[str]
    """The name of the study."""
    dataset: str
    about: dict[str, Any]
    """What was trained, and how: splits, seeds, settings, device, seconds, versions."""

    def to_json(self) -> dict[str, Any]:
        """Return all fields, and before them the name of the study."""
        return {"study": self.study} | {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Make the result that ``to_json`` was called on."""
        wanted = [field.name for field in fields(cls)]
        if missing := [name for name in wanted if name not in content]:
            raise StudyError(f"a result of the study {cls.study!r} has no {missing[0]!r}; make it anew")
        return cls(**{name: content[name] for name in wanted})

    def to_text(self) -> str:
        """Return the JSON as it is written to a file, with its checksum; a line for each field."""
        lines = [
            f" {json.dumps(name)}: {json.dumps(value, allow_nan=False, ensure_ascii=False)}"
            for name, value in sealed(self.to_json()).items()
        ]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def by_split(values: Sequence[float], seeds: int) -> list[float]:
    """Return one number per split, the mean of its seeds; of a single split one per seed, as they are.

    ``values`` has every seed of the first split, then of the next.
    """
    table = np.asarray(values, dtype=float).reshape(-1, seeds)
    return [float(value) for value in (table[0] if len(table) == 1 else table.mean(1))]


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the numbers there are; None where there are none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def std(values: Sequence[float | None]) -> float | None:
    """Return the standard deviation (ddof 1) of the numbers there are; None for fewer than two."""
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


def ratio(part: float, whole: float) -> float | None:
    """Return a share; None of nothing."""
    return float(part / whole) if whole else None
