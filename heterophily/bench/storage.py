"""Where a study lives: Optuna's storages, who is at work on it, and which of its trials count.

A study has places 0, 1, 2, ..., and at each place one trial counts. No storage offers a lock that outlives
its holder, but all number trials in the order in which they enter; so whoever wants a place enters a trial
for it and then looks: the first to enter has it, and the others withdraw.

A trial belongs to a worker. A worker that is killed leaves trials that run for ever; so every worker shows
signs of life in the study, and a trial of one that shows none is succeeded by another with the same
settings. No clock of another machine is trusted: a worker elsewhere is dead when its count of beats has
stood still for `GRACE` seconds of one's own clock; one on this machine, when its process is gone.
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial

from heterophily.bench.journal import Journal
from heterophily.bench.samplers import FINISHED
from heterophily.config import ConfigError

optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would announce every study and trial

BEAT, GRACE = 10.0, 90.0
"""Seconds between signs of life, and without one until a worker is given up."""
LOCKED = 60.0
"""Seconds to wait for another process to let go of a file."""
CONNECT = 20
"""Seconds to wait for a server to answer at all."""
TABLES_IN_THE_MAKING = ("already exists", "duplicate key", "UNIQUE constraint failed")
"""How databases put it that another worker makes the same tables at this moment."""
AT_WORK: set[str] = set()
"""The workers of this process."""


def open_storage(where: str | os.PathLike[str]) -> BaseStorage:
    """Open a database by its URL (sqlite, postgresql), or a file: a journal if named so, else SQLite."""
    text = os.fspath(where)
    try:
        if "://" not in text:
            path = Path(text).expanduser().absolute()
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise ConfigError(f"the storage {text} is a folder; name a file in it, such as tuning.db")
            if path.suffix == ".journal":
                return JournalStorage(Journal(path))
            _make_tables(path)
            return _database(f"sqlite:///{path}")
        scheme, _, rest = text.partition("://")
        return _database(f"postgresql+psycopg://{rest}" if scheme in ("postgres", "postgresql") else text)
    except ConfigError:
        raise
    except ImportError as error:
        cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        raise ConfigError(
            f"{text.partition(':')[0]} needs the driver {cause.name!r}; install it, for PostgreSQL with "
            "pip install 'heterophily[postgresql]'"
        ) from None
    except Exception as error:  # Optuna's, SQLAlchemy's and the drivers' own, of many kinds
        raise ConfigError(
            f"the storage {_hidden(text, text)} cannot be opened: {_first(error, text)}"
        ) from None


def _database(url: str) -> BaseStorage:
    options: dict[str, Any] = {"pool_pre_ping": True}
    if url.startswith("sqlite"):
        options = {"connect_args": {"timeout": LOCKED}}
    elif url.startswith("postgresql+psycopg"):
        options["connect_args"] = {"connect_timeout": CONNECT}
    for wait in (0.1, 0.2, 0.4, 0.8, 1.6):
        try:
            return RDBStorage(url, engine_kwargs=options)
        except Exception as error:  # SQLAlchemy's
            said = f"{error} {error.__cause__}"
            if not any(sign in said for sign in TABLES_IN_THE_MAKING):
                raise
            time.sleep(wait)
    return RDBStorage(url, engine_kwargs=options)


def _make_tables(path: Path) -> None:
    """Give a new SQLite file its tables at one stroke.

    Optuna makes them one by one; killed in between, it would never make the index that keeps a study from
    being there twice.
    """
    if path.exists() and path.stat().st_size:
        return
    statements = _tables()
    with closing(sqlite3.connect(path, timeout=LOCKED, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in statements:
                database.execute(statement)
        database.execute("COMMIT")


@cache
def _tables() -> list[str]:
    """Return what makes Optuna's tables in SQLite."""
    model = RDBStorage("sqlite://")
    memory: Any = model.engine.raw_connection().driver_connection
    found = [line for line in memory.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
    shut(model)
    return found


def shut(storage: BaseStorage) -> None:
    """Let go of the connections to a storage."""
    if isinstance(storage, RDBStorage):
        storage.engine.dispose()


@contextmanager
def opened(where: str | os.PathLike[str]) -> Iterator[BaseStorage]:
    """Open a storage for a block; that it goes away while it is needed is said in a sentence."""
    storage = open_storage(where)
    try:
        yield storage
    except StorageInternalError as error:
        url = str(getattr(storage, "url", "the journal"))
        raise ConfigError(
            f"the storage {_hidden(url, url)} does not answer any more: {_first(error, url)}; "
            "the same call goes on where this one stopped"
        ) from error
    finally:
        shut(storage)


def open_study(storage: BaseStorage, name: str) -> optuna.Study:
    """Open a study of the storage, or begin it."""
    return optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)


