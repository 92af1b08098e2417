"""A training as it goes: one live line in a terminal, nothing in a log but a last line."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Timer
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from heterophily.training.engine import Progress as Epoch

if TYPE_CHECKING:  # Optuna takes half a second, which only those who tune shall wait
    from heterophily.bench.tuning import Count

PATIENCE = 2.0
"""Seconds that may pass in silence."""
PAUSE = 0.1
"""Seconds between two drawings of the live line."""
WINDOW = 5.0
"""Seconds over which the pace is measured."""


class Mark(NamedTuple):
    """What was done of a stage by a moment."""

    time: float
    epochs: int
    run_epochs: int


class Follow:
    """Watches ``runs`` runs: called after each epoch, it shows how far they are.

    The engine trains the first stage of all runs, then the next, in one batch or in several; a batch is
    over when no run of it is alive. Ctrl-C ends it after the epoch, where no lock of the live line is held
    that would be waited for ever after; a second one ends it at once.
    """

    def __init__(self, console: Console, title: str, runs: int = 1):
        self.console, self.title, self.runs = console, title, runs
        self.start = time.perf_counter()
        self.run_epochs = 0
        """Of all stages, in batches that are over."""
        self.live: Progress | None = None
        self.stopped = False
        self._begin("")

    def expect(self, runs: int) -> None:
        """Watch another training, of so many runs, from now on."""
        self.runs = runs
        self._begin("")

    def _begin(self, stage: str) -> None:
        """Start counting a stage."""
        self.stage, self.best = stage, -1.0
        self.finished, self.before = 0, Mark(0.0, 0, 0)  # runs and work of the batches that are over
        self.marks: deque[Mark] = deque()
        self.next_drawing = 0.0

    def __enter__(self) -> Self:
        if self.hears:
            self.heard_before = signal.signal(signal.SIGINT, self._hear)
        if self.console.is_terminal:
            bar = (SpinnerColumn(), BarColumn(8)) if self.console.width >= 100 else ()
            self.live = live_line(self.console, *bar)
            self.live.start()
            self.task = self.live.add_task(f"{self.title} · preparing", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()
        if self.hears:
            signal.signal(signal.SIGINT, self.heard_before)

    @property
    def hears(self) -> bool:
        """Whether signals come here: they go to the main thread alone."""
        return threading.current_thread() is threading.main_thread()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True

    def __call__(self, epoch: Epoch) -> None:
        """Take note of an epoch."""
        if self.stopped:
            raise KeyboardInterrupt
        if epoch.stage != self.stage or self.finished >= self.runs:
            self._begin(epoch.stage)
        now, before = time.perf_counter(), self.before
        self.best = max(self.best, epoch.best)
        mark = Mark(now, before.epochs + epoch.epoch, before.run_epochs + epoch.run_epochs)
        if self.marks and mark.epochs <= self.marks[-1].epochs:
            self.marks.clear()  # the batch ran out of memory and began anew, smaller
        self.marks.append(mark)
        while self.marks[0].time < now - WINDOW and len(self.marks) > 2:
            self.marks.popleft()
        if self.live is not None and (now >= self.next_drawing or not epoch.alive):
            done, left = self.marks[-1].epochs, self.epochs_left(epoch)
            self.live.update(self.task, description=self.line(epoch), completed=done, total=done + left)
            self.next_drawing = now + PAUSE
        if not epoch.alive:
            self.finished += epoch.runs
            self.before = self.marks[-1]
            self.run_epochs += epoch.run_epochs

    def epochs_left(self, epoch: Epoch) -> int:
        """Return how many epochs all batches of the stage may still take; who stops early is unknown."""
        waiting = max(self.runs - self.finished - epoch.runs, 0)
        rest = epoch.last - epoch.epoch if epoch.alive else 0
        return rest + math.ceil(waiting / epoch.runs) * epoch.last

    def line(self, epoch: Epoch) -> str:
        """Say where the runs stand; the pace is that of the last seconds, the time left a bound."""
        parts = [self.title, self.stage]
        if self.runs > 1:
            alive = self.runs - self.finished - (epoch.runs - epoch.alive)
            turns = f", {epoch.runs} at a time" if epoch.runs < self.runs else ""
            parts.append(f"{alive}/{self.runs} runs alive{turns}")
        parts.append(f"epoch {epoch.epoch:,}/{epoch.last:,}")
        first, last = self.marks[0], self.marks[-1]
        passed = last.time - first.time
        if passed > 0:
            parts.append(f"{(last.run_epochs - first.run_epochs) / passed:,.0f} run-epochs/s")
        if self.best >= 0:
            parts.append(f"best validation {100 * self.best:.1f}")
        if passed > 0:
            seconds = self.epochs_left(epoch) * passed / (last.epochs - first.epochs)
            parts.append(f"at most {clock(seconds)} left in stage")
        return " · ".join(parts)

    def last_line(self) -> str | None:
        """Say what was done in how long; None where it took too little time to speak of."""
        seconds = time.perf_counter() - self.start
        if seconds < PATIENCE:
            return None
        runs = f"{self.runs} runs" if self.runs > 1 else "1 run"
        pace = f"{self.run_epochs:,} epochs in {clock(seconds)}, {self.run_epochs / seconds:,.0f} a second"
        return f"{self.title} · {runs} · {pace}"


def clock(seconds: float) -> str:
    """Return seconds, rounded up, as 1:05 or 2:00:00."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """Say what is being waited for: at once in a terminal, in a log only if it takes long."""
    if console.is_terminal:
        with console.status(what):
            yield
        return
    timer = Timer(PATIENCE, console.print, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class FollowStudy:
    """Watches studies: told after each batch, it shows how many trials are done and how long the rest takes.

    Within a batch it is called after each epoch, so that the line lives. ``done`` has the trials that each
    study had before, by its name.
    """

    def __init__(self, console: Console, done: Mapping[str, int]):
        self.console, self.before, self.now = console, dict(done), dict(done)
        self.start = self.begun = time.perf_counter()
        self.study = ""
        self.dropped: dict[str, int] = {}
        self.words = "preparing"
        self.live: Progress | None = None
        self.next_drawing = 0.0

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live = live_line(self.console, SpinnerColumn())
            self.live.start()
            self.task = self.live.add_task(self.words, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, epoch: Epoch) -> None:
        """Take note of an epoch."""
        now = time.perf_counter()
        if self.live is not None and now >= self.next_drawing:
            runs = f"{epoch.alive}/{epoch.runs} runs alive in epoch {epoch.epoch:,}"
            self.live.update(self.task, description=f"{self.words} · {epoch.stage}: {runs}")
            self.next_drawing = now + PAUSE

    def tell(self, study: str, count: Count) -> None:
        """Take note of a batch."""
        if study != self.study:
            self.begun = time.perf_counter() if self.study else self.start
            self.study = study
        self.now[study], self.dropped[study] = count.done, count.dropped
        self.words = self.line(count)
        if self.live is not None:
            self.live.update(self.task, description=self.words)

    def line(self, count: Count) -> str:
        """Say where the study stands; the pace is that since this command took it up."""
        parts = [self.study, f"{count.done}/{count.wanted} trials", f"{count.dropped} dropped"]
        parts.append(f"best validation {100 * count.best:.1f}")
        passed = time.perf_counter() - self.begun
        new = count.done - self.before.get(self.study, 0)
        if passed > 0 and new > 0:
            parts.append(f"{60 * new / passed:,.1f} a minute")
            parts.append(f"about {clock((count.wanted - count.done) * passed / new)} left")
        return " · ".join(parts)

    def last_line(self) -> str | None:
        """Say what was done in how long; None where it took too little time to speak of."""
        seconds = time.perf_counter() - self.start
        new = sum(self.now[study] - self.before.get(study, 0) for study in self.now)
        if seconds < PATIENCE or not new:
            return None
        return f"{self.study} · {new} trials in {clock(seconds)}, {60 * new / seconds:,.1f} a minute"


def live_line(console: Console, *columns: ProgressColumn) -> Progress:
    """Return a line that is drawn anew while work goes on, and leaves nothing behind."""
    words = TextColumn("{task.description}", table_column=Column(ratio=1))  # wrapped, not cut
    return Progress(*columns, TimeElapsedColumn(), words, console=console, transient=True, expand=True)
