"""Table 1 from the cells on disk: ours beside the paper's, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any, NamedTuple

from heterophily.bench.cells import Cell
from heterophily.bench.protocol import DDOF
from heterophily.bench.published import printed
from heterophily.bench.reproduce import COLUMNS, MORE_COLUMNS, is_current
from heterophily.models import MODELS


@dataclass(frozen=True)
class Entry:
    """A cell of the table; scores are fractions."""

    model: str
    dataset: str
    metric: str
    scores: dict[int, float]
    """Test score by split, each the mean of its seeds."""
    seeds: int
    paper: float | None
    """What the paper prints, for the paper's models and datasets."""
    paper_std: float | None
    chosen: str
    """How the setting was chosen, see ``Chosen.by``."""
    note: str
    earlier: bool
    """Whether the packaged recipe is another one by now."""
    by_loss: bool
    """Whether the epoch of the lowest validation loss is scored, not that of the best score."""
    validation: float
    """Mean validation score."""
    device: str
    seconds: float
    others: dict[str, dict[int, float]] = field(default_factory=dict)
    """The scores by split under other readings of the paper, see ``READINGS``."""
    place: int | None = None
    """1 for the best of its column, 2 for the second best, ties together."""

    @property
    def mean(self) -> float:
        """Mean test score over the splits."""
        return fmean(self.scores.values())

    @property
    def std(self) -> float | None:
        """Standard deviation (ddof 1) over the splits; None of one."""
        return stdev(self.scores.values()) if len(self.scores) > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.paper is None else self.mean - self.paper

    @property
    def standard_errors(self) -> float | None:
        """The difference in standard errors of our mean, std / sqrt(splits); None where that is zero."""
        if self.difference is None or not self.std:
            return None
        return self.difference / (self.std / math.sqrt(len(self.scores)))

    def to_json(self) -> dict[str, Any]:
        """Return the entry fit for JSON."""
        return {
            "model": self.model, "dataset": self.dataset, "metric": self.metric, "mean": self.mean,
            "std": self.std, "ddof": DDOF, "splits": len(self.scores), "seeds": self.seeds,
            "paper": self.paper, "paper_std": self.paper_std, "difference": self.difference,
            "standard_errors": self.standard_errors, "place": self.place, "chosen": self.chosen,
            "note": self.note, "earlier": self.earlier, "by_loss": self.by_loss,
            "validation": self.validation, "scores": list(self.scores.values()), "device": self.device,
            "seconds": self.seconds,
            "readings": {
                name: {
                    "mean": other.mean, "std": other.std, "paper": other.paper,
                    "scores": list(other.scores.values()),
                }
                for name in self.others if (other := self.read(name)) is not None
            },
        }  # fmt: skip

    def read(self, reading: str) -> Entry | None:
        """Return the entry under another reading; None where the runs do not have it."""
        if reading not in self.others:
            return None
        by_loss = self.by_loss and reading != "last"
        paper, paper_std = printed(READINGS[reading].paper_of(self.model), self.dataset) or (None, None)
        return replace(
            self, scores=self.others[reading], others={}, place=None, by_loss=by_loss, paper=paper,
            paper_std=paper_std,
        )  # fmt: skip


