"""Write the table of docs/faults.md from benchmarks/faults.json, which `make faults` measures.

python benchmarks/write_faults.py
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

from heterophily.files import write_file

HERE = Path(__file__).parent
MEASURED = HERE / "faults.json"
PAGE = HERE.parent / "docs" / "faults.md"
BEGIN, END = "<!-- faults: written by benchmarks/write_faults.py -->", "<!-- end of faults -->"
COLUMNS = ("fault", "at work", "tried", "survived", "lost")


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table, faults of a kind together; what was not tried says why."""
    order = list(dict.fromkeys(row["fault"] for row in rows))
    lines = [COLUMNS, ("---", "---", "--:", "--:", "---")]
    for fault, group in groupby(
        sorted(rows, key=lambda row: order.index(row["fault"])), lambda r: r["fault"]
    ):
        for number, row in enumerate(group):
            lost = "; ".join(row["lost"]) or "nothing"
            lost += f" ({row['said']})" if row["said"] and row["tried"] else ""
            counts = (
                [f"{row['tried']:,}", f"{row['survived']:,}", lost]
                if row["tried"]
                else ["–", "–", row["said"]]
            )
            lines.append((fault if not number else "", row["against"], *counts))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def words(found: dict[str, Any]) -> str:
    """Return the whole part of the page."""
    rows, about = found["rows"], found["about"]
    tried, survived = (sum(row[name] for row in rows) for name in ("tried", "survived"))
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in ("python", "torch"))
    return (
        f"**{tried:,} faults tried, {survived:,} survived.** {about['system']}, "
        f"{about['cores']} cores, {versions}.\n\n" + table(rows)
    )


def page(text: str) -> str:
    """Return the page with the table as measured."""
    part = f"{BEGIN}\n\n{words(json.loads(MEASURED.read_text(encoding='utf-8')))}\n{END}"
    return re.sub(f"{BEGIN}.*?{END}", lambda _: part, text, flags=re.DOTALL)


if __name__ == "__main__":
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8")))
