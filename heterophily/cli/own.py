"""Commands for a graph of one's own: ``fit`` a model to files, ``predict`` with it, ``explain`` it."""

from __future__ import annotations

import io
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from heterophily.cli.app import Mistake, app, say, screen
from heterophily.cli.files import (
    Delimiter,
    Edges,
    Features,
    Header,
    Id,
    Label,
    Nodes,
    Source,
    Target,
    as_options,
    in_options,
)
from heterophily.cli.options import (
    AsJson,
    Clusters,
    Device,
    ModelName,
    Precise,
    Seed,
    Settings,
    pairs,
    seconds_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from heterophily.estimator import GraphClassifier
    from heterophily.graph import Graph
    from heterophily.training.engine import Progress

ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `heterophily fit` wrote.")]
Other = Annotated[
    bool,
    typer.Option(
        "--other", help="The files are of another graph: an id that the model knows is another node there."
    ),
]


@app.command()
def fit(
    edges: Annotated[Path, typer.Option(metavar="FILE", help="Edge list, or a file with a whole graph.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The model folder to write.")],
    nodes: Nodes = None,
    features: Features = None,
    label: Label = None,
    id_column: Id = None,
    source: Source = None,
    target: Target = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Leave a column out; may be repeated.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL=KIND",
            help="Read a column as numeric, boolean, category, list, words or vector; may be repeated.",
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="COL", help="A column of train, val, test or nothing; else --val is drawn."),
    ] = None,
    val: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the labelled nodes held out to end training.")
    ] = 0.25,
    splits: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="First say how good it is to expect: test score over N random splits of the labelled nodes.",
        ),
    ] = None,
    share: Annotated[
        float, typer.Option("--train", min=0.01, max=0.98, help="Share of training nodes in those splits.")
    ] = 0.5,
    delimiter: Delimiter = None,
    header: Header = None,
    model: ModelName = "hdp",
    recipe: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings from a TOML file, as `tune` writes it.")
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(metavar="90s|20m|1h", help="First search settings for this long, on validation nodes."),
    ] = None,
    settings: Settings = None,
    seed: Seed = 0,
    device: Device = "auto",
    clusters: Clusters = 0,
    precision: Precise = "full",
    log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|TRACKER",
            help="Write every epoch to a .csv or .jsonl, or to tensorboard:DIR, mlflow:NAME, wandb:NAME; "
            "may be repeated.",
        ),
    ] = None,
    without_graph: Annotated[
        bool,
        typer.Option("--without-graph", help="Leave the graph out of the folder: it predicts others only."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a graph of your own, from an edge list and a node table, and keep it in a folder.

    All labelled nodes are used: most to learn from, some to know when to stop. A split column says which;
    then the test nodes are scored, once.
    """
    from heterophily.bench.protocol import evaluate as evaluated
    from heterophily.estimator import make_classifier
    from heterophily.files import to_text
    from heterophily.folder import checked
    from heterophily.graph import random_splits
    from heterophily.models import find_model
    from heterophily.reading import read
    from heterophily.show import own, tables
    from heterophily.show.progress import Follow, waiting
    from heterophily.training.device import choose_device
    from heterophily.training.trackers import tracker

    # What can be wrong is checked before anything takes time.
    found, given = find_model(model), pairs("--set", settings)
    found.config.parse(given)
    seconds = None if tune is None else seconds_of(tune, "--tune")
    if tune and recipe:
        raise Mistake("--tune and --recipe: settings are either searched or given")
    if splits and split:
        raise Mistake("--splits and --split: the test nodes are either drawn or named by a column")
    if splits and share + val >= 1:
        raise Mistake(f"--train {share:g} and --val {val:g} leave nothing to test on; lower one of them")
    checked(out)
    where = choose_device(device)

    console = screen()
    with waiting(console, f"reading {edges}"), in_options():
        reading = read(
            edges, nodes, features, id=id_column, label=label, source=source, target=target, split=split,
            drop=drop or (), columns=pairs("--column", column), delimiter=delimiter, header=header,
        )  # fmt: skip
    for note in reading.notes:
        say(as_options(note), "dim")
    graph = reading.graph
    if not (graph.y >= 0).any():
        raise Mistake("no node has a class to learn from; name the column of classes with --label")
    if recipe is not None:
        given = _from_recipe(found.name, graph.name, recipe) | given
    if seconds is not None:
        given = _tuned(console, graph, found.name, given, seconds, val, seed, device) | given
    how = {"device": device, "clusters": clusters, "precision": precision}
    classifier = make_classifier(found.name, validation_fraction=val, random_state=seed, **how, **given)
    expected: dict[str, Any] = {}
    if splits:
        drawn = graph.with_splits(random_splits(graph.y, splits, share, val, seed, stratified=True))
        with Follow(console, graph.name, splits) as shown:
            scores = evaluated(
                drawn,
                found.name,
                classifier.config,
                range(splits),
                seed,
                where,
                shown,
                1,
                clusters,
                precision,
            )
        expected = {"splits": splits, "train": share, "mean": scores.mean, "std": scores.std}
        say(f"{tables.summary(scores)}; trained on {share:g} of the labelled nodes", "dim")
    with ExitStack() as stack:
        shown = stack.enter_context(Follow(console, graph.name))
        places = stack.enter_context(tracker(*(log or ()), settings=classifier.config.to_dict()))

        def watch(progress: Progress) -> None:
            shown(progress)
            places(progress)

        classifier.fit(reading, split=0 if graph.splits else None, watch=watch)
    if line := shown.last_line():
        say(line, "dim")
    classifier.save(out, graph=not without_graph)
    facts = own.fit_facts(classifier) | ({"expected": expected} if expected else {})
    if as_json:
        print(to_text(facts), end="")
    else:
        Console().print(Text(own.fit_words(classifier, facts)), soft_wrap=True)
    say(f"wrote the model to {out}", "dim")


@app.command()
def predict(
    model: ModelFolder,
    edges: Edges = None,
    nodes: Nodes = None,
    features: Features = None,
    id_column: Id = None,
    source: Source = None,
    target: Target = None,
    delimiter: Delimiter = None,
    header: Header = None,
    other: Other = False,
    every: Annotated[
        bool, typer.Option("--all", help="Beside new nodes, predict those that the model knows anew, too.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .parquet, .csv or .jsonl; by default CSV on stdout."),
    ] = None,
    device: Device = "cpu",
) -> None:
    """Predict classes with a fitted model, without training: of its own nodes, of new ones, of another graph.

    Without files, all nodes of the model's graph. With files, the new nodes in them; their edges may end at
    nodes that the model knows. Probabilities come as they are and calibrated, with the margin between the
    two most probable classes.
    """
    from heterophily.files import write_files

    if out is not None and out.suffix not in WRITERS:
        raise Mistake(f"--out {out}: the file must end in {', '.join(WRITERS)}")
    later, known = _later(
        model, edges, nodes, features, id_column, source, target, delimiter, header, other, device
    )
    chosen = None if every or known == later.graph_.num_nodes else range(known, later.graph_.num_nodes)
    table = later.predictions(None if chosen is None else list(chosen))
    if out is None:
        print(table.to_csv(index=False, float_format="%.6g"), end="")
        return
    (file,) = write_files(out.parent, {out.name: WRITERS[out.suffix](table)})
    say(f"wrote {len(table):,} predictions to {file}", "dim")


@app.command()
def explain(
    model: ModelFolder,
    node: Annotated[str, typer.Option(metavar="ID", help="The node to explain.")],
    edges: Edges = None,
    nodes: Nodes = None,
    features: Features = None,
    id_column: Id = None,
    source: Source = None,
    target: Target = None,
    delimiter: Delimiter = None,
    header: Header = None,
    other: Other = False,
    device: Device = "cpu",
    as_json: AsJson = False,
) -> None:
    """Say why a node got its class: neighbors with verdicts, class mixes, which part carried the decision.

    With files, as for predict, the node may be one of the new ones.
    """
    from heterophily.files import to_text
    from heterophily.show import own

    later, _ = _later(
        model, edges, nodes, features, id_column, source, target, delimiter, header, other, device
    )
    ids: Any = later.ids_ if later.ids_ is not None else range(later.graph_.num_nodes)
    by_text = {str(each): each for each in ids}
    if node not in by_text:
        raise Mistake(f"--node: the model knows no node {node!r}; the first of its {len(ids):,} is {ids[0]}")
    found = later.explain(by_text[node])
    if as_json:
        print(to_text(found.to_json()), end="")
    else:
        Console().print(own.explanation(found))


def _later(
    model: Path,
    edges: Path | None,
    nodes: Path | None,
    features: Path | None,
    id_column: str | None,
    source: str | None,
    target: str | None,
    delimiter: str | None,
    header: bool | None,
    other: bool,
    device: str,
) -> tuple[GraphClassifier, int]:
    """Load a model and take it to what the files hold; also how many of its nodes were known before."""
    from heterophily.estimator import load_model
    from heterophily.reading import Encoding, read, read_later
    from heterophily.show.progress import waiting

    with waiting(screen(), f"loading {model}"):
        fitted = load_model(model, device)
    own = hasattr(fitted, "graph_")
    if edges is None and nodes is None and features is None:
        if not own:
            raise Mistake(f"{model} was saved without its graph; name another one: --edges FILE --nodes FILE")
        return fitted, fitted.graph_.num_nodes
    if fitted.encoding_ is None:
        raise Mistake(
            f"{model} was fitted in Python, not to files, so it cannot read any; use extended(x, edges)"
        )
    encoding = Encoding.from_json(fitted.encoding_)
    more: dict[str, Any] = {
        "id": id_column, "source": source, "target": target, "delimiter": delimiter, "header": header,
    }  # fmt: skip
    with waiting(screen(), f"reading {edges or nodes or features}"), in_options():
        if other or not own:
            if edges is None:
                raise Mistake("another graph needs its edges: --edges FILE")
            reading = read(edges, nodes, features, encoding=encoding, **more)
            later, known = fitted.applied_to(reading.graph, reading.ids.tolist()), 0
            notes = reading.notes
        else:
            assert fitted.ids_ is not None
            new = read_later(fitted.ids_, encoding, edges, nodes, features, **more)
            later, known = fitted.extended(new.x, new.edge_index, new.ids), len(fitted.ids_)
            notes = new.notes
    for note in notes:
        say(as_options(note), "dim")
    return later, known


def _from_recipe(model: str, graph: str, recipe: str) -> dict[str, Any]:
    """Return the settings of a recipe for a graph; of a file with a single table, that one's."""
    from heterophily import recipes

    tables = recipes.datasets(model, recipe)
    name = tables[0] if len(tables) == 1 and graph not in tables else graph
    return recipes.recipe(model, name, recipe)


def _tuned(
    console: Console,
    graph: Graph,
    model: str,
    given: dict[str, Any],
    seconds: int,
    val: float,
    seed: int,
    device: str,
) -> dict[str, Any]:
    """Search settings on validation nodes drawn anew; test nodes of a split stay closed."""
    import torch

    from heterophily.bench.tuning import tune
    from heterophily.graph import random_splits
    from heterophily.models import find_model
    from heterophily.show.progress import FollowStudy
    from heterophily.training.device import choose_device

    y = graph.y
    if graph.splits:
        y = torch.where(graph.splits[0].test, -1, y)
    blind = graph.with_splits(()).with_labels(y)
    blind = blind.with_splits(random_splits(y, 3, 1 - val, val, seed, stratified=True))
    studies = 2 if find_model(model).first else 1
    with tempfile.TemporaryDirectory() as folder, FollowStudy(console, {}) as watch:
        found = tune(
            blind, model, 10_000, storage=Path(folder) / "study.db", seconds=seconds / studies, config=given,
            seed=seed, device=choose_device(device), watch=watch, tell=watch.tell,
        )  # fmt: skip
    chosen = found.config.changes()
    words = ", ".join(f"{name}={value}" for name, value in chosen.items()) or "the defaults"
    say(f"tuned on 3 splits, validation {100 * found.validation:.1f}: {words}", "dim")
    return found.config.to_dict()


def _parquet(table: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    table.to_parquet(stream, index=False)
    return stream.getvalue()


WRITERS: dict[str, Any] = {
    ".parquet": _parquet,
    ".csv": lambda table: table.to_csv(index=False, float_format="%.9g"),
    ".jsonl": lambda table: table.to_json(orient="records", lines=True, force_ascii=False),
}
"""How predictions are written, by the ending of the file."""
