"""Table 1 sets our cells beside the paper's numbers; where the paper can be read otherwise, that too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heterophily.bench.published import table_1
from heterophily.bench.table1 import table1
from heterophily.show.table1 import grid


def cell(model: str, dataset: str, tests: list[float], **changes: Any) -> dict[str, Any]:
    rows = [{"split": i, "seed": 0, "test": test, "validation": 0.9} for i, test in enumerate(tests)]
    facts = {"metric": "accuracy", "seeds": 1, "device": "cpu", "seconds": 1.0}
    chosen = {"by": "recipe", "note": "mean validation accuracy 90.00"}
    return {"model": model, "dataset": dataset, "splits": rows, "chosen": chosen} | facts | changes


def test_the_difference_is_in_points_and_in_standard_errors_of_our_mean() -> None:
    tests = [0.80, 0.84, 0.88, 0.92]
    (entry,) = table1([cell("hdp", "texas", tests)]).entries
    paper = table_1()["hdp"]["texas"][0]
    error = np.std(tests, ddof=1) / 2
    assert entry.paper == pytest.approx(paper) and entry.difference == pytest.approx(0.86 - paper)
    assert entry.standard_errors == pytest.approx((0.86 - paper) / error)
    said = entry.to_json()
    assert {"model", "dataset", "mean", "std", "paper", "splits"} <= set(said)
    assert said["splits"] == 4 and said["std"] == pytest.approx(np.std(tests, ddof=1)) and said["ddof"] == 1


def test_what_the_paper_does_not_print_has_nothing_beside_it() -> None:
    extra = cell("hdp", "cornell-corrected", [0.7, 0.8])
    (entry, variant) = table1([extra, cell("gcnii-star", "texas", [0.7, 0.8])]).entries
    assert entry.paper is entry.difference is entry.standard_errors is variant.paper is None
    (single,) = table1([cell("hdp", "texas", [0.7])]).entries
    assert single.std is None and single.standard_errors is None and single.difference is not None


def test_the_best_and_the_second_best_of_a_column_are_marked_and_ties_share() -> None:
    means = {"mlp": 0.5, "gcn": 0.90001, "hdp": 0.90002, "gat": 0.7, "majority": 0.1}
    table = table1([cell(name, "texas", [mean, mean]) for name, mean in means.items()])
    assert {entry.model: entry.place for entry in table.entries} == {
        "mlp": None, "gcn": 1, "hdp": 1, "gat": 2, "majority": None,
    }  # fmt: skip


def test_rows_and_columns_stand_in_the_order_of_the_paper() -> None:
    cells = [
        cell(m, d, [0.5, 0.6]) for m in ("hdp", "mlp", "majority") for d in ("tolokers", "cora", "cornell")
    ]
    table = table1(cells)
    assert table.models == ["majority", "mlp", "hdp"]
    assert table.datasets == ["cornell", "cora", "tolokers"]
    assert [(row["model"], row["dataset"]) for row in table.to_json()][:2] == [
        ("majority", "cornell"), ("majority", "cora"),
    ]  # fmt: skip


def test_seeds_of_a_split_are_averaged_before_the_spread_is_taken() -> None:
    rows = [
        {"split": split, "seed": seed, "test": test, "validation": 0.5}
        for split, tests in enumerate([(0.4, 0.6), (0.6, 0.8)])
        for seed, test in enumerate(tests)
    ]
    (entry,) = table1([cell("mlp", "texas", [], splits=rows, seeds=2)]).entries
    assert entry.scores == pytest.approx({0: 0.5, 1: 0.7})
    assert entry.std == pytest.approx(np.std([0.5, 0.7], ddof=1))


def test_the_mean_of_the_seeds_assignments_has_a_row_of_its_own_which_the_paper_has_not() -> None:
    rows = [
        {"split": 0, "seed": seed, "test": test, "validation": 0.5, "test_averaged": 0.7}
        for seed, test in enumerate((0.4, 0.6))
    ]
    rule, gcn = (cell(name, "texas", [], splits=rows, seeds=2) for name in ("majority", "gcn"))
    table = table1([gcn])
    read = table.entries[0].read("averaged")
    assert read is not None and read.mean == 0.7 and read.paper is None and table.entries[0].paper
    shown = grid(table)
    assert [name for name, _ in shown.rows] == ["GCN", "… averaged"]
    assert [name for name, _ in grid(table1([rule])).rows] == ["Majority"]  # the same from every seed
    assert "the mean of the seeds' assignments" in shown.legend


def test_the_other_readings_of_the_paper_come_from_the_same_runs() -> None:
    rows = [
        {
            "split": 0,
            "test": 0.8,
            "test_last": 0.7,
            "validation": 0.9,
            "initial": {"test": 0.5, "validation": 0.8},
        },
        {
            "split": 1,
            "test": 0.6,
            "test_last": 0.6,
            "validation": 0.8,
            "initial": {"test": 0.9, "validation": 0.8},
        },
    ]
    (entry,) = table1([cell("hdp", "texas", [], splits=rows)]).entries
    assert entry.others["last"] == {0: 0.7, 1: 0.6}
    assert entry.others["initial"] == {0: 0.5, 1: 0.9}
    assert entry.others["selected"] == {0: 0.8, 1: 0.9}  # what does not pass the initial one loses to it
    read = entry.read("selected")
    assert read is not None and read.mean == pytest.approx(0.85) and read.place is None
    initial = entry.read("initial")
    assert initial is not None and read.paper and initial.paper is None  # Table 1 prints HDP, not its start
    assert entry.to_json()["readings"]["last"]["mean"] == pytest.approx(0.65)
    (plain,) = table1([cell("mlp", "texas", [0.5, 0.6])]).entries
    assert plain.others == {} and plain.read("initial") is None
