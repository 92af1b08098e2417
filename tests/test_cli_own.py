"""A graph of one's own, as a new user has it: foreign files to predictions in two commands, and no Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heterophily import HDPClassifier, load_model, read, read_later
from heterophily.graph import synthetic
from heterophily.reading import Encoding
from tests.command import Ask

QUICK = [
    "--set", "epoch=30", "--set", "epoch_init=30", "--set", "hidden_dim=16", "--set", "embedding_dim=8",
    "--device", "cpu",
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in the form of the public Twitch graphs, old and grown by twenty nodes."""
    folder = tmp_path_factory.mktemp("streams")
    graph = synthetic(160, num_classes=2, num_features=6, average_degree=6, homophily=0.3, seed=4)
    rng = np.random.default_rng(0)
    y = graph.y.numpy()
    means = {
        int(i): [int(f) for f in np.flatnonzero(graph.x[i] > 0.3)] + [100 + int(rng.integers(9))]
        for i in range(160)
    }
    edges = pd.DataFrame(graph.edge_index.numpy().T, columns=["from", "to"])
    edges = edges[edges["from"] < edges["to"]]
    target = pd.DataFrame({
        "id": rng.integers(10**6, 10**8, 160),
        "days": rng.integers(1, 3000, 160),
        "mature": np.where(y == 1, "True", "False"),
        "views": rng.integers(0, 10**6, 160),
        "partner": rng.random(160) < 0.1,
        "new_id": np.arange(160),
    })  # fmt: skip
    for name, count in (("old", 140), ("all", 160)):
        few = edges[(edges < count).all(axis=1)]
        few.to_csv(folder / f"{name}_edges.csv", index=False)
        table = target[:count].copy()
        table.loc[table.index % 5 == 0, "mature"] = None
        table.to_csv(folder / f"{name}_target.csv", index=False)
        (folder / f"{name}_features.json").write_text(json.dumps({str(i): means[i] for i in range(count)}))
    return folder


def given(files: Path, name: str) -> list[Any]:
    return [
        "--edges", files / f"{name}_edges.csv", "--nodes", files / f"{name}_target.csv",
        "--features", files / f"{name}_features.json",
    ]  # fmt: skip


FIT = ["--id", "new_id", "--label", "mature", "--drop", "id", *QUICK]


@pytest.fixture
def model(files: Path, tmp_path: Path, ask: Ask) -> Path:
    answer = ask("fit", *given(files, "old"), *FIT, "--out", tmp_path / "model")
    assert answer.code == 0, answer.err
    return tmp_path / "model"


def test_foreign_files_to_predictions_in_two_commands(files: Path, tmp_path: Path, ask: Ask) -> None:
    answer = ask("fit", *given(files, "old"), *FIT, "--out", tmp_path / "model")
    assert answer.code == 0 and "HDP fitted to 140 nodes" in answer.out and "84 labelled nodes" in answer.out
    out = tmp_path / "predictions.parquet"
    answer = ask("predict", tmp_path / "model", "--out", out)
    assert answer.code == 0 and answer.out == ""
    table = pd.read_parquet(out)
    assert table["id"].tolist() == list(range(140)) and set(table["predicted"]) <= {"True", "False"}
    np.testing.assert_allclose(table["p_True"] + table["p_False"], 1, atol=1e-5)
    assert {"calibrated", "margin", "calibrated_True"} <= set(table.columns)


def test_new_accounts_are_predicted_from_the_same_files_with_more_in_them(
    files: Path, model: Path, tmp_path: Path, ask: Ask
) -> None:
    answer = ask("predict", model, *given(files, "all"), "--out", tmp_path / "new.csv")
    assert answer.code == 0, answer.err
    assert "140 rows of nodes that the model knows are not read again, 20 are new" in answer.err
    table = pd.read_csv(tmp_path / "new.csv")
    assert table["id"].tolist() == list(range(140, 160))

    one = load_model(model)
    parts = (files / f"all_{part}" for part in ("edges.csv", "target.csv", "features.json"))
    new = read_later(one.ids_ or [], Encoding.from_json(one.encoding_ or {}), *parts)
    later = one.extended(new.x, new.edge_index, new.ids)
    np.testing.assert_allclose(table["p_True"], later.predictions()["p_True"][140:], rtol=1e-5)
    every = ask("predict", model, *given(files, "all"), "--all").out
    assert len(every.splitlines()) == 161


