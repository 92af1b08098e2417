"""Studies outlive their workers: whoever is killed or frozen, whenever, every place is judged once."""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from heterophily.bench import storage, tuning
from heterophily.bench.storage import Worker, close, counts, enter, open_storage, open_study, places, shut
from heterophily.bench.tuning import tune
from heterophily.config import ConfigError
from tests.bench.nursery import SMALL, WRITES, Nursery, finished
from tests.tiny import tiny_graph

KILLED, STOPPED = -9, -19


def trial(number: int, place: int, state: TrialState, instead: int | None = None) -> FrozenTrial:
    attrs = {"place": place} | ({} if instead is None else {"instead": instead})
    made = create_trial(
        state=state, value=0.5 if state == TrialState.COMPLETE else None, user_attrs=attrs, params={}
    )
    made.number = number
    return made


RUNNING, FAIL, COMPLETE = TrialState.RUNNING, TrialState.FAIL, TrialState.COMPLETE


@pytest.mark.parametrize(
    "trials, holders",
    [
        ([(0, RUNNING, None), (0, RUNNING, None)], {0: 0}),  # the first to enter
        ([(1, RUNNING, None), (0, RUNNING, None)], {0: 1, 1: 0}),
        ([(0, FAIL, None), (0, RUNNING, 0)], {0: 1}),  # an heir
        ([(0, RUNNING, None), (0, RUNNING, 0)], {0: 1}),  # before the other is closed
        ([(0, FAIL, None), (0, RUNNING, 0), (0, RUNNING, 0)], {0: 1}),  # the first heir
        ([(0, FAIL, None), (0, FAIL, None), (0, RUNNING, 0)], {0: 2}),  # too late is not given up
        ([(0, FAIL, None), (0, FAIL, None), (0, RUNNING, 1), (0, RUNNING, 0)], {0: 3}),
        ([(0, FAIL, None), (0, FAIL, 0), (0, RUNNING, 1)], {0: 2}),  # an heir's heir
        ([(0, COMPLETE, None), (0, RUNNING, 0)], {0: 0}),  # ended after all
    ],
)
def test_at_each_place_one_trial_counts(trials: list[Any], holders: dict[int, int]) -> None:
    made = [trial(number, *rest) for number, rest in enumerate(trials)]
    assert {place: held.number for place, held in places(made).items()} == holders


