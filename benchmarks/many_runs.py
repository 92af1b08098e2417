"""Many runs at once against one at a time, and against what the device could do.

    python benchmarks/many_runs.py --data DIR --out benchmarks/many_runs.json

Ratios are taken in one process on one device: run-epochs per second (an epoch trains and judges) of a
batch against PyG's own GCN trained in the usual loop, and against HDP with one run. The time of the
aggregation is compared with the bytes it must move at the bandwidth measured in the same process.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch_geometric
from torch import Tensor
from torch_geometric.nn import GCNConv

from heterophily import load
from heterophily.adjacency import adjacency
from heterophily.baselines.gcn import GCNConfig
from heterophily.files import write_file
from heterophily.graph import Graph
from heterophily.hdp import HDPConfig
from heterophily.models import MODELS
from heterophily.sparse import SparseMatrix, multiply, stack
from heterophily.stage import Stage
from heterophily.training.engine import Batch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import seal

EPOCHS = 20


def wait(device: torch.device) -> None:
    """Let the device finish, so that the clock reads its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], Any], device: torch.device, repeat: int = EPOCHS) -> float:
    """Return the seconds of one call, after three to warm up."""
    for _ in range(3):
        work()
    wait(device)
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    wait(device)
    return (time.perf_counter() - start) / repeat


def stages(graph: Graph, model: str, config: Any, runs: int) -> list[Stage]:
    """Return the last stage of ``runs`` runs over the splits and seeds, ready to train."""
    every = []
    for i in range(runs):
        split = graph.split(i % len(graph.splits))
        procedure = MODELS[model].procedure(seal(graph, split), split, config, i)
        stage = next(procedure)
        if model == "hdp":  # one epoch of the initial assignment is enough to time the rest
            (first,) = Batch([stage], graph.y.device, capture=False).run()
            stage = procedure.send(first)
        every.append(stage)
    return every


def epoch_seconds(some: list[Stage], device: torch.device, capture: bool | None = None) -> float:
    """Return the seconds of an epoch of a batch."""
    return seconds(Batch(some, device, capture=capture).epoch, device)


def replayed(work: Callable[[], Any], device: torch.device) -> float:
    """Return the seconds of a call inside a captured epoch, where the host does not slow it down."""
    if device.type != "cuda":
        return seconds(work, device)
    work()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return seconds(graph.replay, device)


