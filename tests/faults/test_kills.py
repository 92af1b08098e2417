"""kill -9 at any moment: what was finished stays, and the same command goes on."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from heterophily import folder as folders
from tests.bench.nursery import ROOT, finished
from tests.command import heterophily
from tests.faults.checks import content, damaged, left_beside, sums
from tests.faults.ledger import Ledger, times
from tests.faults.warm import REPORT, REPRODUCE, TRAIN, TUNE, Warm

KILLED = -signal.SIGKILL
KILL = "kill -9"


def moments(seconds: float, seed: str) -> Any:
    """Random moments within the time that a command takes."""
    dice = random.Random(seed)
    while True:
        yield dice.uniform(0, seconds)


def test_train(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """An earlier result is there; at any moment each file is the old or the new one, and none is half."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, seed in ((old, "0"), (new, "1")):
        folder.mkdir()
        took = warm.do([*TRAIN, "--out", "result", "--seed", seed], folder)
        assert took.code == 0, took.err
    predictions = [sums(folder)["result/predictions.csv"] for folder in (old, new)]
    results = [content(folder / "result" / "result.json") for folder in (old, new)]
    with ledger.row(KILL, "train, over an earlier result") as row:
        when = moments(took.seconds, "train")
        while row.tried < times(4, 50):
            folder = Path(shutil.copytree(old, tmp_path / "now"))
            command = [*TRAIN, "--out", "result", "--seed", "1"]
            if warm.do(command, folder, kill=next(when)).code == KILLED:
                there = sums(folder)["result/predictions.csv"]
                row.note(
                    *damaged(folder),
                    there not in predictions and "predictions.csv is neither the old nor the new one",
                    content(folder / "result" / "result.json") not in results and "result.json is neither",
                    (again := warm.do(command, folder)).code != 0 and f"the next command ended: {again.err}",
                    content(folder / "result" / "result.json") != results[1] and "the end is another",
                    sums(folder)["result/predictions.csv"] != predictions[1] and "the predictions differ",
                    *left_beside(folder),
                )
            shutil.rmtree(folder)


def test_train_into_a_new_folder_goes_on_whichever_file_was_the_last_to_arrive(
    warm: Warm, tmp_path: Path, ledger: Ledger
) -> None:
    """A folder with predictions.csv and without result.json would be taken for the user's own."""
    with ledger.row(KILL, "train, between two files of a result") as row:
        for n in range(1, times(3, 12)):
            folder = tmp_path / str(n)
            folder.mkdir()
            command = [*TRAIN, "--out", "result"]
            at = {"calls": ["pathlib.Path.replace", "os.fsync"], "n": n, "signal": "SIGKILL"}
            first, again = warm.do(command, folder, at=at), warm.do(command, folder)
            row.note(
                first.code not in (KILLED, 0) and f"odd end {first.code}",
                again.code != 0 and f"the next command ended: {again.err}",
                *damaged(folder),
                *left_beside(folder),
            )


