"""docs/models.md has the models of the registry."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_the_page_is_the_registry() -> None:
    spec = importlib.util.spec_from_file_location("write_models", ROOT / "benchmarks" / "write_models.py")
    assert spec is not None and spec.loader is not None
    write = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(write)
    text = write.PAGE.read_text(encoding="utf-8")
    assert write.BEGIN in text and write.END in text
    assert write.page(text) == text, "docs/models.md lags behind; run: python benchmarks/write_models.py"
