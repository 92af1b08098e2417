"""Names for shell completion, read off the source: a Tab can't wait until the registries are imported."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def models(incomplete: str) -> list[str]:
    """Return the models whose names begin so."""
    return _names("models.py", "Model", incomplete)


def datasets(incomplete: str) -> list[str]:
    """Return the datasets whose names begin so, the synthetic graph included."""
    return [
        name
        for name in ["synthetic", *_names("graph/datasets.py", "Facts", "")]
        if name.startswith(incomplete)
    ]


def _names(file: str, row: str, incomplete: str) -> list[str]:
    text = (PACKAGE / file).read_text(encoding="utf-8")
    found = re.findall(rf'^ +{row}\(\s*"([\w-]+)"', text, re.MULTILINE)
    return [name for name in found if name.startswith(incomplete)]
