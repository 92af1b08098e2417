"""The paper's ledger accounts for every cell of Table 1 that disagrees or is not trained yet."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from heterophily.bench.published import table_1
from heterophily.bench.reproduce import ROWS
from heterophily.bench.table1 import Table1, table1
from heterophily.recipes import chosen, recipes

HOME = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def ledger() -> dict[str, Any]:
    return runpy.run_path(str(HOME / "benchmarks" / "ledger.py"))


def off(dataset: str, errors: float, seeds: int = 1) -> Table1:
    """A table with a cell of GCN so many standard errors of ours off the paper's."""
    return table1([cell_off(dataset, errors, seeds)])


def cell_off(dataset: str, errors: float, seeds: int = 1) -> dict[str, Any]:
    """That cell."""
    paper = table_1()["gcn"][dataset][0]
    rows = [
        {"split": split, "seed": seed, "validation": 0.5, "test": paper + 0.01 * (errors + sign)}
        for split, sign in enumerate((-1, 1))  # whose standard error is a point
        for seed in range(seeds)
    ]
    facts = {"metric": "accuracy", "seeds": seeds, "device": "cpu", "seconds": 1.0, "config": {}}
    facts |= {"test_opened": {"setting": "", "at": "2026-01-01T00:00:00+00:00"}}
    chosen = {"by": "searched", "note": ""}
    return {"model": "gcn", "dataset": dataset, "splits": rows, "chosen": chosen} | facts


def test_every_cell_that_disagrees_is_in_the_ledger_with_what_is_believed_of_it() -> None:
    command = [sys.executable, "-m", "benchmarks.ledger", "--check"]
    answer = subprocess.run(command, cwd=HOME, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def test_what_hdp_lacks_to_print_has_its_searches_and_seeds_beside_it() -> None:
    command = [sys.executable, "-m", "benchmarks.evidence", "--check"]
    answer = subprocess.run(command, cwd=HOME, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def test_seeds_do_not_make_a_difference_larger_in_standard_errors(ledger: dict[str, Any]) -> None:
    believed = ledger["beliefs"]('[gcn]\nall = "so"')
    one, four = (ledger["rows"](off("texas", 1.5, seeds), believed) for seeds in (1, 4))
    assert one == four and "(+1.5, +1.5 SE, " in one[0] and one[0].endswith("tried) | so |")
    assert ledger["rows"](off("texas", 0.9, 4), believed) == []


def test_far_below_print_a_sentence_must_name_the_dataset(ledger: dict[str, Any]) -> None:
    believed = ledger["beliefs"]('[gcn]\nall = "so"\n"texas wisconsin" = "known"')
    for dataset, errors, why in [("cora", -1.9, "so"), ("cora", 9, "so"), ("wisconsin", -9, "known")]:
        (row,) = ledger["rows"](off(dataset, errors), believed)
        assert row.endswith(f"| {why} |")
    with pytest.raises(SystemExit, match=r"says nothing of gcn on cora \(-2.1, -2.1 SE\)"):
        ledger["rows"](off("cora", -2.1), believed)


@pytest.mark.parametrize(
    "key, sentence", [("texas txas", "no column is called txas"), ("cora texas", "has two sentences")]
)
def test_a_sentence_about_no_dataset_or_a_second_one_is_refused(
    ledger: dict[str, Any], key: str, sentence: str
) -> None:
    with pytest.raises(SystemExit, match=sentence):
        ledger["beliefs"](f'[gcn]\ncora = "so"\n"{key}" = "other"')


def test_a_cell_says_how_many_settings_were_tried_and_whether_the_published_ones_did_best(
    ledger: dict[str, Any],
) -> None:
    places = [
        ("gcn", "texas"),
        ("hdp", "cora"),
        *((model, name) for model in ROWS for name in recipes(model)),
    ]
    published = next(place for place in places if chosen(*place).by == "published" and chosen(*place).tried)
    for place in (*places[:2], published):
        said = ledger["budget"](*place)
        assert said.endswith(f", {tuned(*place)} tried") and (", published" in said) == (place == published)
    assert ledger["budgets"]() in (HOME / "PAPER.md").read_text(encoding="utf-8")


def test_the_budget_of_every_cell_stands_in_one_table(ledger: dict[str, Any]) -> None:
    head, _, *rows = ledger["tried"]().splitlines()
    names = [name.strip() for name in head.strip("| ").split("|")]
    (gcn,) = [row.strip("| ").split("|") for row in rows if row.startswith("| GCN |")]
    assert int(gcn[names.index("texas")]) == tuned("gcn", "texas")
    assert len(rows) == 14 and len(names) == len(gcn) == 10


def test_what_a_search_gained_is_counted_on_settings_that_had_all_its_splits(ledger: dict[str, Any]) -> None:
    trace = [[0.5, 1.0, 3, "a"], [0.9, 0.1, 1, "b"], [0.7, 0.3, 3, "c"], [0.6, 0.3, 3, "d"]]
    assert ledger["gained"](trace) == pytest.approx(0.2)
    assert ledger["gained"](trace[2:] + trace[:2]) == 0


def tuned(model: str, dataset: str) -> int:
    """The settings that the traces of a cell hold, of both stages."""
    (row,) = [
        row
        for row in json.loads((HOME / "results" / "tuning" / f"{model}.json").read_text())
        if row["dataset"] == dataset
    ]
    found = 0
    while row:
        found += row["trials"] + row.get("initial", {}).get("trials", 0)
        row = row.get("before")
    return found


def test_cells_that_are_not_trained_yet_are_named(ledger: dict[str, Any]) -> None:
    said = ledger["untrained"](off("texas", 0))
    assert "; GCN on cornell, wisconsin, chameleon, actor, squirrel, cora, citeseer, pubmed; " in said
    assert said in ledger["section"]([cell_off("texas", 0)], {})
