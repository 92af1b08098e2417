"""On a CPU: runs together against one at a time, in time and, in single precision, in what they predict.

    python benchmarks/cpu_batches.py --data DIR --out benchmarks/cpu_batches.json

Each graph's ten splits are trained for the same number of epochs, one at a time, as one batch, and as the
engine chooses by itself. ``chosen`` against ``alone`` is what a user gets; it should not exceed 1.1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from heterophily import MODELS, load
from heterophily.files import write_file
from heterophily.graph import Graph
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import open_score

WAYS = {"alone": False, "together": True, "chosen": None}


def measure(graph: Graph, model: str, epochs: int, repeat: int) -> dict[str, Any]:
    """Time ten splits in the three ways, by turns, and compare the scores of two of them."""
    known = MODELS[model].config().to_dict()
    limits = {n: epochs for n in ("epoch", "patience", "epoch_init", "patience_init") if n in known}
    runs = [Run(model, MODELS[model].config.parse(limits), i) for i in range(len(graph.splits))]
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    outcomes = {}
    train_runs(graph, runs[:1])  # what is prepared once is prepared
    for _ in range(repeat):
        for way, together in WAYS.items():
            start = time.perf_counter()
            outcomes[way] = train_runs(graph, runs, together=together)
            seconds[way].append(time.perf_counter() - start)
    apart = []
    for i, (one, other) in enumerate(zip(outcomes["alone"], outcomes["together"], strict=True)):
        split = graph.split(i)
        scores = [open_score(graph, split, o.trained.logits) for o in (one, other)]
        apart.append(round(abs(scores[0] - scores[1]) * int(split.test.sum())))
    least = {way: min(times) for way, times in seconds.items()}
    ratio = statistics.median(c / a for c, a in zip(seconds["chosen"], seconds["alone"], strict=True))
    return {
        "model": model, "runs": len(runs), "epochs": epochs, "seconds": least, "chosen_to_alone": ratio,
        "most_test_nodes_apart": max(apart),
    }  # fmt: skip


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--out", default="benchmarks/cpu_batches.json")
    parser.add_argument("--graphs", nargs="*", default=["texas=60", "chameleon=10", "cora=10", "squirrel=4"])
    parser.add_argument("--models", nargs="*", default=["mlp", "gcn", "hdp"])
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    out = Path(args.out)
    rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"] if out.exists() else []
    for spec in args.graphs:
        name, _, epochs = spec.partition("=")
        graph = load(name, data=args.data)
        for model in args.models:
            row = {"dataset": name} | measure(graph, model, int(epochs), args.repeat)
            rows = [r for r in rows if (r["dataset"], r["model"]) != (name, model)] + [row]
            print(row, flush=True)
            found = {"threads": torch.get_num_threads(), "torch": torch.__version__, "rows": rows}
            write_file(out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
