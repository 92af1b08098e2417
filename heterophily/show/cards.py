"""The models of the registry for the terminal and for JSON: what they are and what can be set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

from rich.console import Group
from rich.table import Table
from rich.text import Text

from heterophily.config import Choice, Config, Integer, Range, meanings, space, types
from heterophily.models import Model

FACTS = ("name", "title", "paper", "year", "summary", "cost")


def model_json(model: Model) -> dict[str, Any]:
    """Return the facts of a model, fit for JSON."""
    return {name: getattr(model, name) for name in FACTS}


def settings_json(config: type[Config]) -> dict[str, dict[str, Any]]:
    """Return default, search range (None where it is not searched) and meaning of each setting."""
    said, ranges, defaults = meanings(config), space(config), config().to_dict()
    return {
        name: {
            "default": default,
            "range": dataclasses.asdict(ranges[name]) if name in ranges else None,
            "meaning": said.get(name, ""),
        }
        for name, default in defaults.items()
    }


def models_list(models: Iterable[Model]) -> Group:
    """Return a few lines on each model."""
    table = _table(["name", "model"])
    for model in models:
        paper = f"{model.paper}, {model.year}"
        table.add_row(model.name, Text(f"{model.title}: {model.summary}\n{paper}\ncost {model.cost}"))
    return Group(table, Text("All settings of one: heterophily models NAME. To train it: --model NAME."))


def model_card(model: Model) -> Group:
    """Return all about one model: its facts, then a row per setting."""
    facts = Text(f"{model.title}: {model.summary}\n{model.paper}, {model.year}\ncost {model.cost}")
    table = _table(["setting", "default", "meaning"])
    ranges, kinds = space(model.config), types(model.config)
    for name, setting in settings_json(model.config).items():
        searched = f" [{range_words(ranges[name])}]" if name in ranges else ""
        options = get_args(kinds[name]) if get_origin(kinds[name]) is Literal and not searched else ()
        allowed = f" (one of {', '.join(map(str, options))})" if options else ""
        table.add_row(name, value_words(setting["default"]), Text(setting["meaning"] + allowed + searched))
    words = (
        "In brackets: what a search tries. On the command line --set NAME=VALUE, in a recipe NAME = VALUE."
    )
    return Group(facts, table, Text(words))


def range_words(searched: Range) -> str:
    """Return a search range in words."""
    if isinstance(searched, Choice):
        return ", ".join(map(value_words, searched.options))
    kind = "whole, " if isinstance(searched, Integer) else ""
    return f"{kind}{value_words(searched.low)} to {value_words(searched.high)}"


def value_words(value: Any) -> str:
    """Return a value as --set takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _table(columns: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name in ("name", "setting", "default"), overflow="fold")
    return table
