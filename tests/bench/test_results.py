"""What an evaluation leaves on disk: whole files or none, and nothing of anybody else's touched."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from heterophily import files as module
from heterophily.bench import Evaluation, evaluate
from heterophily.bench.results import predictions, save
from heterophily.files import OutputError, make_folder, to_text, unsealed, write_files
from heterophily.graph import Graph
from tests.tiny import tiny_config, tiny_graph


@cache
def evaluated(model: str) -> Evaluation:
    return evaluate(tiny_graph(), model, tiny_config(model), [0, 2])


def test_a_result_is_three_files_that_agree(tmp_path: Path) -> None:
    evaluation = evaluated("hdp")
    files = save(tmp_path / "new" / "folder", evaluation, tiny_graph())
    assert [file.name for file in files] == ["result.json", "predictions.csv", "edges.csv"]
    written = unsealed(json.loads(files[0].read_text(encoding="utf-8")))
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files[1:]}
    assert written == json.loads(to_text(evaluation.to_json())) | {"files": sums}

    nodes = pd.read_csv(files[1])
    assert len(nodes) == 2 * tiny_graph().num_nodes
    tested = nodes[nodes["part"] == "test"]
    accuracy = (tested["label"] == tested["predicted"]).groupby(tested["split"]).mean()
    assert accuracy.tolist() == pytest.approx([row["test"] for row in written["splits"]])
    assert nodes.filter(regex="^p_").sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-4)

    edges = pd.read_csv(files[2])
    assert edges["split"].unique().tolist() == [0] and edges["seed"].unique().tolist() == [0]
    above = edges["probability"] >= edges["threshold"]
    assert (above | (edges["verdict"] == "heterophilous")).all()


def test_predictions_of_several_seeds_stand_below_each_other() -> None:
    evaluation = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [0, 2], seed=3, seeds=2)
    nodes = predictions(evaluation, tiny_graph())
    rows = nodes.groupby(["split", "seed"], sort=False).size()
    assert list(rows.index) == [(0, 3), (0, 4), (2, 3), (2, 4)] and set(rows) == {tiny_graph().num_nodes}


def test_predictions_leave_the_label_of_an_unlabelled_node_empty_and_use_class_names() -> None:
    graph = tiny_graph()
    y = graph.y.clone()
    node = int((~(graph.splits[0].train | graph.splits[0].validation | graph.splits[0].test)).sum())
    hidden = graph.with_labels(y.index_fill(0, graph.splits[0].test.nonzero()[0], -1))
    table = predictions(evaluated("mlp"), hidden)
    assert node == 0
    assert table["label"].isna().sum() == 2  # of one node, in two splits
    named = Graph(graph.x, graph.y, graph.edge_index, graph.splits, class_names=["cat", "dog", "eel"])
    table = predictions(evaluated("mlp"), named)
    assert set(table["label"]) == {"cat", "dog", "eel"} and set(table["predicted"]) <= set(table["label"])
    assert {"p_cat", "p_dog", "p_eel"} <= set(table.columns)


def test_a_later_result_replaces_an_earlier_one_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    save(tmp_path, evaluated("hdp"), tiny_graph())
    save(tmp_path, evaluated("mlp"), tiny_graph())
    assert {file.name for file in tmp_path.iterdir()} == {"notes.txt", "predictions.csv", "result.json"}
    assert json.loads((tmp_path / "result.json").read_text())["model"] == "mlp"


@pytest.mark.parametrize("failing", ["predictions.csv", "edges.csv", "result.json"])
def test_a_writing_that_fails_leaves_the_earlier_result_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    save(tmp_path, evaluated("mlp"), tiny_graph())
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    write = module._write

    def full(file: Path, content: str | bytes) -> None:
        if failing in file.name:
            write(file, content[: len(content) // 2])
            raise OSError(28, "No space left on device")
        write(file, content)

    monkeypatch.setattr(module, "_write", full)
    with pytest.raises(OutputError, match="no space left on device"):
        save(tmp_path, evaluated("hdp"), tiny_graph())
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_with_files_of_the_users_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("mine")
    with pytest.raises(OutputError, match="has a file edges.csv but no result.json"):
        save(tmp_path, evaluated("mlp"), tiny_graph())
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    (file,) = write_files(tmp_path, {"a.txt": "text"})
    (tmp_path / "b.txt").touch()
    assert file.stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="cannot write to the folder .*; name another"):
            make_folder(place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="permission denied"):
        make_folder(tmp_path)


def test_numbers_that_are_no_json_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_text({"mean": float("nan")})
