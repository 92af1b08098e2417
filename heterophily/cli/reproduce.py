"""Commands for results: ``reproduce`` the paper's table, show it as a ``table``, ``compare`` anyone's."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from heterophily.cli.app import MISTAKE, Mistake, app, complain, say, screen
from heterophily.cli.options import AsJson, Data, Deterministic, Device, Seed, Seeds
from heterophily.config import no_such

if TYPE_CHECKING:
    from heterophily.bench.compare import Comparison

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


def table_name(what: str, *more: str) -> str:
    """Return the table that is meant; refuse one that is not there, with ``more`` to be had."""
    if (name := what.strip().lower().replace(" ", "").replace("-", "")) not in TABLES:
        raise Mistake(no_such("table", what, (*TABLES, *more)))
    return name


@app.command()
def reproduce(
    what: What,
    datasets: Datasets = "paper",
    models: Models = "paper",
    seed: Seed = 0,
    seeds: Seeds = 1,
    device: Device = "auto",
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Cells trained at a time, each in a process of its own; by default one, without a GPU "
            "one for each core, at most eight.",
        ),
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Train the cells that are there again; nothing is kept.")
    ] = False,
    deterministic: Deterministic = False,
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
    named, the others go on, and the exit code is 1; it is 2 where graphs could not be read and all else went
    well. To train again what a folder has, name another by --out, or say --anew: cells are then replaced one
    by one, and when their test labels were opened before stays on record.
    """
    from heterophily.bench import reproduce as bench
    from heterophily.bench.cells import unbundle as unpack
    from heterophily.bench.table1 import table1
    from heterophily.graph import MissingClassWarning
    from heterophily.show import grids
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
    where = choose_device(device, deterministic)
    warnings.simplefilter("default", MissingClassWarning)
    console, start = screen(), time.perf_counter()

    def tell(step: bench.Step) -> None:
        if line := show.step_line(step):
            complain(line) if step.state == "failed" else say(line, "dim")

    try:
        steps = bench.reproduce(
            columns, rows, out, seed=seed, seeds=seeds, device=where, data=data, bundle=bundle, tell=tell,
            anew=anew, jobs=jobs or (min(8, os.cpu_count() or 1) if where.type == "cpu" else 1),
            follow=lambda title, runs: Follow(console, title, runs),
        )  # fmt: skip
    except KeyboardInterrupt:
        goes = "without --anew the same command" if anew else "the same command"
        say(f"nothing finished is lost; {goes} goes on from there")
        raise
    count = {state: sum(step.state == state for step in steps) for state in ("trained", "kept", "failed")}
    said = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    say(f"{len(steps)} cells: {said}; {clock(time.perf_counter() - start)}", "dim")
    if kept := [step.cell for step in steps if step.cell is not None and step.state == "kept"]:
        here = "`--out DIR` trains them here"
        say(f"kept, of {out / name}: {show.kept_line(kept)}; {here}", "dim")
    if cells := [step.cell for step in steps if step.cell is not None]:
        paper = Console()
        paper.print(grids.terminal(show.grid(table1(cells)), paper.width))
    for dataset, error in {step.dataset: step.error for step in steps if step.unread}.items():
        complain(f"failed: {dataset}: {error}")
    failed = [step for step in steps if step.state == "failed" and not step.unread]
    for step in failed:
        complain(f"failed: {step.dataset} · {step.model}: {step.error}")
    if count["failed"]:
        raise typer.Exit(1 if failed else MISTAKE)


