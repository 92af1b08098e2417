"""Table 1 of the paper, trained from the packaged recipes: cell by cell, resumable, one file each."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from heterophily.bench.cells import Cell, CellError, cell_file, read_cell, write_bundle, write_cell
from heterophily.bench.opening import fingerprint, opening
from heterophily.bench.protocol import diverged_words, evaluate
from heterophily.bench.published import table_1
from heterophily.config import Config, ConfigError
from heterophily.files import OutputError, make_folder, set_aside
from heterophily.graph import Graph
from heterophily.graph.datasets import DATASETS, canonical, load
from heterophily.models import MODELS, find_model
from heterophily.plugins import load_files, loaded_files
from heterophily.recipes import chosen as chosen_by
from heterophily.recipes import datasets as datasets_with_recipe
from heterophily.recipes import note, recipe
from heterophily.recipes.provenance import Chosen
from heterophily.stage import DivergedError
from heterophily.training.device import be_deterministic, take_part
from heterophily.training.engine import Watch
from heterophily.training.runs import Precision

TABLE = "table1"
COLUMNS = ("cornell", "texas", "wisconsin", "chameleon", "actor", "squirrel", "cora", "citeseer", "pubmed")
"""The nine datasets of the paper, in its order."""
MORE_COLUMNS = ("cornell-corrected", "chameleon-filtered", "squirrel-filtered", "minesweeper", "tolokers")
"""Cornell as it should have been, Wikipedia without twins, and two newer graphs."""
KINDRED = {"cornell-corrected": "cornell", "chameleon-filtered": "chameleon", "squirrel-filtered": "squirrel"}
"""Whose recipe a dataset takes where a model has none for it."""
ROWS = tuple(table_1())
"""The models of the paper's table."""
RULES = tuple(name for name, model in MODELS.items() if not model.learns)
"""Rows that cost nothing, and are always there to measure the others by."""
LIGHT_FIRST = (
    "mlp", "hdp-init", "hdp-directed-init", "gcn", "gpr-gnn", "linkx", "acm-gcn", "acmii-gcn", "acm-gcn-plus",
    "acmii-gcn-plus", "h2gcn", "mixhop", "glognn", "glognn-plus", "gat", "ggcn", "hdp", "hdp-directed",
    "gcnii", "gcnii-star", "ugcn", "wrgat",
)  # fmt: skip
"""Models in the order in which a dataset is gone through: whoever stops early has most of the table."""


SMALL = 1000
"""Nodes up to which a graph is trained in float64: on fewer than a hundred validation nodes a last digit that
training amplifies becomes another epoch, and nodes of a split, which then hang on device and batch."""
LONG = 400
"""Where the words of somebody else's error are cut."""


class Setting(NamedTuple):
    """The setting of a cell and how it was chosen."""

    config: Config
    chosen: Chosen
    note: str

    def to_json(self) -> dict[str, Any]:
        """Return how it was chosen, fit for JSON."""
        return self.chosen.to_json() | {"note": self.note}


class Step(NamedTuple):
    """What became of a cell."""

    model: str
    dataset: str
    state: Literal["trained", "kept", "failed"]
    cell: Cell | None = None
    error: str = ""
    seconds: float = 0.0
    number: int = 0
    """Which of all cells it is, counted from 1."""
    total: int = 0
    damaged: str = ""
    """What was wrong with the file that was there, and where it is now."""
    unread: bool = False
    """Whether its graph could not be read, which fails all cells of the dataset."""


class UnreadError(ValueError):
    """A graph that could not be read."""


Following = Callable[[str, int], AbstractContextManager[Watch | None]]
"""Called with a title and the number of runs: gives a watch of the training."""


