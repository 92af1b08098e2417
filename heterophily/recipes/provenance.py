"""How the settings of a recipe were chosen, and by how much of a search."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from heterophily.config import Config

KEY = "chosen"
"""The key of a recipe's table that says it; it is no setting."""


@dataclass(frozen=True, kw_only=True)
class Chosen(Config):
    """What a table says of its settings, as ``chosen = {by = "searched", validation = 0.87}``."""

    by: Literal["searched", "published", "kindred", "guess", "defaults"] = "guess"
    """searched: by validation score, on this graph. published: for this graph, by whoever ran the model
    there. kindred: searched or published for another graph, or for another form of the model. guess: within
    what the authors tried, or their program's defaults. defaults: ours, as there is no recipe."""
    validation: float = 0.0
    """The mean validation score of what was found, a fraction."""
    splits: int = 0
    """On how many splits it was judged."""
    seeds: int = 0
    """From how many fresh seeds it was judged once more."""
    trials: int = 0
    """How many settings were tried."""
    initial_trials: int = 0
    """How many of the initial assignment before."""
    earlier_trials: int = 0
    """How many, of both, in a search before this one."""
    raced: int = 0
    """How many of all these a race ended after a few epochs."""
    halves: bool = False
    """Whether it was judged by validation nodes that had no say in the epoch that is kept."""

    @property
    def tried(self) -> int:
        """How many settings were tried in all, of both stages and in every search."""
        return self.trials + self.initial_trials + self.earlier_trials

    def to_json(self) -> dict[str, Any]:
        """Return what is said, fit for JSON."""
        return {"by": self.by} | self.changes()

    def to_toml(self) -> str:
        """Return the line of a table that says it."""
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in self.to_json().items())
        return f"{KEY} = {{{said}}}"

    def words(self) -> str:
        """Tell of the search; nothing where there was none or nothing is known of it."""
        if not self.splits:
            return ""
        where = _number(self.splits, "split") + (f" and {_number(self.seeds, 'seed')}" if self.seeds else "")
        where += " of nodes that had no say in the epoch that is kept" if self.halves else ""
        effort = f", best of {_number(self.trials, 'setting')}" if self.trials else ""
        effort += f" after {self.initial_trials} of the initial assignment" if self.initial_trials else ""
        effort += f", {self.earlier_trials} in a search before" if self.earlier_trials else ""
        effort += f"; a race ended {self.raced} of them early" if self.raced else ""
        return f"mean validation score {100 * self.validation:.2f} on {where}{effort}"


def _number(count: int, name: str) -> str:
    return f"{count} {name}" + ("s" if count != 1 else "")
