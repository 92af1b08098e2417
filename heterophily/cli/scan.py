"""Commands to know a graph before training: what is wrong with it, and which model may suit it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from heterophily.cli.app import FOUND, app, say
from heterophily.cli.options import (
    AsJson,
    Data,
    Dataset,
    GraphOptions,
    Seed,
    graph_options_of,
    pairs,
    read_graph,
)


@app.command()
def audit(
    dataset: Dataset,
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
    from heterophily.bench.results import make_folder, to_text, write_files
    from heterophily.graph.audit import audit as audited
    from heterophily.graph.datasets import canonical, raw_files
    from heterophily.show.audit import audit_page, audit_words
    from heterophily.show.progress import waiting

    name = canonical(dataset)
    options = graph_options_of(name, pairs("--graph", graph_options))
    if html is not None:
        make_folder(html.expanduser().parent)
    console = Console(stderr=True)
    graph = read_graph(console, name, data, options)
    with waiting(console, f"auditing {name}"):
        found = audited(graph, raw_files(name, data))
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
    dataset: Dataset,
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
    """Measure homophily by training labels alone; advise MLP, GCN or HDP, with settings to start from."""
    from heterophily.bench.diagnosis import diagnose as diagnosed
    from heterophily.bench.results import make_folder, to_text, write_files
    from heterophily.graph.datasets import canonical
    from heterophily.show.diagnosis import diagnosis_figure, diagnosis_words
    from heterophily.show.plots import to_png
    from heterophily.show.progress import waiting

    name = canonical(dataset)
    drawn = pairs("--graph", graph_options)
    options = graph_options_of(name, drawn)
    if plot is not None:
        make_folder(plot.expanduser().parent)
    console = Console(stderr=True)
    graph = read_graph(console, name, data, options)
    with waiting(console, f"diagnosing {name}"):
        found = diagnosed(graph, split, seed=seed)
    if as_json:
        print(to_text(found.to_json()), end="")
    else:
        Console().print(diagnosis_words(found, drawn))
    if plot is not None:
        picture = to_png(diagnosis_figure(found))
        (file,) = write_files(plot.expanduser().parent, {plot.name: picture})
        say(f"wrote {file}", "dim")
