"""Take in what `tune_cells.py` found, and write the packaged recipes from all that was tuned.

    python benchmarks/write_recipes.py [FILE ...]

A cell of FILE takes its place in results/tuning/MODEL.json if its validation score is higher than that of the
one there, which it keeps as its `before`; else, or if it came to the same setting, raced, or was judged on
fewer splits, it joins those before. One that was judged by nodes that chose no epoch (`--halves`) goes before
one that was not, and one that was confirmed (`confirm_cells.py`) before both. HDP's recipes are all written
anew; a baseline's keep the tables of datasets that were not tuned, which say themselves whose settings they
hold; published ones that no other did better than stay published. Then the cells under results/table1 are
told how their settings were chosen; all else in them stays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from heterophily import MODELS
from heterophily.bench.cells import Cell, read_cells, write_cell
from heterophily.bench.reproduce import TABLE, is_current, setting
from heterophily.config import Config
from heterophily.files import write_file
from heterophily.graph.datasets import DATASETS
from heterophily.hdp.config import HDPConfig
from heterophily.recipes import HERE, chosen, recipes
from heterophily.recipes.provenance import Chosen

TUNED = Path(__file__).parent.parent / "results" / "tuning"
HDP = """\
# HDP: settings per dataset, chosen on validation accuracy alone. Fields are those of HDPConfig; what a
# table leaves out has its default. Used by `heterophily train DATASET --recipe paper` and by
# HDPClassifier.from_recipe("DATASET"). Written by benchmarks/write_recipes.py from results/tuning.
"""
SEARCHED = """\

# Tables that say searched were tuned (benchmarks/tune_cells.py, results/tuning).
"""


def toml(value: object) -> str:
    """Write one value; a float keeps its point, so that it is read back as one."""
    return json.dumps(round(value, 8) if isinstance(value, float) else value)


def table(dataset: str, note: str, chosen: Chosen, settings: Mapping[str, Any]) -> str:
    """Write one table."""
    lines = [f"[{dataset}]", *([f"# {note}"] if note else []), chosen.to_toml()]
    return "\n".join([*lines, *(f"{name} = {toml(value)}" for name, value in settings.items())]) + "\n"


def searched(row: Mapping[str, Any]) -> Chosen:
    """Say how a setting was found."""
    return Chosen(
        by="searched",
        validation=round(row["validation"], 4),
        splits=row["splits"],
        seeds=len(row["seeds"]) if "confirmed" in row else 0,
        trials=row.get("trials", 0),
        initial_trials=row.get("initial", {}).get("trials", 0),
        earlier_trials=proposals(row["before"]) if "before" in row else 0,
        raced=raced(row),
        halves=is_judged(row),
    )


def config_of(row: Mapping[str, Any]) -> Config:
    """Return the setting that was found, of HDP with λ to four digits."""
    config = MODELS[row["model"]].config.parse(row["config"])
    return config.replace(rescale=round(config.rescale, 4)) if isinstance(config, HDPConfig) else config


def written(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the setting that was found as a recipe has it."""
    return {name: toml(value) for name, value in config_of(row).changes().items()}


def hdp(rows: list[dict[str, Any]]) -> str:
    """Turn every study of HDP's into a table."""
    tables = []
    for row in sorted(rows, key=lambda row: list(DATASETS).index(row["dataset"])):
        tables.append(table(row["dataset"], "", searched(row), config_of(row).changes()))
    return HDP + "\n" + "\n".join(tables)


def baseline(model: str, rows: list[dict[str, Any]]) -> str:
    """Put what was found into a baseline's file, in the order of the datasets."""
    file, kind = HERE / f"{model}.toml", MODELS[model].config
    head, notes = [], {}
    if file.exists():
        text = file.read_text(encoding="utf-8")
        head = [line for line in text.partition("\n[")[0].splitlines() if line.startswith("#")]
        for part in text.split("\n[")[1:]:
            name, _, rest = part.partition("]\n")
            notes[name] = "".join(line[2:] for line in rest.splitlines()[:1] if line.startswith("# "))
    settings = {name: kind.parse(found).changes() for name, found in recipes(model).items()}
    said = {name: chosen(model, name) for name in settings}
    for row in rows:
        name, found = row["dataset"], config_of(row).changes()
        if name in said and said[name].by == "published" and settings[name] == found:
            said[name] = searched(row).replace(by="published")  # no other did better
            continue
        settings[name], said[name] = found, searched(row)
        notes.pop(name, None)
    order = [name for name in DATASETS if name in settings]
    opening = "\n".join(head)
    told = SEARCHED if SEARCHED.strip() not in opening else "\n"
    tables = [table(name, notes.get(name, ""), said[name], settings[name]) for name in order]
    return opening + told + "\n" + "\n".join(tables)


