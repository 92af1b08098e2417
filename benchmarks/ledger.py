"""Write into PAPER.md which cells of Table 1 disagree with the paper's, and what is believed of each.

    python benchmarks/ledger.py [--check]

Cells are those under results/table1. One disagrees if its mean differs from the printed one by more than a
standard error of ours. What is believed stands in results/beliefs.toml: a table per model, a sentence per
dataset, and one under "all" for those without their own. A disagreement without a sentence is an error.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

from heterophily import MODELS
from heterophily.bench.cells import Cell, read_cells
from heterophily.bench.published import table_1
from heterophily.bench.reproduce import COLUMNS
from heterophily.files import write_file

HOME = Path(__file__).parent.parent
BEGIN, END = "<!-- cells: benchmarks/ledger.py -->", "<!-- end of cells -->"


def difference(cell: Cell, paper: float) -> tuple[float, float]:
    """Return ours less the paper's, in points and in standard errors of our mean."""
    points = 100 * (cell["mean"] - paper)
    return points, points / (100 * cell["std"] / len(cell["splits"]) ** 0.5)


def rows(results: Path, beliefs: Path) -> list[str]:
    """Return a row per model and belief, in the order of the paper's table."""
    believed = tomllib.loads(beliefs.read_text(encoding="utf-8"))
    cells = {(cell["model"], cell["dataset"]): cell for cell in read_cells(results, "table1")}
    found, silent = [], []
    for model, printed in table_1().items():
        groups: dict[str, list[str]] = defaultdict(list)
        for dataset in COLUMNS:
            if (cell := cells.get((model, dataset))) is None:
                continue
            points, errors = difference(cell, printed[dataset][0])
            if abs(errors) <= 1:
                continue
            said = believed.get(model, {})
            why = said.get(dataset, said.get("all"))
            if why is None:
                silent.append(f"{model} on {dataset} ({points:+.1f})")
                continue
            groups[why].append(f"{dataset} {100 * cell['mean']:.1f} ({points:+.1f}, {errors:+.1f} SE)")
        found += [f"| {MODELS[model].title} | {', '.join(where)} | {why} |" for why, where in groups.items()]
    if silent:
        raise SystemExit(f"results/beliefs.toml says nothing of {', '.join(silent)}")
    return found


def main() -> None:
    """Write the section, or say that it is out of date."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if PAPER.md is out of date"
    )
    args = parser.parse_args()
    table = [
        "| model | dataset, our mean, difference (points, standard errors) | tried, believed |",
        "|---|---|---|",
        *rows(HOME / "results", HOME / "results" / "beliefs.toml"),
    ]
    paper = HOME / "PAPER.md"
    before = paper.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    after = f"{head}{BEGIN}\n\n" + "\n".join(table) + f"\n\n{END}{rest.partition(END)[2]}"
    if args.check:
        sys.exit("PAPER.md is out of date: run python benchmarks/ledger.py" if before != after else 0)
    write_file(paper, after)


if __name__ == "__main__":
    main()
