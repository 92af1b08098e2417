"""The numbers the paper prints, to set ours beside."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def table_1() -> dict[str, dict[str, tuple[float, float]]]:
    """Return Table 1 by model and dataset: accuracy and its standard deviation, as fractions."""
    content = tomllib.loads(Path(__file__).with_name("table1.toml").read_text(encoding="utf-8"))
    return {
        model: {dataset: (mean / 100, std / 100) for dataset, (mean, std) in row.items()}
        for model, row in content.items()
    }
