"""What the tests of studies share: one nursery of workers for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.nursery import Nursery


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """A process that forks workers of studies and ends them."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()