def test_tune(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """Killed until it is complete, a study ends as one never killed, and no trial is lost on the way."""
    whole = tmp_path / "whole"
    whole.mkdir()
    took = warm.do(TUNE, whole)
    assert took.code == 0, took.err
    study = "tuning/synthetic-mlp/study.db"
    expected = finished(whole / study)
    with ledger.row(KILL, "tune") as row:
        when, round = moments(0.9 * took.seconds, "tune"), 0
        while row.tried < times(3, 50):
            round += 1
            folder = tmp_path / f"study {round}"
            folder.mkdir()
            before: dict[int, Any] = {}
            while row.tried < times(3, 50):
                if warm.do(TUNE, folder, kill=next(when)).code != KILLED:
                    break
                done = so_far(folder / study)
                lost = [f"the trial at place {p} is gone" for p, t in before.items() if done.get(p) != t]
                row.note(*lost, *damaged(folder))
                before = done
                if len(done) == len(expected) and row.tried % 3 == 0:
                    break  # enough of what comes after the search
            end = warm.do(TUNE, folder)
            if end.code or finished(folder / study) != expected:
                row.lost.append(f"study {round} ended otherwise: {end.err}")
            shutil.rmtree(folder)


def so_far(file: Path) -> dict[int, Any]:
    """The finished trials of a study by their place; none where it has not begun."""
    from heterophily.bench.samplers import FINISHED
    from heterophily.bench.storage import open_storage, open_study, places, shut

    if not file.exists():
        return {}
    storage = open_storage(file)
    trials = places(open_study(storage, "synthetic-mlp").get_trials(deepcopy=False))
    shut(storage)
    return {place: (t.params, t.value) for place, t in trials.items() if t.state in FINISHED}


def test_reproduce(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """Cells that were there before a kill are the same after it, and are kept by the next command."""
    whole = tmp_path / "whole"
    whole.mkdir()
    took = warm.do(REPRODUCE, whole)
    assert took.code == 0, took.err
    expected = cells(whole)
    assert len(expected) == 8
    with ledger.row(KILL, "reproduce") as row:
        when, round = moments(0.6 * took.seconds, "reproduce"), 0
        while row.tried < times(3, 50):
            round += 1
            folder = tmp_path / f"table {round}"
            folder.mkdir()
            before: dict[str, str] = {}
            for _ in range(4):
                if warm.do(REPRODUCE, folder, kill=next(when)).code == KILLED:
                    now = sums(folder)
                    row.note(
                        *damaged(folder), *(f"{n} is gone" for n, s in before.items() if now.get(n) != s)
                    )
                    before = {
                        name: s for name, s in now.items() if name.endswith(".json") and "/." not in name
                    }
            there = len(cells(folder))
            end = warm.do(REPRODUCE, folder)
            kept = f"{there} kept" if there else ""
            if end.code or cells(folder) != expected or kept not in end.err:
                row.lost.append(f"round {round} ended otherwise ({kept} expected): {end.err}")
            row.lost += left_beside(folder)


def cells(folder: Path) -> dict[str, Any]:
    files = (file for file in folder.rglob("*/*.json") if not file.parent.name.startswith("."))
    return {file.relative_to(folder).as_posix(): content(file) for file in files}


def test_report(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """The page is the old one or the new one."""
    assert warm.do(REPRODUCE, tmp_path).code == 0
    page = tmp_path / "report.html"
    took = warm.do(REPORT, tmp_path)
    assert took.code == 0
    new = page.read_text()
    old = new.replace("</html>", "<!-- of yesterday --></html>")
    with ledger.row(KILL, "report") as row:
        when = moments(took.seconds, "report")
        while row.tried < times(4, 50):
            page.write_text(old)
            if warm.do(REPORT, tmp_path, kill=next(when)).code == KILLED:
                row.note(page.read_text() not in (old, new) and "the page is neither the old nor the new one")
        end = warm.do(REPORT, tmp_path)
        if end.code or page.read_text() != new:
            row.lost.append(f"the last command ended otherwise: {end.err}")
        row.lost += left_beside(tmp_path)


@pytest.mark.parametrize("command", ["train", "tune", "report"][: times(1, 3)])
def test_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, ledger: Ledger
) -> None:
    """The same with real processes, from the shell's first moment on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    args = {"train": [*TRAIN, "--out", "result"], "tune": TUNE, "report": REPORT}[command]
    env = {"PYTHONPATH": str(ROOT), "HETEROPHILY_CACHE": str(tmp_path)}

    def ran(kill: float | None = None) -> tuple[int, float, str]:
        start = time.perf_counter()
        process = heterophily(*args, **env)
        if kill is not None:
            time.sleep(kill)
            process.kill()
        _, said = process.communicate()
        return process.returncode, time.perf_counter() - start, said

    with ledger.row(KILL, f"{command}, a process of its own") as row:
        when = moments(6.0, command)
        while row.tried < times(1, 2):
            if ran(next(when))[0] == KILLED:
                code, _, said = ran()
                row.note(
                    *damaged(tmp_path),
                    code != 0 and f"the next command ended: {said}",
                    *left_beside(tmp_path),
                )


def test_a_model_folder(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """The folder of a model is the old one or the new one, also when the kill comes between two renames."""
    with ledger.row(KILL, "save, over an earlier model") as row:
        for n in range(1, times(9, 16)):
            folder = tmp_path / str(n)
            folder.mkdir()
            assert warm.do([], folder, save="mlp").code == 0
            at = {"calls": ["pathlib.Path.replace", "os.fsync"], "n": n, "signal": "SIGKILL"}
            first = warm.do([], folder, save="gcn", at=at)
            try:
                found = folders.read(folder / "model").model
            except ValueError as error:
                found = str(error)
            row.note(
                first.code not in (KILLED, 0) and f"odd end {first.code}",
                found not in ("mlp", "gcn") and f"no model can be read: {found}",
                warm.do([], folder, save="gcn").code != 0 and "the model cannot be saved again",
                folders.read(folder / "model").model != "gcn" and "the model saved last is another",
                *left_beside(folder),
            )
