"""Write the results table of the README from the cells in results/, as `heterophily table table1` prints it.

python benchmarks/write_readme.py
"""

from __future__ import annotations

import re
from pathlib import Path

from heterophily.bench.cells import read_cells
from heterophily.bench.reproduce import rows
from heterophily.bench.table1 import table1
from heterophily.files import write_file
from heterophily.show import grids
from heterophily.show import table1 as show

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BEGIN = "<!-- results: written by benchmarks/write_readme.py from results/ -->"
END = "<!-- end of the results -->"


def results() -> str:
    """Return the table in Markdown, or what to say where there is none yet."""
    if not (ROOT / "results" / "table1").is_dir():
        return "No cell of Table 1 has been trained yet: `heterophily reproduce table1` makes them."
    shown = rows("paper,hdp-directed")
    cells = [cell for cell in read_cells(ROOT / "results", "table1") if cell["model"] in shown]
    return grids.written(show.grid(table1(cells)), "markdown").strip()


def page(text: str) -> str:
    """Return the page with the part between the markers made anew."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{results()}\n\n{END}", text, flags=re.DOTALL)


if __name__ == "__main__":
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8")))
