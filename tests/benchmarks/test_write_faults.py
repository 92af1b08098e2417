"""docs/faults.md has what the fault suite measured, and nothing was lost."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_the_page_is_what_was_measured() -> None:
    spec = importlib.util.spec_from_file_location("write_faults", ROOT / "benchmarks" / "write_faults.py")
    assert spec is not None and spec.loader is not None
    write = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(write)
    text = write.PAGE.read_text(encoding="utf-8")
    assert write.BEGIN in text and write.END in text
    assert write.page(text) == text, "docs/faults.md lags behind; run: python benchmarks/write_faults.py"
    rows = json.loads(write.MEASURED.read_text(encoding="utf-8"))["rows"]
    assert rows and all(row["tried"] == row["survived"] and not row["lost"] for row in rows)
