"""The numbers the paper prints, to set ours beside."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

Printed = dict[str, dict[str, tuple[float, float]]]


@cache
def table_1() -> Printed:
    """Return Table 1 by model and dataset: accuracy and its standard deviation, as fractions."""
    return _fractions("table1.toml")


@cache
def table_3() -> Printed:
    """Return Table 3 by what is left out and dataset: accuracy and its standard deviation, as fractions."""
    return _fractions("table3.toml")


def printed(model: str, dataset: str) -> tuple[float, float] | None:
    """Return what the paper prints for a model: in Table 1, or for HDP's initial assignment in Table 3."""
    row = table_3()["Init."] if model == "hdp-init" else table_1().get(model, {})
    return row.get(dataset)


def _fractions(name: str) -> Printed:
    content = tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return {
        row: {dataset: (round(mean / 100, 6), round(std / 100, 6)) for dataset, (mean, std) in cells.items()}
        for row, cells in content.items()
    }
