"""The cells of Table 1 set against one model, so that no verdict depends on what is shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from heterophily.bench.cells import Cell
from heterophily.bench.compare import Comparison, compare
from heterophily.bench.reproduce import COLUMNS, ROWS
from heterophily.bench.scores import CompareError, scores_of
from heterophily.bench.table1 import table1
from heterophily.models import MODELS


def significance(
    cells: Sequence[Cell],
    against: str = "hdp",
    models: Collection[str] = ROWS,
    ranked: Sequence[str] | None = None,
) -> Comparison:
    """Compare each of ``models`` with one on all datasets on which that one has a cell.

    p-values are adjusted over the models of the paper, whether they are among ``models`` or not. Models are
    ranked over the datasets ``ranked``, or else over those of the paper that make the largest full table.
    """
    own = {cell["dataset"] for cell in cells if cell["model"] == against}
    if not own:
        raise CompareError(f"{MODELS[against].title} has no cell to compare others with")
    datasets = [name for name in table1(cells).datasets if name in own]
    some = sorted((c for c in cells if c["dataset"] in own), key=lambda c: datasets.index(c["dataset"]))
    shown = [cell for cell in some if cell["model"] in (against, *models)]
    over = datasets if ranked is None else [name for name in datasets if name in ranked]
    if ranked is None and (paper := [name for name in datasets if name in COLUMNS]):
        over = full_table(shown, paper)
    family = [scores_of(cell) for cell in some if cell["model"] in ROWS]
    return compare([scores_of(cell) for cell in shown], against, family=family, ranked=over)


def full_table(cells: Sequence[Cell], datasets: Sequence[str]) -> list[str]:
    """Return the datasets that, with the models that have them all, make the most cells; two at least.

    Of equally many cells those of more models. Where no two models share two datasets, all are returned.
    """
    has: dict[str, set[str]] = {}
    for cell in cells:
        has.setdefault(cell["model"], set()).add(cell["dataset"])

    def size(some: Sequence[str]) -> tuple[bool, int, int]:
        models = sum(own.issuperset(some) for own in has.values())
        return models > 1, models * len(some), models

    choices = [some for n in range(len(datasets), 1, -1) for some in combinations(datasets, n)]
    best = max(choices or [tuple(datasets)], key=size)
    return list(best)
