"""A model folder: whole, safe to share, and refused by name where it was changed."""

from __future__ import annotations

import json
import os
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from sklearn.exceptions import NotFittedError

import heterophily
from heterophily import __version__, load_model
from heterophily import folder as folders
from heterophily.estimator import make_classifier
from heterophily.files import digest
from heterophily.folder import FolderError
from heterophily.graph import Graph, GraphError
from heterophily.models import MODELS
from tests.test_replay import fitted
from tests.tiny import LEARNERS, tiny_config, tiny_graph


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return fitted("hdp").save(tmp_path / "model")


@pytest.mark.parametrize("model", MODELS)
def test_what_is_loaded_says_what_was_saved(model: str, tmp_path: Path) -> None:
    one = fitted(model)
    other = load_model(one.save(tmp_path / "model"))
    assert type(other) is type(one) and other.config == one.config
    np.testing.assert_allclose(other.predict_proba(), one.predict_proba(), atol=1e-6)
    np.testing.assert_allclose(
        other.predict_proba(calibrated=True), one.predict_proba(calibrated=True), atol=1e-6
    )
    x = np.ones((1, 5))
    np.testing.assert_allclose(
        other.extended(x, [[48], [0]]).predict_proba(),
        one.extended(x, [[48], [0]]).predict_proba(),
        atol=1e-6,
    )
    assert other.history_["validation"].tolist() == pytest.approx(one.history_["validation"].tolist())
    if model == "hdp":
        assert other.edges_["verdict"].tolist() == one.edges_["verdict"].tolist()
        assert other.explain(3).carrier == one.explain(3).carrier


def test_loaded_and_saved_again_it_is_the_same_folder(kept: Path, tmp_path: Path) -> None:
    again = load_model(kept).save(tmp_path / "again")
    for name in (folders.WEIGHTS, folders.GRAPH):
        assert (again / name).read_bytes() == (kept / name).read_bytes()


def test_a_folder_holds_json_csv_and_safetensors_and_nothing_that_could_run(kept: Path) -> None:
    assert sorted(file.name for file in kept.iterdir()) == [
        "graph.safetensors", "history.csv", "model.json", "weights.safetensors",
    ]  # fmt: skip
    head = json.loads((kept / "model.json").read_text())
    assert head["format"] == folders.FORMAT and head["library"] == __version__ and head["model"] == "hdp"
    assert head["classes"] and head["calibration"]["temperature"] > 0
    assert head["training"]["nodes"] == 48 and head["training"]["best_epoch"] >= 0
    for file in kept.glob("*.safetensors"):
        with pytest.raises(Exception):  # noqa: B017, PT011  no pickle starts like this
            list(pickletools.genops(file.read_bytes()))


def test_labels_that_training_did_not_see_do_not_travel(kept: Path) -> None:
    split = tiny_graph().splits[0]
    labels = safetensors.torch.load_file(kept / "graph.safetensors")["labels"]
    assert (labels[split.test] == -1).all()
    assert torch.equal(labels[~split.test], tiny_graph().y[~split.test])


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", "graph.safetensors", "history.csv"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_file_is_refused_by_name(kept: Path, name: str, damage: str) -> None:
    file = kept / name
    content = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    else:
        place = content.index(b"hdp") if name == "model.json" else len(content) // 2
        content[place] ^= 1
        file.write_bytes(content)
    with pytest.raises(FolderError, match=name):
        load_model(kept)


def test_a_newer_format_says_so_instead_of_failing_strangely(kept: Path) -> None:
    head = json.loads((kept / "model.json").read_text())
    (kept / "model.json").write_text(json.dumps({"format": 2, "library": "9.0", "all": "new", "x": head}))
    with pytest.raises(FolderError, match=r"made by a newer version of heterophily \(9.0, format 2\)"):
        load_model(kept)


def test_a_crafted_folder_is_refused_too(kept: Path) -> None:
    """Checksums can be made to fit; what is inside is still checked."""

    def rewrite(**changes: Any) -> None:
        head = json.loads((kept / "model.json").read_text())
        head.pop("checksum")
        head |= changes
        head["checksum"] = digest(head)
        (kept / "model.json").write_text(json.dumps(head))

    before = json.loads((kept / "model.json").read_text())
    for changes in (
        {"model": "nobody"},
        {"params": before["params"] | {"rescale": "much"}},
        {"files": {**before["files"], "../../etc/passwd": "0"}},
        {"training": {}},
        {"classes": 7},
    ):
        rewrite(**changes)
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            load_model(kept)
        assert type(caught.value).__module__.startswith("heterophily")
        rewrite(**{name: before[name] for name in changes})
    load_model(kept)


