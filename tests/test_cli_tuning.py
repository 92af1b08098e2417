"""Tuning and evaluating on the command line: forecasts, studies that go on, recipes, closed test labels."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
from pathlib import Path
from threading import Timer
from typing import Any

import matplotlib.image
import optuna
import pandas as pd
import pytest

from heterophily.bench import storage, tuning
from heterophily.cli.options import seconds_of
from heterophily.estimator import make_classifier
from heterophily.files import unsealed
from heterophily.recipes import chosen, recipe
from heterophily.show import progress
from heterophily.show.tuning_words import duration
from tests.command import GRAPH, Ask, heterophily, read

MLP = ["synthetic", *GRAPH, "--model", "mlp"]
QUICK = ["--set", "epoch=4", "--batch", "3", "--device", "cpu"]
TUNE = ["tune", *MLP, *QUICK, "--trials", "6"]
FOLDER = Path("tuning/synthetic-mlp")


def test_a_dry_run_says_what_it_takes_and_leaves_nothing_behind(ask: Ask, tmp_path: Path) -> None:
    answer = ask(*TUNE, "--dry-run")
    assert answer.code == 0 and answer.err == ""
    words = r"forecast: 18 runs of some 4 epochs, about \d+ s, about [\d.]+ GB of memory; .*\n"
    assert re.fullmatch(words, answer.out)
    expected = json.loads(ask(*TUNE, "--dry-run", "--json").out)["forecast"]
    assert expected["runs"] == 18 and expected["seconds"] > 0 and expected["memory"] > 10**8
    assert not list(tmp_path.iterdir())


def test_a_race_takes_less_by_its_forecast_and_says_whom_it_left_behind(ask: Ask) -> None:
    race = ["tune", *MLP, "--set", "epoch=100", "--batch", "16", "--trials", "16", "--device", "cpu"]
    whole, raced = (
        json.loads(ask(*race, *more, "--dry-run", "--json").out)["forecast"] for more in ([], ["--race"])
    )
    assert whole["runs"] == 48 and whole["epochs"] == 100
    assert raced["runs"] == 16 + 4 + 3 * 1, "a quarter goes on from each rung, to all three splits at last"
    assert raced["epochs"] == pytest.approx((16 * 20 + 4 * 80 + 3 * 100) / 23)
    answer = ask(*race, "--race")
    assert answer.code == 0
    told = (
        r"(1\d) of the 16 trials were dropped, most of them after 20 or 80 epochs on one split, where they "
    )
    found = re.search(told + r"were not among the best 25 %; that spared (\d+) % of the runs", answer.out)
    assert found and int(found[2]) == round(100 * int(found[1]) / 16)


def test_a_study_leaves_recipe_trials_plots_and_summary_and_goes_on(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(*TUNE)
    assert first.code == 0
    assert first.err.startswith("forecast: 18 runs")
    assert {file.name for file in FOLDER.iterdir()} >= {
        "recipe.toml", "trials.csv", "history.png", "slices.png", "parallel.png", "summary.md", "study.db",
    }  # fmt: skip
    assert "Left out for want of trials: importance.png" in first.out
    assert not (FOLDER / "importance.png").exists()
    assert first.out.strip() == (FOLDER / "summary.md").read_text(encoding="utf-8").strip()
    for words in (
        "Best validation accuracy",
        "the defaults.",
        "heterophily evaluate synthetic --recipe tuning",
    ):
        assert words in first.out
    for name in ("history", "slices", "parallel"):
        assert matplotlib.image.imread(FOLDER / f"{name}.png").shape[0] > 500
    trials = pd.read_csv(FOLDER / "trials.csv")
    assert list(trials["number"]) == list(range(6)) and set(trials["state"]) == {"complete"}

    # The same command trains nothing: not even the defaults, whose score the study remembers.
    def trained(*_: Any, **__: Any) -> None:
        raise AssertionError("something was trained")

    with monkeypatch.context() as patch:
        for place in ("tuning", "forecast", "findings"):
            patch.setattr(f"heterophily.bench.{place}.train_runs", trained)
        again = ask(*TUNE)
    assert again.code == 0 and again.out == first.out
    assert "the study synthetic-mlp has its 6 trials; nothing is left to train" in again.err

    # With more trials it goes on after those it has.
    result = json.loads(ask(*TUNE[:-1], "9", "--json").out)
    after = pd.read_csv(FOLDER / "trials.csv")
    assert result["trials"] == len(after) == 9 and result["test_opened"] is False
    pd.testing.assert_frame_equal(after[:6], trials)
    (study,) = optuna.get_all_study_summaries(f"sqlite:///{FOLDER}/study.db")
    assert study.n_trials == 9

    # A study is of one task.
    other = ask(*TUNE, "--space", "dropout=0.1:0.2")
    assert other.code == 2 and "with another space" in other.err


def test_what_a_study_chose_is_what_train_evaluate_and_the_estimator_take(ask: Ask) -> None:
    found = json.loads(ask(*TUNE, "--seed", "3", "--json").out)
    file = FOLDER / "recipe.toml"
    text = file.read_text(encoding="utf-8")
    for words in (
        "synthetic-mlp",
        "trials: 6",
        "sampler: tpe, seed 3",
        "torch",
        "test labels were not opened",
    ):
        assert words in text
    assert repr(found["validation"]) in text
    said = chosen("mlp", "synthetic", file)
    assert (said.by, said.splits, said.trials) == ("searched", 3, 6)
    assert said.validation == round(found["validation"], 4)
    settings = recipe("mlp", "synthetic", file)
    assert {n: v for n, v in found["config"].items() if n in settings} == settings
    model = type(make_classifier("mlp")).from_recipe("synthetic", source=file, dropout=0.1)
    assert model.config.to_dict() == found["config"] | {"dropout": 0.1}

    run = ["--recipe", file, "--split", "all", "--seed", "3", "--json", "--device", "cpu"]
    trained = json.loads(ask("train", *MLP, *run).out)
    validation = sum(row["validation"] for row in trained["splits"]) / 3
    assert validation == pytest.approx(found["validation"], abs=1e-9)
    assert "test_opened" not in trained
    judged = json.loads(ask("evaluate", "synthetic", *GRAPH, *run).out)
    assert judged["model"] == "mlp" and judged["mean"] == trained["mean"]
    refused = ask("train", "synthetic", *GRAPH, "--recipe", file)
    assert refused.code == 2 and "is for the model mlp, not hdp" in refused.err


def test_the_study_chooses_without_a_test_label(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("a test label was opened")

    monkeypatch.setattr("heterophily.bench.protocol.open_score", opened)
    assert ask(*TUNE, "--time", "1h", "--sampler", "anneal", "--storage", "elsewhere.journal").code == 0
    assert not (FOLDER / "study.db").exists()


def test_hdp_is_tuned_in_two_steps_and_says_so(ask: Ask) -> None:
    small = ["--set", "epoch_init=3", "--set", "hidden_dim=8", "--set", "embedding_dim=4"]
    small += ["--space", "layers_ht=0:2", "--space", "hops=1,2", "--split", "0,2"]
    command = ["tune", "synthetic", *GRAPH, *QUICK, *small, "--trials", "3"]
    answer = ask(*command)
    assert answer.code == 0
    steps = "HDP is tuned in two steps, its initial assignment first: studies synthetic-hdp-initial and"
    assert steps in answer.err and "the initial assignment was tuned by itself" in answer.out
    trials = pd.read_csv("tuning/synthetic-hdp/trials.csv")
    assert list(trials["study"].unique()) == ["synthetic-hdp-initial", "synthetic-hdp"]
    assert set(trials["hops"].dropna()) <= {1, 2} and set(trials["layers_ht"].dropna()) <= {0, 1, 2}
    assert (Path("tuning/synthetic-hdp") / "initial-history.png").exists()
    # More trials leave the first study as it is: the second was begun with what it found.
    more = json.loads(ask(*command[:-1], "6", "--json").out)
    assert (more["trials"], more["initial"]["trials"]) == (6, 3)
    assert more["config"]["hops"] == more["initial"]["config"]["hops"]


@pytest.mark.parametrize(
    "args, sentence",
    [
        (["--space", "dropout"], "--space takes KEY=VALUE, such as --space dropout=0.2,0.5,0.8; not"),
        (["--space", "dropout=0.5:0.2"], "LOW:HIGH takes two numbers, the lower first"),
        (["--model", "hdp-init", "--space", "rescale=1:2"], "does not read rescale"),
        (["--start", "nothing.toml"], "nothing.toml"),
        (["--space", "dropout=a:b"], "dropout must be a number"),
        (["--space", "dropout=0.5,2"], "dropout must be below 1"),
        (["--space", "dropuot=0.5,0.6"], "did you mean 'dropout'"),
        (["--space", "epoch=3,4"], "--set and --space both name epoch"),
        (["--time", "20"], "--time takes a time such as 90s, 20m or 1h30m; not '20'"),
        (["--time", "0m"], "--time takes"),
        (["--sampler", "tbe"], "there is no sampler 'tbe'; did you mean 'tpe'? The samplers are tpe, anneal"),
        (["--sampler", "grid", "--space", "dropout=0.1:0.2"], "a grid needs values, but dropout is any"),
        (["--split", "7"], "synthetic has no split 7"),
        (["--trials", "0"], "--trials"),
        (["--batch", "0"], "--batch"),
        (["--model", "majority"], "MajorityConfig has no field 'epoch'"),
        (["--storage", "oracle://a:b@c/d"], "oracle"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(ask: Ask, args: list[str], sentence: str) -> None:
    answer = ask(*TUNE, *args)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ") and answer.err.count("\n") == 1 and sentence in answer.err


def test_times_are_read_and_said() -> None:
    assert [seconds_of(text) for text in ("90s", "20m", "1h30m", "2H")] == [90, 1200, 5400, 7200]
    said = [duration(seconds) for seconds in (0.1, 80, 1200, 5400, 7200, 200_000)]
    assert said == ["1 s", "80 s", "20 min", "1 h 30 min", "2 h", "2 d 7 h"]


def test_a_forecast_counts_what_is_left(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(*TUNE[:-1], "3").code == 0
    assert json.loads(ask(*TUNE, "--dry-run", "--json").out)["forecast"]["runs"] == 9
    assert storage.finished(FOLDER / "study.db", "synthetic-mlp") == 3
    assert storage.finished(FOLDER / "study.db", "another") is None


# Ctrl-C

SLOW = ["tune", *MLP, "--batch", "2", "--trials", "40", "--device", "cpu"]
SLOW += ["--set", "patience=100000", "--set", "hidden_dim=16", "--set", "epoch=100"]


def test_ctrl_c_ends_after_the_batch_and_says_how_to_go_on(ask: Ask, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    screen, stderr = pty.openpty()
    process = heterophily(*SLOW, "--out", tmp_path / "out", stderr=stderr, COLUMNS="200")
    os.close(stderr)
    rescue = Timer(120, process.kill)
    rescue.start()
    seen, told = "", False
    for text in read(screen):
        seen += text
        if not told and re.search(
            r"/40 trials · 0 dropped · best validation [\d.]+ · [\d,.]+ a minute", seen
        ):
            process.send_signal(signal.SIGINT)
            told = True
    rescue.cancel()
    os.close(screen)
    process.communicate(timeout=60)
    assert told and process.returncode == 130 and "Traceback" not in seen
    hint = "ends after this batch (Ctrl-C again: at once); the same command goes on from there"
    assert hint in " ".join(seen.split()) and seen.rstrip().endswith("stopped")
    trials = pd.read_csv(tmp_path / "out" / "trials.csv")
    assert 2 <= len(trials) < 40 and len(trials) % 2 == 0
    study = optuna.load_study(study_name="synthetic-mlp", storage=f"sqlite:///{tmp_path}/out/study.db")
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    after = ask(*SLOW, "--trials", str(len(trials)), "--out", tmp_path / "out")
    assert after.code == 0 and "nothing is left to train" in after.err


def press(monkeypatch: pytest.MonkeyPatch, epochs: int, times: int) -> None:
    """Press Ctrl-C so many times in some epoch that a study trains."""
    count = itertools.count(1)

    def watch(self: progress.FollowStudy, epoch: Any) -> None:
        if next(count) == epochs:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(progress.FollowStudy, "__call__", watch)


def test_ctrl_c_twice_ends_at_once_and_loses_nothing_finished(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        press(patch, 9 * 4 + 2, 2)  # a batch is nine runs of four epochs, one after the other or together
        stopped = ask(*TUNE, "--trials", "60")
    assert (stopped.code, stopped.out) == (130, "")
    assert "nothing finished is lost" in stopped.err and stopped.err.endswith("stopped\n")
    finished = storage.finished(FOLDER / "study.db", "synthetic-mlp")
    assert finished and finished % 3 == 0 and not (FOLDER / "recipe.toml").exists()


def test_ctrl_c_in_the_first_of_two_studies_begins_no_second(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["tune", "synthetic", *GRAPH, *QUICK, "--set", "epoch_init=3", "--trials", "6"]
    with monkeypatch.context() as patch:
        press(patch, 2, 1)
        stopped = ask(*command)
    assert (stopped.code, stopped.out) == (130, "") and "ends after this batch" in stopped.err
    assert storage.finished("tuning/synthetic-hdp/study.db", "synthetic-hdp-initial") == 3
    assert storage.finished("tuning/synthetic-hdp/study.db", "synthetic-hdp") is None


# Evaluating

EVALUATE = ["evaluate", "synthetic", *GRAPH, "--device", "cpu", "--recipe"]


def written(folder: Path) -> Any:
    """The result in a folder, without what makes sure of its files."""
    found = unsealed(json.loads((folder / "result.json").read_text(encoding="utf-8")))
    return {name: value for name, value in found.items() if name != "files"}


def test_evaluate_records_the_opening_and_refuses_a_second_for_another_setting(ask: Ask) -> None:
    Path("one.toml").write_text('model = "mlp"\nepoch = 4\n')
    Path("two.toml").write_text('model = "mlp"\nepoch = 5\n')
    first = ask(*EVALUATE, "one.toml", "--json")
    folder = Path("evaluation/synthetic-mlp")
    result = written(folder)
    assert first.code == 0 and result == json.loads(first.out)
    assert [row["split"] for row in result["splits"]] == [0, 1, 2]
    record = result["test_opened"]
    assert (record["by"], record["recipe"]) == ("evaluate", "one.toml") and len(record["setting"]) == 64
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record["at"])

    # The same setting again is no choice, though other seeds are recorded; another is.
    same = json.loads(ask(*EVALUATE, "one.toml", "--seeds", "2", "--json").out)
    assert same["test_opened"]["setting"] == record["setting"] and "again" not in same["test_opened"]
    assert same["test_opened"]["seeds"] == 2 and same["test_opened"]["earlier"] == [record]
    refused = ask(*EVALUATE, "two.toml")
    assert (refused.code, refused.out) == (2, "") and "opened for another setting, by evaluate" in refused.err
    assert written(folder) == same
    again = json.loads(ask(*EVALUATE, "two.toml", "--again", "--json").out)["test_opened"]
    assert again["again"] and [one["seeds"] for one in again["earlier"]] == [1, 2]
    assert ask(*EVALUATE, "two.toml", "--out", "elsewhere").code == 0
    kept = json.loads(ask(*EVALUATE, "two.toml", "--json").out)["test_opened"]
    assert kept["earlier"] == again["earlier"]


def test_what_train_has_opened_counts_as_opened(ask: Ask) -> None:
    Path("one.toml").write_text("epoch = 4\n")
    assert ask("train", *MLP, "--set", "epoch=5", "--out", "mine").code == 0
    refused = ask(*EVALUATE, "one.toml", "--model", "mlp", "--out", "mine")
    assert refused.code == 2 and "opened for another setting, by train" in refused.err
    assert ask("train", *MLP, "--set", "epoch=4", "--out", "mine").code == 0
    assert ask(*EVALUATE, "one.toml", "--model", "mlp", "--out", "mine").code == 0
    (Path("mine") / "result.json").write_text("{}")
    assert "nobody can say" in ask(*EVALUATE, "one.toml", "--model", "mlp", "--out", "mine").err


def test_evaluate_needs_a_recipe(ask: Ask) -> None:
    assert "--recipe" in ask("evaluate", "synthetic", *GRAPH).err
    assert "recipes/hdp.toml has no recipe for synthetic" in ask(*EVALUATE, "paper").err


def test_tune_is_public() -> None:
    import heterophily as package

    assert package.tune is tuning.tune
