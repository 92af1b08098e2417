"""docs/many-runs.md says what benchmarks/many_runs.json says, and the picture was drawn from it."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
AGAIN = "is not what benchmarks/many_runs.json says; run: python benchmarks/plot_many_runs.py"


@pytest.fixture(scope="module")
def plot() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plot_many_runs", ROOT / "benchmarks" / "plot_many_runs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def measured(plot: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plot.MEASURED.read_text(encoding="utf-8"))
    return found


def test_the_page_says_what_was_measured(plot: ModuleType, measured: dict[str, Any]) -> None:
    text = plot.PAGE.read_text(encoding="utf-8")
    assert plot.page(text, measured) == text, f"docs/many-runs.md {AGAIN}"


def test_the_picture_was_drawn_from_what_was_measured(plot: ModuleType) -> None:
    with Image.open(plot.PICTURE) as picture:
        note = picture.info["Description"]
    assert note.endswith(plot.digest(plot.MEASURED)), f"docs/many-runs.png {AGAIN}"


def test_no_measured_number_stands_outside_of_what_is_written_from_the_json(plot: ModuleType) -> None:
    before, _, rest = plot.PAGE.read_text(encoding="utf-8").partition(plot.BEGIN)
    by_hand = before + rest.partition(plot.END)[2]
    assert not re.findall(r"\d[\d.,]* ?(?:×|x\b|ms\b|s\b|%|times|GB)", by_hand)


def test_another_measurement_changes_the_page_between_its_markers_only(
    plot: ModuleType, measured: dict[str, Any]
) -> None:
    text = plot.PAGE.read_text(encoding="utf-8")
    other = copy.deepcopy(measured)
    other["epochs"][0]["gcn_ratio"] = 12345.0
    changed = plot.page(text, other)
    assert "**12345 ×**" in changed and "**12345 ×**" not in text
    assert plot.page(changed, measured) == text
    with pytest.raises(SystemExit, match="has lost its markers"):
        plot.page("# Many runs", measured)


def test_bounds_are_shown_where_they_were_counted_and_missing_parts_are_left_out(
    plot: ModuleType, measured: dict[str, Any]
) -> None:
    row = measured["epochs"][0]
    row["hdp_memory_bound_ms"] = row["hdp_many_ms"] / 3
    row["hdp_arithmetic_bound_ms"] = row["hdp_many_ms"] / 40
    said = plot.words(measured)
    assert "memory bound | arithmetic bound" in said and "| 3.0 × |" in said
    plot.figure(measured).draw_without_rendering()
    bare = {k: v for k, v in measured.items() if k not in ("aggregation", "squirrel_ten_splits_s")}
    assert "sparse product" not in plot.words(bare) and "Ten splits" not in plot.words(bare)
    plot.figure(bare).draw_without_rendering()
