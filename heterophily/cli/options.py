"""Options that several commands have, and how their texts are read."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from heterophily.cli import names
from heterophily.cli.app import Mistake

if TYPE_CHECKING:
    from heterophily.graph import Graph

Dataset = Annotated[
    str,
    typer.Argument(
        help="A name that `heterophily datasets` lists, or synthetic.", autocompletion=names.datasets
    ),
]
ModelName = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="A model that `heterophily models` lists.", autocompletion=names.models
    ),
]
Splits = Annotated[
    str, typer.Option(metavar="N|all", help="Which split, counted from 0; several as 0,3,5; or all.")
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of weights and dropout, the same on each split.")
]
Seeds = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Train each split from N seeds, --seed and those after it. The std is then over splits, "
        "each the mean of its seeds; over the seeds, if there is but one split.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, of those `heterophily models NAME` lists; may be repeated.",
    ),
]
GraphOptions = Annotated[
    list[str] | None,
    typer.Option("--graph", metavar="KEY=VALUE", help="An option of the synthetic graph; may be repeated."),
]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to train; auto: a GPU if any.")]
Deterministic = Annotated[
    bool,
    typer.Option(
        "--deterministic",
        help="Same seed, same bits on a GPU too, somewhat slower; on a CPU it is always so.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder with raw files, never written to; else HETEROPHILY_DATA names it."
    ),
]
Clusters = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Train in N mini-batches an epoch, for a graph whose training does not fit; 0: all at once.",
    ),
]
Precise = Annotated[
    Literal["full", "mixed", "double"],
    typer.Option(
        help="mixed: bfloat16 where float32 is not needed, for less memory on a GPU; double: float64, for "
        "small graphs, where rounding can decide."
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(metavar="paper|FILE", help="Settings from the packaged recipe or from a TOML file."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def read_graph(console: Console, name: str, data: Path | None, options: dict[str, Any]) -> Graph:
    """Load a dataset, or draw the synthetic graph with some options."""
    from heterophily.graph.datasets import load
    from heterophily.graph.graph import MissingClassWarning
    from heterophily.show.progress import waiting

    warnings.simplefilter("default", MissingClassWarning)
    try:
        with waiting(console, f"reading {name}"):
            return load(name, data, **options)
    except (TypeError, ValueError) as error:
        if options:
            raise Mistake(f"--graph: {error}") from None
        raise


def synthetic_options() -> dict[str, Any]:
    """Return the options of the synthetic graph with their defaults."""
    from heterophily.graph.synthetic import synthetic

    return {name: option.default for name, option in inspect.signature(synthetic).parameters.items()}


def graph_options_of(name: str, texts: dict[str, str]) -> dict[str, Any]:
    """Read the options of the synthetic graph: numbers, lists of numbers or None."""
    if name != "synthetic" and texts:
        raise Mistake(f"--graph is for the synthetic graph; {name} is as it is")
    from heterophily.config import no_such

    known, options = synthetic_options(), {}
    for key, text in texts.items():
        if key not in known:
            raise Mistake(f"--graph: {no_such('option', key, known)}")
        try:
            options[key] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise Mistake(f"--graph {key} takes a number or a list, not {text!r}") from None
    return options


def pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Read KEY=VALUE texts; of a key given twice the last counts."""
    found = {}
    for text in texts or ():
        key, sign, value = text.partition("=")
        if not (key.strip() and sign and value.strip()):
            raise Mistake(f"{option} takes KEY=VALUE, such as {option} {EXAMPLES[option]}; not {text!r}")
        found[key.strip()] = value.strip()
    return found


EXAMPLES = {
    "--set": "rescale=0.9",
    "--graph": "homophily=0.1",
    "--space": "dropout=0.2,0.5,0.8",
    "--column": "zip=category",
}


def split_positions(text: str) -> list[int] | None:
    """Read 3, or 0,3,5; None stands for all."""
    if text.strip().lower() == "all":
        return None
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise Mistake(f"--split takes a number from 0, several as 0,3,5, or all; not {text!r}") from None


def seconds_of(text: str, option: str = "--time") -> int:
    """Read a time such as 90s, 20m or 1h30m."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text.strip().lower())
    seconds = sum(int(n or 0) * unit for n, unit in zip(found.groups(), (3600, 60, 1))) if found else 0
    if not seconds:
        raise Mistake(f"{option} takes a time such as 90s, 20m or 1h30m; not {text!r}")
    return seconds
