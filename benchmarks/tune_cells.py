"""Tune cells of Table 1 one after the other: `heterophily.tune` from each recipe, all into one file.

    python -m benchmarks.tune_cells hdp --datasets texas cora --trials 200 --seconds 60 --data DIR --out FILE
    python -m benchmarks.tune_cells gcn:64 gat:16 wrgat:16 --datasets texas --halves --seconds 8 --each 25 \
        --space all.select=score,loss wrgat.original_edges=true,false --out FILE

MODEL:N proposes N settings of the model at a time, which the engine trains together. --total N gives every
cell what it lacks of N proposals; one that has them is left alone.

Every study starts from the packaged recipe, or that of a kindred graph, and keeps epochs by validation
accuracy, unless --space says that the rule is searched, too. FILE is added to cell by cell, so that a run
that was stopped goes on; `write_recipes.py` turns it into recipes. Test labels stay closed.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.cells import cell_by_cell, device_name, failed, graph_of
from benchmarks.write_recipes import TUNED, proposals
from heterophily import tune
from heterophily.bench.protocol import versions
from heterophily.bench.reproduce import setting
from heterophily.bench.tuning import Tuning, parse_range
from heterophily.config import Range, types
from heterophily.files import write_file
from heterophily.graph import Graph
from heterophily.models import find_model
from heterophily.recipes import HERE, chosen, recipes

Place = tuple[str, str, int | None]
"""Dataset, model and proposals at a time."""


def short(found: Tuning) -> dict[str, Any]:
    """Return the trace of a study in short form: a column per field, a row per trial."""
    table = found.trials
    kept = ["validation", "loss", "splits", *found.task.space]
    rows = [
        [v if isinstance(v, str | bool) else float(f"{float(v):.5g}") for v in row]
        for row in table[kept].values
    ]
    return {
        "trials": len(table), "dropped": int((table["state"] == "dropped").sum()), "spared": found.spared,
        "race": found.task.race, "columns": kept, "trace": rows,
    }  # fmt: skip


def cell(
    graph: Graph, model: str, fixed: dict[str, Any], ranges: dict[str, Range], args: argparse.Namespace
) -> dict[str, Any]:
    """Tune one model on one graph."""
    begin = time.perf_counter()
    splits = range(len(graph.splits)) if args.splits is None else range(args.splits)
    if hasattr(find_model(model).config(), "select") and "select" not in ranges:
        fixed = {"select": "score"} | fixed
    with ExitStack() as stack:
        folder = args.keep or stack.enter_context(tempfile.TemporaryDirectory())
        journal = f"{folder}/{graph.name}-{model}.journal"
        start, kindred = first_proposals(model, graph.name, Path(f"{journal}.start"), args.kindred)
        search = partial(
            tune, graph, model, args.trials, storage=journal, start=start, config=fixed,
            splits=splits, batch=args.batch, seconds=args.seconds, seed=args.seed, device=args.device,
            halves=args.halves, ranges=ranges, kindred=kindred, race=args.race,
        )  # fmt: skip
        try:
            found = search()
        except TimeoutError:  # what is finished counts
            found = search(stop=lambda: True)
    first = found.trials.iloc[0]
    row = {
        "model": model, "dataset": graph.name, "splits": len(splits), "sampler": "tpe", "seed": args.seed,
        "tf32": args.tf32, "halves": args.halves, "validation": found.validation,
        "validation_at_start": float(first["validation"]), "config": found.config.changes(),
        "seconds": time.perf_counter() - begin, **short(found),
    }  # fmt: skip
    return row if found.initial is None else row | {"initial": short(found.initial)}


def first_proposals(
    model: str, dataset: str, kept: Path, kindred: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a study begins with, the settings of Table 1, and the recipes of other datasets if wanted.

    They are those of the study's beginning: recipes may change while it is kept.
    """
    if not kept.exists():
        name = find_model(model).name
        known = recipes(name) if (HERE / f"{name}.toml").exists() else {}
        own = chosen(name, dataset).by if dataset in known else ""
        wanted = kindred == "all" or (kindred == "unknown" and own not in ("published", "searched"))
        others = [settings for other, settings in known.items() if other != dataset] if wanted else []
        write_file(kept, json.dumps([setting(name, dataset).config.changes(), others]) + "\n")
    found = json.loads(kept.read_text())
    return (found, []) if isinstance(found, dict) else (found[0], found[1])


