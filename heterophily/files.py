"""The one place that writes files: each is there whole or not at all, and can tell whether it is damaged.

A file is written beside its place, brought to the disk, and moved; then the move is brought to the disk.
Whatever stops the writing (a full disk, a signal, the power) leaves the file of before. What a writer that
was killed has left beside the place goes with the next writing. JSON that is read again later carries a
checksum of its content.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

CHECKSUM = "checksum"
"""The key of a JSON object that names the content of all others."""
SHA = "sha256:"
"""Begins every checksum, so that it is known for one even under a damaged name."""
OLD = ".old"
"""Ends the name of a folder that was moved away for a new one."""


class OutputError(ValueError):
    """A place where results cannot be written."""


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make the folder and try to write there, so that a mistake shows before hours of training."""
    path = Path(folder).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise OutputError(f"cannot write to the folder {path}: {reason(error)}; name another") from None
    return path


def write_file(place: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write one file to its place."""
    path = Path(place).expanduser()
    (file,) = write_files(path.parent, {path.name: content})
    return file


def write_files(folder: str | os.PathLike[str], files: Mapping[str, str | bytes | None]) -> list[Path]:
    """Write files so that each is the old one or the new one at any moment; None removes an old one.

    All are written beside their places first, and moved in the order given when the last is complete. Two
    processes move theirs one after the other, so that what lies there in the end is of one of them.
    """
    path = make_folder(folder)
    if bad := [name for name in files if name != Path(name).name]:
        raise OutputError(f"{bad[0]!r} is no name of a file in {path}")
    waiting: dict[Path, Path] = {}
    try:
        with _beside(path) as beside:
            for name, content in files.items():
                if content is not None:
                    waiting[beside / name] = path / name
                    _write(beside / name, content)
            with _alone(path):
                for new, place in waiting.items():
                    new.replace(place)
                for name, content in files.items():
                    if content is None:
                        (path / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"could not write the results to {path}: {reason(error)}") from None
    return list(waiting.values())


def write_folder(place: str | os.PathLike[str], files: Mapping[str, bytes]) -> Path:
    """Write a folder of files as a whole, over an older one; `found_folder` finds it after any stop."""
    path = Path(place)
    make_folder(path.parent)
    try:
        with _beside(path.parent) as beside:
            new, old = beside / "new", path.with_name(f".{path.name}{OLD}")
            new.mkdir()
            for name, content in files.items():
                _write(new / name, content)
            sync(new)
            with _alone(path.parent):
                if path.exists():
                    shutil.rmtree(old, ignore_errors=True)
                    path.replace(old)
                new.replace(path)
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        found_folder(path)
        raise OutputError(f"could not write {path}: {reason(error)}") from None
    return path


def found_folder(place: Path) -> Path:
    """Return a folder; one that a writer moved away and did not live to replace is moved back before."""
    old = place.with_name(f".{place.name}{OLD}")
    if old.is_dir() and not place.exists():
        with suppress(OSError):
            old.rename(place)
    return place


def move(new: Path, place: Path) -> None:
    """Move a file that another program has written to its place, when it is on the disk."""
    place.parent.mkdir(parents=True, exist_ok=True)
    sync(new)
    new.replace(place)
    sync(place.parent)


def set_aside(file: Path) -> Path:
    """Rename a damaged file to NAME.damaged, or with a number, so that a sound one can take its place."""
    names = (file.with_name(f"{file.name}.damaged{f'.{n}' if n else ''}") for n in range(10_000))
    aside = next(name for name in names if not name.exists())
    try:
        file.replace(aside)
        sync(file.parent)
    except OSError as error:
        raise OutputError(f"{file} is damaged and cannot be set aside: {reason(error)}") from None
    return aside


def to_text(content: Mapping[str, Any] | list[Any]) -> str:
    """Return JSON as it is written to files and printed; NaN, which is no JSON, is refused."""
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with the checksum of its content."""
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    return rest | {CHECKSUM: SHA + digest(rest)}


def unsealed(content: Any) -> Any:
    """Return a JSON object without its checksum; ValueError if it does not fit. Older files have none."""
    if not isinstance(content, dict):
        return content
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    if any(isinstance(value, str) and value.startswith(SHA) for value in rest.values()) or (
        CHECKSUM in content and content[CHECKSUM] != SHA + digest(rest)
    ):
        raise ValueError("its checksum differs, so it was cut or changed after it was written")
    return rest


def digest(content: Any) -> str:
    """Name a JSON value by its content, however it is laid out."""
    again = json.loads(json.dumps(content))  # as it will be when it is read
    text = json.dumps(again, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def reason(error: OSError) -> str:
    """Say why the system refused, in its own words."""
    return (error.strerror or str(error)).lower()


def sync(place: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk; not all systems can do it for folders."""
    with suppress(OSError):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write(file: Path, content: str | bytes) -> None:
    with file.open("wb") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """Yield a folder of one's own in another, gone in the end; those of writers that were killed go too.

    Each is locked while its writer lives; the lock is the system's, which dies with its holder.
    """
    own = folder / f".{uuid.uuid4().hex}.new"
    with ExitStack() as held:
        with _locked(folder):  # nobody shall take it for left behind before it is locked
            for left in folder.glob(".*.new"):
                with suppress(OSError), _locked(left, 0.0):
                    shutil.rmtree(left, ignore_errors=True)
            own.mkdir()
            held.enter_context(_locked(own))
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Be the only one who moves files into a folder, and bring the moves to the disk."""
    with _locked(folder):
        yield
        sync(folder)


@contextmanager
def _locked(folder: Path, patience: float = 10.0) -> Iterator[None]:
    """Hold a folder's lock; go on without where there are no locks, or where its holder seems frozen.

    Without patience it is held or refused by an OSError.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        if not patience:
            raise OSError("there are no locks here") from None
        yield
        return
    handle, until = os.open(folder, os.O_RDONLY), time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not patience:
                    raise
                if time.monotonic() > until:
                    break
                time.sleep(0.02)
            except OSError:  # some network disks
                if not patience:
                    raise
                break
        yield
    finally:
        os.close(handle)