@dataclass(frozen=True)
class Table1:
    """All entries with the order of rows and columns."""

    entries: tuple[Entry, ...]

    @property
    def models(self) -> list[str]:
        """Models that have an entry, in the paper's order after the rules."""
        there = {entry.model for entry in self.entries}
        return [name for name in MODELS if name in there]

    @property
    def datasets(self) -> list[str]:
        """Datasets that have an entry, the paper's first."""
        there = dict.fromkeys(entry.dataset for entry in self.entries)
        known = [name for name in (*COLUMNS, *MORE_COLUMNS) if name in there]
        return known + [name for name in there if name not in known]

    def find(self, model: str, dataset: str) -> Entry | None:
        """Return the entry of a model on a dataset, None where there is none."""
        return next((e for e in self.entries if (e.model, e.dataset) == (model, dataset)), None)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the entries fit for JSON, row by row."""
        found = (self.find(model, dataset) for model in self.models for dataset in self.datasets)
        return [entry.to_json() for entry in found if entry is not None]


def table1(
    cells: Iterable[Cell], datasets: Sequence[str] | None = None, models: Sequence[str] | None = None
) -> Table1:
    """Make the table of some cells, of those that ``datasets`` and ``models`` name where they do."""
    entries = [
        _entry(cell)
        for cell in cells
        if (datasets is None or cell["dataset"] in datasets) and (models is None or cell["model"] in models)
    ]
    return Table1(tuple(_placed(entries)))


def by_split(cell: Cell, score: Callable[[Mapping[str, Any]], float | None]) -> dict[int, float] | None:
    """Return a score on each split, the mean of its seeds; None where a run has none."""
    found: dict[int, list[float]] = {}
    for row in cell["splits"]:
        if (value := score(row)) is None:
            return None
        found.setdefault(row["split"], []).append(value)
    return {split: fmean(values) for split, values in sorted(found.items())}


def _initial(row: Mapping[str, Any]) -> float | None:
    return row["initial"]["test"] if "initial" in row else None


def _selected(row: Mapping[str, Any]) -> float | None:
    if "initial" not in row:
        return None
    return row["test"] if row["validation"] > row["initial"]["validation"] else row["initial"]["test"]


class Reading(NamedTuple):
    """Another way to read the paper: what its row is called, what it is, and its score of a run."""

    title: str
    words: str
    score: Callable[[Mapping[str, Any]], float | None]
    paper_of: Callable[[str], str] = lambda model: model
    """Of a model, the one whose printed numbers stand beside it: by default itself, "" for none."""


READINGS = {
    "last": Reading(
        "last (Algorithm 1)",
        "what the paper's Algorithm 1 returns as it is printed, the labels of the epoch in which training "
        "ended",
        lambda row: row.get("test_last"),
    ),
    "selected": Reading(
        "selected", "of initial and final assignment the one that is better on validation", _selected
    ),
    "initial": Reading(
        "initial (Init.)",
        "the initial assignment alone, beside Init. of the paper's Table 3, which has four graphs",
        _initial,
        lambda model: MODELS[model].first or "",
    ),
    "averaged": Reading(
        "averaged",
        "the mean of the seeds' assignments, which is not in the paper",
        lambda row: row.get("test_averaged"),
        lambda model: "",
    ),
}
"""Other ways to read the paper. It does not say which epoch's weights are tested: ours is the best on
validation, Algorithm 1 as printed returns the labels of its last iteration, where early stopping ends it; and
where the final assignment never passes the initial one on validation (line 14), the initial one is what is
left. What the mean of several seeds' assignments comes to is no reading of the paper, and for users."""


def _entry(cell: Cell) -> Entry:
    readings = {name: by_split(cell, reading.score) for name, reading in READINGS.items()}
    scores = by_split(cell, lambda row: row["test"])
    assert scores is not None
    paper, paper_std = printed(cell["model"], cell["dataset"]) or (None, None)
    return Entry(
        model=cell["model"],
        dataset=cell["dataset"],
        metric=cell["metric"],
        scores=scores,
        seeds=cell["seeds"],
        paper=paper,
        paper_std=paper_std,
        chosen=cell["chosen"]["by"],
        note=cell["chosen"]["note"],
        earlier=not is_current(cell),
        by_loss=cell["config"].get("select") == "loss" or cell["config"].get("by_loss", False),
        validation=fmean(row["validation"] for row in cell["splits"]),
        device=cell["device"],
        seconds=cell["seconds"],
        others={name: found for name, found in readings.items() if found is not None},
    )


def _placed(entries: Sequence[Entry]) -> list[Entry]:
    """Mark the best and the second best of each column; those that are printed alike share a place.

    A rule takes none: it is there to measure the others by. Nor does a model that is alone in its column.
    """
    placed = []
    for entry in entries:
        others = [e.mean for e in entries if e.dataset == entry.dataset and MODELS[e.model].learns]
        above = {round(mean, 4) for mean in others if round(mean, 4) > round(entry.mean, 4)}
        contest = len(others) > 1 and MODELS[entry.model].learns
        place = len(above) + 1 if len(above) < 2 and contest else None
        placed.append(replace(entry, place=place))
    return placed
