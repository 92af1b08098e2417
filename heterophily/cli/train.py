"""Commands that train with one setting and open the test labels: ``train`` to try, ``evaluate`` to report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from heterophily.cli.app import app, say, screen
from heterophily.cli.options import (
    AsJson,
    Clusters,
    Data,
    Dataset,
    Deterministic,
    Device,
    GraphOptions,
    ModelName,
    Precise,
    Recipe,
    Seed,
    Seeds,
    Settings,
    Splits,
    graph_options_of,
    pairs,
    read_graph,
    split_positions,
)

if TYPE_CHECKING:
    from heterophily.config import Config
    from heterophily.training.runs import Precision


@app.command()
def train(
    dataset: Dataset,
    model: ModelName = "hdp",
    split: Splits = "0",
    seed: Seed = 0,
    seeds: Seeds = 1,
    settings: Settings = None,
    recipe: Recipe = None,
    graph_options: GraphOptions = None,
    device: Device = "auto",
    deterministic: Deterministic = False,
    clusters: Clusters = 0,
    precision: Precise = "full",
    data: Data = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write result.json, predictions.csv and, for HDP, edges.csv there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on one split of a dataset, or on all, and score it on the test nodes.

    All splits and seeds are trained together where that is faster. The std is that of a sample (ddof 1).
    """
    run(
        dataset, model, recipe, settings, split, seed, seeds, graph_options, device, deterministic, data, out,
        as_json, clusters=clusters, precision=precision,
    )  # fmt: skip


@app.command()
def evaluate(
    dataset: Dataset,
    recipe: Annotated[
        str, typer.Option(metavar="FILE|paper", help="The chosen settings: a TOML file as `tune` writes it.")
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which model; by default the recipe's, or hdp if it names none."),
    ] = None,
    split: Splits = "all",
    seed: Seed = 0,
    seeds: Seeds = 1,
    graph_options: GraphOptions = None,
    device: Device = "auto",
    deterministic: Deterministic = False,
    data: Data = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where result.json and predictions.csv go; by default evaluation/DATASET-MODEL.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Open the test set for another setting all the same; it is recorded."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train with a chosen setting on all splits, open the test labels once, and record that it was done.

    A folder holds the evaluation of one setting. To open the test set for a second one is to choose by
    test labels, so that is refused, unless with --again. Other seeds are recorded, too.
    """
    from heterophily.bench.opening import opening
    from heterophily.graph.datasets import canonical
    from heterophily.models import find_model
    from heterophily.recipes import model_of

    found, name = find_model(model or model_of(recipe) or "hdp"), canonical(dataset)
    folder = out or Path("evaluation") / f"{name}-{found.name}"

    def record(config: Config, options: Mapping[str, Any]) -> dict[str, Any]:
        return opening(
            folder / "result.json", found.name, name, config, options, recipe, again, seed=seed, seeds=seeds
        )

    run(
        name, found.name, recipe, None, split, seed, seeds, graph_options, device, deterministic, data,
        folder, as_json, record,
    )  # fmt: skip


def run(
    dataset: str,
    model: str,
    recipe: str | None,
    settings: list[str] | None,
    split: str,
    seed: int,
    seeds: int,
    graph_options: list[str] | None,
    device: str,
    deterministic: bool,
    data: Path | None,
    out: Path | None,
    as_json: bool,
    record: Callable[[Config, Mapping[str, Any]], Mapping[str, Any]] | None = None,
    clusters: int = 0,
    precision: Precision = "full",
) -> None:
    """Train, score, print and save; ``record`` says of an opening of the test set why it was let be."""
    from heterophily import recipes
    from heterophily.bench.protocol import diverged_words
    from heterophily.bench.protocol import evaluate as evaluated
    from heterophily.bench.results import results_folder, save
    from heterophily.files import to_text
    from heterophily.graph.datasets import canonical
    from heterophily.models import find_model
    from heterophily.show import tables
    from heterophily.show.progress import Follow
    from heterophily.training.device import choose_device

    # What can be wrong is checked before anything takes time.
    found, name = find_model(model), canonical(dataset)
    chosen = {} if recipe is None else recipes.recipe(found.name, name, recipe)
    config = found.config.parse(chosen | pairs("--set", settings))
    where = choose_device(device, deterministic)
    positions = split_positions(split)
    options = graph_options_of(name, pairs("--graph", graph_options))
    if out is not None:
        results_folder(out)
    opened = None if record is None else record(config, options)

    console = screen()
    graph = read_graph(console, name, data, options)
    wanted = range(len(graph.splits)) if positions is None else positions
    with Follow(console, name, len(wanted) * seeds) as watch:
        result = evaluated(graph, found.name, config, wanted, seed, where, watch, seeds, clusters, precision)
    if line := watch.last_line():
        say(line, "dim")
    result = replace(result, graph_options=options, opened=opened)

    if as_json:
        print(to_text(result.to_json()), end="")
    else:
        Console().print(tables.evaluation_table(result))
        Console().print(Text(tables.summary(result)), soft_wrap=True)
    for lost in result.diverged:
        say(f"without a score, the others go on: {diverged_words(name, lost)}", "red")
    if out is not None:
        files = save(out, result, graph)
        say(f"wrote {', '.join(file.name for file in files)} to {out}", "dim")
    if result.diverged:
        raise typer.Exit(1)
