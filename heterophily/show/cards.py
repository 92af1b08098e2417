"""The models of the registry for the terminal and for JSON: what they are and what can be set."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable
from typing import Any, Literal, get_args, get_origin

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.config import Choice, Config, Integer, Range, meanings, space, types
from heterophily.models import Model
from heterophily.recipes import recipes

FACTS = ("name", "title", "paper", "year", "summary", "cost", "memory", "learns")
SYMBOLS = {
    "N": "nodes",
    "F": "features",
    "nnz(X)": "nonzero features of all nodes",
    "C": "classes",
    "|E|": "edges",
    "|E'|": "edges and loops",
    "|E_m|": "edges of kind m",
    "|A₂|": "pairs of nodes two steps apart",
    "h": "hidden width",
    "D": "embedding width",
    "H": "heads",
    "L": "layers",
    "K": "steps",
    "R": "relations",
}
"""What the growth of time and memory is said in."""


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


def models_list(models: Collection[Model]) -> Group:
    """Return three lines on each model: where it is from, what it does, what it costs."""
    lines: list[RenderableType] = []
    for model in models:
        authors = model.paper.partition(",")[0]
        title = "" if model.title.lower() == model.name else model.title  # more than the name in capitals
        facts = [title, authors if model.year is None else f"{authors}, {model.year}"]
        facts += [] if model.learns else ["learns nothing"]
        lines.append(Text.assemble((model.name, "bold"), *(f" · {fact}" for fact in facts if fact)))
        cost = " · ".join(f"{name} {growth}" for name, growth in growths(model).items())
        lines.append(Padding(Text.assemble(f"{model.summary}\n", (cost, "dim")), (0, 0, 0, 4)))
    words = (
        f"\n{legend(models)}\n\nAll about one, with its settings: heterophily models NAME\n"
        "To train it: heterophily train DATASET --model NAME"
    )
    return Group(*lines, Text(words))


def model_card(model: Model) -> Group:
    """Return all about one model: its facts, then a row per setting."""
    lines = {"paper": model.reference} | growths(model)
    lines["Python"] = f'make_classifier("{model.name}")'
    lines["command"] = f"heterophily train DATASET --model {model.name}"
    if found := recipes(model.name):
        lines["recipes"] = f"{', '.join(found)} (--recipe paper)"
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, line in lines.items():
        facts.add_row(name, Text(line))
    head = Text.assemble((model.title, "bold"), f": {model.summary}\n")
    settings = settings_table(model.config) if types(model.config) else Text("It has no settings.")
    return Group(head, facts, Text(), settings, Text(f"\n{legend([model])}"))


def growths(model: Model) -> dict[str, str]:
    """Return what is known of how a model's time and memory grow."""
    both = {"time": model.cost, "memory": model.memory}
    return {name: growth for name, growth in both.items() if growth}


def symbols(model: Model) -> set[str]:
    """Return the symbols in which a model's growth is said: |E|, nnz(X) and single letters."""
    found = re.findall(
        r"nnz\(X\)|\|[^|]+\||(?<![A-Za-z])[A-Za-z](?![A-Za-z])", f"{model.cost} {model.memory}"
    )
    return set(found) - {"O"}


def legend(models: Collection[Model]) -> str:
    """Say what the growths of some models are those of, and what their symbols mean."""
    used = set().union(*map(symbols, models))
    said = ", ".join(f"{symbol} {meaning}" for symbol, meaning in SYMBOLS.items() if symbol in used)
    return f"Time is that of an epoch, memory what a training takes beside the graph, for {said}."


def settings_table(config: type[Config]) -> Group:
    """Return a row per setting: its name, default, meaning and search range."""
    table = _table(["setting", "default", "meaning"])
    ranges, kinds = space(config), types(config)
    for name, setting in settings_json(config).items():
        searched = f" [{range_words(ranges[name])}]" if name in ranges else ""
        options = get_args(kinds[name]) if get_origin(kinds[name]) is Literal and not searched else ()
        allowed = f" (one of {', '.join(map(str, options))})" if options else ""
        table.add_row(name, value_words(setting["default"]), Text(setting["meaning"] + allowed + searched))
    words = (
        "In brackets: what a search tries. On the command line --set NAME=VALUE, in a recipe NAME = VALUE."
    )
    return Group(table, Text(words))


def models_markdown(models: Collection[Model]) -> str:
    """Return the table of models in Markdown."""
    rows = [["name", "model", "what it does", "paper", "time of an epoch", "memory"], ["---"] * 6]
    for model in models:
        facts = [model.title, model.summary, model.reference, model.cost, model.memory]
        rows.append([f"`{model.name}`", *(fact.replace("|", "\\|").replace("*", "\\*") for fact in facts)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + f"\n{legend(models)}\n"


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
