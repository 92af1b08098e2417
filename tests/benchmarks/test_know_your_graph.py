"""docs/know-your-graph.md prints what was measured, and what was measured is what was asked for."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_measured_numbers() -> None:
    write = script("write_know_your_graph")
    text = write.PAGE.read_text(encoding="utf-8")
    assert write.page(text) == text, "docs lag behind; run: python benchmarks/write_know_your_graph.py"


def test_an_audit_of_ten_million_edges_fits_a_minute_and_six_gibibytes() -> None:
    found = json.loads((BENCHMARKS / "audit.json").read_text(encoding="utf-8"))
    large = found["large"]
    assert large["nodes"] >= 1_000_000 and large["edges"] >= 10_000_000
    assert large["seconds"] < 60 and large["peak_GiB"] < 6
    assert max(found["shared_seconds"].values()) < 5


def test_four_in_five_pieces_of_advice_are_good() -> None:
    advice = script("advice")
    found = json.loads((BENCHMARKS / "advice.json").read_text(encoding="utf-8"))
    assert found["all"] == advice.summary(found["rows"])
    assert {row["name"] for row in found["rows"] if row["synthetic"]} == set(advice.cases(found["seed"]))
    assert found["all"]["share"] >= 0.8


def test_the_page_names_every_kind_of_finding() -> None:
    folder = BENCHMARKS.parent / "heterophily" / "graph" / "audit"
    sources = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    sources += (folder.parent / "raw.py").read_text(encoding="utf-8")
    codes = set(re.findall(r'Finding\(\s*"([a-z-]+)"', sources)) | set(re.findall(r'"(raw-[a-z]+)"', sources))
    page = (BENCHMARKS.parent / "docs" / "know-your-graph.md").read_text(encoding="utf-8")
    assert len(codes) > 25 and [code for code in codes if f"`{code}`" not in page] == []
