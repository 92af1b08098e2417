"""The command that searches settings: ``tune``."""

from __future__ import annotations

import importlib.util
import io
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console
from rich.text import Text

from heterophily.cli.app import STOPPED, Mistake, app, say, screen
from heterophily.cli.options import (
    AsJson,
    Data,
    Dataset,
    Deterministic,
    Device,
    GraphOptions,
    ModelName,
    Seed,
    Settings,
    Splits,
    graph_options_of,
    pairs,
    read_graph,
    seconds_of,
    split_positions,
)

if TYPE_CHECKING:
    from heterophily.bench.findings import Findings


@app.command()
def tune(
    dataset: Dataset,
    model: ModelName = "hdp",
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="End when the study has N finished trials.")
    ] = 100,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="90s|20m|1h30m",
            help="End a study after the batch in which this time runs out; HDP has two studies.",
        ),
    ] = None,
    sampler: Annotated[
        str, typer.Option(metavar="tpe|anneal|random|grid", help="Who proposes settings.")
    ] = "tpe",
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The study's name in its storage; by default DATASET-MODEL."),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL|FILE",
            help="Where the study lives: a SQLite file, or postgresql://... for workers on several machines; "
            "by default study.db in --out.",
        ),
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=LOW:HIGH|KEY=A,B,C",
            help="Search a setting in this range instead of its own; may be repeated.",
        ),
    ] = None,
    settings: Settings = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="paper|FILE",
            help="Propose a recipe's settings first, instead of the defaults; ranges are made to hold them.",
        ),
    ] = None,
    kindred: Annotated[
        bool,
        typer.Option(
            "--kindred",
            help="Propose the packaged recipes of the other datasets next; ranges are made to hold them.",
        ),
    ] = False,
    split: Splits = "all",
    batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="B",
            help="Proposals made at a time; by default 64 on a GPU, else 16, or 32 on one split.",
        ),
    ] = None,
    seed: Seed = 0,
    no_prune: Annotated[
        bool, typer.Option("--no-prune", help="Train every proposal on all splits; drop none early.")
    ] = False,
    halves: Annotated[
        bool,
        typer.Option(
            "--halves",
            help="Judge by validation nodes that had no say in the epoch that is kept; HDP then trains twice "
            "on each split.",
        ),
    ] = False,
    race: Annotated[
        bool,
        typer.Option(
            "--race",
            help="Train proposals for a few epochs on the first split, and only the best of them to the end: "
            "many more in the same time.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take; begin no study.")
    ] = False,
    graph_options: GraphOptions = None,
    device: Device = "auto",
    deterministic: Deterministic = False,
    data: Data = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where recipe, trials, plots and summary go; by default tuning/DATASET-MODEL.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search the settings of a model by their validation score; test labels stay closed.

    The same command goes on with a study that was stopped.
    In a second terminal it is a second worker on the same study.
    Ctrl-C ends after the current batch, twice at once; nothing finished is lost.

    What is set with --set is not searched.
    HDP's initial assignment is tuned first, in a study NAME-initial of its own.
    """
    from heterophily import recipes
    from heterophily.bench import tuning
    from heterophily.bench.findings import findings
    from heterophily.bench.forecast import forecast
    from heterophily.bench.samplers import SAMPLERS
    from heterophily.bench.storage import finished
    from heterophily.config import no_such
    from heterophily.files import make_folder, to_text, write_files
    from heterophily.graph.datasets import canonical
    from heterophily.models import find_model
    from heterophily.show.progress import FollowStudy, waiting
    from heterophily.show.tuning_words import forecast_words
    from heterophily.training.device import choose_device

    # What can be wrong is checked before anything takes time.
    found, name = find_model(model), canonical(dataset)
    if sampler not in SAMPLERS:
        raise Mistake(f"--sampler: {no_such('sampler', sampler, SAMPLERS)}")
    given = pairs("--set", settings)
    found.config.parse(given)
    ranges = {
        key: tuning.parse_range(found.config, key, text) for key, text in pairs("--space", space).items()
    }
    if both := sorted(given.keys() & ranges.keys()):
        raise Mistake(f"--set and --space both name {both[0]}; it is either set or searched")
    first = None if start is None else recipes.recipe(found.name, name, start)
    kin = [each for other, each in recipes.recipes(found.name).items() if other != name] if kindred else []
    seconds = None if time is None else seconds_of(time)
    where = choose_device(device, deterministic)
    positions = split_positions(split)
    options = graph_options_of(name, pairs("--graph", graph_options))
    folder = out or Path("tuning") / f"{name}-{found.name}"
    place = storage or str(folder / "study.db")
    title = study or f"{name}-{found.name}"
    if not dry_run:
        make_folder(folder)

    console = screen()
    graph = read_graph(console, name, data, options)
    for position in positions or ():
        graph.split(position)
    done = {key: finished(place, key) for key in ([f"{title}-initial", title] if found.first else [title])}
    # The settings that a first study found are settled once the second has begun with them.
    settled = bool(found.first) and done[title] is not None
    left = [0 if settled and key != title else max(trials - (count or 0), 0) for key, count in done.items()]
    shared: dict[str, Any] = {
        "sampler": sampler, "ranges": ranges, "config": given, "start": first, "splits": positions,
        "batch": batch, "seed": seed, "prune": not no_prune, "halves": halves, "kindred": kin,
        "race": race, "device": where,
    }  # fmt: skip
    if any(left):
        with waiting(console, "measuring a few epochs for a forecast"):
            expected = forecast(graph, found.name, left, **shared)
        line = forecast_words(expected, seconds and seconds * len(left))
    else:
        line = f"the study {title} has its {trials} trials; nothing is left to train"
    if dry_run:
        print(
            to_text({"forecast": vars(expected) if any(left) else None}) if as_json else line + "\n", end=""
        )
        return
    say(line, "dim")
    if found.first:
        names = " and ".join(done)
        say(f"{found.title} is tuned in two steps, its initial assignment first: studies {names}", "dim")
    if any(done.values()) and any(left):
        say(
            f"going on after {' and '.join(str(count or 0) for count in done.values())} finished trials",
            "dim",
        )

    with (
        FollowStudy(console, {key: count or 0 for key, count in done.items()}) as watch,
        Stop(console) as stop,
    ):

        def wish() -> bool:
            """Say whether to stop; where the last study was not reached there is nothing to show for it."""
            if stop.asked and watch.study != title:
                raise typer.Exit(STOPPED)
            return stop.asked

        result = tuning.tune(
            graph, found.name, trials, storage=place, study=title, seconds=seconds, watch=watch,
            tell=watch.tell, stop=wish, **shared,
        )  # fmt: skip
    if line_after := watch.last_line():
        say(line_after, "dim")
    with waiting(console, "looking at what was found"):
        seen = findings(title, result, graph, place, given, where, compare=not stop.asked)
        contents, words = outputs(seen, folder, options)
    files = write_files(folder, contents)
    if as_json:
        print(to_text(seen.to_json()), end="")
    else:
        Console().print(Text(words.rstrip()), soft_wrap=True)
    say(f"wrote {', '.join(file.name for file in files)} to {folder}", "dim")
    if stop.asked:
        raise typer.Exit(STOPPED)


class Stop:
    """Hears Ctrl-C: the first asks for an end after the batch, the second ends at once."""

    def __init__(self, console: Console):
        self.console, self.asked = console, False

    def __enter__(self) -> Self:
        self.before = signal.signal(signal.SIGINT, self.hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self.before)

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Take note of a Ctrl-C."""
        if self.asked:
            self.console.print("nothing finished is lost; the same command goes on from there")
            raise KeyboardInterrupt
        self.asked = True
        words = "ends after this batch (Ctrl-C again: at once); the same command goes on from there"
        self.console.print(Text(words), soft_wrap=True)


def outputs(
    found: Findings, folder: Path, options: Mapping[str, Any]
) -> tuple[dict[str, str | bytes | None], str]:
    """Return the files that a study leaves, and its summary."""
    from heterophily.bench.findings import recipe_text, trials_table
    from heterophily.show.tuning_plots import study_plots
    from heterophily.show.tuning_words import findings_markdown

    table = trials_table(found)
    files: dict[str, str | bytes | None] = {
        "recipe.toml": recipe_text(found, options),
        "trials.csv": table.to_csv(index=False),
        "trials.parquet": None,
    }
    if importlib.util.find_spec("pyarrow"):
        stream = io.BytesIO()
        table.to_parquet(stream, index=False)
        files["trials.parquet"] = stream.getvalue()
    plots, left_out = study_plots(found)
    words = findings_markdown(found, str(folder / "recipe.toml"), options, left_out)
    return files | plots | {"summary.md": words}, words
