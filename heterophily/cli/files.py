"""Options that name a user's own files, and how mistakes in them are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from heterophily.cli.app import Mistake, say

if TYPE_CHECKING:
    from heterophily.graph import Graph

Edges = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Edge list: CSV, TSV, JSON Lines or Parquet, also .gz; or a graph: .npz, .pt, .graphml, .gml.",
    ),
]
Nodes = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Node table: ids, labels, columns that become features.")
]
Features = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="More columns of the nodes; also JSON with a list of feature ids for each node."
    ),
]
Id = Annotated[str | None, typer.Option("--id", metavar="COL", help="The column of ids; else it is found.")]
Source = Annotated[str | None, typer.Option(metavar="COL", help="Where an edge starts; else it is found.")]
Target = Annotated[str | None, typer.Option(metavar="COL", help="Where an edge ends; else it is found.")]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What separates columns; else it is found.")
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether text files have one; else it is found.")
]
Label = Annotated[str | None, typer.Option(metavar="COL", help="The column of classes, empty where unknown.")]
SplitColumn = Annotated[
    str | None, typer.Option("--split-column", metavar="COL", help="A column of train, val, test or nothing.")
]


def read_files(
    console: Console,
    edges: Path,
    nodes: Path | None,
    features: Path | None,
    label: str | None,
    id_column: str | None,
    split: str | None,
) -> Graph:
    """Read a graph from files; say what was decided on the way."""
    from heterophily.reading import read
    from heterophily.show.progress import waiting

    with waiting(console, f"reading {edges}"), in_options():
        reading = read(edges, nodes, features, id=id_column, label=label, split=split)
    for note in reading.notes:
        say(as_options(note), "dim")
    return reading.graph


def as_options(words: str) -> str:
    """Say what a reader says of its arguments, id=..., of the options they come from, --id."""
    words = re.sub(r"columns=\{\.\.\.: '(\w+)'\}", r"--column COL=\1", words)
    for argument, option in (("header=True", "--header"), ("header=False", "--no-header")):
        words = words.replace(argument, option)
    words = re.sub(r"\bcolumns(=|:(?= `))", "--column", words)
    return re.sub(r"\b(id|label|source|target|split|drop|delimiter)=(\.\.\.)?(?=[\s,;)]|$)", r"--\1", words)


@contextmanager
def in_options() -> Iterator[None]:
    """Let a mistake in a file speak of options."""
    from heterophily.reading import ReadingError

    try:
        yield
    except ReadingError as error:
        raise Mistake(as_options(str(error))) from None