@app.command()
def table(
    what: Annotated[
        str,
        typer.Argument(metavar="table1|significance", help="The paper's table, or tests of its differences."),
    ] = "table1",
    source: Annotated[
        Path, typer.Option("--from", metavar="DIR", help="Where `reproduce` has put the cells.")
    ] = Path("results"),
    datasets: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Columns to show: paper, all that are there, or names with commas between; over named ones "
            "significance ranks.",
        ),
    ] = "all",
    models: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Rows to show: paper, all, or names with commas between; by default all, of significance "
            "those of the paper. In table1 Majority and Twin-Copy are always there.",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="terminal, markdown (md), latex (tex), html or json."
        ),
    ] = "terminal",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there instead of printing it.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="For significance: the model to compare with, by default HDP."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For significance: draw the mean ranks, as PNG, SVG or PDF."),
    ] = None,
) -> None:
    """Show a table of the paper from the cells on disk: ours beside the paper's, and the difference.

    `table significance` tests each model against HDP on every dataset, and ranks them over the paper's.
    """
    from heterophily.bench import reproduce as bench
    from heterophily.bench.cells import StrayFileWarning, datasets_there, maker, read_cells
    from heterophily.bench.significance import significance as compare_cells
    from heterophily.bench.table1 import table1
    from heterophily.files import to_text, write_files
    from heterophily.models import find_model
    from heterophily.show import grids, significance
    from heterophily.show import table1 as show

    kind = grids.ALIASES.get(kind, kind)
    if kind not in grids.FORMATS:
        raise Mistake(f"--format: {no_such('format', kind, grids.FORMATS)}")
    tests = what.strip().lower() == "significance"
    if plot is not None and not tests:
        raise Mistake("--plot draws mean ranks; say `heterophily table significance --plot FILE`")
    if against is not None and not tests:
        raise Mistake("--against names whom to test; say `heterophily table significance --against MODEL`")
    name = TABLES[0] if tests else table_name(what, "significance")
    columns, reference = bench.columns(datasets, datasets_there(source, name)), find_model(against or "hdp")
    rows = bench.rows(models or "paper", (reference.name,)) if tests else bench.rows(models or "all")
    warnings.simplefilter("default", StrayFileWarning)
    family = {*rows, *bench.rows("paper", ())} if tests else rows
    every = read_cells(source, name, columns, family)
    cells = [cell for cell in every if cell["model"] in rows]
    if not cells:
        raise Mistake(f"{source / name} has no cell of these; {maker(source, name)} makes them")
    made = table1(cells)
    content: Any = made.to_json()
    grid = show.grid(made)
    if tests:
        named = datasets.strip().lower() not in ("all", "paper")
        if reference.name not in made.models:
            where = f"{source / name}{f' on {datasets}' if named else ''}"
            raise Mistake(
                f"{reference.title} has no cell in {where} to compare others with; --against names another "
                f"model, of those there: {', '.join(made.models)}"
            )
        found = compare_cells(every, reference.name, rows, columns if named else None)
        grid, content = significance.grid(found, made), found.to_json()
        if plot is not None:
            draw_ranks(found, plot)
    if out is not None:
        text = to_text(content) if kind == "json" else grids.written(grid, kind)
        (file,) = write_files(out.parent, {out.name: text})
        say(f"wrote {file}", "dim")
    elif kind == "terminal":
        console = Console()
        console.print(grids.terminal(grid, console.width))
    else:
        print(to_text(content) if kind == "json" else grids.written(grid, kind), end="")


@app.command()
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Results to compare: result.json of train or evaluate, cells of reproduce, a bundle, or a "
            "CSV of model × split. NAME=FILE names the model of a result.",
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Compare each model with this one only, not every two."),
    ] = None,
    rope: Annotated[
        float, typer.Option(metavar="POINTS", min=0, help="What difference counts as none, in points.")
    ] = 1.0,
    alpha: Annotated[float, typer.Option(metavar="LEVEL", help="The level of the tests.")] = 0.05,
    ratio: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="Test to training nodes, where the results do not say it."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the mean ranks, as PNG, SVG or PDF.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare results on the same splits: paired tests, effect sizes, ranks, and what they allow to say.

    A difference is tested by the corrected resampled t-test and by Wilcoxon's, both Holm-adjusted; the
    Bayesian version of the first tells how probable it is that two models are equal in practice.
    """
    from heterophily.bench import compare as bench
    from heterophily.bench.scores import read_scores
    from heterophily.files import to_text
    from heterophily.show import significance

    scores = []
    for text in files:
        name, sign, file = text.partition("=")
        named = bool(sign) and not Path(text).exists()
        scores += read_scores(file if named else text, name if named else None)
    found = bench.compare(scores, against, rope / 100, alpha, ratio)
    if plot is not None:
        draw_ranks(found, plot)
    if as_json:
        print(to_text(found.to_json()), end="")
    else:
        Console().print(significance.comparison(found))


def draw_ranks(found: Comparison, file: Path) -> None:
    """Write the critical-difference diagram of a comparison."""
    from heterophily.files import write_files
    from heterophily.show.ranks import KINDS, critical_difference_figure, figure_bytes
    from heterophily.show.significance import ranks_words

    kind = file.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise Mistake(f"--plot: the name {file.name!r} should end in {', '.join(f'.{k}' for k in KINDS)}")
    if found.ranks is None:
        raise Mistake(f"--plot: {ranks_words(found)}")
    write_files(file.parent, {file.name: figure_bytes(critical_difference_figure(found), kind)})
    say(f"wrote {file}", "dim")
