"""Write into PAPER.md what stands behind the cells of HDP that are below print: searches, judges and seeds.

    heterophily reproduce table1 --models hdp --datasets texas,cornell,wisconsin --seeds 5 --out results/seeds
    python -m benchmarks.levers --datasets texas cornell wisconsin
    python -m benchmarks.two_devices CPU results
    python -m benchmarks.evidence [--check]

Searches are those of results/tuning, cells those of results/table1 and results/seeds, levers those of
benchmarks/levers.json, devices those of benchmarks/two_devices.json. A cell is below print if its mean, from
the one seed of Table 1 or from several, is lower by more than a standard error of ours; one that is not in
results/seeds is an error, and so is one below print from the one seed that is not in the levers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.ledger import HOME, into_paper
from benchmarks.levers import FILE as LEVERS
from benchmarks.levers import base_of
from benchmarks.two_devices import FILE as DEVICES
from benchmarks.write_recipes import TUNED, is_judged, searches
from heterophily import MODELS
from heterophily.bench.cells import Cell, read_cells
from heterophily.bench.reproduce import COLUMNS, ROWS
from heterophily.bench.table1 import Entry, table1
from heterophily.recipes import chosen, recipe

BEGIN, END = "<!-- evidence: benchmarks/evidence.py -->", "<!-- end of evidence -->"
HEAD = (
    "| | settings of each search, its best on validation | judged again, fresh seeds | test, one seed "
    "| print | test, {seeds} seeds | spread over seeds | mean of the seeds' assignments "
    "| initial alone, one seed |"
)


def below(folder: Path) -> dict[str, Entry]:
    """Return the cells of a folder in which HDP is below print, by dataset."""
    table = table1(read_cells(folder, "table1"))
    found = {name: entry for name in COLUMNS if (entry := table.find("hdp", name)) is not None}
    return {name: one for name, one in found.items() if (one.standard_errors or 0.0) < -1}


def told(search: Mapping[str, Any]) -> str:
    """Say how many settings a search tried, and its best; ʰ: judged by nodes that chose no epoch."""
    count = search.get("trials", 0) + search.get("initial", {}).get("trials", 0)
    best = search.get("searched", search["validation"])
    return f"{count}: {100 * best:.1f}{'ʰ' if is_judged(search) else ''}"


def judged(search: Mapping[str, Any]) -> list[str]:
    """Say what the best of a search came to when judged from seeds that it had not seen."""
    return [f"{100 * search['validation']:.1f}"] if "confirmed" in search else []


def averaged(cell: Cell) -> float:
    """Return the test score of the mean of the seeds' assignments, over splits."""
    return fmean({run["split"]: run["test_averaged"] for run in cell["splits"]}.values())


def line(one: Cell, seeds: Cell, printed: float, row: Mapping[str, Any]) -> str:
    """Return the row of a dataset."""
    every = list(searches(row))[::-1]  # the first one first
    cells = [
        one["dataset"],
        ", ".join(told(search) for search in every),
        ", ".join(text for search in every for text in judged(search)) or "no",
        _with_spread(one),
        f"{100 * printed:.2f}",
        _with_spread(seeds),
        f"{100 * seeds['std_seeds']:.2f}",
        f"{100 * averaged(seeds):.2f}",
        f"{100 * fmean(run['initial']['test'] for run in one['splits']):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _with_spread(cell: Cell) -> str:
    return f"{100 * cell['mean']:.2f} ± {100 * cell['std']:.2f}"


def levers(names: Iterable[str], wanted: Collection[str]) -> str:
    """Return what single changes of the settings come to, and the best of the other models, on validation.

    A graph that is not wanted is left out if the levers were pulled on another recipe than that of now.
    """
    pulled = {row["dataset"]: row for row in json.loads(LEVERS.read_text())}
    there = [name for name in names if base_of(pulled.get(name, {})) == recipe("hdp", name)]
    if lacking := set(wanted) - set(there):
        raise SystemExit(f"{LEVERS.name} lacks the recipe of {', '.join(lacking)}: run benchmarks.levers")
    found = {
        lever: [f"{100 * fmean(pulled[name]['levers'][lever]['judged']):.1f}" for name in there]
        for lever in pulled[there[0]]["levers"]
    }
    found["the best of the 13 baselines, as searched"] = [rival(name) for name in there]
    rows = [f"| {' | '.join([lever, *scores])} |" for lever, scores in found.items()]
    return "\n".join([f"| | {' | '.join(there)} |", f"|---{'|--:' * len(there)}|", *rows])


def rival(dataset: str) -> str:
    """Name the baseline that did best on validation nodes that chose no epoch."""
    others = {model: chosen(model, dataset) for model in ROWS if model != "hdp"}
    judged = {model: found.validation for model, found in others.items() if found.halves}
    best = max(judged, key=lambda model: judged[model])
    return f"{100 * judged[best]:.1f} ({MODELS[best].title})"


def devices() -> str:
    """Say how far HDP's cells on another device are, of those that have the setting of now."""
    cells = read_cells(HOME / "results", "table1", models=["hdp"])
    now = {cell["dataset"]: cell["test_opened"]["setting"] for cell in cells}
    rows = [row for row in json.loads(DEVICES.read_text()) if row.get("setting") == now.get(row["dataset"])]
    if not rows:
        raise SystemExit(
            f"{DEVICES.name} has no cell of HDP with the recipes of now: run benchmarks.two_devices"
        )
    apart = ", ".join(f"{row['dataset']} {row['nodes_apart']:.1f}" for row in rows)
    seconds = sum(row["seconds"][0] for row in rows)
    return (
        f"Trained on a CPU as well, in {seconds:.0f} s as the sum of the cells' times, they differ from the "
        f"GPU's by so many test nodes of a split: {apart}."
    )


def section() -> str:
    """Return all that stands between the markers."""
    folders = HOME / "results", HOME / "results" / "seeds"
    one, several = map(below, folders)
    names = [name for name in COLUMNS if name in one or name in several]
    ones, many = (
        {cell["dataset"]: cell for cell in read_cells(folder, "table1", models=["hdp"])} for folder in folders
    )
    if lacking := [name for name in names if name not in many]:
        raise SystemExit(f"results/seeds has no cell of HDP on {', '.join(lacking)}: run reproduce --seeds 5")
    tuned = {row["dataset"]: row for row in json.loads((TUNED / "hdp.json").read_text())}
    count = {many[name]["seeds"] for name in names}
    printed = {name: entry.paper or 0.0 for name, entry in (one | several).items()}
    rows = [line(ones[name], many[name], printed[name], tuned[name]) for name in names]
    head = HEAD.format(seeds=" or ".join(map(str, sorted(count))))
    tried = "\n".join([head, "|---|---|--:|--:|--:|--:|--:|--:|--:|", *rows])
    return f"{tried}\n\n{devices()}\n\n{levers(names, one)}"


def main() -> None:
    """Write the section, or say that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if PAPER.md is out of date"
    )
    into_paper(BEGIN, END, section(), "python -m benchmarks.evidence" if parser.parse_args().check else None)


if __name__ == "__main__":
    main()
