"""How many trials a minute: `heterophily.tune` against a plain Optuna loop over runs one at a time.

    python benchmarks/tuning.py --data DIR --trials 200 --seconds 45 --out FILE

Both search the same space with the same sampler on all ten splits of a graph. The plain loop trains every
split of a proposal to its end, one after the other, as one would write it with `study.optimize`; on a GPU
also with the epochs captured as a CUDA graph, which few write ("captured"). HDP is tuned in two studies of so
many trials each; only those of the second are counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import optuna
import torch

from heterophily import MODELS, load, tune
from heterophily.bench.protocol import versions
from heterophily.bench.samplers import distribution
from heterophily.bench.tuning import Tuning, blind, task_of
from heterophily.config import Config, ConfigError, space
from heterophily.graph import Graph
from heterophily.models import find_model
from heterophily.stage import Trained
from heterophily.training.engine import Batch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import seal


def plain(graph: Graph, model: str, seconds: float, device: str, capture: bool) -> dict[str, Any]:
    """Search for some seconds with a loop over runs one at a time, epoch by epoch or with captured epochs."""
    task = task_of(graph, find_model(model), "tpe", None, {}, None, None, None, 0, False, device)
    ranges = {name: distribution(r) for name, r in space(find_model(model).config).items()}
    shut = blind(graph, task.splits).to(device)
    epochs = []

    def objective(trial: optuna.Trial) -> float:
        params = {name: trial._suggest(name, searched) for name, searched in ranges.items()}
        try:
            config: Config = task.config.replace(**params)
        except ConfigError:
            raise optuna.TrialPruned from None
        found = [alone(shut, model, config, i, capture) for i in task.splits]
        epochs.append(mean(t.epochs for t in found))
        return mean(t.validation for t in found)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    start = time.perf_counter()
    study.optimize(objective, timeout=seconds)
    took = time.perf_counter() - start
    return {
        "trials": len(epochs), "seconds": took, "per_minute": 60 * len(epochs) / took,
        "epochs": mean(epochs), "validation": study.best_value,
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


def ours(graph: Graph, model: str, trials: int, device: str) -> dict[str, Any]:
    """Tune as the command does; HDP's initial assignment first, with as many trials again."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = tune(graph, model, trials, storage=f"{folder}/study.journal", device=device)
    row = told(found, time.perf_counter() - start)
    if found.initial is not None:
        row["initial"] = told(found.initial, found.initial.trials["seconds"].sum())
    return row | {"config": found.config.changes()}


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
    graph = load(args.dataset, data=args.data)
    rows: dict[str, Any] = {
        "dataset": args.dataset, "splits": len(graph.splits), "versions": versions(),
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
        "threads": torch.get_num_threads(), "models": {},
    }  # fmt: skip
    for model in args.models:
        config = find_model(model).config()
        train_runs(graph, [Run(model, config.replace(epoch=5), 0, 0)], args.device)  # loads and warms up
        row = {"tune": ours(graph, model, args.trials, args.device)}
        for name in ("plain", "captured") if args.device == "cuda" else ("plain",):
            row[name] = plain(graph, model, args.seconds, args.device, name == "captured")
            row[f"times_{name}"] = row["tune"]["per_minute"] / row[name]["per_minute"]
            ratio = f"{row[f'times_{name}']:.1f} x {row[name]['per_minute']:.2f} {name}"
            print(f"{model:5s} {row['tune']['per_minute']:8.1f} trials a minute: {ratio}", flush=True)
        rows["models"][model] = row
        Path(args.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
