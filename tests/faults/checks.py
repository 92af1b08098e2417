"""What is on disk: whole, and the same as it would be had nothing happened."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

from heterophily.files import unsealed

FREE = {"seconds", "at", "versions", "files"}
"""What differs between two runs of the same: times, and checksums of files with times in them."""


def content(file: Path) -> Any:
    """A JSON file without its checksum, which must fit, and without times."""
    return without(unsealed(json.loads(file.read_text(encoding="utf-8"))))


def without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without(each) for name, each in value.items() if name not in FREE}
    return [without(each) for each in value] if isinstance(value, list) else value


def damaged(folder: Path) -> list[str]:
    """Files of a folder that are not whole, a sentence each; what a killed writer left beside is none."""
    said = []
    for file in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in file.relative_to(folder).parts) or not file.is_file():
            continue
        try:
            if file.suffix == ".json":
                assert unsealed(json.loads(file.read_text(encoding="utf-8")))
            elif file.suffix == ".csv":
                rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
                assert len({len(row) for row in rows}) == 1
            elif file.suffix == ".html":
                assert file.read_text(encoding="utf-8").rstrip().endswith("</html>")
            elif file.suffix == ".png":
                assert file.read_bytes().endswith(b"IEND\xaeB`\x82")
        except (ValueError, AssertionError) as error:
            said.append(f"{file.name} is not whole ({type(error).__name__}: {error})")
    return said


def left_beside(folder: Path) -> list[str]:
    """What writers have left behind."""
    return [f"{file} was left behind" for file in folder.rglob(".*") if file.suffix in (".new", ".old")]


def sums(folder: Path) -> dict[str, str]:
    """The checksum of each file of a folder, by its name in it."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
