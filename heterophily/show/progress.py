"""A training as it goes: a live line in a terminal, now and then a plain line in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from heterophily.training.engine import Progress as Epoch

PATIENCE = 2.0
"""Seconds that may pass in silence."""
PAUSE = 10.0
"""Seconds between two lines of a log."""


class Follow:
    """Watches ``runs`` runs: called after each epoch, it shows how far they are.

    The engine trains the stages of all runs, then their next stages, in one batch or in several; a batch
    is over when no run of it is alive.
    """

    def __init__(self, console: Console, title: str, runs: int = 1):
        self.console = console
        self.start = time.perf_counter()
        self.next_line = self.start + PATIENCE
        self.live: Progress | None = None
        self.next(title, runs)

    def next(self, title: str, runs: int = 1) -> Self:
        """Begin with other runs; the clock goes on."""
        self.title, self.runs, self.stage, self.finished = title, runs, 1, 0
        return self

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            # Where the terminal is narrow, the end of the words is what is cut.
            words = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True))
            columns = SpinnerColumn(), BarColumn(6), TimeElapsedColumn(), words
            self.live = Progress(*columns, console=self.console, transient=True, expand=True)
            self.live.start()
            self.task = self.live.add_task(f"{self.title} · preparing", total=self.runs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, epoch: Epoch) -> None:
        """Take note of an epoch."""
        done = self.finished + epoch.runs - epoch.alive
        now = time.perf_counter()
        if self.live is not None:
            self.live.update(self.task, description=self.line(epoch), completed=done)
        elif now >= self.next_line:
            self.console.print(f"{self.line(epoch)} · {now - self.start:.0f} s", soft_wrap=True)
            self.next_line = now + PAUSE
        if not epoch.alive:
            self.finished = done
        if self.finished >= self.runs:
            self.stage, self.finished = self.stage + 1, 0

    def line(self, epoch: Epoch) -> str:
        """Say where the runs stand: the best validation score is that of the runs now in training."""
        done = self.finished + epoch.runs - epoch.alive
        runs = f" · {epoch.alive} alive, {done}/{self.runs} done" if self.runs > 1 else ""
        return f"{self.title} · stage {self.stage} · epoch {epoch.epoch} · best {100 * epoch.best:.1f}{runs}"


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
