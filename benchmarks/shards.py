"""One process with two threads against two processes with one thread each, on the same graph.

    python benchmarks/shards.py

HDP at its default settings on a synthetic graph of average degree 20, where neighbors lie anywhere: half of
them are with the other process, the worst case for shards. Turns alternate, and of each the fastest counts.
Writes benchmarks/shards.json, and what it says into docs/many-machines.md.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heterophily.distributed import shard
from heterophily.distributed.algorithm import hdp as hdp_of_rows
from heterophily.distributed.checkpoint import Keeper
from heterophily.distributed.training import Training
from heterophily.distributed.world import world
from heterophily.files import to_text, write_file
from heterophily.graph import Graph, Split, synthetic
from heterophily.hdp import HDPConfig, hdp
from heterophily.training.engine import Batch
from heterophily.training.seal import seal

CONFIG = HDPConfig(epoch_init=2, epoch=10**6, patience=10**6)
ROOT = Path(__file__).parents[1]
MEASURED, PAGE = ROOT / "benchmarks" / "shards.json", ROOT / "docs" / "many-machines.md"
BEGIN = "<!-- measured: written by benchmarks/shards.py from benchmarks/shards.json -->\n"
END = "<!-- end of what was measured -->\n"
WAYS = {
    "train": (0, 2),
    "distribute": (1, 2),
    "distribute on two processes": (2, 1),
    "distribute --recompute on two processes": (2, 1),
}
"""Processes, 0 for the engine of `heterophily train`, and the threads of each."""


def of_the_engine(folder: Path) -> Callable[[], None]:
    """Prepare the main training as `heterophily train` does; return its epoch."""
    x, y, crow, col = (np.load(folder / f"{name}.npy") for name in ("x", "y", "crow", "col"))
    edges = torch.from_numpy(np.stack([np.repeat(np.arange(len(y)), np.diff(crow)), col]))
    part = torch.from_numpy(np.load(folder / "split-0.npy"))
    split = Split(part == 1, part == 2, part == 3)
    graph = Graph(torch.from_numpy(x), torch.from_numpy(y), edges, split)
    procedure = hdp(seal(graph, split), split, CONFIG, 0)
    cpu = torch.device("cpu")
    (initial,) = Batch([next(procedure)], cpu).run()
    return Batch([procedure.send(initial)], cpu).epoch


def measure(folder: Path, epochs: int, processes: int, recompute: bool) -> None:
    """Train some epochs, and print their time and this process's peak of memory."""
    with world("cpu") as here:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if not processes:
            epoch = of_the_engine(folder)
        else:
            rows = shard.read(folder, 0, here).sealed()
            procedure = hdp_of_rows(rows, here, CONFIG, 0, recompute=recompute)
            initial = Training(next(procedure), here).run(Keeper(None, 1, {}, here), None)
            epoch = Training(procedure.send(initial), here).epoch
            del initial
        epoch()
        times, busy = [], time.process_time()
        for _ in range(epochs):
            here.wait()
            start = time.perf_counter()
            epoch()
            times.append(time.perf_counter() - start)
        busy = float(here.total(torch.tensor(time.process_time() - busy, dtype=torch.float64)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        every = here.gathered(torch.tensor([[*times, peak * 1024, before * 1024]], dtype=torch.float64))
        if here.rank == 0:  # an epoch takes as long as its slowest process
            *seconds, peak, before = torch.cat(every).max(0).values.tolist()
            found = {"peak_memory_bytes": int(peak), "before_bytes": int(before)}
            time_taken = {"epoch_seconds": seconds, "epoch_core_seconds": busy / epochs}
            print(json.dumps(time_taken | found | {"load": os.getloadavg()[0]}))


def turn(way: str, folder: Path, epochs: int) -> dict[str, Any]:
    """Measure one way in processes of their own."""
    processes, threads = WAYS[way]
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(max(processes, 1))]
    what = [__file__, "--measure", str(folder), "--epochs", str(epochs), "--processes", str(processes)]
    done = subprocess.run(
        [sys.executable, *start, *what, *(["--recompute"] if "--recompute" in way else [])],
        env=os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def main() -> None:
    """Measure all ways in turns, print ratios, write JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=300_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--measure", help="measure here, on this folder")
    args = parser.parse_args()
    if args.measure:
        measure(Path(args.measure), args.epochs, args.processes, args.recompute)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "graph"
        drawn = synthetic(args.nodes, average_degree=20, num_features=args.features, splits=1)
        shard.write(drawn, folder)
        edges = drawn.num_edges
        del drawn
        turns: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(args.turns):
            for way, found in turns.items():
                found.append(turn(way, folder, args.epochs))
                print(way, found[-1], flush=True)
    rows = [
        {
            "way": way,
            "processes": max(WAYS[way][0], 1),
            "threads": WAYS[way][1],
            "epoch_seconds": min(min(each["epoch_seconds"]) for each in found),
            "epoch_core_seconds": min(each["epoch_core_seconds"] for each in found),
            "peak_memory_bytes": min(each["peak_memory_bytes"] for each in found),
            "before_bytes": min(each["before_bytes"] for each in found),
            "turns": found,
        }
        for way, found in turns.items()
    ]
    one, two = rows[0], rows[2]
    result = {
        "nodes": args.nodes,
        "edges": edges,
        "features": args.features,
        "rows": rows,
        "time_ratio": two["epoch_seconds"] / one["epoch_seconds"],
        "memory_ratio": two["peak_memory_bytes"] / one["peak_memory_bytes"],
        "torch": torch.__version__,
        "cores": os.cpu_count(),
    }
    write_file(MEASURED, to_text(result))
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8"), result))
    print(f"two processes: {result['time_ratio']:.2f} of the time, {result['memory_ratio']:.2f} of memory")


def page(text: str, measured: dict[str, Any]) -> str:
    """Return the page with what was measured between its markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE} has lost its markers {BEGIN.strip()} and {END.strip()}")
    return before + BEGIN + "\n" + words(measured) + "\n" + END + after


def words(measured: dict[str, Any]) -> str:
    """Say what was measured: a table, and the two ratios."""
    rows = measured["rows"]
    lines = [
        "| | processes | threads each | s an epoch | core-seconds an epoch | peak memory each, GiB |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for row in rows:
        figures = f"{row['epoch_seconds']:.2f} | {row['epoch_core_seconds']:.2f}"
        memory = f"{row['peak_memory_bytes'] / 2**30:.2f}"
        lines.append(f"| `{row['way']}` | {row['processes']} | {row['threads']} | {figures} | {memory} |")
    loads = [each["load"] for row in rows for each in row["turns"]]
    turns, epochs = len(rows[0]["turns"]), len(rows[0]["turns"][0]["epoch_seconds"])
    return (
        f"A synthetic graph of {measured['nodes']:,} nodes, {measured['edges']:,} directed edges and "
        f"{measured['features']} features, the default settings, PyTorch {measured['torch']} on "
        f"{measured['cores']} cores:\n\n" + "\n".join(lines) + "\n\n"
        f"Two processes with a thread each take **{measured['time_ratio']:.2f} ×** the time of one process "
        f"with two threads, and **{100 * measured['memory_ratio']:.0f} %** of its memory each. "
        f"{rows[0]['before_bytes'] / 2**30:.2f} GiB of each process is Python and PyTorch before anything is "
        f"read. Times are the best of {turns * epochs} epochs, which train, judge and, where "
        "validation improved, renew the partition; the machine had other work (a load of "
        f"{min(loads):.1f} to {max(loads):.1f}). `distribute` computes the MLPs some rows at a time, so its "
        "one process takes less memory than `train`, too.\n"
    )


if __name__ == "__main__":
    main()
