"""What mini-batches cost in accuracy: HDP in full batch and in clusters, with the same settings.

    python benchmarks/minibatch.py --data DIR --out benchmarks/minibatch.json

Both trainings of a split start from the same weights. An epoch of N clusters takes N steps.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heterophily import load
from heterophily.bench.protocol import evaluate
from heterophily.files import to_text, write_files
from heterophily.graph.clusters import METIS
from heterophily.hdp import HDPConfig
from heterophily.recipes import recipes


def main() -> None:
    """Train both ways on some splits, write after each row, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--datasets", default="pubmed,cornell5")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--clusters", default="0,8", help="how many, with commas between; 0: full batch")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of HDP")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/minibatch.json"))
    args = parser.parse_args()
    found: dict[str, Any] = {"metis": METIS, "set": args.set, "rows": []}
    if args.out.exists():
        found["rows"] = json.loads(args.out.read_text())["rows"]
    for dataset in args.datasets.split(","):
        graph = load(dataset, data=args.data)
        changes = dict(text.split("=", 1) for text in args.set)
        config = HDPConfig.parse(recipes("hdp").get(dataset, {}) | changes)
        for clusters in [int(text) for text in args.clusters.split(",")]:
            start = time.perf_counter()
            result = evaluate(graph, "hdp", config, range(args.splits), device=args.device, clusters=clusters)
            row = {
                "dataset": dataset,
                "clusters": clusters,
                "mean": result.mean,
                "test": [score.test for score in result.splits],
                "epochs": float(np.mean([score.epochs for score in result.splits])),
                "seconds": time.perf_counter() - start,
            }
            same = (dataset, clusters)
            found["rows"] = [r for r in found["rows"] if (r["dataset"], r["clusters"]) != same] + [row]
            write_files(args.out.parent, {args.out.name: to_text(found)})
            print(f"{dataset} in {clusters or 'no'} clusters: {100 * row['mean']:.2f} %", flush=True)


if __name__ == "__main__":
    main()
