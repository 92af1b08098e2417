"""How time and memory of an epoch grow with the graph: HDP beside PyG's GCN and LINKX, in one process.

    python benchmarks/growth.py --nodes 10000,100000,1000000 --out benchmarks/growth.json

Synthetic graphs of one average degree. An epoch is a step of training and a full-graph evaluation, for every
model. The peak is that of preparation and training together, the graph and the interpreter included: on a
CPU resident memory, on a GPU what torch has allocated there. A size that does not fit is said so, and the
others go on. Each size has a process of its own, in which all models are measured one after another.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch_geometric
from torch import Tensor

from heterophily.baselines.linkx import LINKXConfig, linkx
from heterophily.files import to_text, write_files
from heterophily.graph import Graph, synthetic
from heterophily.hdp import HDPConfig, hdp
from heterophily.training.engine import Batch
from heterophily.training.seal import seal

MODELS = ("hdp", "gcn", "linkx")
FEATURES, CLASSES = 128, 5
WIDTH = HDPConfig().hidden_dim
"""Hidden width of HDP's perceptrons, and so of the GCN."""
LONG = 10**6
"""Epochs that are never reached: the measured ones stop before."""


def main() -> None:
    """Measure all sizes, write after each row, print rows and exponents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="10000,100000,1000000", help="sizes, with commas between")
    parser.add_argument("--degree", type=float, default=20)
    parser.add_argument("--epochs", type=int, default=3, help="timed epochs, after one that is not")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, help="GiB of address space a process may take, on a CPU")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of HDP")
    parser.add_argument("--precision", default="full", help="full, or mixed: bfloat16 where it is enough")
    parser.add_argument("--out", type=Path, help="add to the JSON there, after each row")
    parser.add_argument("--json", action="store_true", help="print the JSON instead of a table")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        measure_all(args, json.loads(args.child))
        return
    found: dict[str, Any] = {"machine": machine(args), "rows": []}
    if args.out and args.out.exists():
        found["rows"] = json.loads(args.out.read_text())["rows"]
    for nodes in [int(text) for text in args.nodes.split(",")]:
        for row in rows_of_size(args, nodes):
            again = [r for r in found["rows"] if (r["model"], r["nodes"]) != (row["model"], row["nodes"])]
            found["rows"] = sorted([*again, row], key=lambda r: (r["nodes"], MODELS.index(r["model"])))
            found["exponents"] = exponents(found["rows"])
            if args.out:
                write_files(args.out.parent, {args.out.name: to_text(found)})
            if not args.json:
                print(in_words(row), flush=True)
    if args.json:
        print(to_text(found), end="")
    else:
        print(*(f"{name}: {value}" for name, value in found.get("exponents", {}).items()), sep="\n")


def rows_of_size(args: argparse.Namespace, nodes: int) -> Iterator[dict[str, Any]]:
    """Yield the row of each model; where a process dies, the model gets an error, the rest a new process."""
    left = args.models.split(",")
    while left:
        command = [sys.executable, __file__, *sys.argv[1:], "--child", json.dumps([nodes, left])]
        how: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        # As the command does: threads that wait asleep leave other work on the machine its cores.
        env = {"OMP_WAIT_POLICY": "passive"} | os.environ
        with subprocess.Popen(command, env=env, **how) as child:
            assert child.stdout and child.stderr
            for line in child.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
                    left = left[1:]
            complaint = child.stderr.read().strip().splitlines()
        if child.returncode and left:
            why = complaint[-1] if complaint else f"ended with {child.returncode}"
            yield {"model": left[0], "nodes": nodes, "error": why[:300]}
            left = left[1:]


def measure_all(args: argparse.Namespace, wanted: tuple[int, list[str]]) -> None:
    """Measure some models on a graph of one size; print a row as soon as it is there."""
    warnings.simplefilter("ignore")
    nodes, models = wanted
    device = torch.device(args.device)
    torch.set_num_threads(args.threads)
    if args.limit and device.type == "cpu":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(args.limit * 2**30),) * 2)
    graph = synthetic(nodes, CLASSES, average_degree=args.degree, num_features=FEATURES, splits=1).to(device)
    rates = device_rates(device)
    makers = {"hdp": lambda g: hdp_epochs(g, args, rates), "gcn": gcn_epochs, "linkx": linkx_epochs}
    for model in models:
        row: dict[str, Any] = {"model": model, "nodes": nodes, "edges": graph.num_edges}
        print(json.dumps(row | measured(makers[model], afresh(graph), args.epochs)), flush=True)


def afresh(graph: Graph) -> Graph:
    """Return the graph with nothing remembered of what an earlier model prepared."""
    return graph._replace(x=graph.x.view_as(graph.x), edge_index=graph.edge_index.view_as(graph.edge_index))


def measured(
    maker: Callable[[Graph], tuple[Callable[[], Any], dict[str, Any]]], graph: Graph, epochs: int
) -> dict[str, Any]:
    """Prepare a model and time its epochs, the median; an error where it did not fit."""
    device = graph.y.device
    reset_peak(device)
    start = time.perf_counter()
    try:
        epoch, more = maker(graph)
        epoch()
        wait(device)
        prepared = time.perf_counter() - start
        times, cores = [], []
        for _ in range(epochs):
            start, started = time.perf_counter(), time.process_time()
            epoch()
            wait(device)
            times.append(time.perf_counter() - start)
            cores.append(time.process_time() - started)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "memory" not in str(error):
            raise
        return {"error": f"out of memory: {str(error).splitlines()[0][:200]}"}
    return {
        "seconds": statistics.median(times),
        "cpu_seconds": statistics.median(cores),  # the clock's are more where others work on the machine
        "peak_memory_bytes": peak(device),
        "preparation_seconds": prepared,
    } | more


# The models


def hdp_epochs(
    graph: Graph, args: argparse.Namespace, rates: tuple[float, float]
) -> tuple[Callable[[], Any], dict[str, Any]]:
    """HDP's main training, after two epochs of the initial assignment."""
    split, device = graph.split(0), graph.y.device
    given = dict(text.split("=", 1) for text in args.set)
    config = HDPConfig.parse({"epoch_init": 2, "epoch": LONG, "patience": LONG} | given)
    procedure = hdp(seal(graph, split), split, config, 0)
    (initial,) = Batch([next(procedure)], device, precision=args.precision).run()
    stage = procedure.send(initial)
    parts = stage.state["parts"]
    entries = int(parts.a_hm.val.sum()), int(parts.a_ht.val.sum())
    bound = bound_seconds(graph, config, *entries, *rates)
    batch = Batch([stage], device, precision=args.precision)
    del stage, initial, procedure
    return batch.epoch, {"bound_seconds": bound}