class PyGGCN(torch.nn.Module):
    """PyG's two-layer GCN, as a user writes it."""

    def __init__(self, features: int, hidden: int, classes: int):
        super().__init__()
        self.first, self.second = GCNConv(features, hidden), GCNConv(hidden, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return logits."""
        h = torch.nn.functional.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        out: Tensor = self.second(h, edge_index)
        return out


def pyg_epoch_seconds(graph: Graph, hidden: int) -> float:
    """Return the seconds of one epoch of PyG's GCN in the usual loop, validation included."""
    device, split = graph.y.device, graph.split(0)
    x, edges = graph.x.to_dense(), graph.undirected().edge_index
    model = PyGGCN(graph.num_features, hidden, graph.num_classes).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def epoch() -> float:
        model.train()
        optimizer.zero_grad()
        out = model(x, edges)
        torch.nn.functional.cross_entropy(out[split.train], graph.y[split.train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(x, edges).argmax(-1)[split.validation] == graph.y[split.validation]
        return right.float().mean().item()

    return seconds(epoch, device)


def bandwidth(device: torch.device) -> float:
    """Return bytes per second of a large copy, read and write counted."""
    big = torch.empty(2**28 if device.type == "cuda" else 2**24, device=device)
    return 2 * 4 * big.numel() / seconds(big.clone, device, 10)


def arithmetic(device: torch.device) -> float:
    """Return float32 operations per second of a large matrix product."""
    size = 8192 if device.type == "cuda" else 2048
    a = torch.randn(size, size, device=device)
    return 2 * size**3 / seconds(lambda: a @ a, device, 10)


def entries(features: Tensor | SparseMatrix) -> int:
    """Return how many entries of a feature matrix are multiplied."""
    return features.numel() if isinstance(features, Tensor) else features.col.numel()


def least_work(stage: Stage) -> tuple[float, float]:
    """Count the bytes and operations that an epoch of one run cannot do without.

    Bytes: every weight is read twice forward, its gradient written once, and Adam reads four and writes
    three numbers; every sparse entry (index and value) is read forward, backward and when judging; every
    layer's output is written and read in these three passes, each dense row once, as if caches were
    perfect. Operations: two for every entry times width in each of the three passes, four for dense maps.
    """
    state, module = stage.state, stage.module
    nodes = len(state["labels"])
    weights = sum(p.numel() for p in module.parameters())
    if "parts" in state:
        hidden, dim = module.ego.second.in_features, module.ego.second.out_features
        layers = len(module.smp_hm.weigh) + len(module.smp_ht.weigh)
        first = sum(entries(block) for block in state["blocks"])
        linked = entries(state["parts"].a_ht) + layers * entries(state["parts"].a_hm)
        dense = nodes * hidden * dim + nodes * dim * (2 * layers + 10)
        outputs = nodes * (2 * hidden + dim * (4 + 3 * layers))
        sparse, read = first * hidden + linked * dim, first + linked
    else:
        hidden, classes = module.first.weight.shape[1], module.second.weight.shape[1]
        first, linked = map(entries, state["inputs"])
        dense, outputs = nodes * hidden * classes, nodes * (3 * hidden + 2 * classes)
        sparse, read = first * hidden + linked * (hidden + classes), first + 2 * linked
    return 4 * (10 * weights + 3 * 2 * outputs) + 3 * 8 * read, 2 * (3 * sparse + 4 * dense)


def aggregation(graph: Graph, runs: int, width: int, speed: float) -> dict[str, float]:
    """Time the mean over neighbors for many runs in three ways, against the bytes it must move."""
    device = graph.y.device
    matrix = adjacency(graph)  # symmetric, as A^hm and A^ht are
    many: SparseMatrix = stack([matrix] * runs)
    h = torch.randn(runs, graph.num_nodes, width, device=device)
    dims = SparseMatrix(*(None if part is None else 0 for part in many))
    rows = torch.arange(graph.num_nodes, device=device).repeat_interleave(matrix.crow.diff())
    cols = matrix.col.long()

    def gather() -> Tensor:
        return h.new_zeros(h.shape).index_add_(1, rows, h[:, cols])

    links = runs * matrix.col.numel()
    gathered = links * (8 + 4 * width) + 4 * h.numel()
    compulsory = links * 8 + 2 * 4 * h.numel()
    return {
        "runs": runs,
        "width": width,
        "block_csr_ms": 1e3 * replayed(lambda: torch.vmap(multiply, (dims, 0))(many, h), device),
        "gather_index_add_ms": 1e3 * replayed(gather, device),
        "bound_every_neighbor_read_from_memory_ms": 1e3 * gathered / speed,
        "bound_every_row_read_once_ms": 1e3 * compulsory / speed,
    }


def main() -> None:
    """Measure, print a short table, write JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--out", default="benchmarks/many_runs.json")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--runs", nargs="*", default=["squirrel=40", "texas=200", "chameleon=40", "actor=40"])
    parser.add_argument("--to-the-end", action="store_true", help="also train HDP on Squirrel, ten splits")
    args = parser.parse_args()
    if Path(args.out).is_dir():
        parser.error(f"--out {args.out} is a folder; name a file")
    warnings.simplefilter("ignore")
    device = torch.device(args.device)
    speed, rate = bandwidth(device), arithmetic(device)
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "bandwidth_GB_per_s": speed / 1e9,
        "float32_TFLOP_per_s": rate / 1e12,
        "epochs": [],
    }
    for spec in args.runs:
        name, count = spec.split("=")
        runs = int(count)
        graph = load(name, data=args.data).to(device)
        pyg = pyg_epoch_seconds(graph, 64)
        gcn = stages(graph, "gcn", GCNConfig(epoch=10**6, patience=10**6), runs)
        hdp = stages(graph, "hdp", HDPConfig(epoch_init=1, epoch=10**6, patience=10**6), runs)
        row = {
            "dataset": name,
            "runs": runs,
            "pyg_gcn_one_ms": 1e3 * pyg,
            "gcn_one_ms": 1e3 * epoch_seconds(gcn[:1], device, False),
            "gcn_many_ms": 1e3 * epoch_seconds(gcn, device),
            "hdp_one_ms": 1e3 * epoch_seconds(hdp[:1], device, False),
            "hdp_one_captured_ms": 1e3 * epoch_seconds(hdp[:1], device),
            "hdp_many_ms": 1e3 * epoch_seconds(hdp, device),
        }
        for model, some in (("gcn", gcn), ("hdp", hdp)):
            size, operations = least_work(some[0])
            row[f"{model}_memory_bound_ms"] = 1e3 * runs * size / speed
            row[f"{model}_arithmetic_bound_ms"] = 1e3 * runs * operations / rate
        row["gcn_ratio"] = runs * row["pyg_gcn_one_ms"] / row["gcn_many_ms"]
        row["hdp_ratio"] = runs * row["hdp_one_ms"] / row["hdp_many_ms"]
        found["epochs"].append(row)
        print({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
        if name == "squirrel":
            found["aggregation"] = aggregation(graph, 20 if device.type == "cuda" else 10, 128, speed)
            print({k: round(v, 3) for k, v in found["aggregation"].items()}, flush=True)
            if args.to_the_end:
                start = time.perf_counter()
                train_runs(graph, [Run("hdp", HDPConfig(), i) for i in range(10)], device)
                wait(device)
                found["squirrel_ten_splits_s"] = time.perf_counter() - start
                print(
                    "squirrel, ten splits to the end:",
                    round(found["squirrel_ten_splits_s"], 1),
                    "s",
                    flush=True,
                )
        write_file(args.out, json.dumps(found, indent=1) + "\n")
    for row in found["epochs"]:
        ratios = f"GCN {row['gcn_ratio']:6.1f} x   HDP {row['hdp_ratio']:6.1f} x"
        print(f"{row['dataset']:10s} {row['runs']:4d} runs   {ratios}")


if __name__ == "__main__":
    main()
