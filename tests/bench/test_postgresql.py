"""Studies in PostgreSQL: a real server on loopback, and workers that know each other through it alone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heterophily.bench import storage as storages
from heterophily.bench import tuning
from heterophily.bench.storage import open_storage, open_study, shut
from heterophily.bench.tuning import tune
from heterophily.config import ConfigError
from tests.bench.nursery import SMALL, WRITES, Nursery, finished
from tests.bench.postgres import Server
from tests.command import heterophily
from tests.forked import Forks
from tests.tiny import tiny_graph

psycopg = pytest.importorskip("psycopg", reason="no PostgreSQL driver: pip install 'heterophily[postgresql]'")
KILLED = -9


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of its own in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        yield server
        server.stop()


@pytest.fixture
def database(server: Server) -> str:
    """The URL of a new database."""
    return server.database()


def job(storage: str | Path, *steps: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {"arguments": {"storage": str(storage), "trials": 8} | arguments, "steps": list(steps)}


def test_two_workers_share_a_study_and_none_of_it_is_done_twice(nursery: Nursery, server: Server) -> None:
    """Both begin at once, in a database without tables, each on what it takes for a machine of its own."""
    crew = [{"beside": True, "home": "here"}, {"home": "there"}]
    for _ in range(5):  # on a busy machine one may be done before the other has begun
        database = server.database()
        (said,) = nursery.do(job(database, *crew, trials=32, batch=2))
        assert [step["code"] for step in said] == [0, 0]
        assert list(finished(database)) == list(range(32))
        storage = open_storage(database)
        trials = open_study(storage, "synthetic-mlp").trials
        shut(storage)
        if len({trial.user_attrs["worker"] for trial in trials if trial.value is not None}) == 2:
            return
    pytest.fail("one of the two did nothing, five times")


@pytest.mark.parametrize("n", [6, 12, 15, 31])  # while it proposes, before results, after, while it closes
def test_what_a_killed_worker_leaves_another_machine_takes_over(
    nursery: Nursery, database: str, tmp_path: Path, n: int
) -> None:
    death = {"calls": WRITES, "n": n, "signal": "SIGKILL"}
    other = {"home": "there", "grace": 0.3, "beat": 0.05}
    said = nursery.do(
        job(tmp_path / "whole.journal", {}),
        job(database, {"at": death, "home": "here", "beat": 0.05}, other),
    )
    assert [step["code"] for step in said[1]] == [KILLED, 0]
    assert finished(database) == finished(tmp_path / "whole.journal")


def test_two_workers_of_which_one_is_killed_at_work_end_as_one(nursery: Nursery, database: str) -> None:
    death = {"calls": WRITES, "n": 20, "signal": "SIGKILL"}
    short = {"grace": 1.0, "beat": 0.05}
    crew = [{"beside": True, "home": "here", "at": death, **short}, {"home": "there", **short}]
    (said,) = nursery.do(job(database, *crew, trials=24))
    assert sorted(step["code"] for step in said) == [KILLED, 0]
    assert list(finished(database)) == list(range(24))


def test_a_plain_url_means_the_driver_that_is_installed_with_the_package(database: str) -> None:
    for url in (database, database.replace("postgresql:", "postgres:")):
        found = tune(tiny_graph(), "mlp", 4, storage=url, config=SMALL, splits=[0])
        assert len(found.trials) == 4


def test_a_database_that_is_not_there_is_a_sentence(server: Server) -> None:
    with pytest.raises(
        ConfigError, match='ada:…@.* cannot be opened: .*database "none" does not exist'
    ) as said:
        open_storage(f"{server.url}none")
    assert "secret" not in str(said.value)


def admit(database: str, state: bool) -> None:
    """Let everybody into a database, or throw all out and let nobody in."""
    start, _, name = database.rpartition("/")
    with psycopg.connect(f"{start}/postgres", autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {state}")
        if not state:
            connection.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            )


def test_a_server_that_goes_away_before_a_study_is_counted_is_a_sentence(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command asks how many trials there are before it trains any."""
    tune(tiny_graph(), "mlp", 4, storage=database, config=SMALL)
    assert storages.finished(database, "synthetic-mlp") == 4

    def open_and_lose(where: Any) -> Any:
        found = open_storage(where)
        admit(database, False)
        return found

    monkeypatch.setattr(storages, "open_storage", open_and_lose)
    with pytest.raises(ConfigError, match="does not answer any more: .*the same call goes on"):
        storages.finished(database, "synthetic-mlp")


def test_a_server_that_goes_away_at_work_is_a_sentence_and_the_same_call_goes_on(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, away = tuning.train_runs, []

    def cut_off(*args: Any, **more: Any) -> Any:
        if not away:
            away.append(True)
            admit(database, False)
        return train(*args, **more)

    monkeypatch.setattr(tuning, "train_runs", cut_off)
    with pytest.raises(
        ConfigError, match="ada:…@.* does not answer any more: .*the same call goes on"
    ) as said:
        tune(tiny_graph(), "mlp", 4, storage=database, config=SMALL)
    assert "secret" not in str(said.value) and "\n" not in str(said.value)
    admit(database, True)
    assert len(tune(tiny_graph(), "mlp", 4, storage=database, config=SMALL).trials) == 4
    assert list(finished(database)) == list(range(4))


def test_two_commands_on_one_database_share_a_study_and_both_tell_its_end(
    database: str, forks: Forks, tmp_path: Path
) -> None:
    tune = [
        "tune", "synthetic", "--graph", "num_nodes=60", "--model", "mlp",
        "--trials", "12", "--batch", "2", "--set", "epoch=10", "--set", "hidden_dim=8", "--device", "cpu",
        "--storage", database, "--json",
    ]  # fmt: skip
    both = [heterophily(*tune, "--out", tmp_path / name, forks=forks) for name in ("one", "two")]
    told = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert list(finished(database)) == list(range(12))
    one, two = (json.loads(out) for out, _ in told)
    assert one["trials"] == two["trials"] == 12 and one["config"] == two["config"]
    assert not any("secret" in text for pair in told for text in pair)
    assert not any(
        "secret" in file.read_text("utf-8", "replace") for file in tmp_path.rglob("*") if file.is_file()
    )
