"""Scores that anyone may have: read from results, bundles of them and CSV files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from heterophily.files import unsealed

SPLIT = re.compile(r"\d+|split.*", re.IGNORECASE)
"""Names of the columns that are splits."""


class CompareError(ValueError):
    """Results that cannot be read, or not be set side by side."""


@dataclass(frozen=True)
class Scores:
    """Test scores of one model on the splits of one dataset, fractions."""

    model: str
    dataset: str
    by_split: Mapping[str, float]
    """Each split by its number or name; a score is the mean of the split's seeds."""
    masks: Mapping[str, str] = field(default_factory=dict)
    """What names the nodes of each split, where the result says so."""
    ratio: float | None = None
    """Test to training nodes; None where it is not known."""
    source: str = ""
    graph: str = ""
    """The options that a synthetic graph was drawn with."""


def scores_of(cell: Mapping[str, Any], model: str | None = None, source: str = "") -> Scores:
    """Return the scores of a result: a cell, or a ``result.json`` of ``train`` or ``evaluate``."""
    try:
        found: dict[str, list[float]] = {}
        masks, ratios = {}, []
        for row in cell["splits"]:
            found.setdefault(str(row["split"]), []).append(float(row["test"]))
            if "mask" in row:
                masks[str(row["split"])] = row["mask"]
                ratios.append(row["nodes"]["test"] / row["nodes"]["train"])
        return Scores(
            model=model or cell["model"],
            dataset=cell["dataset"],
            by_split={split: fmean(tests) for split, tests in found.items()},
            masks=masks,
            ratio=fmean(ratios) if ratios else None,
            source=source,
            graph=json.dumps(cell.get("graph") or {}, sort_keys=True),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise CompareError(
            f"{source or 'this'} is no result: it should be a result.json of train, evaluate or reproduce "
            f"({type(error).__name__}: {error})"
        ) from None


def read_scores(file: str | os.PathLike[str], model: str | None = None) -> list[Scores]:
    """Read scores from a result, a bundle of results or a CSV; ``model`` renames the model of a result.

    A CSV has a row per model and a column per split, which is a number or begins with ``split``, with the
    models in a column ``model``; or a row per score with the columns ``model``, ``split`` and ``test``. The
    columns ``dataset`` and ``seed`` may stand in both; without the first the file's name is the dataset, and
    seeds are averaged. Scores are fractions; where one is above 1, all are percentages.
    """
    path = Path(file).expanduser()
    try:
        if path.suffix.lower() == ".csv":
            return _from_csv(pd.read_csv(path), str(file), model)
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompareError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, pd.errors.ParserError) as error:
        if isinstance(error, CompareError):
            raise
        kind = "CSV" if path.suffix.lower() == ".csv" else "JSON"
        raise CompareError(f"{file} cannot be read as {kind}: {' '.join(str(error).split())}") from None
    try:
        content = unsealed(content)
    except ValueError as error:
        raise CompareError(f"{file} is damaged: {error}; get it again, or train it again") from None
    cells = content["cells"] if isinstance(content, dict) and "cells" in content else [content]
    return [scores_of(cell, model, str(file)) for cell in cells]


def _from_csv(table: pd.DataFrame, source: str, only: str | None) -> list[Scores]:
    table = table.rename(columns=lambda name: str(name).strip())
    if "model" not in table:
        raise CompareError(
            f"{source} has no column 'model'; give a row per model and a column per split, or the columns "
            "model, split and test"
        )
    if "dataset" not in table:
        table["dataset"] = Path(source).stem
    if {"split", "test"} <= set(table):
        long = table
    else:
        ids = [name for name in ("model", "dataset", "seed") if name in table]
        if others := [name for name in table if name not in ids and not SPLIT.fullmatch(name)]:
            raise CompareError(
                f"{source}: the column {others[0]!r} is no split; the name of a split is a number or begins "
                "with 'split', and a row per score has the columns model, split and test"
            )
        long = table.melt(id_vars=ids, var_name="split", value_name="test")
    long = long.assign(test=pd.to_numeric(long["test"], errors="coerce"))
    if long["test"].isna().any():
        row = long[long["test"].isna()].iloc[0]
        raise CompareError(
            f"{source}: the score of {row['model']} on split {row['split']} is missing or no number"
        )
    if (long["test"] < 0).any() or (long["test"] > 100).any():
        raise CompareError(f"{source}: a score is below 0 or above 100; scores are fractions or percentages")
    percent = long.groupby(["model", "dataset"], sort=False)["test"].max() > 1
    if percent.nunique() == 2:
        small, large = (" on ".join(map(str, percent.index[percent == kind][0])) for kind in (False, True))
        raise CompareError(
            f"{source}: the scores of {small} are fractions and those of {large} percentages; write all in "
            "one unit"
        )
    unit = 100.0 if percent.any() else 1.0
    found = []
    for (model, dataset), rows in long.groupby(["model", "dataset"], sort=False):
        each = rows.groupby("split", sort=False)["test"].mean() / unit  # several rows of a split: its seeds
        by_split = {str(split): float(score) for split, score in each.items()}
        found.append(Scores(str(model), str(dataset), by_split, source=source))
    if only is not None:
        raise CompareError(f"{source} names its models itself, so {only}= has nothing to name; leave it out")
    return found
