"""How many trials a minute: `heterophily.tune` against a plain Optuna loop over runs one at a time.

    python benchmarks/tuning.py --data DIR --trials 200 --seconds 45 --out FILE

Both search the same space with the same sampler on all ten splits of a graph. The plain loop trains every
split of a proposal to its end, one after the other, as one would write it with `study.optimize`. HDP's
initial assignment has its defaults in both.
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

from heterophily import load, tune
from heterophily.bench.protocol import versions
from heterophily.bench.samplers import distribution
from heterophily.bench.studies import open_storage
from heterophily.bench.tuning import Study, Tuning, blind, task_of
from heterophily.config import Config, ConfigError
from heterophily.graph import Graph
from heterophily.models import find_model
from heterophily.training.runs import Run, train_runs


def plain(graph: Graph, model: str, seconds: float, device: str) -> dict[str, Any]:
    """Search for some seconds with a loop over runs one at a time."""
    task = task_of(graph, find_model(model), "tpe", None, {}, None, None, None, 0, False, device)
    shut = blind(graph, task.splits)
    ranges = {name: distribution(searched) for name, searched in task.space.items()}
    epochs = []

    def objective(trial: optuna.Trial) -> float:
        params = {name: trial._suggest(name, searched) for name, searched in ranges.items()}
        try:
            config: Config = task.config.replace(**params)
        except ConfigError:
            raise optuna.TrialPruned from None
        found = []
        for i in task.splits:
            (outcome,) = train_runs(shut, [Run(model, config, i, 0)], device, together=False)
            found.append(outcome.trained)
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


def ours(graph: Graph, model: str, trials: int, device: str) -> dict[str, Any]:
    """Search with as many trials as are asked for."""
    start = time.perf_counter()
    task = task_of(graph, find_model(model), "tpe", None, {}, None, None, None, 0, True, device)
    with tempfile.TemporaryDirectory() as folder:
        work = Study(task, graph, open_storage(f"{folder}/study.journal"), model, device)
        work.run(trials)
        return told(work.found(), time.perf_counter() - start)


def both_studies(graph: Graph, trials: int, device: str) -> dict[str, Any]:
    """Tune HDP as the command does: its initial assignment, then the rest, each with so many trials."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = tune(graph, "hdp", trials, storage=f"{folder}/study.journal", device=device)
    row = told(found, time.perf_counter() - start)
    assert found.initial is not None
    return row | {"initial": told(found.initial, 0.0)["trials"], "config": found.config.changes()}


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
    parser.add_argument("--whole", action="store_true", help="also tune HDP in both its steps")
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
        mine = ours(graph, model, args.trials, args.device)
        theirs = plain(graph, model, args.seconds, args.device)
        ratio = mine["per_minute"] / theirs["per_minute"]
        rows["models"][model] = {"tune": mine, "plain": theirs, "ratio": ratio}
        print(
            f"{model:5s} {mine['per_minute']:8.1f} a minute, plain {theirs['per_minute']:6.2f}: {ratio:.1f} x"
        )
    if args.whole:
        rows["both_studies"] = both_studies(graph, args.trials, args.device)
        print(f"HDP, both studies of {args.trials} trials: {rows['both_studies']['seconds']:.0f} s")
    Path(args.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
