"""How many trials a minute: `heterophily.tune` against a plain Optuna loop over runs one at a time.

    python benchmarks/tuning.py --data DIR --trials 200 --seconds 45 --out FILE

The loop trains trials of the same study, drawn at random, as one would write it: epoch by epoch, one split
after the other. On a GPU a second loop has its epochs captured as a CUDA graph, which few write. HDP is tuned
in two studies of so many trials each; only those of the second are counted, but the time of both.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
import warnings
from statistics import mean
from typing import Any

import optuna
import torch

from heterophily import MODELS, load, tune
from heterophily.bench.protocol import versions
from heterophily.bench.samplers import distribution
from heterophily.bench.tuning import Tuning, blind
from heterophily.config import Config
from heterophily.files import write_file
from heterophily.graph import Graph
from heterophily.models import find_model
from heterophily.stage import Trained
from heterophily.training.engine import Batch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import seal

LEAST = 5
"""Runs that the plain loop trains at least."""


def plain(graph: Graph, model: str, found: Tuning, seconds: float, capture: bool) -> dict[str, Any]:
    """Train trials of a study, drawn at random, one run at a time, for some seconds: on one split each.

    What a loop over all splits would do in a minute follows. Its bookkeeping is counted: a study that asks
    for each trial and is told its score.
    """
    shut = blind(graph, found.task.splits)
    ranges = {name: distribution(searched) for name, searched in found.task.space.items()}
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    rows = found.trials.sample(frac=1, random_state=0)[list(found.task.space)].to_dict("records")
    epochs: list[int] = []
    start = time.perf_counter()
    for row, position in zip(rows, itertools.cycle(found.task.splits)):
        study.ask(ranges)  # proposes something; what is trained is the study's, so that the work is the same
        config = found.task.config.replace(**row)
        trained = alone(shut, model, config, position, capture)
        study.tell(len(epochs), trained.validation)
        epochs.append(trained.epochs)
        if (took := time.perf_counter() - start) > seconds and len(epochs) >= LEAST:
            break
    each = took / len(epochs)
    return {
        "runs": len(epochs), "seconds_a_run": each, "per_minute": 60 / (each * len(found.task.splits)),
        "epochs": mean(epochs),
    }  # fmt: skip


def alone(graph: Graph, model: str, config: Config, position: int, capture: bool) -> Trained:
    """Train a single run, stage by stage."""
    split = graph.split(position)
    procedure = MODELS[model].procedure(seal(graph, split), split, config, 0)
    stage = next(procedure)
    while True:
        (trained,) = Batch([stage], graph.y.device, capture=capture).run()
        try:
            stage = procedure.send(trained)
        except StopIteration:
            return trained


def ours(graph: Graph, model: str, trials: int, device: str) -> tuple[Tuning, dict[str, Any]]:
    """Tune as the command does; HDP's initial assignment first, with as many trials again."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = tune(graph, model, trials, storage=f"{folder}/study.journal", device=device)
    row = told(found, time.perf_counter() - start)
    if found.initial is not None:
        row["initial"] = told(found.initial, found.initial.trials["seconds"].sum())
    return found, row | {"config": found.config.changes()}


def told(found: Tuning, took: float) -> dict[str, Any]:
    """Return what is worth keeping of a study."""
    table = found.trials
    return {
        "trials": len(table), "seconds": took, "per_minute": 60 * len(table) / max(took, 1e-9),
        "epochs": float(table["epochs"].sum() / table["splits"].sum()), "validation": found.validation,
        "dropped": int((table["state"] == "dropped").sum()), "spared": found.spared,
    }  # fmt: skip


def main() -> None:
    """Measure both on a graph, and print their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="texas")
    parser.add_argument("--models", nargs="*", default=["gcn", "hdp"])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=45, help="of the plain loop, for each model")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    graph = load(args.dataset, data=args.data).to(args.device)
    rows: dict[str, Any] = {
        "dataset": args.dataset, "splits": len(graph.splits), "versions": versions(),
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
        "threads": torch.get_num_threads(), "models": {},
    }  # fmt: skip
    for model in args.models:
        config = find_model(model).config()
        train_runs(graph, [Run(model, config.replace(epoch=5), 0, 0)], args.device)  # loads and warms up
        found, mine = ours(graph, model, args.trials, args.device)
        row: dict[str, Any] = {"tune": mine}
        for name in ("plain", "captured") if args.device == "cuda" else ("plain",):
            row[name] = plain(graph, model, found, args.seconds, name == "captured")
            row[f"times_{name}"] = mine["per_minute"] / row[name]["per_minute"]
            ratio = f"{row[f'times_{name}']:.1f} x {row[name]['per_minute']:.2f} {name}"
            print(f"{model:5s} {mine['per_minute']:8.1f} trials a minute: {ratio}", flush=True)
        rows["models"][model] = row
        write_file(args.out, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