class Worker:
    """One process at work on a study; shows signs of life while it is."""

    def __init__(self, study: optuna.Study):
        self.study = study
        self.name = uuid.uuid4().hex[:12]
        self.seen: dict[str, tuple[Any, float]] = {}

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Show signs of life until the block ends."""
        over = threading.Event()
        thread = threading.Thread(target=self._beat, args=(over,), daemon=True)
        AT_WORK.add(self.name)
        try:
            self.show(0)
            thread.start()
            yield
        finally:
            AT_WORK.discard(self.name)
            over.set()
            if thread.ident:
                thread.join()
            with suppress(Exception):  # whoever cannot say so is found dead all the same
                self.show(None)

    def show(self, beat: int | None) -> None:
        """Leave a sign of life in the study, or with None the last."""
        sign = {"beat": beat, "home": _home(), "pid": os.getpid(), "born": _born(os.getpid())}
        self.study.set_user_attr(f"worker {self.name}", sign)

    def _beat(self, over: threading.Event) -> None:
        beat = 0
        while not over.wait(BEAT):
            beat += 1
            with suppress(Exception):  # a database that is away for a moment is asked again next time
                self.show(beat)

    def left(self, trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
        """Return those trials that nobody will end: of dead workers, or one's own, or closed from outside."""
        signs = self.study.user_attrs
        owners = {trial.user_attrs["worker"] for trial in trials}
        dead = {o for o in owners if o == self.name or self._is_dead(o, signs.get(f"worker {o}"))}
        return [t for t in trials if t.state == TrialState.FAIL or t.user_attrs["worker"] in dead]

    def _is_dead(self, owner: str, sign: dict[str, Any] | None) -> bool:
        beat = None if sign is None else sign["beat"]
        if sign is not None:
            if beat is None:
                return True
            if sign["home"] == _home():
                if sign["pid"] == os.getpid() and sign["born"] == _born(os.getpid()):
                    return owner not in AT_WORK
                return _born(sign["pid"]) != sign["born"]
        before, since = self.seen.setdefault(owner, (beat, time.monotonic()))
        if before != beat:
            self.seen[owner] = beat, time.monotonic()
            return False
        return time.monotonic() - since > GRACE


def places(trials: Iterable[FrozenTrial]) -> dict[int, FrozenTrial]:
    """Return the trial that counts at each place, in the order of places; trials come in that of numbers.

    A place goes to the first trial entered for it, and from each trial that is given up to the first one
    entered in its stead; but one that has ended with a score keeps it.
    """
    first: dict[tuple[int, int | None], FrozenTrial] = {}
    ended: dict[int, FrozenTrial] = {}
    for trial in trials:
        place = trial.user_attrs.get("place")
        if place is not None:
            first.setdefault((place, trial.user_attrs.get("instead")), trial)
            if trial.state in FINISHED:
                ended.setdefault(place, trial)
    found = {}
    for (place, instead), trial in first.items():
        if instead is None:
            while heir := first.get((place, trial.number)):
                trial = heir
            found[place] = ended.get(place, trial)
    return dict(sorted(found.items()))


