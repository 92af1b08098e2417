"""The paper's table is trained cell by cell: once each, resumably, and what fails does not stop the rest."""

from __future__ import annotations

import json
import warnings
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import pytest
import torch

from heterophily import MODELS
from heterophily.bench import reproduce as bench
from heterophily.bench.cells import (
    CellError,
    StrayFileWarning,
    cell_file,
    datasets_there,
    read_cell,
    read_cells,
    unbundle,
)
from heterophily.bench.published import table_1
from heterophily.bench.reproduce import Step, columns, rows, setting
from heterophily.config import ConfigError
from heterophily.files import OutputError, sealed
from heterophily.graph import Graph
from heterophily.graph.datasets import DATASETS
from heterophily.graph.graph import GraphError
from heterophily.recipes import note, recipes
from heterophily.show.table1 import CHOSEN, step_line
from tests.tiny import tiny_graph

RESULTS = Path(__file__).parents[2] / "results"
SMALL = "epoch = 5\nhidden_dim = 8\n"
SEARCHED = "chosen = {by = 'searched', validation = 0.5, splits = 3, trials = 7}\n"


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recipes of our own, for a dataset called tiny."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    monkeypatch.setattr("heterophily.recipes.HERE", folder)
    (folder / "mlp.toml").write_text(f"# MLP: mine.\n[tiny]\n{SEARCHED}{SMALL}")
    (folder / "gcn.toml").write_text(f"# GCN: of others.\n[tiny]\nchosen = {{by = 'published'}}\n{SMALL}")
    return folder


def tiny(name: str) -> Graph:
    return tiny_graph()


def run(folder: Path, models: tuple[str, ...] = ("mlp", "gcn"), **more: Any) -> dict[str, Step]:
    steps = bench.reproduce(["tiny"], models, folder / "results", **({"read": tiny} | more))
    return {step.model: step for step in steps}


def states(steps: dict[str, Step]) -> dict[str, str]:
    return {name: step.state for name, step in steps.items()}


# What is trained


def test_every_cell_is_a_file_that_says_all_about_itself(tmp_path: Path, kitchen: Path) -> None:
    run(tmp_path, seeds=2)
    cell = read_cell(tmp_path / "results" / "table1" / "tiny" / "mlp.json")
    assert cell["config"] == MODELS["mlp"].config.parse({"epoch": 5, "hidden_dim": 8}).to_dict()
    assert cell["chosen"] == {
        "by": "searched", "validation": 0.5, "splits": 3, "trials": 7,
        "note": "mean validation score 50.00 on 3 splits, best of 7 settings",
    }  # fmt: skip
    assert (cell["seed"], cell["seeds"], cell["device"], cell["ddof"]) == (0, 2, "cpu", 1)
    assert len(cell["splits"]) == 3 * 2 and set(cell["versions"]) >= {"heterophily", "torch"}
    for row in cell["splits"]:
        assert {"split", "seed", "validation", "test", "test_last", "seconds", "nodes", "mask"} <= set(row)
    assert cell["test_opened"]["by"] == "reproduce" and "again" not in cell["test_opened"]


def test_small_graphs_are_trained_in_float64_and_the_cell_says_so(
    tmp_path: Path, kitchen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, ("mlp",))
    monkeypatch.setattr(bench, "SMALL", tiny_graph().num_nodes - 1)
    run(tmp_path, ("gcn",))
    said = {name: read_cell(tmp_path / "results/table1/tiny" / f"{name}.json") for name in ("mlp", "gcn")}
    assert said["mlp"]["precision"] == "double" and "precision" not in said["gcn"]


def test_the_rules_are_always_there_and_light_models_come_first(tmp_path: Path, kitchen: Path) -> None:
    assert list(run(tmp_path, ("gcn", "mlp"))) == ["majority", "twin-copy", "mlp", "gcn"]
    assert set(bench.LIGHT_FIRST) | set(bench.RULES) == set(MODELS)


