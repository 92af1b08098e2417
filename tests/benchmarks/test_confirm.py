"""A setting that a search found by luck does not become a recipe."""

from __future__ import annotations

import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.tiny import tiny_config, tiny_graph

HERE = Path(__file__).parents[2] / "benchmarks"
TRACE = [
    [0.99, 0.1, 3, 1e-9, 8.0],
    [0.9, 0.2, 3, 0.05, 16.0],
    [0.95, 0.2, 1, 0.03, 16.0],
    [0.5, 1.0, 3, 0.02, 8.0],
]
SEARCHED: dict[str, Any] = {
    "model": "mlp", "dataset": "tiny", "splits": 3, "trials": 4, "sampler": "tpe", "validation": 0.99,
    "columns": ["validation", "loss", "splits", "learning_rate", "hidden_dim"], "trace": TRACE,
}  # fmt: skip


@pytest.fixture(scope="module")
def confirm() -> dict[str, Any]:
    return runpy.run_path(str(HERE / "confirm_cells.py"))


def test_the_best_are_judged_on_all_splits_from_seeds_the_search_has_not_seen(confirm: Any) -> None:
    graph, start = tiny_graph(), tiny_config("mlp", epoch=30)
    row = SEARCHED | {"config": start.changes() | {"learning_rate": 1e-9}}
    found = confirm["confirmed"](graph, row, [1, 2], 3, "cpu")
    tried = found["confirmed"]
    assert [one["config"]["learning_rate"] for one in tried] == [1e-9, 0.05, 0.02]
    assert all(len(one["validation"]) == 2 for one in tried)
    assert found["config"]["learning_rate"] != 1e-9
    assert found["validation"] == max(fmean(one["validation"]) for one in tried) < found["searched"]


def test_what_is_confirmed_goes_before_what_is_only_higher() -> None:
    standing = runpy.run_path(str(HERE / "write_recipes.py"))["standing"]
    assert standing({"validation": 0.9, "confirmed": []}) > standing({"validation": 0.99})
    assert standing({"validation": 0.9}) < standing({"validation": 0.91})
