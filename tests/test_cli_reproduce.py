"""``reproduce``, ``table`` and ``compare`` as a user meets them."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from heterophily.bench import reproduce as bench
from heterophily.bench.opening import fingerprint
from heterophily.files import sealed
from tests.command import Ask
from tests.tiny import tiny_graph

RECIPE = "[{}]\n# mean validation accuracy 50.00\nepoch = 5\nhidden_dim = 8\n"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few cells of a graph that stands in for two datasets of the paper; no model has them all."""
    folder = tmp_path_factory.mktemp("cells")
    for model, more in {"mlp": "", "gcn": "", "hdp": "epoch_init = 5\n"}.items():
        tables = "\n".join(RECIPE.format(name) + more for name in ("texas", "cornell"))
        (folder / f"{model}.toml").write_text(tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heterophily.recipes.HERE", folder)
        for names, models in ((["texas", "cornell"], ["mlp", "hdp"]), (["texas"], ["gcn"])):
            bench.reproduce(names, models, folder / "results", read=lambda name: tiny_graph())
    return folder / "results"


@pytest.fixture
def results(cells: Path, tmp_path: Path) -> Path:
    """The cells where `table` looks for them."""
    return Path(shutil.copytree(cells, tmp_path / "results"))


def test_table_1_is_shown_beside_the_paper_s(ask: Ask, results: Path) -> None:
    answer = ask("table", "table1")
    assert answer.code == 0 and answer.err == ""
    for word in ("Majority", "Twin-Copy", "MLP", "HDP", "Texas", "88.38", "ddof 1", "… last", "… initial"):
        assert word in answer.out
    assert ask("table").out == answer.out
    assert "Twin-Copy" in ask("table", "--help").out  # in whatever rows are asked for


def test_the_json_of_the_table_is_a_list_of_cells(ask: Ask, results: Path) -> None:
    rows = json.loads(ask("table", "table1", "--format", "json", "--models", "hdp,mlp").out)
    assert len(rows) == 2 * 4 and {"model", "dataset", "mean", "std", "paper", "splits"} <= set(rows[0])
    (hdp,) = (row for row in rows if (row["model"], row["dataset"]) == ("hdp", "texas"))
    assert hdp["paper"] == 0.8838 and hdp["splits"] == 3
    cell = json.loads((results / "table1" / "texas" / "hdp.json").read_text())
    assert hdp["mean"] == pytest.approx(cell["mean"]) and hdp["std"] == pytest.approx(cell["std"])


@pytest.mark.parametrize(
    "kind, start",
    [("markdown", "| |"), ("md", "| |"), ("latex", "% needs"), ("tex", "% needs"), ("html", "<!doctype")],
)
def test_the_table_is_written_in_other_forms(ask: Ask, results: Path, kind: str, start: str) -> None:
    answer = ask("table", "--format", kind, "--out", "made/table.txt")
    assert answer.code == 0 and answer.out == "" and "wrote made/table.txt" in answer.err
    text = Path("made/table.txt").read_text(encoding="utf-8")
    assert text.startswith(start) and text == ask("table", "--format", kind).out


def test_significance_compares_each_model_with_hdp_and_draws_the_ranks(ask: Ask, results: Path) -> None:
    answer = ask("table", "significance", "--plot", "ranks.svg")
    assert (
        answer.code == 0
        and "HDP less each model" in answer.out
        and "Mean ranks over 2 datasets" in answer.out
    )
    said = " ".join(answer.out.split())
    assert "over 2 datasets (Cornell (old files), Texas)" in said and "Not ranked: GCN lacks Cornell" in said
    assert "Majority" not in answer.out and Path("ranks.svg").exists()
    found = json.loads(ask("table", "significance", "--format", "json", "--against", "mlp").out)
    assert {(pair["first"], pair["dataset"]) for pair in found["pairs"]} == {
        ("mlp", "texas"),
        ("mlp", "cornell"),
    }


def test_a_bundle_is_unpacked_and_reproduce_says_what_it_did(ask: Ask, results: Path) -> None:
    cells = [json.loads(file.read_text()) for file in results.rglob("*.json")]
    Path("all.json").write_text(json.dumps({"table": "table1", "cells": cells}))
    answer = ask("reproduce", "table1", "--unbundle", "all.json", "--out", "other")
    assert answer.out == f"all.json to other/table1: {len(cells)} new\n"
    assert ask("table", "--from", "other").out == ask("table").out


def test_reproduce_trains_real_cells_and_keeps_them(ask: Ask, data_folder: Path) -> None:
    command = ("reproduce", "table1", "--datasets", "texas", "--models", "majority", "--device", "cpu")
    first = ask(*command, "--bundle", "all.json")
    assert first.code == 0 and "1/2 · texas · Majority" in first.err and "2 cells: 2 trained" in first.err
    assert "Twin-Copy" in first.out
    again = ask(*command)
    assert again.out == first.out and "2 cells: 2 kept" in again.err
    today = datetime.now(UTC).strftime("%Y-%m")
    assert f"kept, of results/table1: trained on cpu, test labels opened {today}" in again.err
    assert "`--out DIR` trains them here" in again.err and "kept" not in first.err
    assert len(json.loads(Path("all.json").read_text())["cells"]) == 2


def test_a_failed_cell_is_named_and_the_exit_code_is_one(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heterophily.recipes.HERE", tmp_path)
    (tmp_path / "mlp.toml").write_text("[synthetic]\nlearning_speed = 1\n")
    answer = ask("reproduce", "table1", "--datasets", "synthetic", "--models", "mlp", "--jobs", "1")
    assert answer.code == 1 and "failed: synthetic · mlp: " in answer.err
    assert "3 cells: 2 trained, 1 failed" in answer.err and "Majority" in answer.out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_wrong_data_folder_is_one_line_per_dataset_and_a_mistake(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    monkeypatch.setenv("HETEROPHILY_DATA", str(tmp_path / "nowhere"))
    answer = ask("reproduce", "table1", "--datasets", "texas,cora", "--models", "mlp,gcn", "--jobs", jobs)
    assert answer.code == 2 and answer.out == ""
    count, *lines = answer.err.splitlines()
    assert "8 cells: 8 failed" in count and len(lines) == 2
    assert lines[0].startswith("failed: texas: HETEROPHILY_DATA names")


def test_the_table_shows_every_dataset_that_has_cells(ask: Ask, results: Path) -> None:
    extra = results / "table1" / "reed98"
    extra.mkdir()
    cell = json.loads((results / "table1" / "texas" / "majority.json").read_text()) | {"dataset": "reed98"}
    cell["test_opened"]["setting"] = fingerprint("majority", "reed98", cell["config"], cell["graph"])
    (extra / "majority.json").write_text(json.dumps(sealed(cell)))
    assert "Reed98" in ask("table").out and "Reed98" not in ask("table", "--datasets", "paper").out
    (extra / "majority copy.json").write_text("")
    answer = ask("table", "--datasets", "reed98")
    assert answer.code == 0 and "note: results/table1/reed98/majority copy.json is left out" in answer.err


def test_at_80_columns_no_head_of_a_comparison_is_cut(ask: Ask) -> None:
    Path("mine.csv").write_text("dataset,model,0,1,2\nd,ACMII-GCN+,80.1,95,82\nd,ACMII-GCN++,10,9,40\n")
    table = ask("compare", "mine.csv").out.partition("Difference:")[0]
    assert "…" not in table and "second" in table and table.count("better") == 2


def test_compare_says_in_words_what_may_be_concluded(ask: Ask, results: Path) -> None:
    files = [results / "table1" / "texas" / f"{name}.json" for name in ("hdp", "mlp", "gcn")]
    answer = ask("compare", *files, "--plot", "ranks.png")
    assert answer.code == 0 and "On texas, " in answer.out and "What may not be concluded" in answer.out
    assert Path("ranks.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(ask("compare", files[0], f"mine={files[0]}", "--json", "--rope", "0.5").out)
    assert found["rope"] == 0.005 and found["pairs"][0]["second"] == "mine"
    assert found["pairs"][0]["verdict"] == "equal"
    assert json.loads(ask("compare", *files, "--json", "--against", "HDP").out)["against"] == "hdp"


def test_compare_reads_a_csv_of_model_by_split(ask: Ask) -> None:
    Path("mine.csv").write_text("model,0,1,2\nnew,80,82,81\nold,70,71,70\n")
    answer = ask("compare", "mine.csv", "--ratio", "0.4")
    assert answer.code == 0 and "On mine, new is better than old" in answer.out
    assert "taken as" not in answer.out


@pytest.mark.parametrize(
    "command, sentence",
    [
        (
            ["table", "table2"],
            "no table 'table2'; did you mean 'table1'? The tables are table1, significance",
        ),
        (["reproduce", "significance"], "there is no table 'significance'; the tables are table1"),
        (["table", "--against", "gcn"], "say `heterophily table significance --against MODEL`"),
        (
            ["table", "significance", "--against", "gat"],
            "GAT has no cell in results/table1 to compare others with; --against names another model, of "
            "those there: mlp, gcn, hdp",
        ),
        (
            ["table", "significance", "--against", "gcn", "--datasets", "cornell"],
            "GCN has no cell in results/table1 on cornell",
        ),
        (
            ["table", "significance", "--models", "gcn", "--datasets", "texas,cornell", "--plot", "x.png"],
            "--plot: There are no mean ranks, as no two models have all of",
        ),
        (["table", "--from", "nowhere"], "there is no folder nowhere/table1; `heterophily reproduce table1 "),
        (["table", "--format", "word"], "--format: there is no format 'word'; the formats are terminal"),
        (["table", "--plot", "x.png"], "say `heterophily table significance --plot FILE`"),
        (["table", "--datasets", "pubmed"], "has no cell of these"),
        (["table", "significance", "--against", "hpd"], "no model 'hpd'; did you mean 'hdp'"),
        (
            ["table", "significance", "--plot", "x.doc"],
            "--plot: the name 'x.doc' should end in .png, .svg, .pdf",
        ),
        (["reproduce", "table1", "--datasets", "txas"], "did you mean 'texas'"),
        (["table", "--from", "r 2"], "`heterophily reproduce table1 --out 'r 2'` makes it"),
        (["reproduce", "table1", "--datasets", ","], "--datasets names none"),
        (["reproduce", "table1", "--models", ","], "--models names none"),
        (["reproduce", "table1", "--unbundle", "nowhere"], "nowhere cannot be read: no such file"),
        (["compare", "nowhere.json"], "nowhere.json cannot be read: no such file"),
        (["compare", "results/table1/texas/mlp.json"], "nothing to compare"),
    ],
)
def test_a_mistake_is_answered_with_a_line(
    ask: Ask, results: Path, command: list[str], sentence: str
) -> None:
    answer = ask(*command)
    assert answer.code == 2 and answer.out == ""
    assert answer.err.startswith("error: ") and sentence in answer.err and answer.err.count("\n") == 1