def main() -> None:
    """Go through the cells; what FILE already has is left as it is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--total", type=int, help="instead: with those of the searches in results/tuning")
    parser.add_argument("--seconds", type=float, help="of each study; HDP has two")
    parser.add_argument("--limit", type=int, default=0, help="seconds for all; trials finished by then count")
    parser.add_argument("--each", type=int, default=0, help="seconds for a cell, as --limit for all")
    parser.add_argument(
        "--set", nargs="*", default=[], help="MODEL.FIELD=VALUE, or all.FIELD=VALUE, that is not searched"
    )
    parser.add_argument(
        "--space", nargs="*", default=[], help="MODEL.FIELD=A,B or LOW:HIGH to search, or all.FIELD=..."
    )
    parser.add_argument("--splits", type=int, help="judge on the first splits only")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--halves", action="store_true", help="judge by validation nodes that chose no epoch")
    parser.add_argument("--race", action="store_true", help="train to its end only what begins well")
    parser.add_argument("--tf32", action="store_true", help="round the factors of dense products on a GPU")
    parser.add_argument(
        "--kindred", nargs="?", const="all", default="", choices=["all", "unknown"],
        help="try the recipes of other datasets next; unknown: where its own is a guess or another one's",
    )  # fmt: skip
    parser.add_argument("--keep", help="folder of the studies' journals; one that is there goes on")
    parser.add_argument(
        "--jobs", type=int, default=1, help="cells tuned at a time, in processes of their own"
    )
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    out = Path(args.out)
    done: list[dict[str, Any]] = json.loads(out.read_text()) if out.exists() else []
    known = [(row["model"], row["dataset"]) for row in done]
    places = [
        (dataset, model, int(batch) if batch else args.batch)
        for dataset in args.datasets
        for model, _, batch in (name.partition(":") for name in args.models)
        if (model, dataset) not in known and wanted(model, dataset, args)
    ]
    start = time.time()
    ends = start + args.limit if args.limit else math.inf
    task = partial(attempt, args=args, ends=ends)
    for place, row in cell_by_cell(task, places, args.device, args.jobs, args.tf32):
        if isinstance(row, str):
            print(f"{place[0]:10s} {place[1]:10s} {row}", flush=True)
            continue
        done.append(row)
        text = f"val {100 * row['validation']:.2f} (start {100 * row['validation_at_start']:.2f})"
        effort = f"of {row['trials']:4d}, {row['seconds']:.0f} s"
        print(f"{row['dataset']:10s} {row['model']:10s} {text} {effort} {row['config']}", flush=True)
        write_file(out, json.dumps(done) + "\n")
    print(f"{len(done)} cells, {time.time() - start:.0f} s")


def attempt(place: Place, args: argparse.Namespace, ends: float) -> dict[str, Any] | str:
    """Tune a cell in the time that is left for it, or say why there is nothing."""
    dataset, model, batch = place
    signal.signal(signal.SIGALRM, late)
    left = min(args.each or math.inf, ends - time.time())
    if left < 1:
        return "no time left"
    if left < math.inf:
        signal.alarm(math.ceil(left))
    try:
        kind, wide = find_model(model).config, of_model(model, args.space)
        ranges = {name: parse_range(kind, name, text) for name, text in wide.items()}
        trials = wanted(model, dataset, args)
        some = argparse.Namespace(**vars(args) | {"batch": batch, "trials": trials})
        row = cell(graph_of(dataset, args.data), model, of_model(model, args.set), ranges, some)
    except Exception as error:  # one cell that fails must not cost the others
        return failed(error, args.device)
    finally:
        signal.alarm(0)
    return row | {"jobs": args.jobs, "versions": versions(), "device": device_name(args.device)}


def wanted(model: str, dataset: str, args: argparse.Namespace) -> int:
    """Return how many settings are to be tried for a cell."""
    file = TUNED / f"{model}.json"
    if args.total is None or not file.exists():
        return int(args.total or args.trials)
    had = (proposals(row) for row in json.loads(file.read_text()) if row["dataset"] == dataset)
    return max(args.total - sum(had), 0)


def of_model(model: str, specs: Sequence[str]) -> dict[str, str]:
    """Return what is said of one model, by field; what is said of all holds if it has the field."""
    fields, found = types(find_model(model).config), {}
    for spec in specs:
        name, _, rest = spec.partition(".")
        field, _, value = rest.partition("=")
        if name == model or (name == "all" and field in fields):
            found[field] = value
    return found


def late(number: int, frame: object) -> None:
    """End the study that is under way."""
    raise TimeoutError("out of time")


if __name__ == "__main__":
    main()
