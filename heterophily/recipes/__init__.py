"""Recipes: settings that were chosen for a model on a dataset, as TOML files, one per model.

Settings at the top of a file hold for every dataset, a table for the dataset it is named after:

    hidden_dim = 512

    [texas]
    rescale = 0.9

The packaged files lie beside this one; a file of the user's has the same form. Where it says which model it
is for, ``model = "gcn"`` at its top, it is refused to others. The key ``chosen`` of a table says how its
settings were chosen, as ``chosen = {by = "searched", validation = 0.87, splits = 10, trials = 64}``;
``chosen`` reads it, and ``note`` says it in words.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from heterophily.config import ConfigError, types
from heterophily.models import find_model
from heterophily.recipes.provenance import KEY, Chosen

HERE = Path(__file__).parent
PACKAGED = "paper"
"""The name that stands for the packaged recipes."""


def recipe(model: str, dataset: str, source: str | os.PathLike[str] = PACKAGED) -> dict[str, Any]:
    """Return the settings of a model for a dataset, from the packaged recipes or from a TOML file."""
    dataset = dataset.strip().lower().replace("_", "-")
    found = find_model(model)
    file = _file(found.name, source)
    if source == PACKAGED and not types(found.config):
        return {}  # a rule without settings needs none
    if not file.exists():
        raise ConfigError(f"no recipes for {found.title} are packaged; leave the recipe out or pass a file")
    shared, tables = _read(file)
    if (owner := find_model(str(shared.pop("model", found.name))).name) != found.name:
        raise ConfigError(f"{_title(file)} is for the model {owner}, not {found.name}; ask for that model")
    if dataset not in tables and not shared:
        known = ", ".join(tables) or "none at all"
        raise ConfigError(f"{_title(file)} has no recipe for {dataset}; it has: {known}")
    settings = shared | {name: value for name, value in tables.get(dataset, {}).items() if name != KEY}
    where = f"{_title(file)} [{dataset}]" if dataset in tables else _title(file)
    try:
        found.config.parse(settings)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return settings


def recipes(model: str, source: str | os.PathLike[str] = PACKAGED) -> dict[str, dict[str, Any]]:
    """Return the settings of a model for every dataset that has a recipe."""
    return {name: recipe(model, name, source) for name in datasets(model, source)}


def datasets(model: str, source: str | os.PathLike[str] = PACKAGED) -> list[str]:
    """Return the datasets that a model has a recipe for."""
    file = _file(find_model(model).name, source)
    return list(_read(file)[1]) if file.exists() else []


def chosen(model: str, dataset: str, source: str | os.PathLike[str] = PACKAGED) -> Chosen:
    """Return how the settings of a table were chosen; of one that does not say it they are a guess."""
    file = _file(find_model(model).name, source)
    said = _read(file)[1].get(dataset, {}).get(KEY, {}) if file.exists() else {}
    try:
        if not isinstance(said, Mapping):
            raise ConfigError(f'{KEY} must be a table such as {{by = "searched"}}, not {said!r}')
        return Chosen.parse(said)
    except ConfigError as error:
        raise ConfigError(f"{_title(file)} [{dataset}]: {error}") from None


def note(model: str, dataset: str, source: str | os.PathLike[str] = PACKAGED) -> str:
    """Return how the settings of a table were chosen, in words: those of its search, or else of its comments.

    Comments are the lines right below the name of the table, or else those at the top of the file.
    """
    if said := chosen(model, dataset, source).words():
        return said
    file = _file(find_model(model).name, source)
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    named = re.compile(rf"""\[\s*(['"]?){re.escape(dataset)}\1\s*\]""")
    start = next((i + 1 for i, line in enumerate(lines) if named.match(line)), 0)
    for first in (start, 0):
        if found := [line.lstrip("# ") for line in takewhile(lambda line: line[:1] == "#", lines[first:])]:
            return " ".join(found)
    return ""


def model_of(source: str | os.PathLike[str]) -> str | None:
    """Return the model that a recipe says it is for, if it does."""
    if source == PACKAGED:
        return None
    named = _read(_file("", source))[0].get("model")
    return None if named is None else find_model(str(named)).name


def _file(model: str, source: str | os.PathLike[str]) -> Path:
    if source == PACKAGED:
        return HERE / f"{model}.toml"
    file = Path(source).expanduser()
    if not file.is_file():
        raise ConfigError(
            f"there is no recipe {str(source)!r}; say {PACKAGED!r} for the packaged one or name a TOML file"
        )
    return file


def _title(file: Path) -> str:
    """What to call a file in a message: the packaged ones by name, a user's as it was given."""
    return f"recipes/{file.name}" if file.parent == HERE else str(file)


def _read(file: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the settings at the top of a file and its tables."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{_title(file)} cannot be read as TOML: {error}") from None
    tables = {name: dict(part) for name, part in content.items() if isinstance(part, Mapping)}
    return {name: value for name, value in content.items() if name not in tables}, tables
