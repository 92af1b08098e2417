"""What a folder of results holds; a file that is not sound is left out, with a sentence that says why."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heterophily.bench.cells import Cell, CellError, read_cell
from heterophily.bench.reproduce import TABLE
from heterophily.bench.table1 import table1
from heterophily.models import MODELS
from heterophily.show import table1 as show
from heterophily.show.report.charts import Chart
from heterophily.show.report.figures import POINTS, study_charts
from heterophily.show.study_tables import study_table
from heterophily.studies import STUDIES, Result, StudyError, read
from heterophily.studies.tsne import Tsne

BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
"""What numbers that are not as they should be lead to."""


class ReportError(ValueError):
    """A place that no report can be made from."""


@dataclass
class Contents:
    """All that a report shows."""

    cells: list[Cell] = field(default_factory=list)
    studies: list[tuple[Result, list[Chart]]] = field(default_factory=list)
    tuned: list[dict[str, Any]] = field(default_factory=list)
    """The cells that were tuned: model, dataset, validation and more."""
    left_out: list[str] = field(default_factory=list)


def read_contents(folder: str | os.PathLike[str]) -> Contents:
    """Read what `reproduce`, `study` and the tuning benchmarks have left in a folder."""
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise ReportError(
            f"there is no folder {place} to report on; `heterophily reproduce table1` and `heterophily "
            "study` fill one, and --from names it"
        )
    found = Contents()
    for file in sorted((place / TABLE).glob("*/*.json")):
        try:
            cell = read_cell(file)
            if cell["model"] not in MODELS:
                raise CellError(f"{file} is of the model {cell['model']!r}, which is not known here")
            show.grid(table1([cell]))
        except CellError as error:
            found.left_out.append(str(error))
        except BROKEN as error:
            found.left_out.append(_odd(file, error))
        else:
            found.cells.append(cell)
    found.studies = _studies(place / "studies", found.left_out)
    for file in sorted((place / "tuning").glob("*.json")):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            rows = content if isinstance(content, list) else [content]
            found.tuned += [
                row | {"validation": float(row["validation"]), "model": str(row["model"])}
                for row in rows
                if str(row["dataset"])
            ]
        except (OSError, *BROKEN) as error:
            found.left_out.append(_odd(file, error))
    return found


def _studies(place: Path, left_out: list[str]) -> list[tuple[Result, list[Chart]]]:
    """Read and draw all studies, in the order of the paper's section 5."""
    results: list[tuple[Path, Result]] = []
    for file in sorted(place.glob("*.json")):
        try:
            results.append((file, read(file)))
        except StudyError as error:
            left_out.append(f"{file}: {error}")
    order = list(STUDIES)
    results.sort(key=lambda pair: (order.index(pair[1].study), str(pair[1].dataset)))
    clouds = max(sum(isinstance(result, Tsne) for _, result in results), 1)
    found = []
    for file, result in results:
        try:
            study_table(result)
            found.append((result, study_charts(result, POINTS // clouds)))
        except BROKEN as error:
            left_out.append(_odd(file, error))
    return found


def _odd(file: Path, error: Exception) -> str:
    return f"{file} is not as it should be ({type(error).__name__}: {error}); make it anew"
