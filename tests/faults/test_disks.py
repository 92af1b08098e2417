"""Disks that are full, and folders that may not be written to: a sentence, and nothing of before is lost."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.nursery import finished
from tests.faults.checks import content, damaged, left_beside, sums
from tests.faults.ledger import LEDGER, Ledger, Row, times
from tests.faults.warm import REPORT, REPRODUCE, TRAIN, TUNE, Warm

COMMANDS = {
    "train": [*TRAIN, "--out", "out/result", "--seed", "1"],
    "tune": [*TUNE, "--out", "out/tuning"],
    "reproduce": [*REPRODUCE, "--out", "out/results"],
    "tune, in a journal": [*TUNE, "--out", "out/tuning", "--storage", "out/tuning/study.journal"],
    "report": [*REPORT, "--out", "out/report.html"],
}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder with a disk of its own, of half a MiB."""
    folder = tmp_path / "out"
    folder.mkdir()
    said = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k,mode=777", "tmpfs", folder], capture_output=True, text=True
    )
    if said.returncode:
        why = f"not tried: {said.stderr.strip()}"
        LEDGER.rows.append(Row("a full disk", "all commands", said=why))
        pytest.skip(f"no small disk can be mounted here: {said.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def filled(folder: Path, left: int) -> Path:
    """Fill a disk up to some bytes."""
    file = folder / "filling"
    with file.open("wb") as stream:
        free = os.statvfs(folder)
        stream.write(b"x" * max(free.f_bavail * free.f_frsize - left, 0))
    return file


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(warm: Warm, small: Path, tmp_path: Path, ledger: Ledger, name: str) -> None:
    """However much room was left: the command says so in a line, and with room again it goes on."""
    (tmp_path / "results").mkdir()
    before = [*TRAIN, "--out", "out/result"]
    assert warm.do(before, tmp_path).code == 0
    kept = sums(small / "result")
    with ledger.row("a full disk", name) as row:
        rooms = [0, 8, 40, 160][:: times(2, 1)]
        for room in rooms:
            for file in set(small.rglob("*")) - set((small / "result").rglob("*")) - {small / "result"}:
                if file.is_file():
                    file.unlink()
            filling = filled(small, room * 1024)
            end = warm.do(COMMANDS[name], tmp_path)
            now = sums(small / "result")
            row.note(
                end.code not in (0, 2) and f"with {room} KiB it ended with {end.code}: {end.err}",
                end.code == 2 and not told(end.err, "space", "full", "i/o") and f"no word of it: {end.err}",
                (name != "train" or end.code == 2) and now != kept and "the result of before has changed",
                *damaged(small / "result"),
                *(damaged(small) if "tune" not in name else []),
            )
            filling.unlink()
            again = warm.do(COMMANDS[name], tmp_path)
            row.lost += [f"with room again it ended: {again.err}"] if again.code else []
            row.lost += [*damaged(small), *left_beside(small)]
            study = "study.journal" if "journal" in name else "study.db"
            if "tune" in name and len(finished(small / "tuning" / study)) != 12:
                row.lost.append("the study is not complete")
            if name == "train":
                assert warm.do(before, tmp_path).code == 0
                kept = sums(small / "result")


def told(said: str, *words: str) -> bool:
    """Whether one line of error says one of the words, without a traceback."""
    return "Traceback" not in said and any(word in said.lower() for word in words)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_quota(warm: Warm, tmp_path: Path, ledger: Ledger, name: str) -> None:
    """ulimit -f: no file may grow beyond some bytes."""
    (tmp_path / "results").mkdir()
    assert warm.do([*TRAIN, "--out", "out/result"], tmp_path).code == 0
    kept = sums(tmp_path / "out" / "result")
    with ledger.row("ulimit -f", name) as row:
        for size in [0, 1000, 5000, 20_000][:: times(2, 1)]:
            end = warm.do(COMMANDS[name], tmp_path, file_size=size)
            now = sums(tmp_path / "out" / "result")
            row.note(
                end.code not in (0, 2) and f"with {size} bytes it ended with {end.code}: {end.err}",
                (name != "train" or end.code == 2) and now != kept and "the result of before has changed",
                *damaged(tmp_path / "out" / "result"),
            )
        again = warm.do(COMMANDS[name], tmp_path)
        row.lost += [f"without the limit it ended: {again.err}"] if again.code else []
        row.lost += [*damaged(tmp_path), *left_beside(tmp_path)]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_may_only_be_read(warm: Warm, public: Path, ledger: Ledger, name: str) -> None:
    """Said before anything is trained; root, who may write anywhere, becomes nobody for it."""
    tmp_path, out = public, public / "out"
    (tmp_path / "results").mkdir()
    assert warm.do([*TRAIN, "--out", "out/result"], tmp_path).code == 0
    assert "tune" not in name or warm.do(COMMANDS[name], tmp_path).code == 0
    for file in (*out.rglob("*"), out):
        file.chmod(0o555 if file.is_dir() else 0o444)
    kept = sums(out)
    with ledger.row("a read-only folder", name) as row:
        for _ in range(times(1, 3)):
            end = warm.do(COMMANDS[name], tmp_path, nobody=True)
            row.note(
                end.code != 2 and f"it ended with {end.code}: {end.err}",
                not told(end.err, "permission denied", "readonly", "read-only")
                and f"no word of it: {end.err}",
                sums(out) != kept and "the result of before has changed",
            )
        for file in (out, *out.rglob("*")):
            file.chmod(0o755 if file.is_dir() else 0o644)
        again = warm.do(COMMANDS[name], tmp_path)
        row.lost += [f"with the right to write it ended: {again.err}"] if again.code else []
        row.lost += damaged(tmp_path)
    assert content(out / "result" / "result.json")
