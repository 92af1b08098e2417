"""The command as tests ask it: in this process by the fixture ``ask``, or in one of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.forked import Forks

GRAPH = ["--graph", "num_nodes=60", "--graph", "num_classes=3", "--graph", "splits=3"]
"""A small graph of three splits."""


@dataclass(frozen=True)
class Answer:
    code: Any
    out: str
    err: str


class Ask(Protocol):
    def __call__(self, *args: str | Path) -> Answer: ...


def heterophily(
    *args: str | Path, stderr: int = subprocess.PIPE, forks: Forks | None = None, **env: str
) -> subprocess.Popen[str]:
    """Start the command in a process of its own, or in a fork in which torch is loaded."""
    start = [forks.commands / "heterophily"] if forks else [sys.executable, "-m", "heterophily"]
    command = [*start, *map(str, args)]
    settings = os.environ | {"OMP_NUM_THREADS": "1"} | env
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=stderr, text=True)


def read(screen: int) -> Iterator[str]:
    """Yield what comes on a screen, without colors, until nobody writes there any more."""
    with suppress(OSError):  # how Linux says so
        while text := os.read(screen, 2**16).decode(errors="replace"):
            yield re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text)