def test_the_table_is_the_paper_s_by_default_and_more_on_request() -> None:
    assert set(columns("paper")) == set(table_1()["hdp"]) and len(columns("paper")) == 9
    assert set(columns("all")) >= {"cornell-corrected", "squirrel-filtered", "tolokers", *columns("paper")}
    assert set(columns("all")) <= set(DATASETS)
    assert set(rows("paper")) == {*table_1(), "majority", "twin-copy"}
    assert rows("all") == tuple(MODELS)
    assert rows("HDP, mlp") == ("majority", "twin-copy", "mlp", "hdp")
    assert columns("Texas, paper")[0] == "texas" and len(columns("Texas, paper")) == 9
    with pytest.raises(GraphError, match="no dataset 'txas'; did you mean 'texas'"):
        columns("txas")
    with pytest.raises(ConfigError, match="no model 'hpd'"):
        rows("hpd")
    for read, option in ((columns, "--datasets"), (rows, "--models")):
        with pytest.raises(ConfigError, match=f"{option} names none"):
            read(" , ")


def test_all_datasets_of_a_table_include_those_that_are_on_disk() -> None:
    assert columns("all", ("reed98", "mine"))[-2:] == ("reed98", "mine")
    assert columns("mine", ("mine",)) == ("mine",) and "reed98" not in columns("all")


def test_a_setting_says_how_it_was_chosen(kitchen: Path) -> None:
    assert setting("mlp", "tiny").to_json()["by"] == "searched"
    assert setting("gcn", "tiny").to_json() == {"by": "published", "note": "GCN: of others."}
    plain = setting("gat", "tiny")
    assert plain.chosen.by == "defaults" and plain.config == MODELS["gat"].config()
    assert setting("majority", "tiny").chosen.by == "defaults"
    (kitchen / "gat.toml").write_text("heads = 2\n[texas]\nheads = 4\n")
    assert setting("gat", "texas").chosen.by == "guess"  # nothing says otherwise
    shared = setting("gat", "tiny")
    assert shared.chosen.by == "defaults" and shared.config.to_dict()["heads"] == 2
    assert shared.note == "GAT has no recipe for tiny: what its recipes have in common"
    assert note("mlp", "elsewhere") == "MLP: mine." and note("linkx", "tiny") == ""


@pytest.mark.parametrize("dataset, source", bench.KINDRED.items())
def test_a_graph_without_a_recipe_takes_that_of_its_kindred_and_says_so(dataset: str, source: str) -> None:
    model = next(m for m in MODELS if dataset not in recipes(m) and source in recipes(m))
    kin, own = setting(model, dataset), setting(model, source)
    assert kin.config == own.config and kin.note == f"the recipe for {source}: {own.note}"
    assert kin.chosen.by == "kindred" and not kin.chosen.splits  # the search was not on this graph
    assert setting("hdp", dataset).chosen.by == "searched"  # it has one of its own
    assert setting("gcn", "minesweeper").chosen.by == setting("gcn", "tolokers").chosen.by == "defaults"


def test_a_cell_in_results_says_of_its_setting_what_the_recipe_says() -> None:
    cells = read_cells(RESULTS, "table1")
    assert {cell["chosen"]["by"] for cell in cells} <= set(CHOSEN)
    for cell in filter(bench.is_current, cells):
        assert cell["chosen"]["by"] == setting(cell["model"], cell["dataset"]).chosen.by


def test_the_initial_assignment_has_the_recipe_of_hdp_as_far_as_it_reads_it(kitchen: Path) -> None:
    (kitchen / "hdp.toml").write_text("[tiny]\nhops = 3\nepoch_init = 7\ntemperature = 0.2\n")
    config = setting("hdp-init", "tiny").config.to_dict()
    assert (config["hops"], config["epoch_init"]) == (3, 7)
    assert config["temperature"] == MODELS["hdp-init"].config().to_dict()["temperature"]


