"""Commands to look around: what there is, and a demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from heterophily.cli import names
from heterophily.cli.app import app, screen
from heterophily.cli.options import AsJson, Device, synthetic_options


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to put the picture.")] = Path("demo-output"),
    device: Device = "auto",
) -> None:
    """Train HDP beside an MLP on a synthetic graph and draw how it splits the neighborhoods."""
    from heterophily.bench.demo import run_demo
    from heterophily.files import make_folder, write_files
    from heterophily.show import plots, tables
    from heterophily.show.progress import Follow
    from heterophily.training.device import choose_device

    chosen = choose_device(device)
    make_folder(out)
    with Follow(screen(), "demo") as watch:
        seen = run_demo(chosen, watch)
    picture = plots.to_png(plots.partition_figure(seen.edges, seen.classes, tables.demo_title(seen)))
    edges = seen.edges.to_csv(index=False, float_format="%.9g")
    files = write_files(out, {"partition.csv": edges, "partition.png": picture})
    console = Console()
    console.print(Text(repr(seen.graph)))
    console.print(tables.demo_table(seen))
    console.print(Text(tables.demo_words(seen)))
    console.print(
        Text(f"The picture of the partition: {files[1]} (and every edge: {files[0]})"), soft_wrap=True
    )


@app.command()
def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Show all about one dataset.", autocompletion=names.datasets)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the datasets with their facts, or show all about one."""
    from heterophily.files import to_text
    from heterophily.graph.datasets import DATASETS, canonical
    from heterophily.show import tables

    chosen = None if name is None else canonical(name)
    if chosen == "synthetic":
        options = synthetic_options()
        facts: dict[str, Any] = {"name": "synthetic", "options": options}
        show: Any = tables.synthetic_card(options)
    elif chosen is not None:
        facts = tables.facts_json(DATASETS[chosen])
        show = tables.dataset_card(DATASETS[chosen])
    else:
        facts = {"datasets": [tables.facts_json(row) for row in DATASETS.values()]}
        show = tables.datasets_table(DATASETS.values())
    if as_json:
        print(to_text(facts), end="")
    else:
        Console().print(show)


@app.command()
def models(
    name: Annotated[
        str | None, typer.Argument(help="Show one model with all its settings.", autocompletion=names.models)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the models, or show one with its settings: default, search range and meaning."""
    from heterophily.files import to_text
    from heterophily.models import MODELS, find_model
    from heterophily.show import cards

    if name is not None:
        model = find_model(name)
        facts: dict[str, Any] = cards.model_json(model) | {"settings": cards.settings_json(model.config)}
        show: Any = cards.model_card(model)
    else:
        facts = {"models": [cards.model_json(model) for model in MODELS.values()]}
        show = cards.models_list(MODELS.values())
    if as_json:
        print(to_text(facts), end="")
    else:
        Console().print(show)
