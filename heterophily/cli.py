"""The command line: parse, call, print. Results go to stdout; progress, notes and errors to stderr."""

from __future__ import annotations

import ast
import inspect
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from heterophily._version import __version__

# Torch and PyG take seconds to import. Commands import what they need, so that --help answers at once.
if TYPE_CHECKING:
    from heterophily.graph import Graph

MISTAKE, STOPPED = 2, 130
"""Exit codes beside 0."""

# Typer hands on BadParameter but not its base, which it has from click or from a copy of its own.
UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    help="Node classification where neighbors differ. A first look: heterophily demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to train; auto: a GPU if any.")]


class Mistake(ValueError):
    """Something the user can mend."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 all done, 2 a mistake of the user's, 130 stopped by Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that has no ± shows a ? instead of failing
    if "torch" not in sys.modules:
        # Read once, when torch loads OpenMP. By default its threads spin while they wait for each other;
        # on a machine that has other work they then wait for one that has no core, and the many small
        # steps of a training take many times as long. Waiting asleep costs next to nothing.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        with notes():
            code = app(args, prog_name="heterophily", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as error:
        if (line := mistake(error)) is None:
            raise  # ours, not the user's
        say(f"error: {line}", "bold red")
        code = MISTAKE
    if code == STOPPED:
        say("stopped")
    sys.exit(code if isinstance(code, int) else 0)


def mistake(error: Exception) -> str | None:
    """Return what to tell the user about an error that the user can mend; None for one of ours."""
    if isinstance(error, UsageError):
        text = error.format_message()
    elif isinstance(error, ValueError) and type(error).__module__.partition(".")[0] == "heterophily":
        text = str(error)
    elif isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and ("out of memory" in str(error) or "allocate memory" in str(error))
    ):
        text = "not enough memory; try fewer splits or seeds at a time, another device or smaller widths"
    else:
        return None
    return " ".join(text.split())


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings as one dim line each, without file and line number."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"note: {' '.join(str(message).split())}", "dim")
        yield


def say(line: str, style: str = "") -> None:
    """Print a line on stderr, whatever characters it has."""
    Console(stderr=True).print(Text(line, style), soft_wrap=True)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"heterophily {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to put the picture.")] = Path("demo-output"),
    device: Device = "auto",
) -> None:
    """Train HDP beside an MLP on a synthetic graph and draw how it splits the neighborhoods."""
    from heterophily.bench.demo import run_demo
    from heterophily.bench.results import make_folder, write_files
    from heterophily.show import plots, tables
    from heterophily.show.progress import Follow
    from heterophily.training.device import choose_device

    chosen = choose_device(device)
    make_folder(out)
    with Follow(Console(stderr=True), "demo") as watch:
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
    name: Annotated[str | None, typer.Argument(help="Show all about one dataset.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the datasets with their facts, or show all about one."""
    from heterophily.bench.results import to_text
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
    name: Annotated[str | None, typer.Argument(help="Show one model with all its settings.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the models, or show one with its settings: default, search range and meaning."""
    from heterophily.bench.results import to_text
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


@app.command()
def train(
    dataset: Annotated[str, typer.Argument(help="A name that `heterophily datasets` lists, or synthetic.")],
    model: Annotated[
        str, typer.Option(metavar="NAME", help="A model that `heterophily models` lists.")
    ] = "hdp",
    split: Annotated[
        str, typer.Option(metavar="N|all", help="Which split, counted from 0; several as 0,3,5; or all.")
    ] = "0",
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of weights and dropout, the same on each split.")
    ] = 0,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Train each split from N seeds, --seed and those after it. The std is then over splits, "
            "each the mean of its seeds; over the seeds, if there is but one split.",
        ),
    ] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting, of those `heterophily models NAME` lists; may be repeated.",
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(metavar="paper|FILE", help="Settings from the packaged recipe or from a TOML file."),
    ] = None,
    graph_options: Annotated[
        list[str] | None,
        typer.Option(
            "--graph", metavar="KEY=VALUE", help="An option of the synthetic graph; may be repeated."
        ),
    ] = None,
    device: Device = "auto",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder with raw files, never written to; else HETEROPHILY_DATA names it."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write result.json, predictions.csv and, for HDP, edges.csv there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on one split of a dataset, or on all, and score it on the test nodes.

    All splits and seeds are trained together where that is faster. The std is that of a sample (ddof 1).
    """
    from heterophily import recipes
    from heterophily.bench.protocol import evaluate
    from heterophily.bench.results import results_folder, save, to_text
    from heterophily.graph.datasets import canonical
    from heterophily.models import find_model
    from heterophily.show import tables
    from heterophily.show.progress import Follow
    from heterophily.training.device import choose_device

    # What can be wrong is checked before anything takes time.
    found, name = find_model(model), canonical(dataset)
    chosen = {} if recipe is None else recipes.recipe(found.name, name, recipe)
    config = found.config.parse(chosen | pairs("--set", settings))
    where = choose_device(device)
    positions = split_positions(split)
    options = graph_options_of(name, pairs("--graph", graph_options))
    if out is not None:
        results_folder(out)

    console = Console(stderr=True)
    graph = read_graph(console, name, data, options)
    wanted = range(len(graph.splits)) if positions is None else positions
    with Follow(console, name, len(wanted) * seeds) as watch:
        result = evaluate(graph, found.name, config, wanted, seed, where, watch, seeds)
    if line := watch.last_line():
        say(line, "dim")
    result = replace(result, graph_options=options)

    if as_json:
        print(to_text(result.to_json()), end="")
    else:
        Console().print(tables.evaluation_table(result))
        Console().print(Text(tables.summary(result)), soft_wrap=True)
    if out is not None:
        files = save(out, result, graph)
        say(f"wrote {', '.join(file.name for file in files)} to {out}", "dim")


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
    known, options = synthetic_options(), {}
    for key, text in texts.items():
        if key not in known:
            raise Mistake(f"--graph: the synthetic graph has no option {key!r}; it has {', '.join(known)}")
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


EXAMPLES = {"--set": "rescale=0.9", "--graph": "homophily=0.1"}


def split_positions(text: str) -> list[int] | None:
    """Read 3, or 0,3,5; None stands for all."""
    if text.strip().lower() == "all":
        return None
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise Mistake(f"--split takes a number from 0, several as 0,3,5, or all; not {text!r}") from None
