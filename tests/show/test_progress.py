"""Progress: a live line in a terminal, a last line in a log, and nothing for what is over at once."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

from heterophily.show import progress
from heterophily.show.progress import Follow, clock, waiting
from heterophily.training.engine import Progress


def consoles() -> tuple[Console, Console]:
    """A log and a terminal."""
    log = Console(file=io.StringIO(), width=200)
    return log, Console(file=io.StringIO(), width=200, force_terminal=True)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def batch(stage: str, runs: int, best: float = 0.5) -> Iterator[Progress]:
    """A batch of runs of at most 100 epochs that all stop after the second; two seconds an epoch."""
    yield Progress(stage, runs, alive=runs, epoch=1, last=100, run_epochs=runs, best=best / 2)
    yield Progress(stage, runs, alive=0, epoch=2, last=100, run_epochs=2 * runs, best=best)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by two seconds whenever it is read."""
    ticks = iter(range(0, 10**6, 2))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(ticks)))


def lines(runs: int, *batches: Iterator[Progress]) -> list[str]:
    """What the live line says after each epoch, without the title."""
    _, terminal = consoles()
    said = []
    with Follow(terminal, "texas", runs) as follow:
        for epoch in (epoch for each in batches for epoch in each):
            follow(epoch)
            assert follow.live is not None
            title, line = follow.live.tasks[0].description.split(" · ", 1)
            assert title == "texas"
            said.append(line)
    return said


def test_a_log_is_told_nothing_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    log, _ = consoles()
    with Follow(log, "texas", runs=4) as follow:
        for epoch in batch("HDP", 4):
            follow(epoch)
    assert written(log) == ""


def test_what_lasted_two_seconds_gets_a_last_line_and_what_did_not_gets_none(ticking: None) -> None:
    log, _ = consoles()
    with Follow(log, "texas", runs=4) as follow:  # the clock says 0
        for stage in ("initial assignment", "HDP"):
            for epoch in (*batch(stage, 3), *batch(stage, 1)):
                follow(epoch)  # 2, 4, ... 16
    assert follow.last_line() == "texas · 4 runs · 16 epochs in 0:18, 1 a second"
    assert Follow(log, "texas").last_line() == "texas · 1 run · 0 epochs in 0:02, 0 a second"
    follow.start += 23  # the clock will say 24
    assert follow.last_line() is None
    with waiting(log, "reading texas"):
        pass
    assert written(log) == ""


def test_the_line_says_all_there_is_to_know(ticking: None) -> None:
    assert lines(200, batch("HDP", 200)) == [
        "HDP · 200/200 runs alive · epoch 1/100 · best validation 25.0",  # one moment has no pace
        "HDP · 0/200 runs alive · epoch 2/100 · 100 run-epochs/s · best validation 50.0 · "
        "at most 0:00 left in stage",
    ]


def test_the_time_left_is_a_bound_that_counts_the_epochs_limit_and_the_batches_to_come(ticking: None) -> None:
    before, then, *_ = lines(5, batch("HDP", 2), batch("HDP", 2), batch("HDP", 1))
    assert "left" not in before
    # Two more batches, of 100 epochs at most, at the pace of two seconds an epoch.
    assert then.endswith(f" · at most {clock(2 * 100 * 2)} left in stage")


def test_stages_and_stopped_runs_are_counted_over_batches(ticking: None) -> None:
    stages = [batch(stage, runs) for stage in ("initial assignment", "HDP") for runs in (3, 1)]
    said = lines(4, *stages)
    assert [line.split(" · ")[0] for line in said] == ["initial assignment"] * 4 + ["HDP"] * 4
    turns = ["3 at a time"] * 2 + ["1 at a time"] * 2
    alive = [f"{n}/4 runs alive, {turn}" for n, turn in zip([4, 1, 1, 0], turns)]
    assert [line.split(" · ")[1] for line in said] == alive * 2


def test_stages_of_one_name_are_told_apart_by_their_runs(ticking: None) -> None:
    said = lines(2, *(batch("training", 2) for _ in range(2)))
    assert [line.split(" · ")[1] for line in said] == ["2/2 runs alive", "0/2 runs alive"] * 2


def test_the_best_score_is_that_of_the_stage_whichever_batch_had_it(ticking: None) -> None:
    said = lines(2, batch("initial assignment", 1, 0.8), batch("initial assignment", 1, 0.6), batch("HDP", 2))
    best = [line.split("best validation ")[1][:4] for line in said]
    assert best == ["40.0", "80.0", "80.0", "80.0", "25.0", "50.0"]


def test_a_run_without_any_score_has_no_best(ticking: None) -> None:
    nothing = Progress("MLP", 1, alive=1, epoch=1, last=9, run_epochs=1, best=-1.0)
    assert lines(1, iter([nothing])) == ["MLP · epoch 1/9"]


def test_a_batch_that_begins_anew_after_a_full_memory_is_followed(ticking: None) -> None:
    half = [next(batch("HDP", 4)) for _ in range(2)]  # epoch 1 twice
    said = lines(4, iter(half), batch("HDP", 2), batch("HDP", 2))
    assert said[-1].startswith("HDP · 0/4 runs alive, 2 at a time · epoch 2/100")


def test_a_live_line_is_drawn_seldom_however_fast_the_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 1000.0)
    epochs = [Progress("HDP", 1, 1, i, 100, i, 0.5) for i in range(1, 50)]
    assert {line.split(" · ")[1] for line in lines(1, iter(epochs))} == {"epoch 1/100"}


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_shows_every_word_however_narrow_and_clears_the_line(width: int) -> None:
    terminal = Console(file=io.StringIO(), width=width, force_terminal=True)
    with Follow(terminal, "squirrel-filtered", runs=200) as follow:
        for epoch in batch("initial assignment", 200):
            follow(epoch)
        assert follow.live is not None
        follow.live.refresh()
    shown = " ".join(written(terminal).split())
    for words in ("squirrel-filtered · initial assignment", "0/200", "run-epochs/s", "50.0", "at most"):
        assert words in shown
    assert "…" not in shown and "\x1b[2K" in written(terminal)


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (4.2, "0:05"), (65, "1:05"), (7200, "2:00:00")])
def test_a_bound_is_rounded_up(seconds: float, text: str) -> None:
    assert clock(seconds) == text


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