def linkx_epochs(graph: Graph) -> tuple[Callable[[], Any], dict[str, Any]]:
    """LINKX with the settings it has by default."""
    split, device = graph.split(0), graph.y.device
    config = LINKXConfig(epoch=LONG, patience=LONG)
    return Batch([next(linkx(seal(graph, split), split, config, 0))], device).epoch, {}


def gcn_epochs(graph: Graph) -> tuple[Callable[[], Any], dict[str, Any]]:
    """PyG's GCN of two layers, fed as PyG is fastest: a normalized CSR matrix, made once."""
    from torch_geometric.nn import GCN
    from torch_geometric.nn.conv.gcn_conv import gcn_norm
    from torch_geometric.utils import to_torch_csr_tensor

    torch.manual_seed(0)
    split, device = graph.split(0), graph.y.device
    edges, weight = gcn_norm(graph.edge_index, None, graph.num_nodes)
    matrix = to_torch_csr_tensor(edges, weight, graph.num_nodes)  # symmetric, so its own transpose
    del edges, weight
    module = GCN(graph.num_features, WIDTH, 2, graph.num_classes, dropout=0.5, normalize=False).to(device)
    adam = torch.optim.Adam(module.parameters(), lr=0.01, weight_decay=5e-4)

    def epoch() -> Tensor:
        module.train()
        adam.zero_grad()
        logits = module(graph.x, matrix)
        torch.nn.functional.cross_entropy(logits[split.train], graph.y[split.train]).backward()
        adam.step()
        module.eval()
        with torch.no_grad():
            right = module(graph.x, matrix).argmax(-1) == graph.y
            return right[split.validation].double().mean().cpu()

    return epoch, {}


# What is measured


