"""docs/large-graphs.md says what the growth benchmark measured, and that measures what it says."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from PIL import Image

from heterophily.graph import synthetic
from heterophily.hdp import HDPConfig

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def growth() -> ModuleType:
    return script("growth")


@pytest.fixture(scope="module")
def plot() -> ModuleType:
    return script("plot_growth")


def test_every_model_is_measured_and_its_peak_is_more_than_the_graph(growth: ModuleType) -> None:
    graph = synthetic(300, growth.CLASSES, average_degree=6, num_features=16, splits=1)
    small = ["hidden_dim=8", "embedding_dim=4", "structural_dim=16"]
    args = argparse.Namespace(set=small, precision="full")
    makers: dict[str, Any] = {
        "hdp": lambda g: growth.hdp_epochs(g, args, (1e9, 1e9)),
        "gcn": growth.gcn_epochs,
        "linkx": growth.linkx_epochs,
    }
    assert tuple(makers) == growth.MODELS
    for make in makers.values():
        row = growth.measured(make, growth.afresh(graph), 1)
        assert row["seconds"] > 0 and row["peak_memory_bytes"] > graph.x.nbytes


def test_a_model_that_does_not_fit_gets_an_error_and_no_numbers(growth: ModuleType) -> None:
    def greedy(graph: Any) -> Any:
        return lambda: torch.empty(2**60), {}

    row = growth.measured(greedy, synthetic(100, splits=1), 1)
    assert list(row) == ["error"] and "memory" in row["error"]


def test_exponents_are_the_slopes_of_logarithms(growth: ModuleType) -> None:
    names = ("seconds", "cpu_seconds", "peak_memory_bytes")
    rows = [
        {"model": "hdp", "edges": e} | {name: e**k for k, name in enumerate(names, 1)} for e in (10, 1000, 50)
    ]
    lost = {"model": "hdp", "nodes": 7, "error": "out of memory"}
    assert growth.exponents([*rows, lost]) == {"hdp": {name: float(k) for k, name in enumerate(names, 1)}}


def test_the_bound_doubles_with_the_graph_and_halves_with_the_machine(growth: ModuleType) -> None:
    config = HDPConfig()
    one, two = (synthetic(size, num_features=16, splits=1) for size in (500, 1000))
    bound = growth.bound_seconds(one, config, 1000, 4000, 1e9, 1e11)
    assert growth.bound_seconds(two, config, 2000, 8000, 1e9, 1e11) == pytest.approx(2 * bound)
    assert growth.bound_seconds(one, config, 1000, 4000, 2e9, 2e11) == pytest.approx(bound / 2)


def test_the_page_says_what_was_measured_and_the_picture_was_drawn_from_it(plot: ModuleType) -> None:
    text = plot.PAGE.read_text(encoding="utf-8")
    again = "run: python benchmarks/plot_growth.py"
    assert plot.page(text, *plot.read()) == text, f"docs/large-graphs.md is not what the JSON says; {again}"
    with Image.open(plot.PICTURE) as picture:
        note = picture.info["Description"]
    there = [file for file in plot.FILES.values() if file.exists()]
    assert note.endswith(plot.digest(there)), f"docs/large-graphs.png is not what the JSON says; {again}"


def test_a_million_nodes_and_twenty_million_edges_train_within_twenty_gib(plot: ModuleType) -> None:
    rows = plot.read()[0]["CPU"]["rows"]
    (row,) = [row for row in rows if row["model"] == "hdp" and row["nodes"] == 1_000_000]
    assert row["edges"] == 20_000_000 and row["peak_memory_bytes"] < 20 * 2**30


def test_mini_batches_and_mixed_precision_are_within_a_point_of_the_full_batch(plot: ModuleType) -> None:
    rows = plot.read()[1]["rows"]
    full = {row["dataset"]: row["mean"] for row in rows if row["way"] == "full"}
    assert set(full) == {"pubmed", "cornell5"}
    assert all(row["mean"] > full[row["dataset"]] - 0.01 for row in rows)


def test_more_gpus_hold_less_each_and_a_projection_has_its_halo(plot: ModuleType) -> None:
    held = [plot.projected(10_000, gpus)[0] for gpus in (4, 8, 16, 32)]
    assert held == sorted(held, reverse=True)
    assert plot.projected(10_000, 1)[2] == 0  # alone, nothing is exchanged
