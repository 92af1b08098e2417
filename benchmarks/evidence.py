"""Write into PAPER.md what stands behind the cells of HDP that are below print: searches, judges and seeds.

    heterophily reproduce table1 --models hdp --seeds 5 --out results/seeds
    python -m benchmarks.levers --datasets texas cornell
    heterophily reproduce table1 --models hdp --datasets texas,cornell,wisconsin --device cpu --out cpu
    python -m benchmarks.two_trainings cpu results
    python -m benchmarks.two_trainings before results
    python -m benchmarks.evidence [--check]

Searches are those of results/tuning, cells those of results/table1 and results/seeds, levers those of
benchmarks/levers.json, trainings those of benchmarks/two_trainings.json. A cell is listed if its mean, from
the one seed of Table 1 or from several, is below print by more than half a standard error of ours; one that
is not in results/seeds is an error, and so is one below by more than a whole one that is not in the levers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
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
LISTED, PULLED = -0.5, -1.0
"""Standard errors below print from which on a cell is listed, and from which on levers are pulled for it."""


def below(table: Table1, bound: float) -> dict[str, Entry]:
    """Return the cells in which HDP less print is below so many standard errors, by dataset."""
    found = {name: entry for name in COLUMNS if (entry := table.find("hdp", name)) is not None}
    return {name: one for name, one in found.items() if (one.standard_errors or 0.0) < bound}


def best_baseline(table: Table1, dataset: str) -> str:
    """Name the baseline with the highest test score and say what it is."""
    baselines = (model for model in ROWS if model != "hdp")
    found = [entry for model in baselines if (entry := table.find(model, dataset)) is not None]
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
        ", ".join(told(search) for search in every if "trials" in search),
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


def trainings(cells: Iterable[Cell], rows: Iterable[Mapping[str, Any]]) -> str:
    """Say how far cells that were trained twice are apart, of those that have the setting of now."""
    now = {(cell["model"], cell["dataset"]): cell["test_opened"]["setting"] for cell in cells}
    rows = [row for row in rows if row["setting"] == now.get((row["model"], row["dataset"]))]
    on_cpu = [row for row in rows if row["model"] == "hdp" and row["devices"][0] == "cpu"]
    if not on_cpu:
        raise SystemExit(
            f"{TRAININGS.name} has no cell of HDP with the recipes of now: run benchmarks.two_trainings"
        )
    apart = ", ".join(
        f"{row['dataset']} {row['nodes_apart']:.1f} ({row['seconds'][0]:.0f} s on the CPU)" for row in on_cpu
    )
    said = [f"HDP trained on a CPU and on a GPU is so many test nodes of a split apart, on average: {apart}."]
    for where, precision in (("float32", "full"), ("float64", "double")):
        twice = [row for row in rows if row["precision"] == precision and "cpu" not in row["devices"]]
        if twice:
            said.append(f"Of {len(twice)} cells trained twice on a GPU in {where} {repeated(twice)}.")
    return " ".join([*said, "With `--deterministic` a device repeats itself."])


def repeated(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how many cells came to the same scores twice, and how far the others are apart."""
    points = [100 * abs(row["means"][0] - row["means"][1]) for row in rows if any(row["nodes"])]
    if not points:
        return "all have the same score on every split"
    return (
        f"{len(rows) - len(points)} have the same score on every split; the means of the others are "
        f"{fmean(points):.1f} points apart on average, at most {max(points):.1f}"
    )


def of_seeds(one: Mapping[str, Cell], many: Mapping[str, Cell]) -> str:
    """Say what several seeds come to on each graph, and the seed of Table 1 trained again among them."""
    said = []
    for name in (name for name in COLUMNS if name in many):
        seed = one[name]["seed"]
        again = fmean(run["test"] for run in many[name]["splits"] if run["seed"] == seed)
        said.append(
            f"{name} {_percent(one[name]['mean'])}, {_percent(again)}, {_percent(many[name]['mean'])}"
        )
    return (
        "Table 1's cell of HDP, the same seed trained again among several, and the mean of them all: "
        f"{'; '.join(said)}."
    )


def _percent(score: float) -> str:
    return f"{100 * score:.1f}"


def section() -> str:
    """Return all that stands between the markers."""
    cells, cells_of_seeds = (read_cells(folder, "table1") for folder in (RESULTS, RESULTS / "seeds"))
    table = table1(cells)
    one, several = below(table, LISTED), below(table1(cells_of_seeds), LISTED)
    names = [name for name in COLUMNS if name in one or name in several]
    ones, many = (
        {cell["dataset"]: cell for cell in some if cell["model"] == "hdp"} for some in (cells, cells_of_seeds)
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
    twice = trainings(cells, json.loads(TRAININGS.read_text()))
    return "\n\n".join([tried, of_seeds(ones, many), twice, levers(names, below(table, PULLED))])


def main() -> None:
    """Write the section, or say that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if PAPER.md is out of date"
    )
    into_paper(BEGIN, END, section(), "python -m benchmarks.evidence" if parser.parse_args().check else None)


if __name__ == "__main__":
    main()