def test_only_the_new_rows_and_only_the_new_edges_do_as_well(
    files: Path, model: Path, tmp_path: Path, ask: Ask
) -> None:
    edges, nodes = pd.read_csv(files / "all_edges.csv"), pd.read_csv(files / "all_target.csv")
    edges[(edges >= 140).any(axis=1)].to_csv(tmp_path / "edges.csv", index=False)
    nodes[nodes["new_id"] >= 140].to_csv(tmp_path / "nodes.csv", index=False)
    some = ["--edges", tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv"]
    some += ["--features", files / "all_features.json"]
    one, two = ask("predict", model, *some), ask("predict", model, *given(files, "all"))
    assert one.code == 0 and one.out == two.out


def test_another_graph_has_ids_of_its_own(files: Path, model: Path, ask: Ask) -> None:
    answer = ask("predict", model, *given(files, "all"), "--other")
    assert answer.code == 0 and len(answer.out.splitlines()) == 161


def test_without_its_graph_a_model_predicts_another_one(files: Path, tmp_path: Path, ask: Ask) -> None:
    assert ask("fit", *given(files, "old"), *FIT, "--out", tmp_path / "m", "--without-graph").code == 0
    assert not (tmp_path / "m" / "ids.json").exists()
    answer = ask("predict", tmp_path / "m")
    assert answer.code == 2 and "--edges FILE" in answer.err
    assert len(ask("predict", tmp_path / "m", *given(files, "all")).out.splitlines()) == 161


def test_explain_says_who_the_neighbors_are_and_what_carried_the_decision(
    files: Path, model: Path, ask: Ask
) -> None:
    answer = ask("explain", model, "--node", "7")
    assert answer.code == 0 and "carried by the" in answer.out and "neighbors" in answer.out
    found = json.loads(ask("explain", model, "--node", "7", "--json").out)
    assert found["carrier"] in ("ego", "homophilous", "heterophilous") and found["node"] == 7
    assert {row["verdict"] for row in found["neighbors"]} <= {"homophilous", "heterophilous"}
    new = json.loads(ask("explain", model, "--node", "150", *given(files, "all"), "--json").out)
    assert new["node"] == 150 and new["label"] is None
    missing = ask("explain", model, "--node", "x9")
    assert missing.code == 2 and "knows no node 'x9'" in missing.err and missing.err.count("\n") == 1


def test_python_does_the_same_three(files: Path, tmp_path: Path, model: Path) -> None:
    reading = read(
        files / "old_edges.csv", files / "old_target.csv", files / "old_features.json", id="new_id",
        label="mature", drop=["id"],
    )  # fmt: skip
    settings = {"epoch": 30, "epoch_init": 30, "hidden_dim": 16, "embedding_dim": 8}
    one = HDPClassifier(**settings, device="cpu").fit(reading)
    np.testing.assert_allclose(one.predict_proba(), load_model(model).predict_proba(), atol=1e-6)
    assert one.explain(7).carrier == load_model(model).explain(7).carrier


def test_a_log_and_a_split_column(files: Path, tmp_path: Path, ask: Ask) -> None:
    nodes = pd.read_csv(files / "old_target.csv")
    nodes["part"] = np.where(nodes.index % 4 == 1, "test", np.where(nodes.index % 4 == 2, "val", "train"))
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    quick = ["--id", "new_id", "--label", "mature", "--drop", "id", "--set", "epoch=10", "--device", "cpu"]
    answer = ask(
        "fit", "--edges", files / "old_edges.csv", "--nodes", tmp_path / "nodes.csv", *quick,
        "--split", "part", "--model", "gcn", "--out", tmp_path / "model", "--log", tmp_path / "log.jsonl",
        "--json",
    )  # fmt: skip
    facts = json.loads(answer.out)
    assert facts["test"] > 0 and 0 <= facts["test_score"] <= 1
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 10


def test_fit_says_what_to_expect_of_other_nodes(files: Path, tmp_path: Path, ask: Ask) -> None:
    quick = ["--id", "new_id", "--label", "mature", "--set", "epoch=5", "--device", "cpu", "--model", "mlp"]
    some = ["--splits", "3", "--train", "0.48", "--val", "0.32", "--out", tmp_path / "model"]
    answer = ask("fit", *given(files, "old"), *quick, *some)
    assert answer.code == 0 and "over 3 random splits with 48 % of the labels" in answer.out
    answer = ask(
        "fit", *given(files, "old"), *quick, "--splits", "3", "--train", "0.8", "--out", tmp_path / "m"
    )
    assert answer.code == 2 and "leave nothing to test on" in answer.err


def test_fit_can_search_settings_first(files: Path, tmp_path: Path, ask: Ask) -> None:
    answer = ask(
        "fit", *given(files, "old"), "--id", "new_id", "--label", "mature", "--model", "mlp",
        "--set", "epoch=3", "--tune", "1s", "--out", tmp_path / "model", "--device", "cpu",
    )  # fmt: skip
    assert answer.code == 0 and "tuned on 3 splits" in answer.err
    assert load_model(tmp_path / "model").config.to_dict()["epoch"] == 3


@pytest.mark.parametrize(
    "change, said",
    [
        (["--label", "matur"], "did you mean `mature`"),
        (["--id", "days"], "name the id column with --id"),
        (["--set", "lamda=1"], "has no field"),
        (["--tune", "soon"], "--tune takes a time"),
        (["--recipe", "none.toml"], "there is no recipe"),
        (["--log", "curves.xlsx"], ".csv or .jsonl"),
        (["--log", "wandb:x"], "pip install"),
        (["--column", "views=much"], "cannot be 'much'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    files: Path, tmp_path: Path, ask: Ask, change: list[str], said: str
) -> None:
    answer = ask("fit", *given(files, "old"), *FIT, *change, "--out", tmp_path / "model")
    lines = answer.err.splitlines()
    assert answer.code == 2 and said in lines[-1] and lines[-1].startswith("error: ")
    assert not (tmp_path / "model").exists() and answer.out == ""


def test_a_node_without_labels_anywhere_and_a_wrong_ending_are_told(
    files: Path, model: Path, tmp_path: Path, ask: Ask
) -> None:
    answer = ask("fit", "--edges", files / "old_edges.csv", "--out", tmp_path / "m")
    assert answer.code == 2 and "--label" in answer.err
    answer = ask("predict", model, "--out", tmp_path / "p.xlsx")
    assert answer.code == 2 and ".parquet" in answer.err
    answer = ask("predict", tmp_path / "nothing")
    assert answer.code == 2 and "no model folder" in answer.err
