"""What mini-batches and mixed precision cost in accuracy: HDP with them and without, with the same settings.

    python benchmarks/minibatch.py --data DIR --out benchmarks/minibatch.json

All trainings of a split start from the same weights. An epoch of N clusters takes N steps.
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
    """Train all ways on some splits, write after each row, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--datasets", default="pubmed,cornell5")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument(
        "--ways", default="full,8,mixed", help="full batch, so many clusters, mixed precision"
    )
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
        for way in args.ways.split(","):
            start = time.perf_counter()
            clusters, precision = int(way) if way.isdigit() else 0, "mixed" if way == "mixed" else "full"
            how: Any = {"device": args.device, "clusters": clusters, "precision": precision}
            result = evaluate(graph, "hdp", config, range(args.splits), **how)
            row = {
                "dataset": dataset,
                "way": way,
                "mean": result.mean,
                "test": [score.test for score in result.splits],
                "epochs": float(np.mean([score.epochs for score in result.splits])),
                "seconds": time.perf_counter() - start,
            }
            others = [r for r in found["rows"] if (r["dataset"], r["way"]) != (dataset, way)]
            found["rows"] = [*others, row]
            write_files(args.out.parent, {args.out.name: to_text(found)})
            print(f"{dataset}, {way}: {100 * row['mean']:.2f} %", flush=True)


if __name__ == "__main__":
    main()
