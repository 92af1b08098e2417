"""The memory and time of every model on Pubmed: preparation and two epochs of one split, each in its process.

python benchmarks/pubmed_memory.py --data DIR --out benchmarks/pubmed_memory.json
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import torch

from heterophily import MODELS, load
from heterophily.files import to_text, write_file
from heterophily.recipes import recipes
from heterophily.training.runs import Run, train_runs


def measure(model: str, data: str | None, dataset: str) -> None:
    """Train two epochs and print what it took."""
    warnings.simplefilter("ignore")
    graph = load(dataset, data=data)
    kind = MODELS[model].config
    brief = {
        name: 2 for name in ("epoch", "patience", "epoch_init", "patience_init") if name in kind().to_dict()
    }
    config = kind.parse(recipes(model).get(dataset, {}) | brief)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    train_runs(graph, [Run(model, config, 0)])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {"model": model, "dataset": dataset, "peak_GiB": after / 2**20, "before_GiB": before / 2**20}
    print(json.dumps(row | {"seconds": time.perf_counter() - start, "threads": torch.get_num_threads()}))


def main() -> None:
    """Measure the models one after another."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--dataset", default="pubmed")
    parser.add_argument("--out", default="benchmarks/pubmed_memory.json")
    parser.add_argument("--model", help="measure this one here and print it")
    args = parser.parse_args()
    if args.model:
        measure(args.model, args.data, args.dataset)
        return
    rows = []
    for model in MODELS:
        command = [sys.executable, __file__, "--model", model, "--dataset", args.dataset]
        done = subprocess.run(
            command + (["--data", args.data] if args.data else []),
            capture_output=True,
            text=True,
            check=False,
        )
        last = (done.stdout or done.stderr).strip().splitlines()[-1]
        rows.append(json.loads(last) if done.returncode == 0 else {"model": model, "error": last})
        print(rows[-1], flush=True)
        write_file(args.out, to_text({"rows": rows}))


if __name__ == "__main__":
    main()