def reset_peak(device: torch.device) -> None:
    """Forget what was used before, as far as it was given back."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        return
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):  # the peak is then that of the process so far
        Path("/proc/self/clear_refs").write_text("5")


def peak(device: torch.device) -> int:
    """Return the most bytes in use since the reset."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return 1024 * int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def wait(device: torch.device) -> None:
    """Let the device finish."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def bound_seconds(
    graph: Graph, config: HDPConfig, entries_hm: int, entries_ht: int, bandwidth: float, rate: float
) -> float:
    """Return what an epoch of HDP takes at least: each operation at the rate of memory or of arithmetic.

    Every operation of Eq. 9-29 reads what it needs and writes what it gives once, with no copy, no mask and
    no recomputation, the gradients' too; it takes the longer of its bytes at the bandwidth and its products
    at the rate that this device reached a moment ago. A sparse product fetches a row for each entry: on
    graphs whose representations fit the caches it may be faster than this.
    """
    n, f, h, d, k = graph.num_nodes, graph.num_features, config.hidden_dim, config.embedding_dim, CLASSES
    sides = d * (config.homophilous + config.heterophilous)

    def map_(rows: int, a: int, b: int) -> float:
        return max(4 * rows * (a + b) / bandwidth, 2 * rows * a * b / rate)

    def pass_(columns: int) -> float:
        return 4 * n * columns / bandwidth

    def collect(entries: int) -> float:
        return ((4 * d + 8) * entries + 4 * n * d) / bandwidth

    layers = config.layers_hm * config.homophilous + config.layers_ht * config.heterophilous
    means = layers * collect(entries_hm) + config.heterophilous * collect(entries_ht)
    mixing = layers * pass_(3 * d)  # lerp: two in, one out
    forward = map_(n, f, h) + pass_(2 * h) + map_(n, h, d) + means + mixing + map_(n, sides, k)
    backward = map_(n, f, h) + pass_(3 * h) + 2 * map_(n, h, d) + means + 2 * mixing + 2 * map_(n, sides, k)
    contrast = map_(n, d, k) + 2 * map_(n, d, k)
    return forward + backward + contrast + forward  # the second for evaluation


def device_rates(device: torch.device) -> tuple[float, float]:
    """Measure bytes per second of a copy and operations per second of a dense product in float32."""
    flat = torch.ones(2**26, device=device)
    a, b = torch.ones(4096, 512, device=device), torch.ones(512, 4096, device=device)
    seconds = [best_of(lambda: flat.clone(), device), best_of(lambda: a @ b, device)]
    return 2 * flat.numel() * 4 / seconds[0], 2 * 4096 * 512 * 4096 / seconds[1]


def best_of(function: Callable[[], Any], device: torch.device, times: int = 7) -> float:
    """Return the seconds of the fastest of some calls."""
    found = math.inf
    for _ in range(times):
        start = time.perf_counter()
        function()
        wait(device)
        found = min(found, time.perf_counter() - start)
    return found


def exponents(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Fit time and memory as powers of the number of edges, by least squares of logarithms."""
    found = {}
    for model in dict.fromkeys(row["model"] for row in rows):
        some = [row for row in rows if row["model"] == model and "seconds" in row]
        if len(some) > 1:
            edges = np.log([row["edges"] for row in some])
            found[model] = {
                name: round(float(np.polyfit(edges, np.log([row[name] for row in some]), 1)[0]), 3)
                for name in ("seconds", "cpu_seconds", "peak_memory_bytes")
            }
    return found


def machine(args: argparse.Namespace) -> dict[str, Any]:
    """Say what was measured on."""
    name = torch.cuda.get_device_name() if args.device.startswith("cuda") else platform.processor() or "CPU"
    return {
        "device": name,
        "threads": args.threads,
        "load": os.getloadavg()[1],
        "degree": args.degree,
        "features": FEATURES,
        "precision": args.precision,
        "settings": args.set,
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
    }


def in_words(row: dict[str, Any]) -> str:
    """Return a row as a line of a table."""
    head = f"{row['model']:>6} {row['nodes']:>12,} nodes"
    if "error" in row:
        return f"{head}: {row['error']}"
    memory = f"{row['peak_memory_bytes'] / 2**30:>7.2f} GiB"
    line = f"{head} {row['edges']:>13,} edges {row['seconds']:>9.3f} s {memory}"
    return line + (f"  bound {row['bound_seconds']:.3f} s" if "bound_seconds" in row else "")


if __name__ == "__main__":
    main()
