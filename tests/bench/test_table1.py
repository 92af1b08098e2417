"""Table 1 sets our cells beside the paper's numbers; where the paper can be read otherwise, that too."""

from __future__ import annotations

from html import unescape
from typing import Any

import numpy as np
import pytest

from heterophily.bench.opening import fingerprint
from heterophily.bench.published import table_1, table_3
from heterophily.bench.reproduce import setting
from heterophily.bench.table1 import table1
from heterophily.show import grids
from heterophily.show.table1 import CHOSEN, MARKS, grid


def cell(model: str, dataset: str, tests: list[float], **changes: Any) -> dict[str, Any]:
    rows = [{"split": i, "seed": 0, "test": test, "validation": 0.9} for i, test in enumerate(tests)]
    facts = {"metric": "accuracy", "seeds": 1, "device": "cpu", "seconds": 1.0}
    chosen = {"by": "searched", "note": "mean validation score 90.00"}
    config = setting(model, dataset).config.to_dict()
    opened = {"setting": fingerprint(model, dataset, config, {})}
    found = {"model": model, "dataset": dataset, "config": config, "test_opened": opened}
    return found | {"splits": rows, "chosen": chosen} | facts | changes


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


def test_a_rule_takes_no_place_however_few_others_there_are() -> None:
    means = {"majority": 0.5, "twin-copy": 0.9, "mlp": 0.7, "gcn": 0.6}
    table = table1([cell(name, "texas", [mean, mean]) for name, mean in means.items()])
    assert {entry.model: entry.place for entry in table.entries} == {
        "majority": None, "twin-copy": None, "mlp": 1, "gcn": 2,
    }  # fmt: skip


def test_a_model_that_is_alone_in_its_column_is_not_its_best() -> None:
    cells = [cell("hdp", "tolokers", [0.8, 0.9]), cell("majority", "tolokers", [0.5, 0.5])]
    cells += [cell("hdp", "texas", [0.8, 0.9]), cell("gcn", "texas", [0.7, 0.8])]
    places = {(entry.model, entry.dataset): entry.place for entry in table1(cells).entries}
    assert places["hdp", "tolokers"] is None and places["hdp", "texas"] == 1 and places["gcn", "texas"] == 2


# What a reader is told


def test_every_way_to_choose_a_setting_has_a_mark_of_its_own_that_the_legend_explains() -> None:
    assert len(set(CHOSEN.values())) == len(CHOSEN) and not CHOSEN["searched"]
    for by, letter in CHOSEN.items():
        shown = grid(table1([cell("gcn", "texas", [0.5, 0.6], chosen={"by": by, "note": "x"})]))
        assert shown.rows[0][1][0].mark == letter
        assert [mark for mark in MARKS if f" {mark}: " in shown.legend] == ([letter] if letter else [])
    shown = grid(table1([cell("gcn", "texas", [0.5, 0.6], chosen={"by": "recipe", "note": "x"})]))
    assert shown.rows[0][1][0].mark == "?" and "how its settings were chosen is not known" in shown.legend


def test_cells_of_an_earlier_recipe_are_marked_and_counted() -> None:
    old = {"test_opened": {"setting": "another"}, "chosen": {"by": "published", "note": "x"}}
    shown = grid(table1([cell("gcn", "texas", [0.5, 0.6], **old), cell("mlp", "texas", [0.5, 0.6])]))
    assert {name: row[0].mark for name, row in shown.rows} == {"MLP": "", "GCN": "ᵖᵉ"}
    assert " ᵉ: 1 cell is of an earlier recipe." in shown.legend
    assert "earlier" not in grid(table1([cell("mlp", "texas", [0.5, 0.6])])).legend


def test_a_cell_that_is_missing_shows_the_paper_s_number() -> None:
    cells = [cell("gcnii", "texas", [0.5, 0.6]), cell("mlp", "pubmed", [0.5, 0.6])]
    shown = grid(table1([*cells, cell("gcnii-star", "texas", [0.5, 0.6])]))
    rows = dict(shown.rows)
    assert (rows["GCNII"][1].number, rows["GCNII"][1].below) == ("–", "90.15")
    assert rows["GCNII*"][1].number == rows["GCNII*"][1].below == ""  # the paper has none either
    assert "–: not trained yet" in shown.legend and "paper 90.15 ± 0.43" in grids.html(shown)
    assert "not trained" not in grid(table1(cells[:1])).legend


