"""The record of who opened the test labels for a result, when and for which setting."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heterophily.config import Config
from heterophily.files import OutputError, unsealed

UNREADABLE = "a file that cannot be read"


class OpenedError(ValueError):
    """A second opening of the test set, for another setting."""


LATER = ("structural_top", "two_hop_walks", "by_loss", "summed", "bias", "directed_features")
"""Settings that the first results had not."""


def fingerprint(model: str, dataset: str, config: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Name a setting by its content: the sha256 of model, dataset and settings as JSON, keys sorted.

    Settings that came `LATER` are left out where they are off, so that what was opened before keeps its name.
    """
    own = {name: value for name, value in config.items() if value or name not in LATER}
    said = {"model": model, "dataset": dataset, "config": own, "graph": dict(options)}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def opening(
    file: str | os.PathLike[str],
    model: str,
    dataset: str,
    config: Config,
    options: Mapping[str, Any],
    recipe: str,
    again: bool = False,
    by: str = "evaluate",
    seed: int = 0,
    seeds: int = 1,
) -> dict[str, Any]:
    """Return the record of an opening; refuse a second one for another setting, unless ``again``.

    ``file`` is the result that will be written; it tells whether there was an opening before. One of the same
    setting from other seeds is let be, and stays on record like one of another setting.
    """
    setting = fingerprint(model, dataset, config.to_dict(), options)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record: dict[str, Any] = {"by": by, "at": now, "setting": setting, "recipe": recipe}
    record |= {"seed": seed, "seeds": seeds}
    place = Path(file).expanduser()
    before = _earlier(place, again)
    if before is None:
        return record
    if all(before.get(name) == record[name] for name in ("setting", "seed", "seeds")):
        return record | {name: before[name] for name in ("again", "earlier") if name in before}
    same = before["setting"] == setting
    if not (same or again):
        raise OpenedError(
            f"the test set was opened for another setting, by {before['by']} on {before['at']}; the result "
            f"is in {place.parent}. Who opens it again chooses by test scores. Name another folder with "
            "--out if this is another question, or pass --again, which is recorded"
        )
    earlier = [*before.get("earlier", []), {key: v for key, v in before.items() if key != "earlier"}]
    return record | ({} if same else {"again": True}) | {"earlier": earlier}


def _earlier(file: Path, damaged: bool = False) -> dict[str, Any] | None:
    """Return the record of the result that lies there, by ``train`` too; None where there is none.

    Older records leave seeds to the result. One that cannot be read is refused, or with ``damaged`` recorded
    as such.
    """
    if not file.exists():
        if (aside := file.with_name(f"{file.name}.damaged")).exists():  # and no sound one has come after
            return {"by": UNREADABLE, "at": _changed(aside), "setting": None}
        return None
    at = _changed(file)
    try:
        result = unsealed(json.loads(file.read_text(encoding="utf-8")))
        seeds = {name: result[name] for name in ("seed", "seeds") if name in result}
        if "test_opened" in result:
            record = seeds | dict(result["test_opened"])
            texts = all(isinstance(record[name], str) for name in ("by", "at", "setting"))
            if not (texts and isinstance(record.get("earlier", []), list)):
                raise ValueError("the record is not as records are")
            return record
        parts = (result[name] for name in ("model", "dataset", "config", "graph"))
        return {"by": "train", "at": at, "setting": fingerprint(*parts)} | seeds
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if damaged:
            return {"by": UNREADABLE, "at": at, "setting": None}
        raise OutputError(
            f"{file} cannot be read as a result ({type(error).__name__}), so nobody can say whether the "
            "test set was opened; name another folder with --out"
        ) from None


def _changed(file: Path) -> str:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
