"""Cells of a results table on disk: one JSON file for each model and dataset, whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import warnings
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from heterophily.bench.opening import fingerprint
from heterophily.files import reason, sealed, to_text, unsealed, write_file
from heterophily.models import MODELS

Cell = dict[str, Any]
"""What ``Evaluation.to_json`` gives, and ``chosen``: how the setting was chosen."""

KEYS = (
    "model", "dataset", "metric", "splits", "mean", "std", "ddof", "seed", "seeds", "config", "graph",
    "device", "seconds", "versions", "chosen", "test_opened",
)  # fmt: skip
PLAIN = re.compile(r"\w[\w.+-]*")
"""Names of datasets and models: they become names of files."""


class CellError(ValueError):
    """A file that is no sound cell."""


class StrayFileWarning(UserWarning):
    """A file among the cells that is named after no model."""


def cell_file(folder: str | os.PathLike[str], table: str, dataset: str, model: str) -> Path:
    """Return where a cell lies: ``folder/table1/texas/gcn.json``."""
    return Path(folder).expanduser() / table / dataset / f"{model}.json"


def write_cell(folder: str | os.PathLike[str], table: str, cell: Mapping[str, Any]) -> Path:
    """Write a cell to its place."""
    return write_file(cell_file(folder, table, cell["dataset"], cell["model"]), to_text(sealed(cell)))


def read_cell(file: Path) -> Cell:
    """Read a cell and check that it is whole, agrees with itself and lies where it belongs."""
    try:
        cell = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CellError(f"{file} cannot be read as JSON ({type(error).__name__})") from None
    try:
        cell = unsealed(cell)
    except ValueError as error:
        raise CellError(f"{file} is no sound cell: {error}") from None
    if wrong := complaint(cell):
        raise CellError(f"{file} is no sound cell: {wrong}")
    if (file.parent.name, file.stem) != (cell["dataset"], cell["model"]):
        raise CellError(
            f"{file} is the cell of {cell['model']} on {cell['dataset']}; it lies in a wrong place"
        )
    return cell


def complaint(cell: Any) -> str:
    """Say what is wrong with a cell; nothing if it is sound."""
    if not isinstance(cell, dict):
        return "it is no JSON object"
    if missing := [key for key in KEYS if key not in cell]:
        return f"it lacks {', '.join(missing)}"
    if not all(isinstance(cell[key], str) and PLAIN.fullmatch(cell[key]) for key in ("dataset", "model")):
        return "its dataset or model is no plain name, and a file would be named by it"
    try:
        tests = [float(row["test"]) for row in cell["splits"]]
        scores = [*tests, *(float(row["validation"]) for row in cell["splits"])]
        if not (scores and all(0 <= score <= 1 for score in scores)):
            return "a score is no fraction from 0 to 1, or there is none"
        if not math.isclose(fmean(tests), cell["mean"], abs_tol=1e-9):
            return "its mean is not that of its test scores"
        if any(not row["mask"] or not row["nodes"] for row in cell["splits"]):
            return "it does not say which nodes its splits have"
        setting = fingerprint(cell["model"], cell["dataset"], cell["config"], cell["graph"])
        if setting != cell["test_opened"]["setting"]:
            return "its settings are not those that the test labels were opened for"
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        return f"it is not as results are ({type(error).__name__}: {error})"
    return ""


def read_cells(
    folder: str | os.PathLike[str],
    table: str,
    datasets: Container[str] | None = None,
    models: Container[str] | None = None,
) -> list[Cell]:
    """Read the cells of a table, of these datasets and models where they are named.

    One that is not sound is refused with its name. A file that is named after no model is left out, and a
    warning says so.
    """
    found = []
    for file in _files(folder, table):
        dataset, model = file.parent.name, file.stem
        if datasets is not None and dataset not in datasets:
            continue
        if model not in MODELS:
            warnings.warn(f"{file} is left out: no model has its name", StrayFileWarning, stacklevel=2)
        elif models is None or model in models:
            try:
                found.append(read_cell(file))
            except CellError as error:
                again = maker(folder, table, f" --datasets {dataset} --models {model}")
                raise CellError(f"{error}; {again} sets it aside and trains it again") from None
    return found


def datasets_there(folder: str | os.PathLike[str], table: str) -> tuple[str, ...]:
    """Return the datasets that have files in the folder of a table."""
    return tuple(dict.fromkeys(file.parent.name for file in _files(folder, table)))


def maker(folder: str | os.PathLike[str], table: str, options: str = "") -> str:
    """Return the command that makes the cells of a folder."""
    out = "" if Path(folder) == Path("results") else f" --out {shlex.quote(str(folder))}"
    return f"`heterophily reproduce {table}{options}{out}`"


def _files(folder: str | os.PathLike[str], table: str) -> list[Path]:
    place = Path(folder).expanduser() / table
    if not place.is_dir():
        raise CellError(
            f"there is no folder {place}; {maker(folder, table)} makes it, and --from names the folder "
            "above it"
        )
    return sorted(place.glob("*/*.json"))


def write_bundle(file: str | os.PathLike[str], table: str, cells: Iterable[Cell]) -> Path:
    """Write many cells as one file."""
    return write_file(file, to_text(sealed({"table": table, "cells": list(cells)})))


def read_bundle(file: str | os.PathLike[str], table: str) -> list[Cell]:
    """Read the cells of a bundle, all of them sound."""
    try:
        bundle = json.loads(Path(file).expanduser().read_text(encoding="utf-8"))
        found, cells = bundle["table"], list(bundle["cells"])
    except OSError as error:
        raise CellError(f"{file} cannot be read: {reason(error)}") from None
    except (ValueError, KeyError, TypeError):
        raise CellError(f"{file} is no bundle of cells; one is written by --bundle") from None
    try:
        unsealed(bundle)
    except ValueError as error:
        raise CellError(f"{file} is damaged: {error}; get it again") from None
    if found != table:
        raise CellError(f"{file} is a bundle of {found}, not of {table}")
    for number, cell in enumerate(cells, 1):
        if wrong := complaint(cell):
            raise CellError(f"cell {number} of {file} is not sound: {wrong}")
    return cells


def unbundle(file: str | os.PathLike[str], table: str, folder: str | os.PathLike[str]) -> dict[str, int]:
    """Write the cells of a bundle to their places; return how many were new, other and the same before."""
    count = {"new": 0, "replaced": 0, "same": 0}
    for cell in read_bundle(file, table):
        place = cell_file(folder, table, cell["dataset"], cell["model"])
        if place.exists() and place.read_text(encoding="utf-8") == to_text(sealed(cell)):
            count["same"] += 1
            continue
        count["replaced" if place.exists() else "new"] += 1
        write_cell(folder, table, cell)
    return count
