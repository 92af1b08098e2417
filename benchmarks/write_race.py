"""Write into docs/tuning.md what a race spares and misses, as benchmarks/race.py measured it.

python -m benchmarks.write_race
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.plot_many_runs import table
from benchmarks.write_speed import title
from heterophily.files import write_file
from heterophily.models import MODELS

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "tuning.md"
BEGIN = "<!-- race: written by benchmarks/write_race.py from benchmarks/race.json -->"
END = "<!-- end of the race -->"


def words(found: dict[str, Any]) -> str:
    """Return the paragraph and the table."""
    rows = []
    for row in found["rows"]:
        (whole, raced), (long, short) = row["epochs"], row["seconds"]
        rows.append([
            MODELS[row["model"]].title, title(row["dataset"]), f"{100 * row['best']:.1f}",
            f"{100 * (row['best'] - row['below']):.1f}", str(row["place"]), f"{100 * row['median']:.1f}",
            f"{whole / raced:.1f} ×", f"{long / short:.1f} ×",
        ])  # fmt: skip
    count, splits = found["trials"], found["splits"]
    lead = (
        f"`benchmarks/race.py` draws {count} settings at random, races them, and trains all of them to their "
        f"ends as well, on {splits} splits and one {found['device']}. Scores are of validation nodes that "
        "chose no epoch, in %; the place is that of the race's best among all:"
    )
    head = (
        "model", "graph", "best of all", "best of the race", "its place", "median", "fewer epochs", "faster",
    )  # fmt: skip
    return f"{lead}\n\n{table(head, rows)}"


def page(text: str, found: dict[str, Any]) -> str:
    """Return the page with the part between the markers made anew."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{words(found)}\n\n{END}", text, flags=re.DOTALL)


def measured() -> dict[str, Any]:
    """Return what the benchmark wrote."""
    found: dict[str, Any] = json.loads((HERE / "race.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8"), measured()))
