"""Write into PAPER.md which cells of Table 1 disagree with the paper's, and what is believed of each.

    python -m benchmarks.ledger [--check]

Cells are those under results/table1. One disagrees if its mean differs from the printed one by more than a
standard error of ours, as `heterophily table` has it. How many settings were tried for it, and whether
published ones did best, is what its recipe says. What is believed stands in results/beliefs.toml: a
table per model, a sentence per dataset or for several, as in "texas wisconsin", and one under "all" for those
without their own. A cell more than two standard errors below print needs a sentence that names its dataset. A
disagreement without a sentence is an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.confirm_cells import is_open
from benchmarks.write_recipes import TUNED, is_judged, searches
from heterophily import MODELS
from heterophily.bench.cells import Cell, read_cells
from heterophily.bench.reproduce import COLUMNS, ROWS
from heterophily.bench.table1 import Entry, Table1, table1
from heterophily.files import write_file
from heterophily.recipes import chosen, recipes

HOME = Path(__file__).parent.parent
BEGIN, END = "<!-- cells: benchmarks/ledger.py -->", "<!-- end of cells -->"
FILTERED = ("chameleon-filtered", "squirrel-filtered")
LONG = 32
"""Settings of a search that can tell what its second half has added."""
FAR = -2.0
"""Standard errors below print from which on a dataset must be named."""
CLOCK = HOME / "benchmarks" / "whole_table.json"
Beliefs = dict[str, dict[str, str]]
"""A sentence by model and dataset, or "all"."""


def beliefs(text: str) -> Beliefs:
    """Read the sentences; a key may name several datasets."""
    found: Beliefs = {}
    for model, said in tomllib.loads(text).items():
        pairs = [(dataset, why) for key, why in said.items() for dataset in key.split()]
        found[model] = dict(pairs)
        if wrong := set(found[model]) - {*COLUMNS, "all"}:
            raise SystemExit(f"results/beliefs.toml, {model}: no column is called {', '.join(sorted(wrong))}")
        if len(found[model]) < len(pairs):
            raise SystemExit(f"results/beliefs.toml, {model}: a dataset has two sentences")
    return found


def belief(said: dict[str, str], entry: Entry, errors: float) -> str | None:
    """Return the sentence for a cell; the one for all says nothing of a cell far below print."""
    return said.get(entry.dataset, said.get("all") if errors >= FAR else None)


def rows(table: Table1, believed: Beliefs) -> list[str]:
    """Return a row per model and belief, in the order of the paper's table."""
    found, silent = [], []
    for model in ROWS:
        groups: dict[str, list[str]] = defaultdict(list)
        for dataset in COLUMNS:
            entry = table.find(model, dataset)
            if entry is None or entry.difference is None or entry.standard_errors is None:
                continue
            points, errors = 100 * entry.difference, entry.standard_errors
            if abs(errors) <= 1:
                continue
            if (why := belief(believed.get(model, {}), entry, errors)) is None:
                silent.append(f"{model} on {dataset} ({points:+.1f}, {errors:+.1f} SE)")
                continue
            off = f"{points:+.1f}, {errors:+.1f} SE"
            groups[why].append(f"{dataset} {100 * entry.mean:.1f} ({off}{budget(model, dataset)})")
        found += [f"| {MODELS[model].title} | {', '.join(where)} | {why} |" for why, where in groups.items()]
    if silent:
        raise SystemExit(f"results/beliefs.toml says nothing of {', '.join(silent)}")
    return found


def budget(model: str, dataset: str) -> str:
    """Say how many settings were tried for a cell, and whether the published ones did best."""
    found = chosen(model, dataset)
    return (f", {found.by}" if found.by != "searched" else "") + (
        f", {found.tried} tried" if found.tried else ""
    )


def budgets() -> str:
    """Say how many settings were tried for the cells of HDP and of the baselines."""
    said = []
    for where, datasets in (("", COLUMNS), (" of the filtered graphs", FILTERED)):
        hdp, rest = (
            sorted(chosen(m, name).tried for m in models for name in datasets if name in recipes(m))
            for models in (["hdp"], [model for model in ROWS if model != "hdp"])
        )
        said.append(f"Settings tried for a cell{where}: of HDP {_span(hdp)}, of a baseline {_span(rest)}.")
    ended = sum(chosen(m, name).raced for m in ROWS for name in recipes(m))
    return " ".join(said) + (f" A race ended {ended:,} of them after a few epochs." if ended else "")


def tried() -> str:
    """Return how many settings were tried for every cell of the paper's table."""
    rows = [
        f"| {MODELS[model].title} | {' | '.join(str(chosen(model, name).tried) for name in COLUMNS)} |"
        for model in ROWS
    ]
    return "\n".join([f"| settings tried | {' | '.join(COLUMNS)} |", f"|---{'|--:' * len(COLUMNS)}|", *rows])


