"""What makes the command pleasant: doctor, completion, did-you-mean, quiet, verbose, colors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from heterophily import __version__
from heterophily.bench import doctor
from heterophily.cli import app, names
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from tests.command import GRAPH, Ask, heterophily

TRAIN = ["train", "synthetic", *GRAPH, "--model", "mlp", "--set", "epoch=3", "--device", "cpu"]


def test_the_version_tells_what_it_runs_on(ask: Ask) -> None:
    answer = ask("--version")
    first, versions, device = answer.out.splitlines()
    assert answer.code == 0 and first == f"heterophily {__version__}"
    assert f"torch {torch.__version__}" in versions and "Python 3" in versions
    assert device.startswith("device: cuda" if torch.cuda.is_available() else "device: cpu")


# Doctor


def test_on_a_sound_machine_the_doctor_finds_all_well_and_a_model_trains(ask: Ask) -> None:
    answer = ask("doctor")
    assert answer.code == 0 and answer.out.endswith("All is well.\n")
    for name in ("python", "packages", "gpu", "data", "cache", "a training: HDP on 200 nodes"):
        assert name in answer.out


def test_the_doctor_names_what_is_broken_with_its_mend_and_exits_with_three(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HETEROPHILY_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path / "file" / "cache"))
    answer = ask("doctor", "--json")
    assert answer.code == app.FOUND
    content = json.loads(answer.out)
    broken = {check["name"]: check for check in content["checks"] if check["state"] == "broken"}
    assert not content["well"] and set(broken) == {"data", "cache"}
    assert "unset HETEROPHILY_DATA" in broken["data"]["mend"]
    assert "HETEROPHILY_CACHE" in broken["cache"]["mend"]


def test_the_doctor_counts_the_datasets_of_the_data_folder(data_folder: Path) -> None:
    check = doctor.data_folder()
    assert check.state == "fine" and "texas" in check.fact and str(data_folder) in check.fact


def test_an_old_package_is_told_with_the_command_that_renews_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"torch": "2.1.0+cpu", "rich": "15.0"}
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ["torch>=2.11", "rich>=13.8"])
    monkeypatch.setattr("importlib.metadata.version", known.__getitem__)
    check = doctor.packages()
    assert check.state == "broken" and check.fact == "torch 2.1.0+cpu is older than 2.11"
    assert check.mend == "pip install --upgrade torch"


def test_one_look_that_fails_does_not_end_the_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> doctor.Check:
        raise OSError("no more")

    monkeypatch.setattr(doctor, "gpu", fails)
    monkeypatch.setattr(doctor, "a_training", lambda: doctor.Check("a training", "done"))
    checks = list(doctor.examine())
    assert [check.name for check in checks if check.state == "broken"] == ["fails"]
    assert checks[-1].name == "a training"


# Completion and did-you-mean


def test_completion_knows_every_model_and_dataset_without_importing_them() -> None:
    assert names.models("") == list(MODELS)
    assert names.datasets("") == ["synthetic", *DATASETS]
    assert names.datasets("tex") == ["texas"] and names.models("glo") == ["glognn", "glognn-plus"]


@pytest.mark.parametrize(
    "words, wanted",
    [("heterophily do", "doctor"), ("heterophily train roman", "roman-empire"),
     ("heterophily train texas --model acmii-gcn-", "acmii-gcn-plus")],
)  # fmt: skip
def test_the_shell_completes_commands_datasets_and_models(words: str, wanted: str) -> None:
    asked = {"_HETEROPHILY_COMPLETE": "complete_bash", "COMP_WORDS": words}
    asked["COMP_CWORD"] = str(len(words.split()) - 1)
    out, _ = heterophily(**asked).communicate(timeout=60)
    assert out.split() == [wanted]


def test_a_shell_is_told_how_to_complete() -> None:
    """The script that --install-completion gives to a shell; which shell that is it finds by itself."""
    process = heterophily(_HETEROPHILY_COMPLETE="source_bash")
    out, _ = process.communicate(timeout=60)
    assert "_HETEROPHILY_COMPLETE=complete_bash" in out


@pytest.mark.parametrize(
    "args, line",
    [
        (["trian", "texas"], "Did you mean 'train'?"),
        (["train", "texas", "--spilt", "3"], "--split"),
        (["study", "partitoin"], "did you mean 'partition'?"),
        (["train", "synthetic", "--graph", "homofily=0.1"], "did you mean 'homophily'?"),
        ([*TRAIN, "--set", "dropuot=0.1"], "did you mean 'dropout'?"),
        (["table", "--format", "markdwon"], "did you mean 'markdown'?"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(ask: Ask, args: list[str], line: str) -> None:
    answer = ask(*args)
    assert answer.code == app.MISTAKE and line in answer.err and answer.out == ""


# Quiet, verbose, colors


def test_quiet_says_nothing_but_results_and_errors(ask: Ask) -> None:
    loud = ask(*TRAIN, "--out", "first")
    quiet = ask(*TRAIN, "--out", "second", "--quiet")
    assert "wrote" in loud.err and quiet.err == "" and "wrote" not in loud.out
    assert quiet.out.splitlines()[-1] == loud.out.splitlines()[-1]
    assert ask("--quiet", "train", "texass").err.startswith("error: ")


def test_verbose_tells_what_it_runs_on_and_where_an_error_arose(ask: Ask) -> None:
    answer = ask("-v", "train", "texass")
    assert answer.code == app.MISTAKE
    assert f"torch {torch.__version__}" in answer.err and "Traceback" in answer.err
    assert answer.err.splitlines()[-1].startswith("error: there is no dataset")
    assert "Traceback" not in ask("train", "texass").err


def test_quiet_and_verbose_at_once_are_refused_and_neither_is_read_after_two_dashes(ask: Ask) -> None:
    assert "can't be both" in ask("models", "-q", "-v").err
    assert "-q" in ask("models", "--", "-q").err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("plain", [False, True])
def test_colors_are_for_terminals_that_want_them(plain: bool) -> None:
    _, piped = heterophily("trian").communicate(timeout=60)
    assert "error: No such command" in piped and "\x1b" not in piped
    import pty

    screen, child = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    env |= {"TERM": "xterm", "COLUMNS": "80"} | ({"NO_COLOR": "1"} if plain else {})
    with subprocess.Popen(
        [sys.executable, "-m", "heterophily", "trian"], stderr=child, stdout=child, env=env
    ):
        os.close(child)
        seen = os.read(screen, 4096)
    os.close(screen)
    assert b"error: No such command" in seen and (b"[1;31m" in seen) == (not plain)
