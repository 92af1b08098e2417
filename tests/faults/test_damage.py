"""Files that were cut or changed since they were written, and two processes that write the same ones."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from heterophily.bench.cells import CellError, read_bundle, read_cell
from heterophily.bench.scores import CompareError, read_scores
from heterophily.studies import StudyError, read
from tests.faults.checks import content, damaged, left_beside, sums
from tests.faults.ledger import Ledger, times
from tests.faults.test_kills import cells
from tests.faults.warm import REPORT, REPRODUCE, TRAIN, Warm
from tests.studies.made import made


@pytest.fixture(scope="module")
def table(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and its bundle."""
    folder = tmp_path_factory.mktemp("table")
    assert warm.do([*REPRODUCE, "--bundle", "bundle.json"], folder).code == 0
    return folder


def flipped(content: bytes, dice: random.Random) -> bytes:
    """The same with one bit of one byte changed, in any way but one that makes no difference to JSON."""
    while True:
        place = dice.randrange(len(content))
        found = content[:place] + bytes([content[place] ^ 1 << dice.randrange(8)]) + content[place + 1 :]
        try:
            same = json.loads(found) == json.loads(content)
        except ValueError:
            return found
        if not same:
            return found


@pytest.mark.parametrize("kind", ["cut in half", "a flipped byte"])
def test_a_damaged_cell_is_set_aside_and_run_again(
    warm: Warm, table: Path, tmp_path: Path, ledger: Ledger, kind: str
) -> None:
    expected = cells(table / "results")
    with ledger.row(kind, "a cell of reproduce") as row:
        for number in range(times(2, 20)):
            dice = random.Random(number)
            folder = Path(shutil.copytree(table, tmp_path / str(number)))
            file = dice.choice(sorted((folder / "results").rglob("*/*.json")))
            whole = file.read_bytes()
            hurt = flipped(whole, dice) if kind == "a flipped byte" else whole[: len(whole) // 2]
            file.write_bytes(hurt)
            end = warm.do(REPRODUCE, folder)
            aside = file.with_name(f"{file.name}.damaged")
            found = cells(folder / "results")
            again = found.pop(file.relative_to(folder / "results").as_posix())
            opened = again["test_opened"]
            row.note(
                end.code != 0 and f"reproduce ended: {end.err}",
                "1 trained, 7 kept" not in end.err and f"not one was trained again: {end.err}",
                not (aside.exists() and aside.read_bytes() == hurt) and "the damaged file is not set aside",
                f"{aside.name}" not in end.err and "nobody was told",
                any(found[name] != expected[name] for name in found) and "another cell has changed",
                opened["earlier"][0]["by"] != "a file that cannot be read" and "the opening is not on record",
                *damaged(folder / "results"),
            )


def test_every_single_flip_of_a_cell_is_found(table: Path, tmp_path: Path, ledger: Ledger) -> None:
    whole = (table / "results/table1/texas/mlp.json").read_bytes()
    file = tmp_path / "texas" / "mlp.json"
    file.parent.mkdir()
    with ledger.row("a flipped byte", "reading a cell") as row:
        for number in range(times(300, 5000)):
            file.write_bytes(flipped(whole, random.Random(number)))
            try:
                read_cell(file)
            except CellError:
                row.note()
            else:
                row.note(f"flip {number} was not found")


def test_a_damaged_bundle_result_or_study_is_refused_by_all_who_read_it(
    table: Path, tmp_path: Path, ledger: Ledger
) -> None:
    study = made("ablation").to_text().encode()
    bundle = (table / "bundle.json").read_bytes()
    readers = {
        "a bundle": (bundle, lambda file: read_bundle(file, "table1"), CellError),
        "compare": (bundle, read_scores, CompareError),
        "a study": (study, read, StudyError),
    }
    file = tmp_path / "some.json"
    for name, (whole, reader, kind) in readers.items():
        file.write_bytes(whole)
        reader(file)
        with ledger.row("a flipped byte", f"reading {name}") as row:
            for number in range(times(20, 500)):
                dice = random.Random(number)
                file.write_bytes(flipped(whole, dice) if number % 5 else whole[: dice.randrange(len(whole))])
                with pytest.raises(kind):
                    reader(file)
                row.note()


def test_a_damaged_cell_is_left_out_of_a_report_by_name(warm: Warm, table: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(table, tmp_path / "now"))
    file = folder / "results/table1/texas/mlp.json"
    file.write_bytes(flipped(file.read_bytes(), random.Random(1)))
    assert warm.do(REPORT, folder).code == 0
    page = (folder / "report.html").read_text()
    assert "Files that were left out" in page and "texas/mlp.json" in page
    said = warm.do(["table"], folder)
    again = "`heterophily reproduce table1 --datasets texas --models mlp` sets it aside and trains it again"
    assert said.code == 2 and again in said.err


def test_a_damaged_result_does_not_hide_an_opening_of_the_test_set(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("hidden_dim = 8\nepoch = 6\n")
    command = ["evaluate", "synthetic", "--model", "mlp", "--recipe", "mine.toml", *TRAIN[4:20], "--out", "r"]
    command = [part for part in command if part not in SET]
    assert warm.do(command, tmp_path).code == 0
    file = tmp_path / "r" / "result.json"
    file.write_bytes(flipped(file.read_bytes(), random.Random(0)))
    said = warm.do(command, tmp_path)
    assert said.code == 2 and "nobody can say whether the test set was opened" in said.err
    assert warm.do([*command, "--again"], tmp_path).code == 0
    assert content(file)["test_opened"]["earlier"][0]["by"] == "a file that cannot be read"


SET = {"--set", "hidden_dim=8", "epoch=6", "patience=6"}


def test_two_processes_write_the_same_folder(warm: Warm, table: Path, tmp_path: Path, ledger: Ledger) -> None:
    expected = cells(table / "results")
    with ledger.row("two processes at once", "reproduce, one folder") as row:
        for number in range(times(2, 10)):
            folder = tmp_path / f"table {number}"
            folder.mkdir()
            job = {"args": REPRODUCE, "folder": str(folder)}
            ends = warm.together(job, job)
            found = cells(folder / "results")
            row.note(
                *(end.code != 0 and f"one ended: {end.err}" for end in ends),
                found != expected and "the table is another",
                *damaged(folder),
                *left_beside(folder),
            )


def test_two_results_for_one_folder_never_mix(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """All files that lie there in the end are of the same run."""
    with ledger.row("two processes at once", "train, one folder") as row:
        for number in range(times(3, 10)):
            folder = tmp_path / str(number)
            folder.mkdir()
            jobs = [
                {"args": [*TRAIN, "--out", "result", "--seed", str(seed)], "folder": str(folder)}
                for seed in range(3)
            ]
            ends = warm.together(*jobs)
            result = json.loads((folder / "result" / "result.json").read_text())
            there = sums(folder / "result")
            row.note(
                *(end.code != 0 and f"one ended: {end.err}" for end in ends),
                any(there[name] != s for name, s in result["files"].items()) and "two results are mixed",
                *damaged(folder),
                *left_beside(folder),
            )
