"""Change one thing at a time in HDP's settings where it is below print, and let validation nodes judge.

    python -m benchmarks.levers --datasets texas cornell wisconsin --data DIR

Every lever is the packaged recipe with one change, some of them beyond the ranges of Table 2, trained from
seeds that no search has seen. One of them changes the graph instead: edges join other nodes, drawn at random,
so that they tell nothing of the labels. One half of a split's validation nodes keeps the epoch, the other
half judges it, and the other way round (`confirm_cells.judged`). All goes into benchmarks/levers.json, from
which `evidence.py` writes a table; what is there of the same recipe and device is left as it is.
Test labels stay closed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.confirm_cells import judged
from heterophily import MODELS, load
from heterophily.bench.protocol import versions
from heterophily.bench.tuning import blind
from heterophily.config import Config
from heterophily.files import write_file
from heterophily.graph import Graph
from heterophily.recipes import recipe

FILE = Path(__file__).parent / "levers.json"
LEVERS: dict[str, dict[str, Any]] = {
    "dropout 0.85": {"dropout": 0.85},
    "input dropout 0.85": {"input_dropout": 0.85},
    "weight decay 0.03": {"weight_decay": 0.03},
    "weight decay 0.1": {"weight_decay": 0.1},
    "64 hidden units": {"hidden_dim": 64},
    "no message passing": {"layers_hm": 0, "layers_ht": 0},
    "no X^str": {"structural": False},
    "E² for E, or E for E²": {"order": None},
    "the other rule for the epoch": {"by_loss": None},
}
"""What is changed; of a setting with two values, None is the one that the recipe has not."""
OTHER: dict[str, Callable[[Any], Any]] = {"order": lambda order: 3 - order, "by_loss": lambda rule: not rule}
INITIAL, RECIPE, EDGES = "initial assignment alone", "as in the recipe", "edges between other nodes"
SEEDS = (21, 22)


def levers(dataset: str, before: Mapping[str, Any], data: str | None, device: str) -> dict[str, Any]:
    """Judge every lever on one graph, and the initial assignment alone, but for those judged before."""
    graph = load(dataset, data=data)
    sealed = blind(graph, range(len(graph.splits)))
    base = MODELS["hdp"].config.parse(recipe("hdp", dataset))
    whole = {RECIPE: base} | {name: changed(base, change) for name, change in LEVERS.items()}
    same = base_of(before) == base.changes() and before["device"] == device
    found: dict[str, Any] = dict(before["levers"]) if same else {}
    for model, edges, settings in (
        (MODELS["hdp"].first, sealed, {INITIAL: base}),
        ("hdp", sealed, whole),
        ("hdp", renumbered(sealed, SEEDS[0]), {EDGES: base}),
    ):
        todo = {name: setting for name, setting in settings.items() if name not in found}
        found |= dict(zip(todo, judged(edges, model, list(todo.values()), SEEDS, device), strict=True))
    for name, one in found.items():
        print(f"{dataset:10s} {name:30s} {[round(100 * each, 2) for each in one['judged']]}", flush=True)
    found = {name: found[name] for name in (INITIAL, *whole, EDGES)}
    return {"dataset": dataset, "seeds": SEEDS, "levers": found, "versions": versions(), "device": device}


def base_of(row: Mapping[str, Any]) -> object:
    """Return the settings that the levers of a graph begin with, if there are some."""
    return row["levers"][RECIPE]["config"] if row else None


def changed(base: Config, change: Mapping[str, Any]) -> Config:
    """Return settings with a change."""
    now = base.to_dict()
    return base.replace(**{name: OTHER[name](now[name]) if v is None else v for name, v in change.items()})


def renumbered(graph: Graph, seed: int) -> Graph:
    """Return the graph with its edges between other nodes: as many at each, but not of these features."""
    draw = torch.Generator().manual_seed(seed)
    other = torch.randperm(graph.num_nodes, generator=draw).to(graph.edge_index.device)
    return graph._replace(edge_index=other[graph.edge_index])


def main() -> None:
    """Go through the graphs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for dataset in args.datasets:
        row = levers(dataset, known().get(dataset, {}), args.data, args.device)
        rows = known() | {dataset: row}
        write_file(FILE, json.dumps(list(rows.values()), indent=1) + "\n")


def known() -> dict[str, Any]:
    """Return what has been judged, by graph."""
    return {row["dataset"]: row for row in json.loads(FILE.read_text())} if FILE.exists() else {}


if __name__ == "__main__":
    main()
