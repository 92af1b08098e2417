"""Commands for the paper's tables: ``reproduce`` trains their cells, ``table`` shows them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from heterophily.cli.app import Mistake, app, say
from heterophily.cli.options import Data, Device, Seed, Seeds

TABLES = ("table1",)
What = Annotated[str, typer.Argument(metavar="table1", help="Which table of the paper.")]
Datasets = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="paper: the nine of the paper; all: also the corrected Cornell, the filtered graphs, "
        "minesweeper and tolokers; or names with commas between.",
    ),
]
Models = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="paper: HDP and its 13 baselines; all: also their variants and HDP's initial assignment; or "
        "names with commas between. Majority and twin-copy are always there.",
    ),
]


def table_name(what: str) -> str:
    """Return the table that is meant; refuse one that is not there."""
    if (name := what.strip().lower().replace(" ", "").replace("-", "")) not in TABLES:
        raise Mistake(f"there is no table {what!r} to reproduce; there is {', '.join(TABLES)}")
    return name


@app.command()
def reproduce(
    what: What,
    datasets: Datasets = "paper",
    models: Models = "paper",
    seed: Seed = 0,
    seeds: Seeds = 1,
    device: Device = "auto",
    data: Data = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the cells go, as table1/DATASET/MODEL.json.")
    ] = Path("results"),
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write all these cells as one JSON file, after each of them."),
    ] = None,
    unbundle: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Train nothing: write the cells of such a file to their places."),
    ] = None,
) -> None:
    """Train the paper's table from the packaged recipes, cell by cell, and show it beside the paper's.

    A cell is a model on all splits of a dataset. What is there already with the same setting is kept, so the
    same command goes on after a stop; a cell whose recipe has changed is trained anew. A cell that fails is
    named, the others go on, and the exit code is 1.
    """
    from heterophily.bench import reproduce as bench
    from heterophily.bench.cells import unbundle as unpack
    from heterophily.bench.table1 import table1
    from heterophily.show import table1 as show
    from heterophily.show.progress import Follow, clock
    from heterophily.training.device import choose_device

    name = table_name(what)
    if unbundle is not None:
        count = unpack(unbundle, name, out)
        said = ", ".join(f"{number} {kind}" for kind, number in count.items() if number) or "no cell in it"
        print(f"{unbundle} to {out / name}: {said}")
        return
    columns, rows = bench.columns(datasets), bench.rows(models)
    if not columns:
        raise Mistake("--datasets names none; say paper, all or names with commas between")
    where = choose_device(device)
    console, start = Console(stderr=True), time.perf_counter()

    def tell(step: bench.Step) -> None:
        if line := show.step_line(step):
            say(line, "red" if step.state == "failed" else "dim")

    try:
        steps = bench.reproduce(
            columns, rows, out, seed=seed, seeds=seeds, device=where, data=data, bundle=bundle, tell=tell,
            follow=lambda title, runs: Follow(console, title, runs),
        )  # fmt: skip
    except KeyboardInterrupt:
        say("nothing finished is lost; the same command goes on from there")
        raise
    count = {state: sum(step.state == state for step in steps) for state in ("trained", "kept", "failed")}
    said = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    say(f"{len(steps)} cells: {said}; {clock(time.perf_counter() - start)}", "dim")
    if cells := [step.cell for step in steps if step.cell is not None]:
        out_console = Console()
        out_console.print(show.terminal(table1(cells), out_console.width))
    if count["failed"]:
        for step in steps:
            if step.state == "failed":
                say(f"failed: {step.dataset} · {step.model}: {step.error}", "red")
        raise typer.Exit(1)


@app.command()
def table(
    what: What = "table1",
    source: Annotated[
        Path, typer.Option("--from", metavar="DIR", help="Where `reproduce` has put the cells.")
    ] = Path("results"),
    datasets: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns to show: paper, all, or names with commas between.")
    ] = "all",
    models: Annotated[
        str, typer.Option(metavar="NAMES", help="Rows to show: paper, all, or names with commas between.")
    ] = "all",
    kind: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="terminal, markdown, latex, html or json.")
    ] = "terminal",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there instead of printing it.")
    ] = None,
) -> None:
    """Show a table of the paper from the cells on disk: ours beside the paper's, and the difference."""
    from heterophily.bench import reproduce as bench
    from heterophily.bench.cells import read_cells
    from heterophily.bench.results import write_files
    from heterophily.bench.table1 import table1
    from heterophily.show import table1 as show

    name = table_name(what)
    if kind not in show.FORMATS:
        raise Mistake(f"--format: there is no {kind!r}; there are {', '.join(show.FORMATS)}")
    made = table1(read_cells(source, name), bench.columns(datasets), bench.rows(models))
    if not made.entries:
        raise Mistake(f"{source / name} has no cell of these; `heterophily reproduce {name}` makes them")
    if out is not None:
        (file,) = write_files(out.parent, {out.name: show.written(made, kind)})
        say(f"wrote {file}", "dim")
    elif kind == "terminal":
        console = Console()
        console.print(show.terminal(made, console.width))
    else:
        print(show.written(made, kind), end="")
