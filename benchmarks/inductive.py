"""Nodes that come later: test nodes predicted after training without them, beside training with them.

    python benchmarks/inductive.py --data DIR --out benchmarks/inductive.json

Transductive: the usual protocol, in which test nodes, their features and edges, are part of the graph that is
trained on, without labels. Inductive: test nodes and all their edges are taken away, the model is fitted to
the rest, and they come back by `extended`, all at once, with no step of training. Settings are the packaged
ones where there are some, else the defaults; they were chosen transductively, by validation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from heterophily import MODELS, ConfigError, Graph, Split, load, make_classifier
from heterophily.files import write_file
from heterophily.recipes import recipe


def without_test(graph: Graph, split: Split) -> tuple[Graph, Graph, Split]:
    """Return the graph with its test nodes last, the graph without them, and the split of that one."""
    order = torch.cat([(~split.test).nonzero().flatten(), split.test.nonzero().flatten()])
    count = int((~split.test).sum())
    known = split.map(lambda mask: mask[order[:count]])
    return graph.renumbered(order), graph.subgraph(order[:count]), known


def measure(graph: Graph, model: str, position: int) -> dict[str, float]:
    """Return the test accuracy of one split, both ways."""
    try:
        settings = recipe(model, graph.name)
    except ConfigError:
        settings = {}
    split = graph.split(position)
    usual = make_classifier(model, device="cpu", **settings).fit(graph, split=position)
    whole, rest, known = without_test(graph, split)
    count = rest.num_nodes
    later = (whole.edge_index >= count).any(0)
    fitted = make_classifier(model, device="cpu", **settings).fit(rest, split=known)
    new = whole.subgraph(torch.arange(count, whole.num_nodes))
    grown = fitted.extended(new.x, whole.edge_index[:, later])
    nodes = torch.arange(count, whole.num_nodes)
    return {
        "transductive": usual.score(),
        "inductive": grown.score(nodes, whole.y[nodes].numpy()),
        "edges_taken_away": float(later.float().mean()),
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the means as the table that docs/own-graph.md shows: a row per graph, accuracy in percent."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    titles = [f"{MODELS[model].title} {way}" for model in models for way in ("with", "without")]
    lines = [f"| graph | edges taken away | {' | '.join(titles)} |", "| --- " * (len(titles) + 2) + "|"]
    for name in dict.fromkeys(row["dataset"] for row in rows):
        found = {row["model"]: row for row in rows if row["dataset"] == name}
        cells = [name, f"{100 * found[models[0]]['edges_taken_away']:.0f} %"]
        for model in models:
            cells += [f"{100 * found[model][way]:.1f}" for way in ("transductive", "inductive")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--out", default="benchmarks/inductive.json")
    parser.add_argument("--graphs", nargs="*", default=["texas", "wisconsin", "cornell", "cora", "chameleon"])
    parser.add_argument("--models", nargs="*", default=["mlp", "gcn", "hdp"])
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    out = Path(args.out)
    rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"] if out.exists() else []
    for name in args.graphs:
        graph = load(name, data=args.data)
        for model in args.models:
            found = [measure(graph, model, i) for i in range(args.splits)]
            mean = {key: statistics.mean(row[key] for row in found) for key in found[0]}
            row = {"dataset": name, "model": model, "splits": args.splits} | mean | {"each": found}
            rows = [r for r in rows if (r["dataset"], r["model"]) != (name, model)] + [row]
            print({key: value for key, value in row.items() if key != "each"}, flush=True)
            write_file(out, json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n")
    print(table(rows), end="")


if __name__ == "__main__":
    main()