def setting(model: str, dataset: str) -> Setting:
    """Return the packaged setting of a model for a dataset, or that for a kindred one, or its defaults.

    An initial assignment without recipes of its own has those of the model it is a part of.
    """
    found, defaults = MODELS[model], Chosen(by="defaults")
    if not found.learns:
        return Setting(found.config(), defaults, "a rule that learns nothing")
    whole = next((other.name for other in MODELS.values() if other.first == model), model)
    owner = model if datasets_with_recipe(model) else whole
    known = datasets_with_recipe(owner)
    source = next((name for name in (dataset, KINDRED.get(dataset)) if name in known), dataset)
    try:
        given = recipe(owner, source)
    except ConfigError:
        if source in known:
            raise
        given = {}
    config = found.config.parse({key: v for key, v in given.items() if key in (found.fields or given)})
    if source not in known:
        rest = "what its recipes have in common" if given else "its default settings"
        return Setting(config, defaults, f"{found.title} has no recipe for {dataset}: {rest}")
    if source != dataset:
        return Setting(config, Chosen(by="kindred"), f"the recipe for {source}: {note(owner, source)}")
    return Setting(config, chosen_by(owner, dataset), note(owner, dataset))


def is_current(cell: Cell) -> bool:
    """Say whether a cell has the setting that is packaged now."""
    model, dataset = cell["model"], cell["dataset"]
    now = fingerprint(model, dataset, setting(model, dataset).config.to_dict(), {})
    return bool(cell["test_opened"]["setting"] == now)


def columns(text: str, there: Sequence[str] = ()) -> tuple[str, ...]:
    """Read the datasets of a table: paper, all (registered ones too), or names with commas between.

    Those that are ``there``, on disk, belong to all.
    """
    own = tuple(name for name, facts in DATASETS.items() if callable(facts.reader))
    more = (*MORE_COLUMNS, *own, *there)
    return _names("--datasets", text, COLUMNS, more, lambda name: name if name in there else canonical(name))


def rows(text: str, always: Sequence[str] = RULES) -> tuple[str, ...]:
    """Read the models of a table: paper, all, or names with commas between; the rules are always there."""
    chosen = _names("--models", text, ROWS, tuple(MODELS), lambda name: find_model(name).name)
    return tuple(name for name in MODELS if name in (*always, *chosen))