def gains() -> str:
    """Say what the second half of a search added to what the first half had found."""
    rows = (row for file in sorted(TUNED.glob("*.json")) for row in json.loads(file.read_text()))
    found = (search for row in rows for search in searches(row) if is_judged(search))
    traces = [search["trace"] for search in found if len(search.get("trace", ())) >= LONG]
    median, most = np.quantile([100 * gained(trace) for trace in traces], [0.5, 0.9])
    return (
        f"What more would find: in {len(traces)} searches of {LONG} settings or more, judged by validation "
        f"nodes without a say in the epoch, the second half of the settings raised the best score by "
        f"{median:.1f} points in the median, in one search of ten by more than {most:.1f}."
    )


def gained(trace: Sequence[Sequence[Any]]) -> float:
    """Return what the second half of a search added to its best score, of settings that had all its splits.

    A row of the trace is a setting: its score, its loss, on how many splits it was judged, and itself.
    """
    splits = max(had for _, _, had, *_ in trace)
    first, best = (
        max(score for score, _, had, *_ in some if had == splits)
        for some in (trace[: len(trace) // 2], trace)
    )
    return float(best - first)


def waiting() -> str:
    """Name the cells whose recipe a race may have bettered, which is to be judged yet."""
    found = []
    for model in ROWS:
        file = TUNED / f"{model}.json"
        rows = json.loads(file.read_text()) if file.exists() else []
        held = {row["dataset"] for row in rows if is_open(row)}
        if where := [name for name in COLUMNS if name in held]:
            found.append(f"{MODELS[model].title} on {', '.join(where)}")
    return f"A race found better, and it is not confirmed yet: {'; '.join(found) or 'none'}."


def clock(cells: Sequence[Cell], calls: Sequence[dict[str, Any]]) -> str:
    """Say how long the paper's table took by the clock, HDP's row of it, and whether its cells are those."""
    done = [(call["models"], dataset) for call in calls for dataset in call["datasets"]]
    if sorted(done) != sorted((models, name) for models in ("hdp", "baselines") for name in COLUMNS):
        raise SystemExit(
            f"{CLOCK.name} must have HDP's row and the baselines, every dataset of both once: run whole_table"
        )
    whole, row = (
        sum(call["seconds"] for call in calls if call["models"] in models)
        for models in (("hdp", "baselines"), ("hdp",))
    )
    jobs, devices = {call["jobs"] for call in calls}, {call["device"] for call in calls}
    told = (
        f"On one {' or '.join(sorted(devices))}, {' or '.join(map(str, sorted(jobs)))} cells at a time, the "
        f"paper's table took {whole:.0f} s by the clock, in {len(calls)} calls, and HDP's row {row:.0f} s of "
        "that (`benchmarks/whole_table.json`)."
    )
    table = [cell for cell in cells if cell["model"] in ROWS and cell["dataset"] in COLUMNS]
    at = sorted(datetime.fromisoformat(cell["test_opened"]["at"]) for cell in table)
    same = {cell["device"] for cell in table} == {f"cuda ({device})" for device in devices}
    if same and at[-1] - at[0] < timedelta(hours=1):
        return f"{told} All its cells are of that training, within an hour."
    return f"{told} Some of its cells were trained at another time; each says when, and where."


def _span(counts: list[int]) -> str:
    return " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))


def untrained(table: Table1) -> str:
    """Name the cells of the paper's table that are not there."""
    lacks = {model: [name for name in COLUMNS if table.find(model, name) is None] for model in ROWS}
    named = [f"{MODELS[model].title} on {', '.join(where)}" for model, where in lacks.items() if where]
    return f"Not trained yet: {'; '.join(named) or 'none'}."


def section(cells: Sequence[Cell], believed: Beliefs) -> str:
    """Return all that stands between the markers."""
    table = table1(cells)
    head = (
        "| model | dataset, our mean (difference in points and standard errors, settings tried) | believed |",
        "|---|---|---|",
    )
    told = (
        clock(cells, json.loads(CLOCK.read_text())),
        budgets(),
        tried(),
        gains(),
        waiting(),
        untrained(table),
    )
    return "\n".join([*head, *rows(table, believed), *(line for part in told for line in ("", part))])


def main() -> None:
    """Write the section, or say that it is out of date."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if PAPER.md is out of date"
    )
    args = parser.parse_args()
    believed = beliefs((HOME / "results" / "beliefs.toml").read_text(encoding="utf-8"))
    text = section(read_cells(HOME / "results", "table1"), believed)
    into_paper(BEGIN, END, text, "python -m benchmarks.ledger" if args.check else None)


def into_paper(begin: str, end: str, text: str, command: str | None = None) -> None:
    """Write a text between two markers of PAPER.md; given the command that does, see if it is there."""
    paper = HOME / "PAPER.md"
    before = paper.read_text(encoding="utf-8")
    head, _, rest = before.partition(begin)
    after = f"{head}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"
    if command is None:
        write_file(paper, after)
    elif before != after:
        sys.exit(f"PAPER.md is out of date: run {command}")


if __name__ == "__main__":
    main()
