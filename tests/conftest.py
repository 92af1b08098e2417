"""What every test stands on: few threads, no window, the same examples, real graphs where they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
import torch
from hypothesis import settings

from heterophily.cli import main
from heterophily.plugins import load_files
from tests.bench.nursery import Nursery
from tests.command import Answer, Ask
from tests.forked import Forks

matplotlib.use("Agg")
load_files([name for name in os.environ.get("HETEROPHILY_WITH", "").split(os.pathsep) if name])
# The graphs of the tests are small: a second thread costs more than it brings, far more on a busy machine.
torch.set_num_threads(1)
# The same examples in each run, and no verdict from a clock: a red test is then never luck.
settings.register_profile("heterophily", derandomize=True, deadline=None)
settings.load_profile("heterophily")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The read-only folder of real graphs that HETEROPHILY_DATA names; skips where it names none."""
    named = os.environ.get("HETEROPHILY_DATA")
    if not named:
        pytest.skip("HETEROPHILY_DATA names no folder with the real graphs")
    folder = Path(named)
    if not folder.is_dir():
        pytest.fail(f"HETEROPHILY_DATA is {named!r}, which is not a folder", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """A process that forks workers of studies and ends them."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """A process that stands in for new ones by forks, which need not load torch."""
    made = Forks()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Every test draws the same random tensors, whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run a command in this process, in an empty folder and with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")

    def asked(*args: str | Path) -> Answer:
        with pytest.raises(SystemExit) as end:
            main([str(arg) for arg in args])
        return Answer(end.value.code, *capsys.readouterr())

    return asked
