"""How an epoch of HDP grows with the graph: ten times the nodes and edges, how many times the time?

    python benchmarks/scaling.py --out benchmarks/scaling.json

Synthetic graphs of average degree 20; one run, the default settings, epochs only.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import torch

from heterophily.files import write_file
from heterophily.graph import synthetic
from heterophily.hdp import HDPConfig, hdp
from heterophily.training.engine import Batch
from heterophily.training.seal import seal


def epoch_seconds(nodes: int, epochs: int, device: torch.device) -> float:
    """Return the seconds of one epoch of the main training, the best of ``epochs``."""
    graph = synthetic(num_nodes=nodes, average_degree=20, splits=1).to(device)
    split = graph.split(0)
    procedure = hdp(seal(graph, split), split, HDPConfig(epoch_init=2, epoch=10**6, patience=10**6), 0)
    (initial,) = Batch([next(procedure)], device).run()
    batch = Batch([procedure.send(initial)], device)
    times = []
    for _ in range(epochs + 2):
        start = time.perf_counter()
        batch.epoch()
        times.append(time.perf_counter() - start)
    return sorted(times[2:])[len(times[2:]) // 2]


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="benchmarks/scaling.json")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    device = torch.device(args.device)
    small = epoch_seconds(10_000, 9, device)
    large = epoch_seconds(100_000, 5, device)
    found = {
        "nodes": [10_000, 100_000],
        "edges": [100_000, 1_000_000],
        "epoch_seconds": [small, large],
        "ratio": large / small,
        "peak_GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "device": args.device,
    }
    write_file(args.out, json.dumps(found, indent=1) + "\n")
    times = f"{small:.2f} s at 10,000 nodes, {large:.2f} s at 100,000"
    print(f"an epoch takes {times}: {large / small:.1f} times")


if __name__ == "__main__":
    main()
