"""A PostgreSQL server of one's own on loopback, which can be stopped and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

NUMBERS = count()


def program(name: str) -> str:
    """Find a program of PostgreSQL's server."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = next((str(folder / name) for folder in folders if (folder / name).exists()), shutil.which(name))
    if not found:
        pytest.skip(f"no PostgreSQL server on this machine: there is no {name}")
    return found


def someone() -> dict[str, Any]:
    """Return who may run the server, which refuses root."""
    if os.geteuid():
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    pytest.skip("a PostgreSQL server does not run as root, and there is no user postgres or nobody")


class Server:
    """The server, with its files in a folder."""

    def __init__(self, folder: Path):
        initdb, self.postgres, self.who = program("initdb"), program("postgres"), someone()
        self.folder = folder
        if self.who:
            os.chown(folder, self.who["user"], self.who["group"])
        made = subprocess.run(
            [initdb, "-D", folder / "data", "-U", "ada", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"],
            capture_output=True, text=True, cwd=folder, **self.who,
        )  # fmt: skip
        if made.returncode:
            pytest.skip(f"PostgreSQL's initdb failed: {made.stderr.strip().splitlines()[-1:]}")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        """The beginning of its URLs."""
        return f"postgresql://ada:secret@127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [self.postgres, "-D", self.folder / "data", "-k", self.folder, "-h", "127.0.0.1", "-p",
                 str(self.port), "-c", "fsync=off", "-c", "shared_buffers=16MB"],
                stdout=log, stderr=log, cwd=self.folder, **self.who,
            )  # fmt: skip
        while not answers(self.url):
            if self.process.poll() is not None:
                pytest.skip(f"PostgreSQL does not start: {(self.folder / 'log').read_text().strip()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Shut it down at once, whoever is connected."""
        self.process.send_signal(2)
        self.process.wait()

    def database(self) -> str:
        """Make a database; return its URL."""
        import psycopg

        name = f"studies{next(NUMBERS)}"
        with psycopg.connect(f"{self.url}postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{self.url}{name}"


def answers(start: str) -> bool:
    """Whether a server answers."""
    import psycopg

    try:
        psycopg.connect(f"{start}postgres").close()
    except psycopg.OperationalError:
        return False
    return True
