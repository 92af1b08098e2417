"""How long an audit takes and how much memory: a graph of a million nodes, and every shared dataset.

    python benchmarks/audit.py --data DIR --out benchmarks/audit.json

The large graph is synthetic, of 1,000,000 nodes, 10,000,000 undirected edges in both directions, degrees
with a power law's tail, 32 features and 10 splits; a process of its own draws it, and another one audits it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

import torch

from heterophily.files import write_file
from heterophily.graph import Graph, synthetic
from heterophily.graph.audit import audit
from heterophily.graph.datasets import DATASETS, load, raw_files


def draw(file: str, nodes: int) -> None:
    """Draw the large graph."""
    graph = synthetic(nodes, average_degree=20, degree_exponent=2.5, splits=10)
    torch.save((graph.x, graph.y, graph.edge_index, graph.splits), file)


def measure(file: str) -> dict[str, Any]:
    """Audit the graph of a file, in this process."""
    graph = Graph(*torch.load(file, weights_only=False), name="large")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found = audit(graph)
    seconds = time.perf_counter() - start
    return {
        "nodes": graph.num_nodes, "edges": found.facts["edges"], "columns": graph.num_edges,
        "seconds": round(seconds, 2),
        "peak_GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "before_GiB": round(before / 2**20, 2), "findings": [finding.code for finding in found.findings],
    }  # fmt: skip


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--out", default="benchmarks/audit.json")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.step:
        step, file = args.step
        if step == "draw":
            draw(file, args.nodes)
        else:
            print(json.dumps(measure(file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        own = [sys.executable, __file__, "--nodes", str(args.nodes), "--step"]
        file = os.path.join(folder, "graph.pt")
        subprocess.run([*own, "draw", file], check=True)
        large = json.loads(subprocess.run([*own, "audit", file], check=True, stdout=subprocess.PIPE).stdout)
    print(large, flush=True)
    shared = {}
    for name in DATASETS:
        if files := raw_files(name, args.data):
            graph = load(name, args.data)
            start = time.perf_counter()
            audit(graph, files)
            shared[name] = round(time.perf_counter() - start, 3)
    print(shared)
    found = {"large": large, "shared_seconds": shared, "cores": os.cpu_count(), "torch": torch.__version__}
    write_file(args.out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
