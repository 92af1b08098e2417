"""The studies by name: what each is, what it is made on, and how its results are read back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heterophily.config import no_such
from heterophily.files import unsealed
from heterophily.studies import (
    ablation,
    calibration,
    confusion,
    edges,
    homophily,
    information,
    local,
    partition,
    preference,
    rescale,
    tsne,
)
from heterophily.studies.result import Result, StudyError

FOUR = ("wisconsin", "actor", "squirrel", "citeseer")


@dataclass(frozen=True)
class Study:
    """A row of the registry."""

    title: str
    """What it shows, in a line."""
    paper: str
    """Its table or figure in the paper; empty beyond it."""
    make: Callable[..., Result]
    """Makes it: takes a graph (all but "homophily") and a plan, and the options below by name."""
    result: type[Result]
    datasets: tuple[str, ...]
    """Those of the paper, or the ones it says most on."""
    splits: tuple[int, ...] | None = None
    """The splits it uses by default; None stands for all."""
    options: tuple[str, ...] = ()
    """Of "models" and "grid", those it takes."""


STUDIES: dict[str, Study] = {
    "ablation": Study(
        "HDP without each of its parts", "Table 3", ablation.study, ablation.Ablation, FOUR
    ),
    "partition": Study(
        "the neighborhoods before and after the partition", "Figure 4", partition.study,
        partition.PartitionStudy, FOUR,
    ),
    "rescale": Study(
        "accuracy against the rescaling λ", "Figure 5", rescale.study, rescale.Rescale,
        ("squirrel", "citeseer"), options=("grid",),
    ),
    "information": Study(
        "what both representations tell of the labels", "Figure 6", information.study,
        information.Information, FOUR, splits=(0,),
    ),
    "tsne": Study(
        "representations and prototypes in the plane", "Figure 7", tsne.study, tsne.Tsne,
        ("squirrel", "citeseer"), splits=(0,),
    ),
    "preference": Study(
        "which classes the neighbors of a class have", "Figure 1b", preference.study,
        preference.Preference, ("cornell",), splits=(0,),
    ),
    "local": Study(
        "accuracy by local homophily and by degree", "", local.study, local.Local,
        ("squirrel", "citeseer"), options=("models",),
    ),
    "calibration": Study(
        "what the probabilities are worth", "", calibration.study, calibration.Calibration,
        ("squirrel", "citeseer"), options=("models",),
    ),
    "homophily": Study(
        "which model wins at which homophily", "", homophily.study, homophily.Homophily,
        ("synthetic",), options=("models", "grid"),
    ),
    "confusion": Study(
        "which classes are taken for which", "", confusion.study, confusion.Confusion,
        ("squirrel", "citeseer"), options=("models",),
    ),
    "edges": Study(
        "HDP's verdicts around single nodes", "", edges.study, edges.Edges, FOUR, splits=(0,)
    ),
}  # fmt: skip
"""The studies of the paper, in the order of its section 5, then those beyond it."""

FITTED: dict[str, Callable[..., Result]] = {
    "partition": partition.look,
    "information": information.look,
    "tsne": tsne.look,
    "preference": preference.look,
    "local": local.look,
    "calibration": calibration.look,
    "confusion": confusion.look,
    "edges": edges.look,
}
"""Studies that can be made of runs that are trained already."""


def find_study(name: str) -> Study:
    """Return a study by its name; an unknown one is refused with those there are."""
    if name not in STUDIES:
        raise StudyError(no_such("study", name, STUDIES, "studies"))
    return STUDIES[name]


def from_json(content: Mapping[str, Any]) -> Result:
    """Return the result that a JSON object holds."""
    if not isinstance(content, Mapping) or "study" not in content:
        raise StudyError("this is no result of a study: it does not say of which")
    return find_study(str(content["study"])).result.from_json(content)


def read(file: str | os.PathLike[str]) -> Result:
    """Read a result from the JSON file that ``heterophily study`` has written."""
    try:
        content = unsealed(json.loads(Path(file).expanduser().read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise StudyError(f"{file} cannot be read as a result of a study: {error}") from None
    return from_json(content)


def unbundle(content: Mapping[str, Any]) -> list[Result]:
    """Return the results that one JSON object holds, as ``--json`` prints it: a list called "results"."""
    if not isinstance(content, Mapping) or not isinstance(content.get("results"), list):
        raise StudyError("this is no bundle of results: it has no list of them")
    return [from_json(each) for each in content["results"]]
