"""What the fault suite shares: the warm process, and the ledger, which `make faults` writes to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.ledger import LEDGER, Ledger
from tests.faults.warm import Warm


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """A process that forks commands and ends them."""
    made = Warm(tmp_path_factory.mktemp("warm"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def ledger() -> Ledger:
    """Where each fault is taken down."""
    return LEDGER


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if file := os.environ.get("HETEROPHILY_FAULTS_OUT"):
        LEDGER.write(Path(file))
