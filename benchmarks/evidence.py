"""Write into PAPER.md what stands behind the cells of HDP that are below print: searches, judges and seeds.

    heterophily reproduce table1 --models hdp --datasets texas,cornell,wisconsin --seeds 5 --out results/seeds
    python -m benchmarks.levers --datasets texas cornell wisconsin
    python -m benchmarks.two_trainings CPU results
    python -m benchmarks.evidence [--check]

Searches are those of results/tuning, cells those of results/table1 and results/seeds, levers those of
benchmarks/levers.json, trainings those of benchmarks/two_trainings.json. A cell is listed if its mean, from
the one seed of Table 1 or from several, is below print by more than half a standard error of ours; one that
is not in results/seeds is an error, and so is one below by more than a whole one that is not in the levers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping
from statistics import fmean
from typing import Any

from benchmarks.ledger import HOME, into_paper
from benchmarks.levers import FILE as LEVERS
from benchmarks.levers import base_of
from benchmarks.two_trainings import FILE as TRAININGS
from benchmarks.write_recipes import TUNED, is_judged, searches
from heterophily import MODELS
from heterophily.bench.cells import Cell, read_cells
from heterophily.bench.reproduce import COLUMNS, ROWS
from heterophily.bench.table1 import Entry, Table1, table1
from heterophily.recipes import chosen, recipe

RESULTS = HOME / "results"
BEGIN, END = "<!-- evidence: benchmarks/evidence.py -->", "<!-- end of evidence -->"
HEAD = (
    "| | settings of each search, its best on validation | judged again, fresh seeds | test, one seed "
    "| print | test, {seeds} seeds | spread over seeds | mean of the seeds' assignments "
    "| initial alone, one seed | the best baseline here |"
)
LISTED, FAR = -0.5, -1.0
"""Standard errors below print from which on a cell is listed, and from which on levers are pulled for it."""


def below(table: Table1, errors: float) -> dict[str, Entry]:
    """Return the cells in which HDP is so many standard errors below print, by dataset."""
    found = {name: entry for name in COLUMNS if (entry := table.find("hdp", name)) is not None}
    return {name: one for name, one in found.items() if (one.standard_errors or 0.0) < errors}


def best_baseline(table: Table1, dataset: str) -> str:
    """Name the baseline with the highest test score and say what it is."""
    found = [entry for model in ROWS[:-1] if (entry := table.find(model, dataset)) is not None]
    best = max(found, key=lambda entry: entry.mean)
    return f"{100 * best.mean:.2f} ({MODELS[best.model].title})"


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


def line(one: Cell, seeds: Cell, printed: float, row: Mapping[str, Any], baseline: str) -> str:
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
        baseline,
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


def trainings() -> str:
    """Say how far cells that were trained twice are apart, of those that have the setting of now."""
    now = {(c["model"], c["dataset"]): c["test_opened"]["setting"] for c in read_cells(RESULTS, "table1")}
    rows = json.loads(TRAININGS.read_text())
    rows = [row for row in rows if row["setting"] == now.get((row["model"], row["dataset"]))]
    small = [row for row in rows if row["precision"] == "double"]
    on_cpu = [row for row in small if row["model"] == "hdp" and row["devices"][0] == "cpu"]
    if not on_cpu:
        raise SystemExit(f"{TRAININGS.name} has no cell of HDP with the recipes of now: run two_trainings")
    seconds = sum(row["seconds"][0] for row in on_cpu)
    return (
        f"HDP trained on a CPU as well, in {seconds:.0f} s as the sum of the cells' times, differs from the "
        f"GPU's by so many test nodes of a split: {_apart(on_cpu)}. Even the same seed on the same device is "
        f"no exact repetition: {_repeated(rows, 'float32', 'full')}; {_repeated(rows, 'float64', 'double')}. "
        "With `--deterministic` a device repeats itself."
    )


def _apart(rows: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{row['dataset']} {row['nodes_apart']:.1f}" for row in rows)


def _repeated(rows: Iterable[Mapping[str, Any]], where: str, precision: str) -> str:
    """Say what cells trained twice on one GPU came to."""
    some = [row for row in rows if row["precision"] == precision and "cpu" not in row["devices"]]
    points = [100 * abs(row["means"][0] - row["means"][1]) for row in some if any(row["nodes"])]
    return (
        f"of {len(some)} cells trained twice on one GPU in {where} {len(some) - len(points)} are equal node "
        f"by node, the means of the others {fmean(points):.1f} points apart on average, at most "
        f"{max(points):.1f}"
    )


def section() -> str:
    """Return all that stands between the markers."""
    folders = RESULTS, RESULTS / "seeds"
    table, of_seeds = (table1(read_cells(folder, "table1")) for folder in folders)
    one, several = below(table, LISTED), below(of_seeds, LISTED)
    names = [name for name in COLUMNS if name in one or name in several]
    ones, many = (
        {cell["dataset"]: cell for cell in read_cells(folder, "table1", models=["hdp"])} for folder in folders
    )
    if lacking := [name for name in names if name not in many]:
        raise SystemExit(f"results/seeds has no cell of HDP on {', '.join(lacking)}: run reproduce --seeds 5")
    tuned = {row["dataset"]: row for row in json.loads((TUNED / "hdp.json").read_text())}
    count = {many[name]["seeds"] for name in names}
    printed = {name: entry.paper or 0.0 for name, entry in (one | several).items()}
    rows = [
        line(ones[name], many[name], printed[name], tuned[name], best_baseline(table, name)) for name in names
    ]
    head = HEAD.format(seeds=" or ".join(map(str, sorted(count))))
    tried = "\n".join([head, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|", *rows])
    return f"{tried}\n\n{trainings()}\n\n{levers(names, below(table, FAR))}"


def main() -> None:
    """Write the section, or say that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if PAPER.md is out of date"
    )
    into_paper(BEGIN, END, section(), "python -m benchmarks.evidence" if parser.parse_args().check else None)


if __name__ == "__main__":
    main()
