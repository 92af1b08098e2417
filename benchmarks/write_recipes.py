"""Take in what `tune_cells.py` found, and write the packaged recipes from all that was tuned.

    python benchmarks/write_recipes.py [FILE ...]

A cell of FILE takes its place in results/tuning/MODEL.json if its validation score is higher than that of the
one there, which it keeps as its `before`. One that was judged by nodes that chose no epoch (`--halves`) goes
before one that was not, and one that was confirmed (`confirm_cells.py`) before both. HDP's recipes are all
written anew; a baseline's keep the tables of datasets that were not tuned, which hold what its authors
published.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heterophily import MODELS
from heterophily.files import write_file
from heterophily.graph.datasets import DATASETS
from heterophily.recipes import HERE, recipes
from heterophily.show.tables import METRICS

TUNED = Path(__file__).parent.parent / "results" / "tuning"
HDP = """\
# HDP: settings per dataset, chosen on validation accuracy alone. Fields are those of HDPConfig; what a
# table leaves out has its default. Used by `heterophily train DATASET --recipe paper` and by
# HDPClassifier.from_recipe("DATASET"). Written by benchmarks/write_recipes.py from results/tuning.
"""
SEARCHED = """\

# Tables with a validation accuracy were tuned (benchmarks/tune_cells.py, results/tuning).
"""
OLD = "# Tables with a validation accuracy were searched"


def toml(value: object) -> str:
    """Write one value; a float keeps its point, so that it is read back as one."""
    return json.dumps(round(value, 8) if isinstance(value, float) else value)


def table(dataset: str, note: str, settings: Mapping[str, Any]) -> str:
    """Write one table."""
    lines = [f"[{dataset}]", *([f"# {note}"] if note else [])]
    return "\n".join([*lines, *(f"{name} = {toml(value)}" for name, value in settings.items())]) + "\n"


def note(row: Mapping[str, Any]) -> str:
    """Say how a setting was found."""
    where = "ten splits" if row["splits"] == 10 else f"{row['splits']} splits"
    if row.get("halves"):
        where += " of nodes that had no say in the epoch that is kept"
    if "confirmed" in row:
        where += f" and {len(row['seeds'])} seeds, of nodes that had no say in the epoch that is kept"
    effort = f", best of {row['trials']} settings" if "trials" in row else ""
    if "initial" in row:
        effort += f" after {row['initial']['trials']} of the initial assignment"
    if "before" in row:
        effort += f", {proposals(row['before'])} in a search before"
    metric = METRICS[DATASETS[row["dataset"]].metric]
    return f"mean validation {metric} {100 * row['validation']:.2f} on {where}{effort}"


def hdp(rows: list[dict[str, Any]]) -> str:
    """Turn every study of HDP's into a table."""
    tables = []
    for row in sorted(rows, key=lambda row: list(DATASETS).index(row["dataset"])):
        config = MODELS["hdp"].config.parse(row["config"])
        config = config.replace(rescale=round(config.to_dict()["rescale"], 4))
        tables.append(table(row["dataset"], note(row), config.changes()))
    return HDP + "\n" + "\n".join(tables)


def baseline(model: str, rows: list[dict[str, Any]]) -> str:
    """Put what was found into a baseline's file, in the order of the datasets."""
    file, kind = HERE / f"{model}.toml", MODELS[model].config
    head, notes = [], {}
    if file.exists():
        text = file.read_text(encoding="utf-8")
        head = [line for line in text.partition("\n[")[0].splitlines() if line.startswith("#")]
        head = [line for line in head if not line.startswith(OLD)]
        for part in text.split("\n[")[1:]:
            name, _, rest = part.partition("]\n")
            notes[name] = "".join(line[2:] for line in rest.splitlines()[:1] if line.startswith("# "))
    settings = {name: kind.parse(found).changes() for name, found in recipes(model).items()}
    for row in rows:
        settings[row["dataset"]] = kind.parse(row["config"]).changes()
        notes[row["dataset"]] = note(row)
    order = [name for name in DATASETS if name in settings]
    opening = "\n".join(head)
    said = SEARCHED if SEARCHED.strip() not in opening else "\n"
    tables = [table(name, notes.get(name, ""), settings[name]) for name in order]
    return opening + said + "\n" + "\n".join(tables)


def standing(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Order cells: confirmed from fresh seeds, judged by nodes that chose no epoch, the others."""
    return "confirmed" in row, row.get("halves", False), row["validation"]


def after(before: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any]:
    """Return a cell with the search before it, unless that is only its own beginning."""
    if before and standing(before)[:2] == standing(row)[:2]:
        before = before.get("before")
    return row | ({"before": before} if before else {})


def proposals(row: Mapping[str, Any]) -> int:
    """Count the settings that were tried for a cell, of both stages, in all searches."""
    own = row.get("trials", 0) + row.get("initial", {}).get("trials", 0)
    return own + (proposals(row["before"]) if "before" in row else 0)


def take_in(file: str) -> None:
    """Let the cells of a file take their places."""
    for row in json.loads(Path(file).read_text()):
        place = TUNED / f"{row['model']}.json"
        rows = json.loads(place.read_text()) if place.exists() else []
        before = next((other for other in rows if other["dataset"] == row["dataset"]), None)
        if before is None or standing(before) < standing(row):
            rows = [other for other in rows if other is not before] + [after(before, row)]
            write_file(place, "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main() -> None:
    """Take in the files named, then write every recipe."""
    for file in sys.argv[1:]:
        take_in(file)
    for place in sorted(TUNED.glob("*.json")):
        rows, model = json.loads(place.read_text()), place.stem
        text = hdp(rows) if model == "hdp" else baseline(model, rows)
        write_file(HERE / f"{model}.toml", text)


if __name__ == "__main__":
    main()
