"""Every epoch reaches the log; a tracker that is not there says how to get it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pandas as pd
import pytest

from heterophily.config import ConfigError
from heterophily.estimator import make_classifier
from heterophily.training.trackers import EXTRAS, tracker
from tests.tiny import tiny_config, tiny_graph


def test_a_csv_and_a_jsonl_log_hold_every_epoch_of_every_stage(tmp_path: Path) -> None:
    model = make_classifier("hdp", device="cpu", **tiny_config("hdp").to_dict())
    with tracker(tmp_path / "curves.csv", tmp_path / "curves.jsonl") as watch:
        model.fit(tiny_graph(), split=0, watch=watch)
    table = pd.read_csv(tmp_path / "curves.csv")
    lines = [json.loads(line) for line in (tmp_path / "curves.jsonl").read_text().splitlines()]
    assert table["stage"].unique().tolist() == ["initial assignment", "HDP"] and len(table) == len(lines)
    main = table[table["stage"] == "HDP"]
    assert main["epoch"].tolist() == model.history_.index.tolist()
    for name in ("loss", "tpc", "validation", "validation_loss"):
        assert main[name].tolist() == pytest.approx(model.history_[name].tolist())
        assert [line[name] for line in lines if line["stage"] == "HDP"] == pytest.approx(main[name].tolist())


@pytest.mark.parametrize("name", EXTRAS)
def test_a_tracker_that_is_not_installed_says_how_to_install_it(name: str) -> None:
    if importlib.util.find_spec(EXTRAS[name]):
        pytest.skip(f"{name} is installed")
    with pytest.raises(ConfigError, match=rf"pip install 'heterophily\[{name}\]'"), tracker(f"{name}:here"):
        pass


def test_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=".csv or .jsonl"), tracker("curves.xlsx"):
        pass
    with pytest.raises(ConfigError, match="cannot log to"), tracker(tmp_path / "no" / "curves.csv"):
        pass


def curves(place: str, folder: Path) -> pd.Series:
    """Train with a tracker and a CSV log beside it; return the losses of the last stage by epoch."""
    model = make_classifier("hdp", device="cpu", **tiny_config("hdp").to_dict())
    with tracker(place, folder / "curves.csv", settings={"hidden_dim": 8}) as watch:
        model.fit(tiny_graph(), split=0, watch=watch)
    return model.history_["validation_loss"]


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_shows_every_epoch(tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    wanted = curves(f"tensorboard:{tmp_path / 'board'}", tmp_path)
    events = reader.EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    shown = events.Scalars("HDP/validation_loss")
    assert [event.step for event in shown] == wanted.index.tolist()
    assert [event.value for event in shown] == pytest.approx(wanted.tolist())


@pytest.mark.filterwarnings("ignore")
def test_mlflow_keeps_settings_and_every_epoch(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    wanted = curves("mlflow:graphs", tmp_path)
    (run,) = mlflow.search_runs(experiment_names=["graphs"], output_format="list")
    kept = mlflow.MlflowClient().get_metric_history(run.info.run_id, "HDP/validation_loss")
    assert run.data.params == {"hidden_dim": "8"} and run.info.status == "FINISHED"
    assert {metric.step: metric.value for metric in kept} == pytest.approx(wanted.to_dict())


@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_takes_every_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    wanted = curves("wandb:graphs", tmp_path)
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert wandb.run is None and file.stat().st_size > 100 * len(wanted)
