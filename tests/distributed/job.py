"""What the tests ask of several processes; torchrun starts it with four, of which 1, 2 and 4 take part."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from heterophily.distributed import features, shard
from heterophily.distributed.algorithm import Edges
from heterophily.distributed.checkpoint import Keeper
from heterophily.distributed.run import identity, train
from heterophily.distributed.selection import largest
from heterophily.distributed.world import World, world
from heterophily.graph import Graph
from heterophily.graph.synthetic import synthetic
from heterophily.hdp.config import HDPConfig
from heterophily.sparse import multiply

SIZES = (1, 2, 4)
SETTINGS = {
    "as it is": {"structural_dim": 4096},
    "sparse, far, otherwise": {
        "order": 2, "hops": 2, "structural_dim": 40, "normalization": "symmetric", "feature_norm": "row",
        "input_dropout": 0.3, "input_dropout_init": 0.3, "tpc_sum": True, "tpc_weight": 0.01,
        "known_loops": False,
    },
}  # fmt: skip


@cache
def a_graph(sparse: bool = False) -> Graph:
    """A graph with hubs, so that shares of rows differ; with many zeros among its features, or without."""
    graph = synthetic(
        301, num_classes=3, num_features=17, average_degree=5, homophily=0.3, degree_exponent=2.5, splits=2
    )
    if not sparse:
        return graph
    x = torch.where(graph.x > 0.8, graph.x, 0.0).to_sparse_csr()
    return Graph(x, graph.y, graph.edge_index, graph.splits, metric=graph.metric)


def config(name: str, **changes: Any) -> HDPConfig:
    small = {"hidden_dim": 18, "embedding_dim": 6, "epoch": 20, "epoch_init": 20, "patience": 99}
    return HDPConfig.parse(small | {"patience_init": 99} | SETTINGS[name] | changes)


def whole(part: str) -> Tensor:
    """A factor or a gradient for all nodes, or values with many ties for all of them."""
    draw = torch.Generator().manual_seed(len(part))
    if part == "values":
        return torch.randint(0, 40, (301,), generator=draw).double() / 40
    return torch.randn(301, 5, dtype=torch.float64, generator=draw)


def product(here: World) -> dict[str, Any]:
    """The adjacency matrix times a factor, and the gradient of that."""
    rows = shard.cut(a_graph(), 0, here)
    edges = Edges(rows.crow, rows.col, rows, here)
    every = torch.ones(len(edges.place), dtype=torch.bool)
    matrix = edges.divided(every, torch.tensor(0.0), torch.float64).a_hm
    own = slice(rows.first, rows.first + edges.halo.rows)
    h = whole("factor")[own].requires_grad_()
    out = multiply(matrix, h)
    out.backward(whole("gradient")[own])
    assert h.grad is not None
    return {"out": together(here, out.detach()), "grad": together(here, h.grad), "rows": rows.bounds}


def selection(here: World) -> list[list[int]]:
    """Which nodes have the 0, 1, 97 and 301 largest values."""
    rows = shard.cut(a_graph(), 0, here)
    nodes = torch.arange(rows.first, rows.bounds[here.rank + 1])
    values = whole("values")[nodes]
    found = []
    for count in (0, 1, 97, 301):
        mine = largest(here, values, nodes, count).chosen(values, nodes)
        found.append(together(here, nodes[mine]))
    return found


def curves(here: World, name: str, otherwise: bool, dtype: torch.dtype) -> list[dict[str, float]]:
    """The losses and scores of every epoch; otherwise: with sparse features, hidden layers computed twice."""
    seen: list[dict[str, float]] = []
    rows = shard.cut(a_graph(sparse=otherwise), 1, here)
    result = train(
        rows, here, config(name), 3, None, lambda p: seen.append(p.figures()), dtype, recompute=otherwise
    )
    return [*seen, {"test": result.splits[0].test}]


def resumed(here: World, folder: Path, before: World) -> list[dict[str, float]]:
    """The last epochs of a training that other processes began and broke off."""
    graph, seen = a_graph(), []
    if before.rank < before.size and before.group is not None:
        rows = shard.cut(graph, 1, before)
        keeper = Keeper(folder, 3, identity(rows, config("as it is"), 3), before)

        def break_off(progress: Any) -> None:
            if progress.stage == "HDP" and progress.epoch == 8:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            train(rows, before, config("as it is"), 3, keeper, break_off)
    here.wait()
    rows = shard.cut(graph, 1, here)
    keeper = Keeper(folder, 3, identity(rows, config("as it is"), 3), here, resume=True)
    train(rows, here, config("as it is"), 3, keeper, lambda p: seen.append(p.figures()))
    return seen


def together(here: World, part: Tensor) -> Any:
    return torch.cat(here.gathered(part)).tolist()


def main(out: Path) -> None:
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    features.ROWS = 50  # so that these few nodes make several chunks
    found: dict[str, Any] = {}
    with world("cpu") as every:
        worlds = []
        for size in SIZES:
            group = dist.new_group(range(size))
            here = World()
            if size > 1 and every.rank < size:
                here.join(group)
            worlds.append(here)
            del group
            if every.rank >= size:
                continue
            found[str(size)] = {
                "product": product(here),
                "selection": selection(here),
                "as it is": curves(here, "as it is", False, torch.float32),
                "sparse, far, otherwise": curves(here, "sparse, far, otherwise", True, torch.float64),
            }
        every.wait()
        found["resumed"] = resumed(every, out.parent / "checkpoint", worlds[1])
        for here in worlds:
            here.group = None
    if every.rank == 0:
        out.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
