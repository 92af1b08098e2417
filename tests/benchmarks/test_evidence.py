"""What PAPER.md says of cells that are below print, of the table's time and of trainings made twice."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.evidence import below, best_baseline, of_seeds, repeated, trainings
from benchmarks.ledger import clock
from benchmarks.two_trainings import place
from heterophily.bench.reproduce import COLUMNS
from heterophily.bench.table1 import table1
from tests.bench.test_table1 import cell

PRINTED = 0.8838
"""HDP on Texas in the paper."""


def twice(model: str = "hdp", nodes: tuple[int, ...] = (0, 0), **more: Any) -> dict[str, Any]:
    """Two trainings of a cell, by default on a GPU and with the same scores."""
    return {
        "model": model, "dataset": "texas", "setting": "now", "precision": "double", "nodes": list(nodes),
        "devices": ["cuda", "cuda"], "means": [0.8, 0.8 + sum(nodes) / 100], "seconds": [9.0, 1.0],
        "nodes_apart": sum(map(abs, nodes)) / 2,
    } | more  # fmt: skip


def calls(**more: Any) -> list[dict[str, Any]]:
    """The two calls that train the paper's table."""
    both = {"datasets": list(COLUMNS), "jobs": 10, "device": "A100"} | more
    return [both | {"models": "hdp", "seconds": 60.0}, both | {"models": "baselines", "seconds": 440.0}]


def trained(at: str, device: str = "cuda (A100)") -> dict[str, Any]:
    """A cell of the paper's table."""
    return {"model": "mlp", "dataset": "texas", "device": device, "test_opened": {"at": at, "setting": "now"}}


def test_a_cell_is_below_print_by_its_own_standard_errors() -> None:
    spread = [PRINTED - 0.03, PRINTED - 0.01]  # the mean is two standard errors of 0.01 below print
    table = table1([cell("hdp", "texas", spread), cell("hdp", "cora", [0.99, 0.98])])
    assert list(below(table, -1.9)) == ["texas"] and not below(table, -2.1)


def test_the_best_baseline_is_neither_hdp_nor_a_rule() -> None:
    scores = {"majority": 0.99, "mlp": 0.7, "gcn": 0.8, "hdp": 0.95}
    table = table1([cell(model, "texas", [score, score]) for model, score in scores.items()])
    assert best_baseline(table, "texas") == "80.00 (GCN)"


def test_cells_trained_twice_are_counted_and_those_of_another_setting_left_out() -> None:
    rows = [twice(devices=["cpu", "cuda"], nodes=(1, 0)), twice(), twice("gcn", (1, 1)), twice(setting="old")]
    cells = [trained("2026-01-01") | {"model": model} for model in ("hdp", "gcn")]
    said = trainings(cells, rows)
    assert "texas 0.5 (9 s on the CPU)" in said
    assert "Of 2 cells trained twice on a GPU in float64 1 have the same score" in said
    assert "2.0 points apart on average, at most 2.0" in said and "float32" not in said
    assert repeated([twice(), twice("gcn")]) == "all have the same score on every split"
    with pytest.raises(SystemExit, match="no cell of HDP"):
        trainings(cells, rows[1:])


def test_the_seed_of_the_table_is_told_from_its_training_among_others() -> None:
    runs = [{"seed": seed, "test": test} for seed, test in ((0, 0.7), (0, 0.8), (1, 0.9), (1, 1.0))]
    one, many = {"texas": {"mean": 0.6, "seed": 0}}, {"texas": {"mean": 0.85, "splits": runs}}
    assert of_seeds(one, many).endswith("texas 60.0, 75.0, 85.0.")


def test_the_table_s_time_is_that_of_all_calls_and_says_if_cells_are_of_another_training() -> None:
    first, last = trained("2026-01-01T10:00:00+00:00"), trained("2026-01-01T10:50:00+00:00")
    said = clock([first, last], calls())
    assert "took 500 s by the clock, in 2 calls, and HDP's row 60 s" in said and "within an hour" in said
    for other in (trained("2026-01-02T10:00:00+00:00"), trained("2026-01-01T10:00:00+00:00", "cpu")):
        assert "Some of its cells were trained at another time" in clock([first, other], calls())
    with pytest.raises(SystemExit, match="every dataset of both once"):
        clock([first], calls()[:1])


def test_trainings_of_other_devices_have_a_place_of_their_own() -> None:
    assert place(twice()) == place(twice(nodes=(3, 4))) != place(twice(devices=["cpu", "cuda"]))