@pytest.mark.parametrize("model", table_1())
def test_every_packaged_setting_can_be_read(model: str) -> None:
    for dataset in columns("all"):
        assert setting(model, dataset).note


# What is kept


def test_a_finished_cell_is_not_trained_again(tmp_path: Path, kitchen: Path) -> None:
    first = run(tmp_path)
    assert set(states(first).values()) == {"trained"}
    again = run(tmp_path, read=lambda name: pytest.fail("the graph was read for nothing"))
    assert set(states(again).values()) == {"kept"}
    assert again["mlp"].cell == json.loads(json.dumps(first["mlp"].cell))


def test_a_cell_trained_anew_keeps_the_record_of_its_openings(tmp_path: Path, kitchen: Path) -> None:
    run(tmp_path, ("mlp",), seeds=2)
    first = run(tmp_path, ("mlp",))["mlp"].cell
    assert states(run(tmp_path, ("mlp",)))["mlp"] == "kept"
    again = run(tmp_path, ("mlp",), anew=True)["mlp"]
    assert again.state == "trained" and first is not None and again.cell is not None
    assert again.cell["mean"] == first["mean"]
    assert again.cell["test_opened"]["earlier"] == first["test_opened"]["earlier"]


def test_a_changed_recipe_other_seeds_or_a_damaged_file_are_trained_again(
    tmp_path: Path, kitchen: Path
) -> None:
    before = run(tmp_path)["mlp"].cell
    assert before is not None
    (kitchen / "mlp.toml").write_text(f"[tiny]\n{SMALL}dropout = 0.3\n")
    changed = run(tmp_path)
    assert states(changed)["mlp"] == "trained" and states(changed)["gcn"] == "kept"
    assert changed["mlp"].cell is not None
    opened = changed["mlp"].cell["test_opened"]  # a second look at the test labels is on record
    assert opened["again"] and opened["earlier"][0]["setting"] == before["test_opened"]["setting"]

    file = cell_file(tmp_path / "results", "table1", "tiny", "gcn")
    file.write_text(file.read_text()[:-100])
    assert states(run(tmp_path)) == {
        "majority": "kept", "twin-copy": "kept", "mlp": "kept", "gcn": "trained",
    }  # fmt: skip
    assert "cannot be read" in read_cell(file)["test_opened"]["earlier"][0]["by"]
    assert set(states(run(tmp_path, seed=1)).values()) == {"trained"}


def test_a_score_from_other_seeds_leaves_the_earlier_opening_on_record(tmp_path: Path, kitchen: Path) -> None:
    run(tmp_path, ("mlp",))
    for seeds in ({"seed": 1}, {"seeds": 2}):
        step = run(tmp_path, ("mlp",), **seeds)["mlp"]
        assert "replaces a cell of other seeds" in step_line(step)
    assert step.cell is not None
    opened = step.cell["test_opened"]
    assert (opened["seed"], opened["seeds"]) == (0, 2)
    assert [(early["seed"], early["seeds"]) for early in opened["earlier"]] == [(0, 1), (1, 1)]


def test_a_stop_costs_no_finished_cell(tmp_path: Path, kitchen: Path) -> None:
    def stop(step: Step) -> None:
        if step.model == "mlp":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, tell=stop)
    assert states(run(tmp_path)) == {
        "majority": "kept", "twin-copy": "kept", "mlp": "kept", "gcn": "trained",
    }  # fmt: skip


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"mean": 0.99}, "its mean is not that of its test scores"),
        ({"config": {}}, "not those that the test labels were opened for"),
        ({"splits": []}, "or there is none"),
        ({"model": "gcn"}, "not those that the test labels were opened for"),
        ({"chosen": None, "test_opened": None}, "not as results are"),
    ],
)
def test_a_cell_that_was_meddled_with_is_refused(
    tmp_path: Path, kitchen: Path, change: dict[str, Any], sentence: str
) -> None:
    run(tmp_path, ("mlp",))
    file = cell_file(tmp_path / "results", "table1", "tiny", "mlp")
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(CellError, match="its checksum differs.*reproduce table1 .*` sets it aside"):
        read_cells(tmp_path / "results", "table1")
    file.write_text(json.dumps(sealed(json.loads(file.read_text()))))  # and with a checksum that fits
    with pytest.raises(CellError, match=sentence):
        read_cells(tmp_path / "results", "table1")


