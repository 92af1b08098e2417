"""The command ``study``: makes a study on one dataset or several, draws it, and prints a short table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from heterophily.cli.app import Mistake, app, say, screen
from heterophily.cli.options import (
    AsJson,
    Data,
    Deterministic,
    Device,
    GraphOptions,
    Seed,
    Seeds,
    Settings,
    graph_options_of,
    pairs,
    read_graph,
    split_positions,
)


@app.command()
def study(
    name: Annotated[str | None, typer.Argument(help="Which study; without one, they are listed.")] = None,
    datasets: Annotated[
        list[str] | None, typer.Argument(help="Datasets; by default those of the paper's figure.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="Which split; several as 0,3,5. By default what the study needs."),
    ] = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    models: Annotated[
        str | None, typer.Option(metavar="A,B", help="Models, for local, calibration, homophily, confusion.")
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(metavar="A,B|A:B:STEP", help="Values of λ for rescale, of homophily for homophily."),
    ] = None,
    settings: Settings = None,
    graph_options: GraphOptions = None,
    device: Device = "auto",
    deterministic: Deterministic = False,
    data: Data = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where NAME-DATASET.json and the picture go.")
    ] = Path("results/studies"),
    formats: Annotated[
        str, typer.Option("--format", metavar="png|svg|pdf", help="Of the picture; several as png,pdf.")
    ] = "png",
    as_json: AsJson = False,
) -> None:
    """Make a study of the paper, or one beyond it: its numbers as JSON, its picture, and a short table.

    Settings are the packaged recipe's of the dataset, or else the defaults. The test labels are opened.
    """
    from heterophily.files import make_folder, to_text
    from heterophily.graph.datasets import canonical
    from heterophily.models import find_model
    from heterophily.show.study_files import write_study
    from heterophily.show.study_tables import list_table, study_table
    from heterophily.studies import Plan, find_study
    from heterophily.training.device import choose_device

    if name is None:
        Console().print(list_table())
        return
    # What can be wrong is checked before anything takes time.
    chosen = find_study(name)
    wanted = [canonical(each) for each in datasets or chosen.datasets]
    if name == "homophily" and wanted != ["synthetic"]:
        raise Mistake("the study homophily draws its own graphs, so it takes no dataset but synthetic")
    kinds = formats_of(formats)
    options = options_of(name, chosen.options, models, grid)
    for model in options.get("models", ()):
        find_model(model)
    drawn = {each: graph_options_of(each, pairs("--graph", graph_options)) for each in wanted}
    positions = chosen.splits if split is None else split_positions(split)
    where = choose_device(device, deterministic)
    make_folder(out)

    from heterophily.show.progress import Follow

    console, results = screen(), []
    for each in wanted:
        with Follow(console, f"{name} · {each}") as watch:
            plan = Plan(
                splits=positions,
                seed=seed,
                seeds=seeds,
                device=where,
                changes=pairs("--set", settings),
                watch=watch,
                expect=watch.expect,
            )
            if name == "homophily":
                result = chosen.make(plan=plan, options=drawn[each], **options)
            else:
                result = chosen.make(read_graph(console, each, data, drawn[each]), plan, **options)
        if line := watch.last_line():
            say(line, "dim")
        files = write_study(out, result, kinds)
        if not as_json:
            Console().print(study_table(result))
        say(f"wrote {', '.join(file.name for file in files)} to {out}", "dim")
        results.append(result.to_json())
    if as_json:
        print(to_text({"results": results}), end="")


def formats_of(text: str) -> list[str]:
    """Read png, or png,pdf."""
    from heterophily.show.style import FORMATS

    kinds = list(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    if unknown := [kind for kind in kinds if kind not in FORMATS]:
        raise Mistake(f"--format takes {', '.join(FORMATS)}, several as png,pdf; not {unknown[0]!r}")
    return kinds


def options_of(name: str, taken: tuple[str, ...], models: str | None, grid: str | None) -> dict[str, Any]:
    """Read the options that some studies take, and refuse them to the others."""
    given: dict[str, Any] = {}
    for option, text in (("models", models), ("grid", grid)):
        if text is None:
            continue
        if option not in taken:
            takes = f"takes --{taken[0]}" if taken else "takes neither --models nor --grid"
            raise Mistake(f"the study {name} has no use for --{option}; it {takes}")
        given[option] = [part.strip() for part in text.split(",")] if option == "models" else grid_of(text)
    return given


def grid_of(text: str) -> list[float]:
    """Read 0.4,0.8,1 or 0.4:1.2:0.1, both ends included."""
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        low, high, step = (float(part) for part in text.split(":"))
        count = round((high - low) / step)
        if step <= 0 or not 0 <= count <= 1000:
            raise ValueError
        return [round(low + k * step, 10) for k in range(count + 1)]
    except (ValueError, ZeroDivisionError, OverflowError):
        raise Mistake(f"--grid takes numbers as 0.4,0.8,1 or as 0.4:1.2:0.1; not {text!r}") from None
