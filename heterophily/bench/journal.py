"""Optuna's journal in a file, made to outlive a writer that is killed while it writes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.storages.journal import JournalFileBackend

from heterophily.config import ConfigError
from heterophily.files import reason

START = b'{"op_code":'
"""What every line begins with."""


class Journal(JournalFileBackend):
    """A file of one line per step.

    Optuna's own lock stays behind when its holder is killed, and half a line that was written last spoils
    the next. Here the lock is the system's, which dies with its holder, and half a line is taken out.
    """

    def __init__(self, path: Path):
        super().__init__(str(path))
        self.path, self.url = path, str(path)
        with path.open("rb") as file:
            start = file.read(len(START))
        if start != START[: len(start)]:
            raise ConfigError(f"{path} is no journal of a study; name another file, or one that is not there")
        with path.open("rb") as file:
            self.check_last(file)

    def check_last(self, file: Any) -> None:
        """Refuse a journal whose last whole line is damaged: Optuna would take it for one being written."""
        end = _whole(file)
        start = _whole(file, before=end - 1) if end else 0
        file.seek(start)
        try:
            json.loads(file.read(end - start) or b"{}")
        except ValueError:
            raise ConfigError(f"{self.path} is damaged in its last line; take that out by hand") from None

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write lines at the end."""
        try:
            import fcntl
        except ImportError:  # Windows
            super().append_logs(logs)
            return
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        try:
            with self.path.open("r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
                file.seek(_whole(file))
                file.truncate()
                rest = memoryview(text.encode())
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
        except OSError as error:  # a full disk, say
            raise StorageInternalError(f"nothing can be written: {reason(error)}") from None


def _whole(file: Any, block: int = 1 << 16, before: int | None = None) -> int:
    """Return where the last whole line of a file ends, or the last ``before`` a place."""
    end = file.seek(0, os.SEEK_END) if before is None else before
    while end:
        start = max(end - block, 0)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0