def standing(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Order cells: confirmed from fresh seeds, judged by nodes that chose no epoch, the others."""
    return "confirmed" in row, row.get("halves", False), row["validation"]


def surpasses(row: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Say whether a cell takes the place of another: it stands higher, and not for having found the same.

    What a race found, or a search on fewer splits than the other's, must be confirmed before. What was
    confirmed beside the other goes before it, whatever the other had come to from other seeds.
    """
    if "confirmed" in row and any(written(row | one) == written(before) for one in row["confirmed"]):
        return True
    idle = written(row) == written(before) and not holds(row, before)
    less = row["splits"] < before["splits"] or row.get("race", False)
    return standing(before) < standing(row) and ("confirmed" in row or not (idle or less))


def after(before: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any]:
    """Return a cell with the searches before it.

    Of those that are only its own beginning a confirmation is kept, from other seeds or on other splits.
    """
    kept: dict[str, Any] = {}
    own = [one if not holds(row, one) else verdict(one) for one in searches(before)]
    for search in reversed([one for one in own if one]):
        kept = {"before": {name: value for name, value in search.items() if name != "before"} | kept}
    return row | kept


def verdict(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a confirmation said, without the search it was of; nothing of what was not confirmed."""
    if "confirmed" not in search:
        return {}
    search_alone = ("trials", "columns", "trace", "initial", "race", "sampler")
    return {name: value for name, value in search.items() if name not in search_alone}


def is_same(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two rows are one, apart from what was before; of a confirmation its verdict tells."""
    one, two = (verdict(each) or dict(each) for each in (row, other))
    return one | {"before": None} == two | {"before": None}


def holds(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether a search has all that another tried: the same, gone on with or confirmed.

    Of searches whose trace was not kept, a confirmation says by its score which one it is of.
    """
    mine, its = tried(row), tried(other)
    return its <= mine if its else row.get("searched") == other["validation"] and not mine


def tried(row: Mapping[str, Any]) -> set[Any]:
    """Return what was tried for a cell, in both stages, as far as the trace is kept."""
    return {
        (stage, *each)
        for stage in (0, 1)
        for each in (row.get("initial", {}) if stage else row).get("trace", ())
    }


def beneath(row: dict[str, Any], less: dict[str, Any]) -> dict[str, Any]:
    """Return a cell with a search that came to less among those before it."""
    if any(holds(search, less) for search in searches(row)):
        return row
    return row | {"before": after(row.get("before"), less)}


def proposals(row: Mapping[str, Any]) -> int:
    """Count the settings that were tried for a cell, of both stages, in all searches."""
    own = row.get("trials", 0) + row.get("initial", {}).get("trials", 0)
    return own + (proposals(row["before"]) if "before" in row else 0)


def raced(row: Mapping[str, Any]) -> int:
    """Count those of them that a race ended early: no split was trained to its end."""
    stages = (stage for search in searches(row) for stage in (search, search.get("initial", {})))
    return sum(each[2] == 0 for stage in stages if stage.get("race") for each in stage["trace"])


def take_in(file: str) -> None:
    """Let the cells of a file take their places; what is there already stays where it is."""
    for row in json.loads(Path(file).read_text()):
        place = TUNED / f"{row['model']}.json"
        rows = json.loads(place.read_text()) if place.exists() else []
        before = next((other for other in rows if other["dataset"] == row["dataset"]), None)
        if any(is_same(row, search) for search in searches(before)):
            continue
        if before is None or surpasses(row, before):
            taken = after(before, row)
        else:
            taken = beneath(before, row)
        rows = [other for other in rows if other is not before] + [taken]
        write_file(place, "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def searches(row: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield a cell's search and those before it."""
    while row:
        yield row
        row = row.get("before")


def is_judged(row: Mapping[str, Any]) -> bool:
    """Say whether a search was judged by validation nodes that chose no epoch."""
    return "confirmed" in row or bool(row.get("halves"))


def origin(cell: Cell, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """Say how the setting of a cell was chosen: as its recipe says, or by the search that led to it."""
    if is_current(cell):
        return setting(cell["model"], cell["dataset"]).to_json()
    own = MODELS[cell["model"]].config.parse(cell["config"])
    found = next((searched(one) for one in searches(row) if config_of(one) == own), None)
    return {**found.to_json(), "note": found.words()} if found else dict(cell["chosen"])


def main() -> None:
    """Take in the files named, then write every recipe, and into every cell how its setting was chosen."""
    for file in sys.argv[1:]:
        take_in(file)
    tuned: dict[tuple[str, str], Any] = {}
    for place in sorted(TUNED.glob("*.json")):
        rows, model = json.loads(place.read_text()), place.stem
        text = hdp(rows) if model == "hdp" else baseline(model, rows)
        write_file(HERE / f"{model}.toml", text)
        tuned |= {(model, row["dataset"]): row for row in rows}
    for cell in read_cells(TUNED.parent, TABLE):
        row = tuned.get((cell["model"], cell["dataset"]))
        write_cell(TUNED.parent, TABLE, cell | {"chosen": origin(cell, row)})


if __name__ == "__main__":
    main()
