"""Train all of Table 1 anew from the packaged recipes, and write down how long that took.

    python -m benchmarks.whole_table --jobs 10 --data DIR

HDP's row comes first, then its 13 baselines, on the nine datasets and ten splits of the paper; the cells go
to their places under results/, the times by the clock to benchmarks/whole_table.json. With jobs above one,
cells are trained side by side, on a GPU best where NVIDIA's MPS runs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from benchmarks.cells import device_name
from heterophily.bench.protocol import versions
from heterophily.bench.reproduce import COLUMNS, ROWS, Step, reproduce
from heterophily.files import write_file

FILE = Path(__file__).parent / "whole_table.json"
HEAVY_FIRST = COLUMNS[::-1]
"""The largest graph is begun with, so that none of its cells is left alone at the end."""


def tell(step: Step) -> None:
    """Say that a cell is over."""
    print(f"{step.dataset:10s} {step.model:10s} {step.state} {step.seconds:.0f} s {step.error}", flush=True)


def main() -> None:
    """Train the row, then the rest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--results", default="results")
    args = parser.parse_args()
    found = {"jobs": args.jobs, "device": device_name(args.device), "versions": versions(), "parts": {}}
    rest = [model for model in ROWS if model != "hdp"]
    for part, models in (("HDP", ["hdp"]), ("its 13 baselines", rest)):
        start = time.perf_counter()
        steps = reproduce(
            HEAVY_FIRST, models, args.results, jobs=args.jobs, anew=True, device=args.device, data=args.data,
            tell=tell,
        )  # fmt: skip
        trained = [step for step in steps if step.model in models]
        found["parts"][part] = {
            "cells": sum(step.state == "trained" for step in trained),
            "failed": sum(step.state == "failed" for step in trained),
            "seconds": round(time.perf_counter() - start, 1),
            "seconds_of_cells": round(sum(step.seconds for step in trained), 1),
        }
        print(part, found["parts"][part], flush=True)
        write_file(FILE, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