@pytest.fixture(params=["db", "journal"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> optuna.Study:
    return open_study(open_storage(tmp_path / f"study.{request.param}"), "one")


def test_the_second_to_enter_a_place_withdraws(study: optuna.Study) -> None:
    first = enter(study, "ada", 0, 0, {}, {})
    assert first is not None and counts(study, first)
    assert enter(study, "bob", 0, 0, {}, {}) is None
    assert [t.state for t in study.trials] == [RUNNING, FAIL]


def test_only_one_heir_succeeds_and_none_of_a_trial_that_ended_meanwhile(study: optuna.Study) -> None:
    left, slow = enter(study, "ada", 0, 0, {}, {}), enter(study, "ada", 1, 0, {}, {})
    assert left and slow
    assert enter(study, "bob", 0, 0, {}, {}, left) and enter(study, "eve", 0, 0, {}, {}, left) is None
    close(study, slow, COMPLETE, 0.5, result="of ada")  # frozen, given up, awake again
    assert enter(study, "bob", 1, 0, {}, {}, slow) is None
    assert [t.state for t in study.trials] == [FAIL, COMPLETE, RUNNING, FAIL, FAIL]


def test_a_trial_is_closed_once_and_keeps_what_it_was_closed_with(study: optuna.Study) -> None:
    entered = enter(study, "ada", 0, 0, {}, {})
    assert entered is not None
    close(study, entered, COMPLETE, 0.5, result=1)
    close(study, entered, FAIL, result=2)
    close(study, entered, COMPLETE, 0.7, result=3)
    assert [(t.state, t.value, t.user_attrs["result"]) for t in study.trials] == [(COMPLETE, 0.5, 1)]


def test_a_worker_is_dead_when_it_says_so_or_its_process_is_gone(study: optuna.Study) -> None:
    ada, bob = Worker(study), Worker(study)
    entered = enter(study, ada.name, 0, 0, {}, {})
    assert entered is not None
    with ada.alive():
        assert bob.left([entered]) == []
        sign = study.user_attrs[f"worker {ada.name}"]
        for pid, born in ((sign["pid"], "another time"), (2**22 + 1, sign["born"])):
            study.set_user_attr(f"worker {ada.name}", sign | {"pid": pid, "born": born})
            assert bob.left([entered]) == [entered]
        study.set_user_attr(f"worker {ada.name}", sign)
        assert bob.left([entered]) == []
    assert bob.left([entered]) == [entered]
    study.set_user_attr(f"worker {ada.name}", sign)  # could not say so, as the storage was away
    assert bob.left([entered]) == [entered]


def test_a_worker_elsewhere_is_dead_when_its_beats_stand_still(
    study: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(storage.time, "monotonic", lambda: now)
    ada, bob = Worker(study), Worker(study)
    entered = enter(study, ada.name, 0, 0, {}, {})
    assert entered is not None
    for beat in range(3):
        study.set_user_attr(f"worker {ada.name}", {"beat": beat, "home": "afar", "pid": 1, "born": "1"})
        assert bob.left([entered]) == []
        now += storage.GRACE - 1
        assert bob.left([entered]) == []
    now += 2
    assert bob.left([entered]) == [entered]


def test_signs_of_life_go_on_while_somebody_works(
    study: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "BEAT", 0.01)
    ada = Worker(study)
    with ada.alive():
        while study.user_attrs[f"worker {ada.name}"]["beat"] < 3:
            pass
    assert study.user_attrs[f"worker {ada.name}"]["beat"] is None


def job(storage: Path, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    arguments = {"storage": str(storage), "trials": 8, "splits": [0]} | more
    return {"arguments": arguments, "steps": list(steps)}


def at(
    n: int, calls: list[str] | None = None, when: str = "before", signal: str = "SIGKILL"
) -> dict[str, Any]:
    return {"calls": calls or WRITES, "n": n, "when": when, "signal": signal}


def codes(said: list[dict[str, Any]]) -> list[int]:
    return [step["code"] for step in said]


@pytest.mark.parametrize(
    "sampler, suffix, trials, kills",
    [("tpe", "db", 32, 10), ("anneal", "db", 24, 5), ("tpe", "journal", 32, 5)],
)
def test_a_study_killed_at_random_moments_ends_as_one_never_killed(
    nursery: Nursery, tmp_path: Path, sampler: str, suffix: str, trials: int, kills: int
) -> None:
    """Moments in the first quarter of the time that the whole study takes: the first kills strike, and the
    others too where the machine is as busy as it was then."""
    whole, often = tmp_path / f"whole.{suffix}", tmp_path / f"often.{suffix}"
    search = {"trials": trials, "sampler": sampler, "splits": None}
    (said,) = nursery.do(job(whole, {}, **search))
    within = said[0]["seconds"] / 4
    (said,) = nursery.do(job(often, *[{"kill_within": within}] * kills, {}, **search))
    assert codes(said)[-1] == 0 and KILLED in codes(said)
    assert finished(often) == finished(whole)
    assert len(finished(whole)) == trials


def test_whichever_write_a_worker_dies_before_the_next_goes_on(nursery: Nursery, tmp_path: Path) -> None:
    """Every write of a whole study: its beginning, proposals, signs of life, results, closings."""
    jobs = [job(tmp_path / "whole.journal", {}), job(tmp_path / "whole.db", {})]
    jobs += [job(tmp_path / f"{n}.journal", {"at": at(n)}, {}) for n in range(1, 39)]
    jobs += [job(tmp_path / f"{n}.db", {"at": at(n)}, {}) for n in range(2, 39, 9)]
    said = nursery.do(*jobs)
    whole = finished(tmp_path / "whole.journal")
    assert len(whole) == 8
    for done, ends in zip(jobs, said):
        assert codes(ends) in ([0], [KILLED, 0])
        assert finished(done["arguments"]["storage"]) == whole
    assert codes(said[-1]) == [KILLED, 0]


def test_a_worker_that_dies_while_it_makes_the_tables_leaves_none_half_made(
    nursery: Nursery, tmp_path: Path
) -> None:
    execute = ["sqlalchemy.engine.default.DefaultDialect.do_execute"]
    jobs = [job(tmp_path / f"{n}.db", {"at": at(n, execute)}, {}, {}, trials=1) for n in (1, 15, 25, 45, 55)]
    for done, ends in zip(jobs, nursery.do(*jobs)):
        assert codes(ends) == [KILLED, 0, 0]
        assert len(finished(done["arguments"]["storage"])) == 1


def test_whichever_write_dies_the_worker_that_takes_over_the_next_goes_on(
    nursery: Nursery, tmp_path: Path
) -> None:
    """A batch without results, and one with results half closed; each taken over by one that dies too."""
    training, closing = ["heterophily.bench.tuning.train_runs"], ["heterophily.bench.tuning.Study.settle"]
    jobs = [job(tmp_path / "whole.journal", {})]
    for name, first, writes in (("bare", at(2, training), 14), ("half", at(7, closing), 9)):
        jobs += [
            job(tmp_path / f"{name} {n}.journal", {"at": first}, {"at": at(n)}, {}) for n in range(1, writes)
        ]
    said = nursery.do(*jobs)
    whole = finished(tmp_path / "whole.journal")
    for done, ends in zip(jobs[1:], said[1:]):
        assert codes(ends) == [KILLED, KILLED, 0]
        assert finished(done["arguments"]["storage"]) == whole


@pytest.mark.parametrize(
    "calls, n, when",
    [
        (["heterophily.bench.tuning.enter"], 6, "before"),  # while it proposes
        (["heterophily.bench.tuning.train_runs"], 2, "before"),
        (["heterophily.bench.tuning.train_runs"], 2, "after"),  # results not written yet
        (["heterophily.bench.tuning.Study.settle"], 6, "before"),  # results written, one trial closed
        (
            ["heterophily.bench.storage.close", "heterophily.bench.tuning.close"],
            6,
            "before",
        ),  # sure it counts
    ],
)
def test_a_worker_that_was_frozen_and_given_up_loses_nothing_and_counts_nothing_twice(
    nursery: Nursery, tmp_path: Path, calls: list[str], n: int, when: str
) -> None:
    other = {"grace": 0.3, "beat": 0.05}
    frozen = {**other, "at": at(n, calls, when, "SIGSTOP"), "home": "afar"}
    said = nursery.do(
        job(tmp_path / "whole.journal", {}),
        job(tmp_path / "woken.journal", frozen, other, {"thaw": 0}),
        job(tmp_path / "early.journal", frozen, {**other, "at": at(9)}, {"thaw": 0}, other),
    )
    assert codes(said[1]) == [STOPPED, 0, 0]
    assert codes(said[2]) == [STOPPED, KILLED, 0, 0]
    whole = finished(tmp_path / "whole.journal")
    assert finished(tmp_path / "woken.journal") == whole
    assert {p: found[:2] for p, found in finished(tmp_path / "early.journal").items()} == {
        p: found[:2] for p, found in whole.items()
    }


@pytest.mark.parametrize("suffix", ["db", "journal"])
def test_workers_on_one_storage_share_the_work_and_none_of_it_is_done_twice(
    nursery: Nursery, tmp_path: Path, suffix: str
) -> None:
    """A grid, whose points tell; four workers, of which the first dies at its first batch."""
    ranges = {"weight_decay": [0.0, 0.1, 0.2, 0.3], "learning_rate": [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]}
    training = ["heterophily.bench.tuning.train_runs"]
    crew = [{"beside": True, "at": at(1, training)}, {"beside": True}, {"beside": True}, {}]
    storage = tmp_path / f"grid.{suffix}"
    fixed = SMALL | {"dropout": 0.5, "feature_norm": "none"}
    search = {"trials": 100, "sampler": "grid", "batch": 2, "values": ranges, "config": fixed}
    (said,) = nursery.do(job(storage, *crew, **search))
    assert sorted(codes(said)) == [KILLED, 0, 0, 0]
    points = [found[0] for found in finished(storage).values()]
    assert len(points) == 24 and len({tuple(point.values()) for point in points}) == 24
    owners = {
        t.user_attrs["worker"] for t in open_study(open_storage(storage), "synthetic-mlp").trials if t.value
    }
    assert len(owners) >= 2


def test_a_worker_that_was_interrupted_in_this_process_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, where the process goes on."""
    whole = tune(tiny_graph(), "mlp", 8, storage=tmp_path / "whole.journal", config=SMALL, batch=4)
    train, calls = tuning.train_runs, 0

    def interrupted(*args: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return train(*args, **more)

    monkeypatch.setattr(tuning, "train_runs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tune(tiny_graph(), "mlp", 8, storage=tmp_path / "twice.journal", config=SMALL, batch=4)
    again = tune(tiny_graph(), "mlp", 8, storage=tmp_path / "twice.journal", config=SMALL, batch=4)
    assert finished(tmp_path / "twice.journal") == finished(tmp_path / "whole.journal")
    assert again.config == whole.config and again.validation == whole.validation


def test_half_a_line_at_the_end_of_a_journal_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "torn.journal"
    study = open_study(open_storage(path), "one")
    assert enter(study, "ada", 0, 0, {}, {})
    with path.open("ab") as file:
        file.write(b'{"op_code":4,"worker_id":"' + b"x" * 70_000)
    study = open_study(open_storage(path), "one")
    assert enter(study, "ada", 1, 0, {}, {})
    study = open_study(open_storage(path), "one")
    assert [t.user_attrs["place"] for t in study.trials] == [0, 1]
    assert all(line.startswith(b'{"op_code":') for line in path.read_bytes().splitlines())
    path.write_bytes(b'{"op_c')  # the very first line
    assert open_study(open_storage(path), "one").trials == []


def test_no_lock_of_a_killed_writer_keeps_others_from_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "locked.journal"
    open_study(open_storage(path), "one")
    os.symlink(path, f"{path}.lock")  # as Optuna's own writers leave it
    assert enter(open_study(open_storage(path), "one"), "ada", 0, 0, {}, {})


def test_a_database_that_a_frozen_process_keeps_locked_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heterophily.bench.storage.LOCKED", 0.1)
    shut(open_storage(tmp_path / "one.db"))
    with closing(sqlite3.connect(tmp_path / "one.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            ConfigError, match="kept it locked for 0.1 s; if that one is frozen, wake or end it"
        ):
            open_storage(tmp_path / "one.db")
    shut(open_storage(tmp_path / "one.db"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_a_storage_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, but a text of some length\n" * 100)
    (tmp_path / "text.journal").write_text("no journal\n")
    (tmp_path / "folder.journal").mkdir()
    port = free_port()
    secret = f"ada:pa%40ss@127.0.0.1:{port}/x"
    for where, sentence in {
        tmp_path: "is a folder; name a file in it",
        tmp_path / "folder.journal": "is a folder",
        tmp_path / "text.db": "cannot be opened: .*file is not a database",
        tmp_path / "text.journal": "is no journal of a study",
        tmp_path / "text.db" / "below.db": "cannot be opened",
        f"sqlite:///{tmp_path}/none/x.db": "cannot be opened: .*unable to open database file",
        "nosql://x": "cannot be opened: .*nosql",
        "mysql://x": "mysql needs the driver 'MySQLdb'; install it",
        "postgresql+pg8000://x": "postgresql\\+pg8000 needs the driver 'pg8000'",
        f"postgresql://{secret}": "storage postgresql://ada:…@127.0.0.1.* cannot be opened: .*refused",
        f"postgres://{secret}": "storage postgres://ada:…@127.0.0.1.* cannot be opened: .*refused",
        f"postgresql+psycopg://{secret}?connect_timeout=1": "storage .* cannot be opened: .*refused",
        f"postgresql://127.0.0.1:{port}/x?password=pa%40ss": "password=….* cannot be opened: .*refused",
    }.items():
        with pytest.raises(ConfigError, match=sentence) as caught:
            open_storage(where)
        said = str(caught.value)
        assert "\n" not in said and "pa@ss" not in said and "pa%40ss" not in said, said
    assert (tmp_path / "text.journal").read_text() == "no journal\n"


def test_without_a_driver_a_postgresql_url_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        ConfigError, match=r"postgresql needs the driver 'psycopg'.*heterophily\[postgresql\]"
    ):
        open_storage("postgresql://ada@127.0.0.1/x")


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    for name in ("a/b/study.db", "c/d/study.journal"):
        open_study(open_storage(tmp_path / name), "one")
        assert (tmp_path / name).is_file()


def test_a_storage_that_goes_away_at_work_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, train_runs = tmp_path / "gone.db", tuning.train_runs

    def train(*args: Any, **more: Any) -> Any:
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE study_user_attributes")
        return train_runs(*args, **more)

    monkeypatch.setattr(tuning, "train_runs", train)
    with pytest.raises(ConfigError, match="does not answer any more: .*; the same call goes on where"):
        tune(tiny_graph(), "mlp", 8, storage=path, config=SMALL)
