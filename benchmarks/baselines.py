"""The baselines on the benchmark graphs: a small search on validation.

    python benchmarks/baselines.py --models gat --datasets texas --seconds 8 --data DIR --out FILE

Judges the recipe there is and settings drawn from the ranges of the model's config on validation alone; test
labels stay shut. Adds to FILE cell by cell, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from heterophily import MODELS, load
from heterophily.config import Choice, Config, ConfigError, Integer, space, types
from heterophily.graph import Graph
from heterophily.recipes import recipe
from heterophily.training.runs import Run, train_runs

SIX = ["texas", "wisconsin", "chameleon", "squirrel", "cora", "citeseer"]
UNPUBLISHED = ["mlp", "gcn", "gat", "mixhop", "h2gcn", "ugcn", "wrgat", "gpr-gnn", "linkx"]
"""Models whose row of Table 1 was run again with settings that nobody printed."""


def known(model: str, dataset: str) -> Config:
    """Return the recipe of a model for a dataset, or its defaults."""
    try:
        return MODELS[model].config.parse(recipe(model, dataset))
    except ConfigError:
        return MODELS[model].config()


def draw(rng: random.Random, kind: type[Config], values: bool) -> dict[str, Any]:
    """Draw the fields that are numbers of any size (``values``), or those that may change shapes."""
    drawn: dict[str, Any] = {}
    for name, range_ in space(kind).items():
        if (types(kind)[name] is float) != values:
            continue
        if isinstance(range_, Choice):
            drawn[name] = rng.choice(range_.options)
        elif isinstance(range_, Integer):
            drawn[name] = rng.randint(range_.low, range_.high)
        else:
            drawn[name] = rng.uniform(range_.low, range_.high)
    return drawn


def judge(graph: Graph, model: str, configs: list[Config], splits: list[int]) -> list[tuple[float, float]]:
    """Return (mean validation score, minus mean validation loss) of each setting."""
    runs = [Run(model, config, i, 0) for config in configs for i in splits]
    trained = [outcome.trained for outcome in train_runs(graph, runs, graph.y.device)]
    found = []
    for k in range(0, len(trained), len(splits)):
        some = trained[k : k + len(splits)]
        score = sum(t.validation for t in some) / len(some)
        found.append((score, -sum(t.validation_loss for t in some) / len(some)))
    return found


def search(
    graph: Graph, model: str, dataset: str, seconds: float, seed: int, fixed: dict[str, Any]
) -> dict[str, Any]:
    """Draw and judge settings for some seconds; return the best on validation.

    Small graphs are judged on all ten splits, larger ones on three, for at most 400 epochs, the recipe too.
    """
    rng, kind, start = random.Random(f"{seed} {model} {dataset}"), MODELS[model].config, time.perf_counter()
    splits, each = (list(range(10)), 7) if graph.num_nodes < 1000 else ([0, 1, 2], 11)
    first = known(model, dataset).replace(select="score", **fixed)  # what is searched is judged as it is kept
    judged: list[tuple[tuple[float, float], Config]] = []
    while not judged or time.perf_counter() - start < seconds:
        shape = draw(rng, kind, False) if judged else {}  # the shape that is known comes first
        try:
            configs = [first] if not judged else []
            configs += [first.replace(**(shape | draw(rng, kind, True) | fixed)) for _ in range(each)]
        except ConfigError:
            continue  # a combination the model refuses
        brief = [config.replace(epoch=min(config.epoch, 400)) for config in configs]
        judged += zip(judge(graph, model, brief, splits), configs, strict=True)
    recipe_score = judged[0][0]
    judged.sort(key=lambda pair: pair[0], reverse=True)
    return {
        "model": model, "dataset": dataset, "splits": len(splits), "proposals": len(judged) - 1,
        "chosen_by": "mean validation accuracy, ties by the loss", "seconds": time.perf_counter() - start,
        "validation": judged[0][0][0], "validation_of_recipe": recipe_score[0],
        "config": judged[0][1].changes(),
        "best": [{"validation": s[0], "loss": -s[1], **c.changes()} for s, c in judged[:4]],
    }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """Return what is worth reading of a cell."""
    name = f"{row['dataset']:10s} {row['model']:14s}"
    if "error" in row:
        return f"{name} {row['error']}"
    effort = f"of {row['proposals']:4d}, {row['seconds']:.0f} s"
    return f"{name} val {100 * row['validation']:.2f} {effort} {row['config']}"


def main() -> None:
    """Go through the cells; what FILE already has is left as it is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--datasets", nargs="*", default=SIX)
    parser.add_argument("--seconds", nargs="*", default=["8"], help="of a search; DATASET=SECONDS for one")
    parser.add_argument(
        "--limit", type=float, default=float("inf"), help="seconds after which to start no cell"
    )
    parser.add_argument("--fixed", nargs="*", default=[], help="MODEL.FIELD=VALUE that a search leaves alone")
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    out, start = Path(args.out), time.perf_counter()
    done: list[dict[str, Any]] = json.loads(out.read_text()) if out.exists() else []
    models = args.models or UNPUBLISHED
    budget = {name: float(s) for name, _, s in (spec.rpartition("=") for spec in args.seconds)}
    fixed: dict[str, dict[str, Any]] = {}
    for spec in args.fixed:
        (model, _, field), value = spec.partition("=")[0].partition("."), spec.partition("=")[2]
        fixed.setdefault(model, {})[field] = MODELS[model].config.parse({field: value}).to_dict()[field]
    for dataset in args.datasets:
        graph = load(dataset, data=args.data).to(args.device)
        for model in models:
            if any((row["model"], row["dataset"]) == (model, dataset) and "error" not in row for row in done):
                continue
            if time.perf_counter() - start > args.limit:
                break
            try:
                seconds = budget.get(dataset, budget.get("", 8.0))
                row = search(graph, model, dataset, seconds, args.seed, fixed.get(model, {}))
            except Exception as error:  # one cell that fails must not cost the others
                row = {"model": model, "dataset": dataset, "error": f"{type(error).__name__}: {error}"[:300]}
            row |= {"torch": torch.__version__, "device": device_name(args.device)}
            done.append(row)
            print(line(row), flush=True)
            out.write_text(json.dumps(done, indent=1) + "\n")
    print(f"{len(done)} cells, {time.perf_counter() - start:.0f} s")


def device_name(device: str) -> str:
    """Name the device in a result."""
    return torch.cuda.get_device_name() if device.startswith("cuda") else "cpu"


if __name__ == "__main__":
    main()