def _names(
    option: str, text: str, paper: tuple[str, ...], more: tuple[str, ...], known: Callable[[str], str]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        whole = {"paper": paper, "all": (*paper, *more)}.get(part.lower())
        found |= dict.fromkeys(whole or (known(part),))
    if not found:
        raise ConfigError(f"{option} names none; say paper, all or names with commas between")
    return tuple(found)


def reproduce(
    datasets: Sequence[str] = COLUMNS,
    models: Sequence[str] = ROWS,
    folder: str | os.PathLike[str] = "results",
    *,
    seed: int = 0,
    seeds: int = 1,
    device: str | torch.device = "cpu",
    jobs: int = 1,
    anew: bool = False,
    data: str | os.PathLike[str] | None = None,
    bundle: str | os.PathLike[str] | None = None,
    tell: Callable[[Step], None] = lambda step: None,
    follow: Following = lambda title, runs: nullcontext(None),
    read: Callable[[str], Graph] | None = None,
) -> list[Step]:
    """Train every model with its packaged recipe on all splits of every dataset; say what became of each.

    A cell is written to ``folder/table1/DATASET/MODEL.json`` as soon as its training is over. One that is
    there, is sound and has the same setting, seed and seeds is kept, unless all are wanted ``anew``. One that
    is not sound is set aside, as ``MODEL.json.damaged``, and trained again. One that fails is told and the
    others go on. The test labels are opened once per cell, and the cell records it. Graphs of at most `SMALL`
    nodes are trained in float64.

    ``jobs`` cells are trained at a time, each in a process of its own. ``bundle`` names a file with all the
    cells asked for, written after each. ``tell`` hears of each cell, ``follow`` gives what watches a training
    (of one job), ``read`` gives the graph of a name, by default ``load``; it is asked once per dataset, and
    in each process of its own.
    """
    if read is None:
        datasets, read = [canonical(name) for name in datasets], partial(load, data=data)
    wanted = {find_model(name).name for name in models} | set(RULES)
    order = [name for name in (*RULES, *LIGHT_FIRST) if name in wanted]
    order += [name for name in MODELS if name in wanted and name not in order]
    make_folder(folder)
    places = [(model, dataset) for dataset in datasets for model in order]
    work = partial(_cell, folder=folder, seed=seed, seeds=seeds, device=device, anew=anew)
    steps: list[Step] = []
    todo = [p for p in places if jobs > 1 and (anew or not _is_kept(folder, *p, seed, seeds))]
    jobs = min(jobs, sum(MODELS[model].learns for model, _ in todo))
    for step in (
        _side_by_side(work, places, todo, read, jobs, device)
        if jobs > 1
        else _in_turn(work, places, read, follow)
    ):
        step = step._replace(number=len(steps) + 1, total=len(places))
        steps.append(step)
        if bundle is not None and (step.state == "trained" or step.number == step.total):
            write_bundle(bundle, TABLE, (s.cell for s in steps if s.cell is not None))
        tell(step)
    return steps


def _in_turn(
    work: Callable[..., Step],
    places: Sequence[tuple[str, str]],
    read: Callable[[str], Graph],
    follow: Following,
) -> Iterator[Step]:
    """Train one cell after the other; a graph is read once for all its cells."""
    graphs = {dataset: _once(read, dataset) for _, dataset in places}
    for number, (model, dataset) in enumerate(places, 1):
        title = f"{number}/{len(places)} · {dataset} · {MODELS[model].title}"
        yield work(model, dataset, graph=graphs[dataset], follow=partial(follow, title))
        if model == places[-1][0]:
            del graphs[dataset]  # the last of its cells


def _side_by_side(
    work: Callable[..., Step],
    places: Sequence[tuple[str, str]],
    todo: Sequence[tuple[str, str]],
    read: Callable[[str], Graph],
    jobs: int,
    device: str | torch.device,
) -> Iterator[Step]:
    """Train some cells at a time, each in a process of its own; they are told of in their order.

    Each graph is read here first: what is wrong with it, or to be noted of it, is then said once.
    """
    settled = jobs, device, loaded_files(), torch.are_deterministic_algorithms_enabled()
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _settle_in, settled)
    graphs = {dataset: _once(read, dataset) for _, dataset in places}
    trained: dict[tuple[str, str], Future[Step]] = {}
    try:
        for dataset in dict.fromkeys(dataset for _, dataset in todo):
            with suppress(UnreadError):
                graphs[dataset]()
                graphs[dataset] = _once(read, dataset)  # each process has its own
                some = [place for place in todo if place[1] == dataset]
                trained |= {place: pool.submit(_alone, work, read, *place) for place in some}
        for model, dataset in places:
            if (model, dataset) in trained:
                yield trained.pop((model, dataset)).result()
            else:
                yield _alone(work, lambda name: graphs[name](), model, dataset)
    except BrokenProcessPool:
        raise CellError(
            "a process that trained a cell was killed, maybe for want of memory; the same command goes on, "
            "with --jobs 1 in less memory"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():  # what is under way would be waited for
            process.terminate()


def _settle_in(jobs: int, device: str | torch.device, files: Sequence[str], deterministic: bool) -> None:
    """Know the same models, leave the others their cores and memory, stay silent; end with the parent."""
    if deterministic:
        be_deterministic()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    threading.Thread(target=_end_with_parent, daemon=True).start()
    load_files(files)
    warnings.simplefilter("ignore")
    take_part(device, jobs)


def _end_with_parent() -> None:
    """Without it a worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _alone(work: Callable[..., Step], read: Callable[[str], Graph], model: str, dataset: str) -> Step:
    return work(model, dataset, graph=partial(read, dataset), follow=lambda runs: nullcontext(None))


def _cell(
    model: str,
    dataset: str,
    *,
    folder: str | os.PathLike[str],
    seed: int,
    seeds: int,
    device: str | torch.device,
    anew: bool,
    graph: Callable[[], Graph],
    follow: Callable[[int], AbstractContextManager[Watch | None]],
) -> Step:
    """Train a cell, unless it is there already; say what became of it."""
    start = time.perf_counter()
    damaged = _damaged(cell_file(folder, TABLE, dataset, model))
    try:
        chosen = setting(model, dataset)
        cell = None if anew else _kept(folder, model, dataset, chosen.config, seed, seeds)
        step = Step(model, dataset, "kept", cell)
        if cell is None:
            read = graph().to(device)
            with follow(len(read.splits) * seeds) as watch:
                cell = _train(folder, read, model, dataset, chosen, seed, seeds, device, watch)
            step = Step(model, dataset, "trained", cell)
    except OutputError:
        raise  # where nothing can be written there is no use in going on
    except Exception as error:  # one cell that fails must not cost the others
        step = Step(model, dataset, "failed", error=reason(error), unread=isinstance(error, UnreadError))
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return step._replace(seconds=time.perf_counter() - start, damaged=damaged)


def _once(read: Callable[[str], Graph], name: str) -> Callable[[], Graph]:
    """Read a graph when it is first asked for; what went wrong then is said again, not tried again."""
    found: list[Graph | UnreadError] = []

    def graph() -> Graph:
        if not found:
            try:
                found.append(read(name))
            except Exception as error:
                found.append(UnreadError(reason(error)))
        if isinstance(found[0], UnreadError):
            raise found[0]
        return found[0]

    return graph


def _damaged(file: Path) -> str:
    """Set a cell that is not sound aside, and say so."""
    try:
        if file.exists():
            read_cell(file)
    except CellError as error:
        return f"{error}; it is now {set_aside(file).name}"
    return ""


def _kept(
    folder: str | os.PathLike[str], model: str, dataset: str, config: Config, seed: int, seeds: int
) -> Cell | None:
    """Return the cell that is there, if it is sound and of the same setting."""
    try:
        cell = read_cell(cell_file(folder, TABLE, dataset, model))
    except CellError:
        return None
    same = cell["test_opened"]["setting"] == fingerprint(model, dataset, config.to_dict(), {})
    return cell if same and (cell["seed"], cell["seeds"]) == (seed, seeds) else None


def _is_kept(folder: str | os.PathLike[str], model: str, dataset: str, seed: int, seeds: int) -> bool:
    """Say whether a cell need not be trained; a recipe that cannot be read is told of in its turn."""
    try:
        return _kept(folder, model, dataset, setting(model, dataset).config, seed, seeds) is not None
    except ConfigError:
        return False


def _train(
    folder: str | os.PathLike[str],
    graph: Graph,
    model: str,
    dataset: str,
    chosen: Setting,
    seed: int,
    seeds: int,
    device: str | torch.device,
    watch: Watch | None,
) -> Cell:
    """Train a cell on all splits, open the test labels, and write it to its place."""
    precision: Precision = "double" if graph.num_nodes <= SMALL else "full"
    result = evaluate(graph, model, chosen.config, None, seed, device, watch, seeds, precision=precision)
    if result.diverged:  # a mean over fewer splits is no cell
        raise DivergedError(diverged_words(dataset, result.diverged[0]))
    file = cell_file(folder, TABLE, dataset, model)
    how = chosen.chosen.by
    opened = opening(file, model, dataset, chosen.config, {}, how, True, "reproduce", seed, seeds)
    cell = replace(result, opened=opened).to_json()
    cell |= {"dataset": dataset, "chosen": chosen.to_json()}
    write_cell(folder, TABLE, cell)
    return cell


def reason(error: Exception) -> str:
    """Say in a line why a cell failed."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError) or "out of memory" in text or "allocate memory" in text:
        return "out of memory"
    ours = type(error).__module__.partition(".")[0] == "heterophily"
    if ours or len(text := f"{type(error).__name__}: {text}") <= LONG:
        return text
    return f"{text[:LONG].rsplit(' ', 1)[0]} …"
