"""Commands to know a graph before training: what is wrong with it, and which model may suit it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from heterophily.cli import names
from heterophily.cli.app import FOUND, Mistake, app, say, screen
from heterophily.cli.files import Edges, Features, Id, Label, Nodes, SplitColumn, read_files
from heterophily.cli.options import (
    AsJson,
    Data,
    GraphOptions,
    Seed,
    graph_options_of,
    pairs,
    read_graph,
)

Known = Annotated[
    str | None,
    typer.Argument(
        help="A name that `heterophily datasets` lists, or synthetic; else --edges names files.",
        autocompletion=names.datasets,
    ),
]


def known_name(dataset: str | None, edges: Path | None) -> str | None:
    """Return the name of a dataset, or None where files were named instead."""
    from heterophily.graph.datasets import canonical

    if (dataset is None) == (edges is None):
        raise Mistake(
            "name a dataset, such as texas, or files of your own: --edges FILE --nodes FILE --label COL"
        )
    return None if dataset is None else canonical(dataset)


@app.command()
def audit(
    dataset: Known = None,
    edges: Edges = None,
    nodes: Nodes = None,
    features: Features = None,
    label: Label = None,
    id_column: Id = None,
    split_column: SplitColumn = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 3 if something serious is found.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the findings as a page, too.")
    ] = None,
    graph_options: GraphOptions = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Look for what can distort a result: copies, leaks, faulty splits, labels and edges; the worst first."""
    from heterophily.files import make_folder, to_text, write_files
    from heterophily.graph.audit import audit as audited
    from heterophily.graph.datasets import raw_files
    from heterophily.show.audit import audit_page, audit_words
    from heterophily.show.progress import waiting

    name = known_name(dataset, edges)
    options = graph_options_of(name or "a graph of files", pairs("--graph", graph_options))
    if html is not None:
        make_folder(html.expanduser().parent)
    console = screen()
    if name is not None:
        graph, raw = read_graph(console, name, data, options), raw_files(name, data)
    else:
        assert edges is not None
        graph, raw = read_files(console, edges, nodes, features, label, id_column, split_column), []
    with waiting(console, f"auditing {graph.name}"):
        found = audited(graph, raw)
    if as_json:
        print(to_text(found.to_json()), end="")
    else:
        Console().print(audit_words(found))
    if html is not None:
        (file,) = write_files(html.expanduser().parent, {html.name: audit_page(found)})
        say(f"wrote {file}", "dim")
    if strict and found.serious:
        raise typer.Exit(FOUND)


@app.command()
def diagnose(
    dataset: Known = None,
    edges: Edges = None,
    nodes: Nodes = None,
    features: Features = None,
    label: Label = None,
    id_column: Id = None,
    split_column: SplitColumn = None,
    split: Annotated[
        int, typer.Option(min=0, metavar="N", help="Whose training labels to look at, counted from 0.")
    ] = 0,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the compatibility matrix as a PNG, too."),
    ] = None,
    seed: Seed = 0,
    graph_options: GraphOptions = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Measure homophily by training labels alone; advise MLP, GCN or HDP, with settings to start from.

    Of files without a split column all labels are taken for training labels.
    """
    from heterophily.bench.diagnosis import diagnose as diagnosed
    from heterophily.files import make_folder, to_text, write_files
    from heterophily.graph import Split
    from heterophily.show.diagnosis import diagnosis_figure, diagnosis_words
    from heterophily.show.plots import to_png
    from heterophily.show.progress import waiting

    name = known_name(dataset, edges)
    drawn = pairs("--graph", graph_options)
    options = graph_options_of(name or "a graph of files", drawn)
    if plot is not None:
        make_folder(plot.expanduser().parent)
    console = screen()
    if name is not None:
        graph, files = read_graph(console, name, data, options), ""
    else:
        assert edges is not None
        graph = read_files(console, edges, nodes, features, label, id_column, split_column)
        named = {"edges": edges, "nodes": nodes, "features": features, "label": label, "id": id_column}
        files = " ".join(f"--{key} {value}" for key, value in named.items() if value is not None)
        if not graph.splits:
            graph = graph.with_splits([Split(graph.y >= 0, graph.y < -1, graph.y < -1, "of all labels")])
    with waiting(console, f"diagnosing {graph.name}"):
        found = diagnosed(graph, split, seed=seed)
    if as_json:
        print(to_text(found.to_json()), end="")
    else:
        Console().print(diagnosis_words(found, drawn, files))
    if plot is not None:
        picture = to_png(diagnosis_figure(found))
        (file,) = write_files(plot.expanduser().parent, {plot.name: picture})
        say(f"wrote {file}", "dim")