def enter(
    study: optuna.Study,
    worker: str,
    place: int,
    batch: int,
    params: Mapping[str, Any],
    distributions: Mapping[str, BaseDistribution],
    instead: FrozenTrial | None = None,
) -> FrozenTrial | None:
    """Enter a running trial for a place, perhaps instead of one given up; None if another came first."""
    attrs = {"worker": worker, "batch": batch, "place": place}
    if instead is not None:
        attrs["instead"] = instead.number
    template = create_trial(
        state=TrialState.RUNNING, params=dict(params), distributions=dict(distributions), user_attrs=attrs
    )
    trial_id = study._storage.create_new_trial(study._study_id, template_trial=template)
    if instead is not None:
        close(study, instead, TrialState.FAIL)
    every = study.get_trials(deepcopy=False)
    entered = next(trial for trial in reversed(every) if trial._trial_id == trial_id)
    if _holder(every, place).number == entered.number:
        return entered
    close(study, entered, TrialState.FAIL)
    return None


def counts(study: optuna.Study, trial: FrozenTrial) -> bool:
    """Say whether a trial is the one that counts at its place."""
    return _holder(study.get_trials(deepcopy=False), trial.user_attrs["place"]).number == trial.number


def _holder(trials: Iterable[FrozenTrial], place: int) -> FrozenTrial:
    """Return the trial that counts at one place, without a look at the others."""
    return places(trial for trial in trials if trial.user_attrs.get("place") == place)[place]


def close(
    study: optuna.Study,
    trial: FrozenTrial,
    state: TrialState,
    value: float | None = None,
    steps: Mapping[int, float] | None = None,
    **attrs: Any,
) -> None:
    """End a trial, unless it has ended; ``steps`` says how good it was on the way."""
    with suppress(UpdateFinishedTrialError):
        for name, content in attrs.items():
            study._storage.set_trial_user_attr(trial._trial_id, name, content)
        for step, score in (steps or {}).items():
            study._storage.set_trial_intermediate_value(trial._trial_id, step, score)
        values = None if value is None else [value]
        study._storage.set_trial_state_values(trial._trial_id, state=state, values=values)


def _home() -> str:
    """Name the machine, its boot and what process numbers mean in it."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _born(pid: int) -> str | None:
    """Say when a process of this machine began; None if it is gone."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else rest[18]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return None
    except (OSError, IndexError):
        pass
    try:  # no /proc here: whether there is such a process must do
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "there"


def _first(error: BaseException, url: str) -> str:
    """Return the first line of an error, of what it came from if that says more, without the password."""
    deeper = error.__cause__ if isinstance(error, StorageInternalError) and error.__cause__ else error
    lines = str(deeper).strip().splitlines() or [type(deeper).__name__]
    if "database is locked" in lines[0]:
        return f"another process has kept it locked for {LOCKED:g} s; if that one is frozen, wake or end it"
    return _hidden(lines[0], url)


def _hidden(text: str, url: str) -> str:
    """Return a text without the password of a URL."""
    rest = url.partition("://")[2]
    written = rest.rpartition("@")[0].partition(":")[2]
    asked = re.findall("password=([^&]+)", rest)
    for secret in {*asked, *map(unquote, asked), written, unquote(written)} - {""}:
        text = text.replace(secret, "…")
    return text


def finished(storage: str | os.PathLike[str], study: str) -> int | None:
    """Return how many trials a study has finished; None where it has not begun. Nothing is made."""
    file = os.fspath(storage).removeprefix("sqlite:///")
    if "://" not in file and not Path(file).expanduser().exists():
        return None
    with opened(storage) as held:
        if study not in optuna.get_all_study_names(held):
            return None
        found = optuna.load_study(study_name=study, storage=held)
        return len(found.get_trials(deepcopy=False, states=FINISHED))
