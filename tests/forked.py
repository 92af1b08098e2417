"""New processes that need not load torch: forks of one that has loaded the code of others, and none of ours.

To load torch, SciPy and Matplotlib takes a process seconds. Here one does, and stands in for each new
process by a fork, in which the package is as little loaded as in any other new one. A folder to put on the
PATH has the commands ``heterophily`` and ``python`` (``-c`` and ``-``); each hands its words, its folder,
its environment and its streams to the process that forks, and ends as the fork ends.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOADED = ["torch", "torch._dynamo", "scipy.stats", "matplotlib.pyplot", "optuna", "rich.progress", "typer"]
"""What takes long to load, less pandas and what needs it: pyarrow, which it loads, begins a thread."""
STAND_IN = """#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    asked = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(there, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    there.sendall(asked)
    code = there.recv(1)  # nothing comes from one that was killed
sys.exit(code[0] if code else 137)
"""


class Forks:
    """The process that forks, and the folder of the commands that it stands in for."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.commands = Path(self.folder.name)
        address = self.folder.name + "/socket"
        for name in ("heterophily", "python"):
            file = self.commands / name
            file.write_text(STAND_IN.format(python=sys.executable, address=address), encoding="utf-8")
            file.chmod(0o755)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        assert self.process.stdout and self.process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        """End the process, and what is left of its forks."""
        assert self.process.stdin and self.process.stdout
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()


def asked(there: socket.socket) -> tuple[list[int], Any]:
    """Return the streams that a command hands over, and its words, its folder and its environment."""
    size, streams, _, _ = socket.recv_fds(there, 4, 3)
    with there.makefile("rb") as text:
        return streams, json.loads(text.read(int.from_bytes(size, "big")))


def be(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be the command."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    main: Any = types.ModuleType("__main__")
    sys.modules["__main__"], sys.path[0] = main, ""
    if words[0] == "heterophily":
        sys.argv = words
        from heterophily.cli import main as command

        command()
    else:
        _, *options, flag, code = [*words, sys.stdin.read()] if words[-1] == "-" else words
        assert flag in ("-c", "-") and options in ([], ["-W", "error::UserWarning"]), words
        sys.argv = [flag]
        if options:
            warnings.simplefilter("error", UserWarning)
        exec(compile(code, "<string>", "exec"), vars(main))


def fork(there: socket.socket) -> None:
    """Fork a process that does what it is asked and tells its exit code."""
    if os.fork():
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        streams, words = asked(there)
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
        be(*words)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    there.sendall(bytes([code]))
    os._exit(code)  # to take all of torch apart takes seconds


def main(address: str) -> None:
    """Load what others wrote, then fork while there is somebody to do it for."""
    for name in LOADED:
        importlib.import_module(name)
    assert not any(name.partition(".")[0] == "heterophily" for name in sys.modules)
    threads = Path("/proc/self/task")  # as Linux tells them
    assert not threads.exists() or len(list(threads.iterdir())) == 1, "a process with threads must not fork"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(address)
        here.listen()
        print("ready", flush=True)
        while select.select([here, sys.stdin], [], [])[0] == [here]:
            with here.accept()[0] as there:
                fork(there)


if __name__ == "__main__":
    main(sys.argv[1])