@pytest.mark.parametrize("model", LEARNERS)
def test_without_its_graph_a_model_predicts_other_graphs_and_nothing_else(model: str, tmp_path: Path) -> None:
    one = fitted(model)
    folder = one.save(tmp_path / "model", graph=False)
    assert not (folder / "graph.safetensors").exists()
    for name, tensor in safetensors.torch.load_file(folder / "weights.safetensors").items():
        own = name.removeprefix("weights/") in MODELS[model].rows
        assert own or 48 not in tensor.shape, f"{name} speaks of the nodes"
    other, graph = load_model(folder), tiny_graph(40, seed=1)
    np.testing.assert_allclose(
        other.applied_to(graph).predict_proba(), one.applied_to(graph).predict_proba(), atol=1e-6
    )
    for ask in (
        other.predict,
        lambda: other.explain(0),
        lambda: other.extended(np.ones((1, 5)), [[48], [0]]),
    ):
        with pytest.raises(NotFittedError, match="without its graph"):
            ask()


def test_a_rule_cannot_leave_its_graph_behind(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="rule"):
        fitted("majority").save(tmp_path / "model", graph=False)


def test_a_model_replaces_a_model_but_nothing_else(kept: Path, tmp_path: Path) -> None:
    fitted("mlp").save(kept)
    assert load_model(kept).model == "mlp"
    yours = tmp_path / "thesis"
    yours.mkdir()
    (yours / "chapter.tex").write_text("precious")
    (kept / "predictions.csv").write_text("yours too")
    for folder, name in ((yours, "chapter.tex"), (kept, "predictions.csv")):
        with pytest.raises(FolderError, match=f"{name}' in it, which is no part of a model"):
            fitted("mlp").save(folder)
    with pytest.raises(FolderError, match="is a file"):
        fitted("mlp").save(yours / "chapter.tex")
    assert (yours / "chapter.tex").read_text() == "precious"


def test_a_writing_that_fails_leaves_the_old_model_and_nothing_else(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FolderError, match="no space left"):
        fitted("mlp").save(kept)
    monkeypatch.undo()
    assert load_model(kept).model == "hdp"
    assert [file.name for file in kept.parent.iterdir()] == ["model"]


def test_no_folder_and_no_model_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="there is no model folder"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(FolderError, match="no model.json"):
        load_model(tmp_path)


def test_classes_keep_their_names_and_sparse_features_their_form(tmp_path: Path) -> None:
    tiny = tiny_graph()
    x = (torch.rand(48, 30, generator=torch.Generator().manual_seed(0)) < 0.1).float()
    graph = Graph(x.to_sparse_csr(), tiny.y, tiny.edge_index, tiny.splits, class_names=["a", "b", "c"])
    one = make_classifier("gcn", device="cpu", **tiny_config("gcn").to_dict()).fit(graph, split=0)
    other = load_model(one.save(tmp_path / "model"))
    assert other.classes_.tolist() == ["a", "b", "c"] and other.graph_.x.is_sparse_csr
    assert other.predict().tolist() == one.predict().tolist()


def test_a_temperature_makes_validation_probabilities_fit_better_and_changes_no_class() -> None:
    one = fitted("hdp")
    mask = tiny_graph().splits[0].validation.numpy()
    rows, labels = np.flatnonzero(mask), tiny_graph().y.numpy()[mask]
    plain, calibrated = one.predict_proba(), one.predict_proba(calibrated=True)
    assert np.log(calibrated[rows, labels]).mean() >= np.log(plain[rows, labels]).mean()
    assert (plain.argmax(1) == calibrated.argmax(1)).all()


def test_the_table_of_predictions_has_all_that_was_promised() -> None:
    one = fitted("hdp")
    table = one.predictions([3, 5])
    assert table["id"].tolist() == [3, 5] and table["predicted"].tolist() == one.predict([3, 5]).tolist()
    assert {"probability", "calibrated", "margin", "p_0", "calibrated_2"} <= set(table.columns)
    top = np.sort(one.predict_proba([3, 5], calibrated=True), 1)
    np.testing.assert_allclose(table["margin"], top[:, -1] - top[:, -2])
    assert heterophily.load_model is load_model