def test_a_cell_in_a_wrong_place_is_refused(tmp_path: Path, kitchen: Path) -> None:
    run(tmp_path, ("mlp",))
    file = cell_file(tmp_path / "results", "table1", "tiny", "mlp")
    file.rename(file.with_name("gat.json"))
    with pytest.raises(CellError, match="is the cell of mlp on tiny; it lies in a wrong place"):
        read_cells(tmp_path / "results", "table1")


def test_a_file_that_is_not_asked_for_costs_no_table_and_one_of_no_model_is_left_out(
    tmp_path: Path, kitchen: Path
) -> None:
    run(tmp_path, ("mlp",))
    place, folder = tmp_path / "results" / "table1" / "tiny", tmp_path / "results"
    (place / "gcn.json").write_text("{")
    assert len(read_cells(folder, "table1", ["tiny"], ["mlp", "majority"])) == 2
    assert read_cells(folder, "table1", ["texas"]) == [] and datasets_there(folder, "table1") == ("tiny",)
    with pytest.raises(CellError, match=f"--datasets tiny --models gcn --out {folder}` sets it aside"):
        read_cells(folder, "table1")
    (place / "gcn.json").rename(place / "mlp copy.json")
    with pytest.warns(StrayFileWarning, match="mlp copy.json is left out"):
        assert len(read_cells(folder, "table1")) == 3


# What fails


def test_a_cell_that_fails_does_not_cost_the_others(tmp_path: Path, kitchen: Path) -> None:
    (kitchen / "mlp.toml").write_text(f"[tiny]\n{SMALL}learning_rate = 1e300\n")
    (kitchen / "gat.toml").write_text("[tiny]\nlearning_speed = 1\n")
    found = run(tmp_path, ("mlp", "gat", "gcn"))
    assert states(found) == {
        "majority": "trained", "twin-copy": "trained", "mlp": "failed", "gat": "failed", "gcn": "trained",
    }  # fmt: skip
    assert "no epoch gave a finite validation loss" in found["mlp"].error
    assert "has no field 'learning_speed'" in found["gat"].error
    assert not cell_file(tmp_path / "results", "table1", "tiny", "mlp").exists()


def test_a_graph_that_cannot_be_read_fails_its_cells_and_is_tried_once(tmp_path: Path, kitchen: Path) -> None:
    asked = []

    def read(name: str) -> Graph:
        asked.append(name)
        if name == "gone":
            raise GraphError("gone is not on this machine")
        return tiny_graph()

    steps = bench.reproduce(["gone", "tiny"], ["mlp"], tmp_path / "results", read=read)
    assert [step.state for step in steps] == ["failed"] * 3 + ["trained"] * 3
    assert {step.error for step in steps[:3]} == {"gone is not on this machine"}
    assert [step.unread for step in steps] == [True] * 3 + [False] * 3
    assert asked == ["gone", "tiny"]


def gone(name: str) -> Graph:
    raise GraphError(f"{name} is not on this machine")


def test_where_no_graph_can_be_read_no_process_is_started_for_it(tmp_path: Path) -> None:
    steps = bench.reproduce(["gone"], ["mlp", "gcn"], tmp_path / "results", jobs=2, read=gone)
    assert {(step.error, step.unread) for step in steps} == {("gone is not on this machine", True)}


def unread_by_workers(name: str) -> Graph:
    if parent_process() is None:
        return tiny_graph()
    raise GraphError(f"same bits each time: {torch.are_deterministic_algorithms_enabled()}")


