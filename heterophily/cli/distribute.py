"""For graphs that one process is not enough for: ``cut`` one into arrays, ``distribute`` its training."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from heterophily.cli.app import MISTAKE, Mistake, app, mistake, say, screen
from heterophily.cli.options import (
    AsJson,
    Data,
    Dataset,
    Device,
    GraphOptions,
    ModelName,
    Recipe,
    Seed,
    Settings,
    graph_options_of,
    pairs,
    read_graph,
)

if TYPE_CHECKING:
    from heterophily.distributed.shard import Shard
    from heterophily.distributed.world import World
    from heterophily.hdp.config import HDPConfig


@app.command()
def cut(
    dataset: Dataset,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the arrays go.")],
    graph_options: GraphOptions = None,
    data: Data = None,
) -> None:
    """Write a graph as a folder of arrays, of which each process of `distribute` reads only its own rows."""
    from heterophily.distributed import shard
    from heterophily.graph.datasets import canonical

    name = canonical(dataset)
    options = graph_options_of(name, pairs("--graph", graph_options))
    graph = read_graph(screen(), name, data, options)
    folder = shard.write(graph, out)
    say(f"wrote {graph!r} to {folder}", "dim")


@app.command()
def distribute(
    graph: Annotated[
        str, typer.Argument(help="A folder that `cut` wrote, a name that `datasets` lists, or synthetic.")
    ],
    model: ModelName = "hdp",
    split: Annotated[int, typer.Option(min=0, metavar="N", help="Which split, counted from 0.")] = 0,
    seed: Seed = 0,
    settings: Settings = None,
    recipe: Recipe = None,
    graph_options: GraphOptions = None,
    device: Device = "auto",
    data: Data = None,
    recompute: Annotated[
        bool,
        typer.Option("--recompute", help="Compute hidden layers twice instead of keeping them: less memory."),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep checkpoints there, in a folder that all processes see."),
    ] = None,
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Epochs between two checkpoints.")] = 50,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint; begin, if there is none yet.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write result.json and predictions.csv there.")
    ] = None,
    curves: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Write every epoch to a .csv or .jsonl file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train HDP on one graph with several processes, on one machine or many, and score it on the test nodes.

    Start it with torchrun: torchrun --nproc-per-node 2 -m heterophily distribute synthetic. Every process
    holds its rows of the graph; losses and scores are those of one process.
    """
    from heterophily.bench.results import results_folder, save
    from heterophily.distributed.checkpoint import Keeper
    from heterophily.distributed.run import gathered, identity, train
    from heterophily.distributed.world import LostError, world
    from heterophily.files import to_text
    from heterophily.show import tables
    from heterophily.show.progress import Follow
    from heterophily.training.trackers import tracker

    console = screen()
    with world(device) as here, ExitStack() as stack:
        chief, keeper = here.rank == 0, None
        try:
            # What can be wrong is checked before anything takes time, and told once.
            said = None
            try:
                if resume and checkpoint is None:
                    raise Mistake("--resume goes on from a checkpoint; say with --checkpoint DIR where it is")
                config, options = chosen(graph, model, recipe, settings, graph_options)
                rows = own_rows(console, graph, split, options, data, here)
                keeper = Keeper(checkpoint, every, identity(rows, config, seed), here, resume)
                if out is not None and chief:
                    results_folder(out)
                places = (curves or []) if chief else []
                write = stack.enter_context(tracker(*places, settings=config.to_dict()))
            except Exception as error:
                if (said := mistake(error)) is None or isinstance(error, LostError):
                    raise
            if (said := here.first(said)) is not None:
                if chief:
                    say(f"error: {said}", "bold red")
                here.wait()
                raise typer.Exit(MISTAKE)
            assert keeper is not None
            if chief and resume:
                say(f"going on {keeper.newest}", "dim")

            follow = stack.enter_context(Follow(console, rows.facts["name"])) if chief else None

            def watch(epoch: Any) -> None:
                write(epoch)
                if follow is not None:
                    follow(epoch)

            result = train(rows, here, config, seed, keeper, watch, recompute=recompute)
            result = replace(result, graph_options=options)
            if out is not None:
                whole, labels = gathered(result, rows, here)
        except LostError as error:
            advice = "with --checkpoint DIR a run can go on where it stopped"
            if keeper is not None and checkpoint is not None:
                advice = f"start it again with --resume to go on {keeper.newest}"
            say(f"error: rank {here.rank}: {error}; {advice}", "bold red")
            raise typer.Exit(MISTAKE) from None
    if not chief:
        return
    if follow is not None and (line := follow.last_line()):
        say(line, "dim")
    if as_json:
        print(to_text(result.to_json() | {"processes": here.size}), end="")
    else:
        Console().print(tables.evaluation_table(result))
        Console().print(Text(tables.summary(result)), soft_wrap=True)
    if out is not None:
        files = save(out, whole, labels)
        say(f"wrote {', '.join(file.name for file in files)} to {out}", "dim")


def chosen(
    graph: str, model: str, recipe: str | None, settings: list[str] | None, graph_options: list[str] | None
) -> tuple[HDPConfig, dict[str, Any]]:
    """Read the settings of HDP and the options of the synthetic graph."""
    from heterophily import recipes
    from heterophily.distributed.shard import HEAD, head
    from heterophily.graph.datasets import canonical
    from heterophily.hdp.config import HDPConfig
    from heterophily.models import find_model

    found = find_model(model)
    if found.config is not HDPConfig or found.name != "hdp":
        raise Mistake(f"only hdp is trained on several processes, not {found.name}; use `heterophily train`")
    folder = (Path(graph) / HEAD).exists()
    name = head(graph)["name"] if folder else canonical(graph)
    options = {} if folder else graph_options_of(name, pairs("--graph", graph_options))
    if folder and graph_options:
        raise Mistake(f"--graph is for the synthetic graph; {graph} is a folder, and as it is")
    given = {} if recipe is None else recipes.recipe(found.name, name, recipe)
    return HDPConfig.parse(given | pairs("--set", settings)), options


def own_rows(
    console: Console, graph: str, split: int, options: dict[str, Any], data: Path | None, here: World
) -> Shard:
    """Read own rows from a folder, or load a whole graph and keep them."""
    from heterophily.distributed import shard
    from heterophily.distributed.world import checked
    from heterophily.graph.datasets import canonical

    if (Path(graph) / shard.HEAD).exists():
        checked(here.size, shard.head(graph)["nodes"])
        return shard.read(graph, split, here)
    whole = read_graph(console, canonical(graph), data, options)
    checked(here.size, whole.num_nodes)
    return shard.cut(whole, split, here)
