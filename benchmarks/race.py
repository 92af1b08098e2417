"""What a race spares and what it misses: the same settings, drawn at random, raced and all trained whole.

    python -m benchmarks.race --data DIR --out FILE

Settings are judged by validation nodes that had no say in the epoch. `below` is how much less the best that
is found by the race is worth than the best of all, both trained to their ends on the same splits, and `place`
where it stands among all. Epochs are those of all runs, added up.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from typing import Any

import torch

from heterophily import load, tune
from heterophily.bench.protocol import versions
from heterophily.bench.tuning import FIELD, RUNGS, Tuning
from heterophily.files import write_file
from heterophily.graph import Graph

CELLS = (
    ("acm-gcn", "cornell"), ("h2gcn", "texas"), ("gcn", "wisconsin"), ("gcn", "chameleon"),
    ("gpr-gnn", "cora"),
)  # fmt: skip
"""Models and graphs."""


def timed(graph: Graph, model: str, args: argparse.Namespace, race: bool) -> tuple[Tuning, float]:
    """Search once; say in how many seconds."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = tune(
            graph, model, args.trials, storage=f"{folder}/study.journal", sampler="random", halves=True,
            splits=range(args.splits), batch=16, prune=False, race=race, device=args.device,
        )  # fmt: skip
    return found, time.perf_counter() - start


def row(graph: Graph, model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Compare both ways on one graph."""
    (whole, long), (raced, short) = (timed(graph, model, args, race) for race in (False, True))
    names = list(whole.task.space)
    assert whole.trials[names].equals(raced.trials[names])
    return {
        "model": model, "dataset": graph.name, "best": whole.validation,
        "median": float(whole.trials["validation"].median()), "below": whole.validation - raced.validation,
        "place": int((whole.trials["validation"] > raced.validation).sum()) + 1,
        "to_the_end": int((raced.trials["state"] == "complete").sum()),
        "epochs": [int(found.trials["epochs"].sum()) for found in (whole, raced)], "seconds": [long, short],
    }  # fmt: skip


def main() -> None:
    """Go through the cells."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    head = {
        "trials": args.trials, "splits": args.splits, "rungs": RUNGS, "field": FIELD,
        "device": torch.cuda.get_device_name() if "cuda" in args.device else "cpu",
        "threads": torch.get_num_threads(), "versions": versions(),
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for model, dataset in CELLS:
        rows.append(row(load(dataset, data=args.data), model, args))
        print(rows[-1], flush=True)
        write_file(args.out, json.dumps(head | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
