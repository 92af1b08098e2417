"""What the fault suite writes down: each fault, how often it was tried and survived, and what was lost."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FULL = bool(os.environ.get("HETEROPHILY_FAULTS"))
"""Whether faults are tried as often as docs/faults.md says (`make faults`), or a few times each."""


def times(few: int, full: int) -> int:
    """How often to try."""
    return full if FULL else few


@dataclass
class Row:
    """A fault, and what came of it."""

    fault: str
    against: str
    """What was at work."""
    tried: int = 0
    survived: int = 0
    lost: list[str] = field(default_factory=list)
    said: str = ""
    """What was measured on the way."""

    def note(self, *lost: str | bool) -> None:
        """Take down one try, and what it cost: sentences, or nothing."""
        found = [str(each) for each in lost if each]
        self.tried += 1
        self.survived += not found
        self.lost += found


class Ledger:
    """All rows, in the order in which they were tried."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @contextmanager
    def row(self, fault: str, against: str) -> Iterator[Row]:
        """Keep a row; in the end something was tried and nothing lost."""
        row = Row(fault, against)
        self.rows.append(row)
        yield row
        assert row.tried and not row.lost, f"{fault}, {against}: {row.lost[:5]}"

    def write(self, file: Path) -> None:
        """Write the rows as JSON; of a part of the suite only its own rows are new."""
        from heterophily.bench.protocol import versions
        from heterophily.files import to_text, write_file

        about: dict[str, Any] = {"system": platform.system(), "cores": os.cpu_count(), "versions": versions()}
        kept = {(row["fault"], row["against"]): row for row in (read(file)["rows"] if file.exists() else ())}
        kept |= {(row.fault, row.against): asdict(row) for row in self.rows}
        write_file(file, to_text({"about": about, "rows": list(kept.values())}))


LEDGER = Ledger()


def read(file: Path) -> dict[str, Any]:
    """Read the rows back."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