@pytest.mark.parametrize("asked", [True, False])
def test_cells_side_by_side_are_as_deterministic_as_they_were_asked_to_be(
    tmp_path: Path, asked: bool
) -> None:
    torch.use_deterministic_algorithms(asked)
    try:
        steps = bench.reproduce(["tiny"], ["mlp", "gcn"], tmp_path / "r", jobs=2, read=unread_by_workers)
    finally:
        torch.use_deterministic_algorithms(False)
    assert {step.error for step in steps} == {f"same bits each time: {asked}"}


def test_where_nothing_is_to_train_no_process_is_started(
    tmp_path: Path, kitchen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path)
    monkeypatch.setattr(bench, "_side_by_side", lambda *_: pytest.fail("processes were started"))
    assert set(states(run(tmp_path, jobs=2)).values()) == {"kept"}


def test_where_nothing_can_be_written_it_stops_before_training(tmp_path: Path, kitchen: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(OutputError, match="cannot write to the folder"):
        run(tmp_path, read=lambda name: pytest.fail("trained for nothing"))


def test_out_of_memory_is_said_in_three_words() -> None:
    assert bench.reason(RuntimeError("CUDA out of memory. Tried to allocate 3 GiB ...")) == "out of memory"
    assert bench.reason(MemoryError()) == "out of memory"
    assert bench.reason(IndexError("7")) == "IndexError: 7"


def test_no_reason_is_cut_within_a_word() -> None:
    assert bench.reason(GraphError("word " * 200)) == " ".join(["word"] * 200)
    assert bench.reason(IndexError("word " * 200)).endswith(" word …")


# One file for all


def test_a_bundle_holds_every_cell_and_is_unpacked_to_the_same_files(tmp_path: Path, kitchen: Path) -> None:
    run(tmp_path, bundle=tmp_path / "all.json")
    kept = tmp_path / "kept.json"
    run(tmp_path, bundle=kept)  # nothing is trained, and it is whole all the same
    assert kept.read_text() == (tmp_path / "all.json").read_text()
    assert unbundle(kept, "table1", tmp_path / "other") == {"new": 4, "replaced": 0, "same": 0}
    for file in (tmp_path / "results").rglob("*.json"):
        assert file.read_bytes() == (tmp_path / "other" / file.relative_to(tmp_path / "results")).read_bytes()
    assert unbundle(kept, "table1", tmp_path / "other") == {"new": 0, "replaced": 0, "same": 4}


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("[]", "is no bundle of cells; one is written by --bundle"),
        ('{"table": "table3", "cells": []}', "is a bundle of table3, not of table1"),
        ('{"table": "table1", "cells": [{}]}', "cell 1 of .* is not sound: it lacks model"),
    ],
)
def test_a_bundle_that_is_none_writes_nothing(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(CellError, match=sentence):
        unbundle(tmp_path / "b.json", "table1", tmp_path / "results")
    assert not (tmp_path / "results").exists()


def noted(name: str) -> Graph:
    warnings.warn("a class is rare", stacklevel=1)
    return tiny_graph()


def test_cells_trained_side_by_side_are_those_trained_in_turn_and_a_note_is_heard_once(
    tmp_path: Path,
) -> None:
    def scores(jobs: int, anew: bool = False) -> dict[str, list[float]]:
        place = tmp_path / str(jobs)
        with pytest.warns(UserWarning, match="a class is rare") as heard:
            steps = bench.reproduce(["tiny"], ["mlp", "gcn"], place, jobs=jobs, anew=anew, read=noted)
        assert len(heard) == 1
        assert [step.model for step in steps] == ["majority", "twin-copy", "mlp", "gcn"]
        assert {step.state for step in steps} == {"trained"}
        cells = {
            step.model: read_cell(cell_file(tmp_path / str(jobs), "table1", *step[1::-1])) for step in steps
        }
        return {model: [row["test"] for row in cell["splits"]] for model, cell in cells.items()}

    assert scores(2) == scores(1) == scores(2, anew=True)
