"""Train Table 1 anew from the packaged recipes, and write down how long that took by the clock.

    python -m benchmarks.whole_table --models hdp --jobs 10 --data DIR
    python -m benchmarks.whole_table --models baselines --datasets pubmed squirrel --jobs 10 --data DIR

The cells go to their places under results/, the time of each call to benchmarks/whole_table.json, in place
of an earlier one of the same cells; a call that is stopped has what it trained until then. By default it is
all of the paper's table, ten splits of nine datasets. With jobs above one, cells are trained side by side, on
a GPU best where NVIDIA's MPS runs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.cells import device_name
from heterophily.bench.protocol import versions
from heterophily.bench.reproduce import COLUMNS, ROWS, Step, reproduce
from heterophily.files import write_file

FILE = Path(__file__).parent / "whole_table.json"
HEAVY_FIRST = COLUMNS[::-1]
"""The largest graph is begun with, so that none of its cells is left alone at the end."""
BASELINES = tuple(model for model in ROWS if model != "hdp")


class Clock:
    """A call: what it trains, how long it has taken, and which of its cells are over."""

    def __init__(self, file: Path, models: str, datasets: list[str], jobs: int, device: str):
        self.file = file
        self.about = {"models": models, "datasets": datasets, "jobs": jobs, "device": device_name(device)}
        self.start, self.steps = time.perf_counter(), list[Step]()

    def __call__(self, step: Step) -> None:
        """Say that a cell is over, and write down how it stands."""
        print(
            f"{step.dataset:18s} {step.model:10s} {step.state} {step.seconds:.0f} s {step.error}", flush=True
        )
        self.steps.append(step)
        known = json.loads(self.file.read_text()) if self.file.exists() else []
        calls = [
            call for call in known if any(call[name] != self.about[name] for name in ("models", "datasets"))
        ]
        write_file(self.file, json.dumps([*calls, self.told()], indent=1) + "\n")

    def told(self) -> dict[str, Any]:
        """Return the call as far as it has come; what is not yet told of may be under way."""
        over = [step for step in self.steps if step.model in ROWS]
        return self.about | {
            "cells": sum(step.state == "trained" for step in over),
            "failed": sum(step.state == "failed" for step in over),
            "seconds": round(time.perf_counter() - self.start, 1),
            "seconds_of_cells": round(sum(step.seconds for step in over), 1),
            "versions": versions(),
        }


def main() -> None:
    """Train what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", choices=["all", "hdp", "baselines"], default="all")
    parser.add_argument("--datasets", nargs="+", default=list(HEAVY_FIRST), help="in the order of training")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--results", default="results", help="folder of the cells")
    parser.add_argument("--out", type=Path, default=FILE, help="file of the times")
    args = parser.parse_args()
    models = {"all": ROWS, "hdp": ("hdp",), "baselines": BASELINES}[args.models]
    clock = Clock(args.out, args.models, args.datasets, args.jobs, args.device)
    reproduce(
        args.datasets, models, args.results, jobs=args.jobs, anew=True, device=args.device, data=args.data,
        tell=clock,
    )  # fmt: skip
    print(clock.told())


if __name__ == "__main__":
    main()
