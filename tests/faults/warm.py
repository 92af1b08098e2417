"""A process that has everything loaded and forks commands off, to be killed fifty times a minute.

A fork of a process that has torch loaded is at work at once. The process reads jobs as JSON, a line at a
time, runs each as a command in a child with the faults that the job asks for, and prints what became of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pwd
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.nursery import ROOT, at_nth_call, ended

SMALL = ["--set", "hidden_dim=8", "--set", "epoch=6", "--set", "patience=6"]
GRAPH = [
    "--graph", "num_nodes=60", "--graph", "num_classes=3", "--graph", "num_features=5", "--graph", "splits=2",
]  # fmt: skip
TRAIN = ["train", "synthetic", "--model", "mlp", *GRAPH, *SMALL, "--split", "all", "--device", "cpu"]
TUNE = [
    "tune", "synthetic", "--model", "mlp", *GRAPH, *SMALL, "--trials", "12", "--batch", "4",
    "--sampler", "random", "--device", "cpu",
]  # fmt: skip
REPRODUCE = ["reproduce", "table1", "--datasets", "texas,cornell", "--models", "mlp,gcn", "--device", "cpu"]
REPRODUCE += ["--jobs", "1"]
REPORT = ["report", "--from", "results"]
RECIPE = "# mean validation accuracy 50.00\n[{}]\nepoch = 6\nhidden_dim = 8\n"


class Ending(NamedTuple):
    """What became of a command: its exit code, or the signal that ended it as a negative one."""

    code: int
    seconds: float
    out: str
    err: str


class Warm:
    """The process, and how a test talks to it."""

    def __init__(self, folder: Path):
        self.complaints = folder / "complaints"
        with self.complaints.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.warm"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                cwd=ROOT,
                env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
                text=True,
            )

    def do(self, args: list[str], folder: Path, **faults: Any) -> Ending:
        """Run one command in a folder, with faults; see `child` and `watch` for what there is."""
        return self.together({"args": args, "folder": str(folder), **faults})[0]

    def together(self, *jobs: dict[str, Any]) -> list[Ending]:
        """Run commands beside each other."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.complaints.read_text()
        return [Ending(*each) for each in json.loads(line)]

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def child(job: dict[str, Any], told: Path, out: int, err: int) -> None:
    """Be a command, with the faults that the job names."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    os.chdir(job["folder"])
    os.environ["HETEROPHILY_CACHE"] = str(told / "cache")
    if job.get("nobody") and os.geteuid() == 0:
        found = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(found.pw_gid)
        os.setuid(found.pw_uid)
    if "file_size" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], job["file_size"]))
    if "memory" in job:  # MiB beyond what the process has now
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + job["memory"] * 2**20,) * 2)
    if job.get("clock"):
        jumping_clock()
    if job.get("deaf"):
        del sys.modules["pyarrow"]
        sys.addaudithook(no_network)
    if model := job.get("hungry"):
        too_wide(model)
    if at := job.get("at"):
        at_nth_call(at["calls"], at["n"], at.get("when", "before"), signal.Signals[at["signal"]])
    if model := job.get("save"):
        save(model)
        sys.exit(0)
    run(job["args"])


def run(args: list[str]) -> None:
    """Run a command; where it names datasets of the paper, a tiny graph stands in for them."""
    import heterophily.bench.reproduce as bench
    from heterophily.cli import main
    from tests.tiny import tiny_graph

    bench.load = lambda name, data=None: tiny_graph()  # type: ignore[assignment]
    main(args)


def save(model: str) -> None:
    """Write a model folder."""
    import pandas as pd
    import torch

    from heterophily import folder
    from heterophily.stage import Frozen

    weights = Frozen({"weight": torch.ones(3)})
    history = pd.DataFrame({"loss": [1.0]})
    folder.write(
        "model", folder.Kept(model, {}, ["a", "b"], 3, "accuracy", weights, 1.0, {"graph": "x"}, history)
    )


def too_wide(model: str) -> None:
    """Give a model of the table a width that needs gigabytes."""
    import heterophily.bench.reproduce as bench

    real = bench.setting

    def setting(name: str, dataset: str) -> Any:
        found = real(name, dataset)
        wide = found.config.replace(hidden_dim=10_000_000) if name == model else found.config
        return found._replace(config=wide)

    bench.setting = setting


def jumping_clock() -> None:
    """Let the wall clock jump by up to a year, back and forth, at every look."""
    import datetime
    import random

    dice, look = random.Random(0), time.time
    real = datetime.datetime

    class Jumping(real):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real.now(tz) + datetime.timedelta(days=dice.randint(-365, 365))

    time.time = lambda: look() + dice.uniform(-3e7, 3e7)
    for module in list(sys.modules.values()):
        if getattr(module, "datetime", None) is real:
            module.datetime = Jumping  # type: ignore[attr-defined]


def no_network(event: str, args: Any) -> None:
    """End the process when it looks for another."""
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        if event == "socket.getaddrinfo" or isinstance(args[1], tuple):  # no address of a file
            os.write(2, f"network: {event} {args}\n".encode())
            os._exit(99)


def watch(job: dict[str, Any], pid: int, start: float) -> None:
    """Strike at the moments that the job names, in seconds from its start."""
    if "freeze" in job:
        after, lasting = job["freeze"]
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(lasting)
            os.kill(pid, signal.SIGCONT)
    if "kill" in job:
        time.sleep(max(job["kill"] - (time.perf_counter() - start), 0))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def do(jobs: list[dict[str, Any]]) -> list[tuple[int, float, str, str]]:
    """Run commands beside each other and wait for all."""
    said = []
    with tempfile.TemporaryDirectory() as text:
        begun = []
        for number, job in enumerate(jobs):
            told = Path(text, str(number))
            told.mkdir()
            for folder in (Path(text), told):
                folder.chmod(0o777)
            start = time.perf_counter()
            (out, into_out), (err, into_err) = os.pipe(), os.pipe()
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    child(job, told, into_out, into_err)
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else 1
                except BaseException:
                    traceback.print_exc()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
            os.close(into_out)
            os.close(into_err)
            begun.append((job, pid, start, out, err))
        for job, pid, start, out, err in begun:
            watch(job, pid, start)
            code = ended(pid)
            took, texts = time.perf_counter() - start, []
            for pipe in (out, err):  # what a command says fits into a pipe
                with os.fdopen(pipe, "rb") as stream:
                    texts.append(stream.read().decode(errors="replace"))
            said.append((code, took, *texts))
    return said


def main() -> None:
    """Load everything by doing it once, then do jobs until there are no more."""
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # pandas would load it, and it begins threads
    import matplotlib
    import torch

    matplotlib.use("Agg")
    torch.set_num_threads(1)
    random.seed(0)
    protocol = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with tempfile.TemporaryDirectory() as kitchen:
        recipes(Path(kitchen))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            os.environ["HETEROPHILY_CACHE"] = folder
            os.chdir(folder)
            for args in (TRAIN + ["--out", "result"], TUNE, REPRODUCE, REPORT):
                try:
                    run(args)
                except SystemExit as end:
                    if end.code:
                        raise RuntimeError(said.getvalue()) from end
            os.chdir(ROOT)
        assert len(os.listdir("/proc/self/task")) == 1, "a process with threads must not fork"
        for line in sys.stdin:
            print(json.dumps(do(json.loads(line))), file=protocol, flush=True)
    os._exit(0)  # to take all of torch apart takes seconds


def recipes(folder: Path) -> None:
    """Take packaged recipes from a folder of our own, which make everything small."""
    import heterophily.recipes

    folder.chmod(0o755)
    for model in ("mlp", "gcn"):
        texts = [RECIPE.format(name) for name in ("texas", "cornell")]
        (folder / f"{model}.toml").write_text("\n".join(texts))
    heterophily.recipes.HERE = folder


if __name__ == "__main__":
    main()
