"""Progress: a live line in a terminal, seldom a line in a log, and nothing for what is over at once."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from heterophily.show import progress
from heterophily.show.progress import Follow, waiting
from heterophily.training.engine import Progress


def consoles() -> tuple[Console, Console]:
    """A log and a terminal."""
    log = Console(file=io.StringIO(), width=120)
    return log, Console(file=io.StringIO(), width=120, force_terminal=True)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def two_stages_of_two_batches(follow: Follow) -> None:
    for _ in range(2):
        for _ in range(2):
            follow(Progress(runs=2, alive=2, epoch=1, best=0.25))
            follow(Progress(runs=2, alive=0, epoch=2, best=0.5))


def test_a_log_stays_silent_for_what_takes_less_than_two_seconds() -> None:
    log, _ = consoles()
    with Follow(log, "texas · HDP", runs=4) as follow:
        two_stages_of_two_batches(follow)
    with waiting(log, "reading texas"):
        pass
    assert written(log) == ""


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    log, _ = consoles()
    with Follow(log, "texas · HDP", runs=4) as follow:
        two_stages_of_two_batches(follow)
    (line,) = written(log).splitlines()  # the next would come after ten seconds
    assert line.startswith("texas · HDP · stage 1 · epoch 1 · best 25.0 · 2 alive, 0/4 done")


def test_stages_and_finished_runs_are_counted_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    log, _ = consoles()
    with Follow(log, "HDP", runs=4) as follow:
        two_stages_of_two_batches(follow)
    lines = written(log).splitlines()
    assert [line.split(" · ")[1] for line in lines] == ["stage 1"] * 4 + ["stage 2"] * 4
    done = [line.split(", ")[1].split(" ")[0] for line in lines]
    assert done == ["0/4", "2/4", "2/4", "4/4"] * 2


def test_a_terminal_shows_a_live_line_and_clears_it() -> None:
    _, terminal = consoles()
    with Follow(terminal, "texas · HDP") as follow:
        follow(Progress(runs=1, alive=1, epoch=3, best=0.5))
        assert follow.live is not None
        follow.live.refresh()
    assert "texas · HDP · stage 1 · epoch 3 · best 50.0" in written(terminal)
    assert "\x1b[2K" in written(terminal)


def test_waiting_long_is_explained_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    log, terminal = consoles()
    with waiting(log, "reading squirrel"):
        deadline = time.monotonic() + 5
        while not written(log) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert written(log) == "reading squirrel\n"
    with waiting(terminal, "reading squirrel"):
        pass
    assert "reading squirrel" in written(terminal)
