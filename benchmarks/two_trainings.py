"""Compare the same cells of Table 1 trained twice, on two devices or one: by how many test nodes they differ.

    heterophily reproduce table1 --models hdp --datasets texas,cornell,wisconsin --device cpu --out cpu
    python -m benchmarks.two_trainings cpu results

Cells that both folders have, with the same settings and seeds but from another training, go into
benchmarks/two_trainings.json, each in place of what was there of it from these devices.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from heterophily.bench.cells import Cell, read_cells
from heterophily.files import write_file

FILE = Path(__file__).parent / "two_trainings.json"


def trained(cell: Cell) -> tuple[Any, ...]:
    """Return what two cells must share: a setting is known by its fingerprint, whatever fields came later."""
    return cell["test_opened"]["setting"], cell["seed"], cell["seeds"], cell.get("precision")


def pairs(one: Iterable[Cell], other: Iterable[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yield the cells of both that ought to be equal; rules that learn nothing are left out."""
    there = {(cell["model"], cell["dataset"]): cell for cell in other}
    for cell in one:
        twin = there.get((cell["model"], cell["dataset"]))
        if not twin or not cell["config"] or cell["test_opened"]["at"] == twin["test_opened"]["at"]:
            continue
        if trained(cell) == trained(twin):
            yield cell, twin


def compared(one: Cell, other: Cell) -> dict[str, Any]:
    """Say how far two cells are apart, in test nodes of a split."""
    nodes = [
        round((a["test"] - b["test"]) * a["nodes"]["test"])
        for a, b in zip(one["splits"], other["splits"], strict=True)
    ]
    return {
        "model": one["model"], "dataset": one["dataset"], "devices": [one["device"], other["device"]],
        "setting": one["test_opened"]["setting"], "precision": one.get("precision", "full"),
        "means": [one["mean"], other["mean"]], "seconds": [one["seconds"], other["seconds"]],
        "nodes": nodes, "nodes_apart": fmean(map(abs, nodes)), "nodes_on_average": fmean(nodes),
    }  # fmt: skip


def main() -> None:
    """Compare and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--out", type=Path, default=FILE)
    args = parser.parse_args()
    folders = (read_cells(folder, "table1") for folder in (args.one, args.other))
    rows = [compared(*pair) for pair in pairs(*folders)]
    if not rows:
        raise SystemExit("the two folders have no cell of the same settings and seeds from two trainings")
    for row in rows:
        means, seconds = ([f"{value:.4g}" for value in row[name]] for name in ("means", "seconds"))
        apart = f"{row['nodes_apart']:.1f} test nodes apart, {row['nodes_on_average']:+.1f} on average"
        print(f"{row['dataset']:12s} {row['model']:8s} {' / '.join(means)}, {' / '.join(seconds)} s, {apart}")
    print(f"{fmean(row['nodes_apart'] for row in rows):.2f} test nodes apart over {len(rows)} cells")
    fresh = {place(row) for row in rows}
    known = json.loads(args.out.read_text()) if args.out.exists() else []
    rows += [row for row in known if place(row) not in fresh]
    rows.sort(key=place)
    write_file(args.out, "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def place(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what a row is of."""
    return row["dataset"], row["model"], *row["devices"]


if __name__ == "__main__":
    main()
