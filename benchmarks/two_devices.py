"""Compare the same cells of Table 1 from two devices: by how many test nodes a split differs, and the time.

    heterophily reproduce table1 --models hdp --datasets texas,cornell,wisconsin --device cpu --out cpu
    python benchmarks/two_devices.py cpu results

Cells that both folders have, with the same settings and seeds but from another device, go into
benchmarks/two_devices.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from heterophily.bench.cells import Cell, read_cells
from heterophily.files import write_file

HERE = Path(__file__).parent
SAME = ("config", "seed", "seeds")


def pairs(one: Path, other: Path) -> Iterator[tuple[Cell, Cell]]:
    """Yield the cells of both folders that ought to be equal; rules that learn nothing are left out."""
    there = {(cell["model"], cell["dataset"]): cell for cell in read_cells(other, "table1")}
    for cell in read_cells(one, "table1"):
        twin = there.get((cell["model"], cell["dataset"]))
        if not twin or not cell["config"] or cell["device"] == twin["device"]:
            continue
        if all(cell[name] == twin[name] for name in SAME):
            yield cell, twin


def compared(one: Cell, other: Cell) -> dict[str, Any]:
    """Say how far two cells are apart, in test nodes of a split."""
    nodes = [
        round((a["test"] - b["test"]) * a["nodes"]["test"])
        for a, b in zip(one["splits"], other["splits"], strict=True)
    ]
    return {
        "model": one["model"], "dataset": one["dataset"], "devices": [one["device"], other["device"]],
        "means": [one["mean"], other["mean"]], "seconds": [one["seconds"], other["seconds"]],
        "nodes": nodes, "nodes_apart": fmean(map(abs, nodes)), "nodes_on_average": fmean(nodes),
    }  # fmt: skip


def main() -> None:
    """Compare and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "two_devices.json")
    args = parser.parse_args()
    rows = [compared(*pair) for pair in pairs(args.one, args.other)]
    if not rows:
        raise SystemExit("the two folders have no cell of the same settings and seeds from two devices")
    for row in rows:
        means, seconds = ([f"{value:.4g}" for value in row[name]] for name in ("means", "seconds"))
        apart = f"{row['nodes_apart']:.1f} test nodes apart, {row['nodes_on_average']:+.1f} on average"
        print(f"{row['dataset']:12s} {row['model']:8s} {' / '.join(means)}, {' / '.join(seconds)} s, {apart}")
    print(f"{fmean(row['nodes_apart'] for row in rows):.2f} test nodes apart over {len(rows)} cells")
    write_file(args.out, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
