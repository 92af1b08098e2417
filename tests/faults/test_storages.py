"""Studies in trouble: a server that goes away, a frozen worker, a clock that jumps, a crowd of workers."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.nursery import WRITES, Nursery, finished
from tests.bench.postgres import Server
from tests.faults.checks import content, damaged, left_beside
from tests.faults.ledger import Ledger, times
from tests.faults.test_kills import cells
from tests.faults.warm import REPRODUCE, TRAIN, TUNE, Warm

STOPPED = -19


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="no PostgreSQL driver: pip install 'heterophily[postgresql]'")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        yield server
        server.stop()


def job(storage: str | Path, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    arguments = {"storage": str(storage), "trials": 16, "sampler": "random", "splits": [0]} | more
    return {"arguments": arguments, "steps": list(steps)}


def test_postgresql_is_stopped_and_started_in_the_middle_of_a_study(
    warm: Warm, server: Server, tmp_path: Path, ledger: Ledger
) -> None:
    """The worker waits for it, or says so in a line; no trial is lost, and the same command goes on."""
    calm = server.database()
    took = warm.do([*TUNE, "--storage", calm], tmp_path)
    assert took.code == 0, took.err
    expected = finished(calm)
    with ledger.row("PostgreSQL stopped and started", "tune") as row:
        for number in range(times(1, 5)):
            url, folder = server.database(), tmp_path / str(number)
            folder.mkdir()

            def restart(after: float) -> None:
                time.sleep(after)
                server.stop()
                time.sleep(0.3)
                server.start()

            trouble = threading.Thread(target=restart, args=((number + 1) / 6 * took.seconds,))
            trouble.start()
            end = warm.do([*TUNE, "--storage", url], folder)
            trouble.join()
            line = end.code == 2 and "Traceback" not in end.err and "error: the storage" in end.err
            again = warm.do([*TUNE, "--storage", url], folder)
            row.note(
                not (end.code == 0 or line) and f"it ended with {end.code}: {end.err}",
                again.code != 0 and f"the next command ended: {again.err}",
                finished(url) != expected and "the study is another",
                *damaged(folder),
            )


@pytest.mark.parametrize("suffix", ["journal", "db"][: times(1, 2)])
def test_a_worker_is_frozen_and_woken(nursery: Nursery, tmp_path: Path, ledger: Ledger, suffix: str) -> None:
    """Another takes its trials over; awake again it loses nothing and counts nothing twice."""
    other = {"grace": 0.3, "beat": 0.05}
    (said,) = nursery.do(job(tmp_path / f"whole.{suffix}", {}))
    assert said[0]["code"] == 0
    whole = finished(tmp_path / f"whole.{suffix}")
    with ledger.row("a worker frozen and woken", f"tune, {suffix}") as row:
        for number in range(times(2, 8)):
            at = {"calls": ["heterophily.bench.tuning.train_runs"], "n": 1 + number % 4, "signal": "SIGSTOP",
                  "when": "before" if number % 2 else "after"}  # fmt: skip
            storage = tmp_path / f"{number}.{suffix}"
            frozen = {**other, "at": at, "home": "afar"}
            (said,) = nursery.do(job(storage, frozen, other, {"thaw": 0}))
            row.note(
                [step["code"] for step in said] not in ([STOPPED, 0, 0], [0, 0]) and f"ended with {said}",
                finished(storage) != whole and "the study is another",
            )


def test_a_clock_that_jumps(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """A year forth and back at every look: nothing depends on it."""
    calm = tmp_path / "calm"
    calm.mkdir()
    commands = {"train": [*TRAIN, "--out", "result"], "tune": TUNE, "reproduce": REPRODUCE}
    for name, command in commands.items():
        assert warm.do(command, calm).code == 0
        with ledger.row("a clock that jumps", name) as row:
            for number in range(times(1, 3)):
                folder = tmp_path / f"{name} {number}"
                folder.mkdir()
                end = warm.do(command, folder, clock=True)
                again = warm.do(command, folder, clock=True)
                row.note(
                    end.code != 0 and f"it ended with {end.code}: {end.err}",
                    again.code != 0 and f"the second time it ended with {again.code}: {again.err}",
                    name == "train"
                    and content(folder / "result/result.json") != content(calm / "result/result.json")
                    and "the result is another",
                    name == "tune"
                    and finished(folder / "tuning/synthetic-mlp/study.db")
                    != finished(calm / "tuning/synthetic-mlp/study.db")
                    and "the study is another",
                    name == "reproduce" and cells(folder) != cells_of(calm) and "the table is another",
                    *damaged(folder),
                    *left_beside(folder),
                )


def cells_of(folder: Path) -> dict[str, Any]:
    return {name: cell for name, cell in cells(folder).items() if name.startswith("results/")}


def test_eight_workers_on_one_sqlite_study(nursery: Nursery, tmp_path: Path, ledger: Ledger) -> None:
    """None fails because the database is locked, and no place is judged twice."""
    trials = times(48, 200)
    with ledger.row("eight workers at once", "tune, one SQLite study") as row:
        for number in range(times(1, 2)):
            storage = tmp_path / f"{number}.db"
            crew = [{"beside": True}] * 7 + [{}]
            (said,) = nursery.do(job(storage, *crew, trials=trials, batch=2))
            row.note(
                any(step["code"] for step in said) and f"one ended: {said}",
                len(finished(storage)) != trials and "a place is missing",
            )


def test_a_worker_that_is_killed_among_eight(nursery: Nursery, tmp_path: Path, ledger: Ledger) -> None:
    with ledger.row("kill -9", "tune, one of eight workers on SQLite") as row:
        for n in [9, 14, 20, 26][: times(1, 4)]:
            storage = tmp_path / f"{n}.db"
            death = {"at": {"calls": WRITES, "n": n, "signal": "SIGKILL"}, "beside": True}
            (said,) = nursery.do(job(storage, death, *[{"beside": True}] * 6, {}, trials=32, batch=2))
            codes = sorted(step["code"] for step in said)
            row.note(
                codes not in ([-9, *[0] * 7], [0] * 8) and f"ended with {codes}",
                len(finished(storage)) != 32 and "a place is missing",
            )
