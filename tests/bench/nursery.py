"""Workers of a study that are killed, frozen and woken: a process of its own, which forks them and ends them.

A fork of a process that has torch loaded is at work at once; a process that has trained must not fork, so
the tests do not do it themselves. It reads jobs as JSON, a line at a time, and prints what became of each of
their workers.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SMALL = {"hidden_dim": 8, "epoch": 4, "patience": 3}
WRITES = [
    *(
        f"optuna.storages._cached_storage._CachedStorage.{name}"
        for name in ("create_new_study", "create_new_trial", "set_study_user_attr", "set_trial_user_attr")
    ),
    "optuna.storages._cached_storage._CachedStorage.set_trial_state_values",
    "heterophily.bench.journal.Journal.append_logs",
]
"""All that changes a storage."""

WRITING = threading.RLock()
"""Held by the thread of a worker that writes to a journal."""


class Nursery:
    """The process, and how a test talks to it."""

    def __init__(self, folder: Path):
        self.complaints, self.read = folder / "complaints", 0
        with self.complaints.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.nursery"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                cwd=ROOT,
                env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
                text=True,
            )

    def do(self, *jobs: dict[str, Any]) -> list[list[dict[str, Any]]]:
        """Do jobs; return what became of the workers of each.

        A job is the arguments of `tune` and a list of steps. A step forks a worker: to its end, or until it
        is killed within some seconds, or until it kills or stops itself at the n-th call of some functions.
        """
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        said = self.complaints.read_text()[self.read :]
        self.read += len(said)
        assert line and not said.strip(), said
        found: list[list[dict[str, Any]]] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def finished(storage: str | os.PathLike[str], study: str = "synthetic-mlp") -> dict[int, Any]:
    """Return params, state, value and result of each place of a study, and see that no trial is left over."""
    from heterophily.bench.storage import open_storage, open_study, places, shut

    opened = open_storage(storage)
    trials = open_study(opened, study).get_trials(deepcopy=False)
    shut(opened)
    assert {trial.state.name for trial in trials} <= {"COMPLETE", "PRUNED", "FAIL"}, "some run for ever"
    done = [trial for trial in trials if trial.state.name != "FAIL"]
    held = places(trials)
    assert sorted(t.number for t in held.values()) == [t.number for t in done], "a place counts twice, or not"
    return {p: (t.params, t.state.name, t.value, t.user_attrs["result"]) for p, t in held.items()}


def at_nth_call(paths: Sequence[str], n: int, when: str, sign: signal.Signals) -> None:
    """Send this process a signal at the n-th call of any of some functions, before it or after."""
    calls = 0

    def stop() -> None:
        with WRITING:  # a process that is frozen while its other thread writes would keep the file locked
            os.kill(os.getpid(), sign)

    def wrapped(function: Any) -> Any:
        def called(*args: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            here = calls == n
            if here and when == "before":
                stop()
            found = function(*args, **more)
            if here and when == "after":
                stop()
            return found

        return called

    for path in paths:
        owner, name = resolve(path)
        setattr(owner, name, wrapped(getattr(owner, name)))


def resolve(path: str) -> tuple[Any, str]:
    """Return the owner and the name of a function given by its dotted path."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            owner = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:-1]:
            owner = getattr(owner, part)
        return owner, parts[-1]
    raise ImportError(path)


def work(arguments: dict[str, Any], step: dict[str, Any]) -> None:
    """Be a worker."""
    from optuna.storages import JournalStorage

    from heterophily.bench import storage, tuning
    from heterophily.bench.journal import Journal
    from heterophily.config import Choice
    from tests.tiny import tiny_graph

    write = Journal.append_logs

    def in_turn(journal: Journal, logs: list[dict[str, Any]]) -> None:
        with WRITING:
            write(journal, logs)

    show = storage.Worker.show

    def shown(worker: storage.Worker, beat: int | None) -> None:
        journal = isinstance(worker.study._storage, JournalStorage)  # whose lines are written in turn already
        with nullcontext() if journal else WRITING:
            show(worker, beat)

    Journal.append_logs = in_turn  # type: ignore[method-assign]
    storage.Worker.show = shown  # type: ignore[method-assign]
    if home := step.get("home"):
        storage._home = lambda: home
    storage.BEAT, storage.GRACE = step.get("beat", 10.0), step.get("grace", 90.0)
    tuning.WAIT = 0.05
    if at := step.get("at"):
        at_nth_call(at["calls"], at["n"], at.get("when", "before"), signal.Signals[at["signal"]])
    graph = tiny_graph(48)
    arguments = {"model": "mlp", "config": SMALL, "batch": 4} | arguments
    if values := arguments.pop("values", None):
        arguments["ranges"] = {name: Choice(*options) for name, options in values.items()}
    tuning.tune(graph, **arguments)


def fork(arguments: dict[str, Any], step: dict[str, Any]) -> int:
    """Begin a worker."""
    pid = os.fork()
    if not pid:
        try:
            work(arguments, step)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


def ended(pid: int, options: int = 0) -> int:
    """Wait for a worker; return its exit code, or the signal that ended or stopped it as a negative one."""
    _, status = os.waitpid(pid, options)
    if os.WIFSTOPPED(status):
        return -os.WSTOPSIG(status)
    return os.waitstatus_to_exitcode(status)


def do(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Do the steps of a job, one worker after the other but for those that run beside the next."""
    dice = random.Random(job.get("seed", 0))
    arguments, said, beside = job["arguments"], [], {}
    for i, step in enumerate(job["steps"]):
        start = time.perf_counter()
        if source := step.get("copy"):
            shutil.copy(source, arguments["storage"])
            continue
        if "thaw" in step:
            os.kill(beside[step["thaw"]], signal.SIGCONT)
            said.append({"code": ended(beside.pop(step["thaw"]))})
            continue
        pid = fork(arguments, step)
        if step.get("beside"):
            beside[i] = pid
            continue
        if "kill_within" in step:
            time.sleep(dice.uniform(0, step["kill_within"]))
            os.kill(pid, signal.SIGKILL)
        code = ended(pid, os.WUNTRACED)
        if code == -signal.SIGSTOP:
            beside[i] = pid
        said.append({"code": code, "seconds": time.perf_counter() - start})
    for pid in beside.values():
        said.append({"code": ended(pid)})
    return said


def main() -> None:
    """Read jobs, do them, tell, until there are no more."""
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # pandas would load it, and it begins threads
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:  # what is loaded on first use is loaded once, for all forks
        for sampler, suffix in (("tpe", "db"), ("anneal", "journal")):
            work({"storage": f"{folder}/warm.{suffix}", "trials": 12, "sampler": sampler}, {})
    assert len(os.listdir("/proc/self/task")) == 1, "a process with threads must not fork"
    for line in sys.stdin:
        print(json.dumps([do(job) for job in json.loads(line)]), flush=True)


if __name__ == "__main__":
    main()
