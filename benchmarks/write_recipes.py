"""Write the packaged recipes from the searches in results/.

    python benchmarks/write_recipes.py

HDP's file is written anew. A baseline's keeps the tables of datasets that were not searched, which hold what
its authors published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heterophily import MODELS
from heterophily.graph.datasets import DATASETS
from heterophily.recipes import HERE, recipes

RESULTS = Path(__file__).parent.parent / "results"
HDP = """\
# HDP: settings per dataset, chosen on validation accuracy alone. Fields are those of HDPConfig; what a
# table leaves out has its default. Used by `heterophily train DATASET --recipe paper` and by
# HDPClassifier.from_recipe("DATASET"). Written by benchmarks/write_recipes.py from results/search-*.json.
"""
SEARCHED = """\

# Tables with a validation accuracy were searched (benchmarks/baselines.py, results/search-baselines.json).
"""


def toml(value: object) -> str:
    """Write one value; a float keeps its point, so that it is read back as one."""
    return json.dumps(round(value, 8) if isinstance(value, float) else value)


def table(dataset: str, note: str, settings: Mapping[str, Any]) -> str:
    """Write one table."""
    lines = [f"[{dataset}]", *([f"# {note}"] if note else [])]
    return "\n".join([*lines, *(f"{name} = {toml(value)}" for name, value in settings.items())]) + "\n"


def hdp() -> str:
    """Turn every search of HDP's into a table."""
    tables = []
    for path in sorted(RESULTS.glob("search-*.json")):
        found = json.loads(path.read_text())
        if isinstance(found, list):
            continue  # the baselines'
        validation = 100 * sum(found["validation"]) / len(found["validation"])
        config = MODELS["hdp"].config.parse(found["config"])
        config = config.replace(rescale=round(config.to_dict()["rescale"], 4))
        tables.append(table(found["dataset"], f"mean validation accuracy {validation:.2f}", config.changes()))
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
    for row in rows:
        settings[row["dataset"]] = kind.parse(row["config"]).changes()
        where = "ten splits" if row["splits"] == 10 else f"{row['splits']} splits"
        notes[row["dataset"]] = (
            f"mean validation accuracy {100 * row['validation']:.2f} on {where}, "
            f"best of {row['proposals'] + 1} settings"
        )
    order = [name for name in DATASETS if name in settings]
    opening = "\n".join(head)
    said = SEARCHED if SEARCHED.strip() not in opening else "\n"
    tables = [table(name, notes.get(name, ""), settings[name]) for name in order]
    return opening + said + "\n" + "\n".join(tables)


def main() -> None:
    """Write every file that a search has something for."""
    (HERE / "hdp.toml").write_text(hdp(), encoding="utf-8")
    rows = json.loads((RESULTS / "search-baselines.json").read_text())
    for model in {row["model"] for row in rows}:
        own = [row for row in rows if row["model"] == model]
        (HERE / f"{model}.toml").write_text(baseline(model, own), encoding="utf-8")


if __name__ == "__main__":
    main()
