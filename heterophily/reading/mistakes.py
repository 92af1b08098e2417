"""What is wrong with a user's file, in words: the file, the line or column, and the mend."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ReadingError(ValueError):
    """A file or frame that cannot be read as a graph; the message says where, what, and what to do."""


def reason(error: BaseException) -> str:
    """What a library says of a file that it stumbles over, in one line."""
    said = (getattr(error, "strerror", None) or str(error)).strip()
    return said.splitlines()[0][:160] if said else type(error).__name__


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in backticks, the first few of many."""
    names = [f"`{name}`" for name in names]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


def no_column(source: str, name: str, known: Iterable[str], option: str) -> ReadingError:
    """The error for a column that was named but is not there."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean `{close[0]}`?" if close else f"; name one of them with {option}"
    return ReadingError(f"{source} has no column `{name}`, it has {listed(known)}{hint}")