def test_pointing_at_a_number_tells_the_spread_that_the_paper_prints() -> None:
    assert "paper 88.38 ± 4.20" in grids.html(grid(table1([cell("hdp", "texas", [0.8, 0.9])])))


def test_the_legend_says_by_score_or_by_loss() -> None:
    score, loss = cell("mlp", "texas", [0.5, 0.6]), cell("acm-gcn", "cornell", [0.5, 0.6])
    assert loss["config"]["select"] == "loss"
    both = grid(table1([score, loss]))
    assert "best validation score, of the lowest validation loss in 1 cell whose" in both.legend
    assert "validation loss" not in grid(table1([score])).legend
    assert "lowest validation loss" in dict(both.rows)["ACM-GCN"][0].hint


def test_the_legend_names_the_graphs_that_are_not_scored_by_accuracy() -> None:
    names = ("texas", "minesweeper", "tolokers")
    cells = [cell("mlp", d, [0.5, 0.6], metric="accuracy" if d == "texas" else "roc_auc") for d in names]
    assert ": accuracy, ROC AUC on Minesweeper and Tolokers." in grid(table1(cells)).legend
    assert ": accuracy." in grid(table1(cells[:1])).legend


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
    assert initial is not None and read.paper and initial.paper is None  # Table 3 has no Texas
    assert entry.to_json()["readings"]["last"]["mean"] == pytest.approx(0.65)
    (plain,) = table1([cell("mlp", "texas", [0.5, 0.6])]).entries
    assert plain.others == {} and plain.read("initial") is None


def test_the_initial_assignment_stands_beside_init_of_table_3() -> None:
    rows = [
        {"split": i, "test": 0.8, "validation": 0.9, "initial": {"test": 0.5, "validation": 0.8}}
        for i in range(2)
    ]
    table = table1([cell("hdp", "wisconsin", [], splits=rows), cell("hdp-init", "wisconsin", [0.5, 0.6])])
    by_itself, whole = table.entries[1], table.entries[0]
    initial = whole.read("initial")
    assert initial is not None
    assert (initial.paper, initial.paper_std) == table_3()["Init."]["wisconsin"] == (0.8686, 0.0329)
    assert by_itself.paper == initial.paper and whole.paper == table_1()["hdp"]["wisconsin"][0]
    assert whole.to_json()["readings"]["initial"]["paper"] == 0.8686


def test_a_variant_of_hdp_is_one_row_and_stands_beside_no_number_of_the_paper() -> None:
    rows = [{"split": 0, "test": 0.8, "validation": 0.9, "initial": {"test": 0.5, "validation": 0.8}}] * 2
    table = table1([cell("hdp-directed", "squirrel", [], splits=rows)])
    initial = table.entries[0].read("initial")
    assert initial is not None and initial.paper is None and table.entries[0].paper is None
    assert "initial" not in grids.written(grid(table), "markdown")


@pytest.mark.parametrize("kind", ["terminal", "markdown", "latex", "html"])
def test_the_row_that_reads_algorithm_1_as_printed_is_named_so(kind: str) -> None:
    rows = [
        {"split": i, "test": 0.8, "test_last": 0.7, "validation": 0.9,
         "initial": {"test": 0.5, "validation": 0.8}}
        for i in range(2)
    ]  # fmt: skip
    text = grids.written(grid(table1([cell("hdp", "texas", [], splits=rows)])), kind)
    dots = "\\dots{}" if kind == "latex" else "…"
    assert kind != "latex" or text.isascii()
    assert f"{dots} last (Algorithm 1)" in text and f"{dots} initial (Init.)" in text
    assert "what the paper's Algorithm 1 returns as it is printed" in " ".join(unescape(text).split())
