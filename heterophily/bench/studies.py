"""Where a study lives: Optuna's storages, and which of its workers are still alive.

A trial belongs to the worker that proposed it. A worker that is killed leaves trials that run for ever; so
every worker shows signs of life in the study, and trials of one that shows none are given up and queued
anew. No clock of another machine is trusted: a worker elsewhere is dead when its count of beats has stood
still for `GRACE` seconds of one's own clock; one on this machine, when its process is gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from heterophily.config import ConfigError

optuna.logging.set_verbosity(optuna.logging.WARNING)  # it would announce every study and trial

BEAT, GRACE = 10.0, 90.0
"""Seconds between signs of life, and without one until a worker is given up."""
NAMELESS = 3.0
"""Seconds until a running trial that nobody has put a name to is given up."""


def open_storage(where: str | os.PathLike[str]) -> BaseStorage:
    """Open a database by its URL (sqlite, postgresql), or a file: a journal if named so, else SQLite."""
    text = os.fspath(where)
    if "://" not in text:
        path = Path(text).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".journal":
            return JournalStorage(JournalFileBackend(str(path)))
        text = f"sqlite:///{path}"
    patience = {"connect_args": {"timeout": 60}} if text.startswith("sqlite") else {"pool_pre_ping": True}
    try:
        return RDBStorage(text, engine_kwargs=patience)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{text.partition(':')[0]} needs the driver {error.name!r}; install it, or "
            "pip install 'heterophily[postgresql]' for PostgreSQL"
        ) from None
    except Exception as error:  # SQLAlchemy's and the drivers' own, of many kinds
        first = str(error).strip().splitlines()[0]
        raise ConfigError(f"the storage {_hidden(text)} cannot be opened: {first}") from None


def open_study(storage: BaseStorage, name: str) -> optuna.Study:
    """Open a study of the storage, or begin it."""
    return optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)


class Worker:
    """One process at work on a study; shows signs of life while it is."""

    def __init__(self, study: optuna.Study):
        self.study = study
        self.name = uuid.uuid4().hex[:12]
        self.seen: dict[str, tuple[Any, float]] = {}
        self.over = threading.Event()

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Show signs of life until the block ends."""
        self.show(0)
        thread = threading.Thread(target=self._beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            thread.join()

    def show(self, beat: int) -> None:
        """Leave a sign of life in the study."""
        sign = {"beat": beat, "home": _home(), "pid": os.getpid(), "born": _born(os.getpid())}
        self.study.set_user_attr(f"worker {self.name}", sign)

    def _beat(self) -> None:
        beat = 0
        while not self.over.wait(BEAT):
            beat += 1
            with suppress(Exception):  # a database that is away for a moment is asked again next time
                self.show(beat)

    def orphans(self) -> list[FrozenTrial]:
        """Return the running trials of workers that are dead, oldest first."""
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        signs = self.study.user_attrs
        # A trial that was just claimed gets its owner's name a moment later.
        owners = {trial.number: trial.user_attrs.get("worker", f"of {trial.number}") for trial in running}
        dead = {o for o in {*owners.values()} - {self.name} if self._is_dead(o, signs.get(f"worker {o}"))}
        return [trial for trial in running if owners[trial.number] in dead]

    def _is_dead(self, owner: str, sign: dict[str, Any] | None) -> bool:
        if sign is not None and sign["home"] == _home():
            return _born(sign["pid"]) != sign["born"]
        beat = None if sign is None else sign["beat"]
        before, since = self.seen.setdefault(owner, (beat, time.monotonic()))
        if before != beat:
            self.seen[owner] = beat, time.monotonic()
            return False
        return time.monotonic() - since > (NAMELESS if sign is None else GRACE)


def give_up(study: optuna.Study, trial: FrozenTrial) -> None:
    """Queue an orphan's settings anew, once, and close it as failed."""
    again = [t.user_attrs.get("again") for t in study.get_trials(deepcopy=False)]
    if trial.number not in again:
        attrs = {"batch": trial.user_attrs["batch"], "again": trial.number}
        study.add_trial(
            optuna.trial.create_trial(
                state=TrialState.WAITING,
                params=trial.params,
                distributions=trial.distributions,
                user_attrs=attrs,
            )
        )
    close(study, trial.number, TrialState.FAIL)


def close(study: optuna.Study, number: int, state: TrialState, value: float | None = None) -> None:
    """End a trial, unless somebody else has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.tell(number, value, state, skip_if_finished=True)


def claim(study: optuna.Study, trial: FrozenTrial, worker: str) -> bool:
    """Take a queued trial; False if another worker was quicker."""
    storage = study._storage
    if not storage.set_trial_state_values(trial._trial_id, state=TrialState.RUNNING):
        return False
    storage.set_trial_user_attr(trial._trial_id, "worker", worker)
    return True


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
    except FileNotFoundError:
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


def _hidden(url: str) -> str:
    """Return a URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":…@", 1)
