"""What a study found, for people: the recipe, the table of trials, what mattered, what lies at an edge."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance

from heterophily.bench.protocol import versions
from heterophily.bench.storage import open_study, opened
from heterophily.bench.tuning import Tuning, blind
from heterophily.config import Choice, Config, ConfigError, Range, Uniform
from heterophily.graph import Graph
from heterophily.recipes.provenance import Chosen
from heterophily.training.runs import Run, train_runs

ENOUGH = 20
"""Trials from which on it is said what mattered; of fewer, luck says it."""
NEAR = 0.02
"""Share of a range that counts as its edge."""


@dataclass(frozen=True)
class Importance:
    """How much each setting mattered, by a random forest fitted to all finished trials.

    A setting's share is how much worse the forest foretells the rank of a trial's validation score when
    the setting is shuffled among the trials; the shares add up to 1. Ranks, as a few hopeless trials would
    otherwise outweigh all others.
    """

    shares: Mapping[str, float]
    """By setting, largest first."""
    explained: float
    """R² on the trials that a tree had not seen; near 0 or below it, no setting stood out of the noise."""


@dataclass(frozen=True)
class Edge:
    """A best value at an end of its range, and a wider range as ``--space`` takes it."""

    name: str
    value: Any
    wider: str


@dataclass(frozen=True, eq=False)
class Findings:
    """A study's result and what can be said of it."""

    study: str
    tuning: Tuning
    metric: str
    defaults: float | None = None
    """The validation score of the defaults on the same splits; None where they were not trained."""
    initial: Findings | None = None
    """Those of the study before."""

    @property
    def best(self) -> pd.Series:
        """The row of the best trial."""
        done = self.complete
        return done.sort_values(["validation", "loss", "number"], ascending=[False, True, True]).iloc[0]

    @property
    def complete(self) -> pd.DataFrame:
        """The trials that were trained on all splits."""
        trials = self.tuning.trials
        return trials[trials["state"] == "complete"]

    @property
    def second(self) -> float | None:
        """The validation score of the best trial with other settings than the best."""
        names = list(self.tuning.task.space)
        others = self.complete[(self.complete[names] != self.best[names]).any(axis=1)]
        return float(others["validation"].max()) if len(others) else None

    @property
    def dropped(self) -> int:
        """Trials that were not trained on all splits."""
        return len(self.tuning.trials) - len(self.complete)

    @cached_property
    def importance(self) -> Importance | None:
        """What mattered; None where there are too few trials to say."""
        return importance(self.tuning)

    @property
    def edges(self) -> list[Edge]:
        """The best values that lie at an end of their range and could go on."""
        found = (edge(self.tuning.config, name, r) for name, r in self.tuning.task.space.items())
        return [one for one in found if one]

    def to_json(self) -> dict[str, Any]:
        """Return it fit for JSON; scores are fractions."""
        tuning, mattered = self.tuning, self.importance
        result = {
            "study": self.study,
            "model": tuning.task.model,
            "dataset": tuning.task.dataset,
            "metric": self.metric,
            "validation": tuning.validation,
            "second": self.second,
            "defaults": self.defaults,
            "trials": len(tuning.trials),
            "dropped": self.dropped,
            "spared": tuning.spared,
            "config": tuning.config.to_dict(),
            "task": tuning.task.to_json(),
            "importance": dict(mattered.shares) if mattered else None,
            "explained": mattered.explained if mattered else None,
            "edges": [{"name": e.name, "value": e.value, "wider": e.wider} for e in self.edges],
            "test_opened": False,
            "versions": versions(),
        }
        return result | ({"initial": self.initial.to_json()} if self.initial else {})


def findings(
    study: str,
    tuning: Tuning,
    graph: Graph,
    storage: str | os.PathLike[str],
    config: Mapping[str, Any],
    device: str | torch.device = "cpu",
    compare: bool = True,
) -> Findings:
    """Return what can be said of a study.

    The defaults, with the settings in ``config``, are trained once for comparison, blind as a trial is; the
    study remembers their score.
    """
    before = Findings(f"{study}-initial", tuning.initial, graph.metric) if tuning.initial else None
    with opened(storage) as held:
        memory = open_study(held, study)
        known = memory.user_attrs.get("defaults")
        if known is None and compare:
            task = tuning.task
            settings = type(task.config).parse(config)
            runs = [Run(task.model, settings, i, task.seed) for i in task.splits]
            outcomes = train_runs(blind(graph, task.splits), runs, device)
            known = float(np.mean([outcome.trained.validation for outcome in outcomes]))
            memory.set_user_attr("defaults", known)
    return Findings(study, tuning, graph.metric, known, before)


def importance(tuning: Tuning) -> Importance | None:
    """Return what mattered, from a random forest; None where there are too few trials to say."""
    space, trials = tuning.task.space, tuning.trials
    if len(trials) < ENOUGH or trials["validation"].nunique() == 1:
        return None
    ranks = trials["validation"].rank().to_numpy()
    table = np.column_stack([places(trials[name], searched) for name, searched in space.items()])
    forest = RandomForestRegressor(200, min_samples_leaf=2, oob_score=True, random_state=0)
    forest.fit(table, ranks)
    worse = permutation_importance(forest, table, ranks, n_repeats=5, random_state=0).importances_mean
    shares = worse.clip(min=0) / max(worse.clip(min=0).sum(), 1e-12)
    order = np.argsort(-shares, kind="stable")
    names = list(space)
    return Importance({names[i]: float(shares[i]) for i in order}, float(forest.oob_score_))


def places(values: pd.Series, searched: Range) -> np.ndarray:
    """Return values as numbers: themselves, or their places among the options."""
    if isinstance(searched, Choice):
        return np.array([searched.options.index(value) for value in values], dtype=float)
    return values.to_numpy(dtype=float)


def edge(config: Config, name: str, searched: Range) -> Edge | None:
    """Say whether the chosen value lies at an end of its range, and how to search beyond it, if one can."""
    value = config.to_dict()[name]
    if isinstance(searched, Choice):
        options = sorted(searched.options) if _are_numbers(searched) else []
        if len(options) < 3 or value not in (options[0], options[-1]):
            return None
        upward = value == options[-1]
        beyond = _next(*(options[-2:] if upward else options[1::-1]))
        wider = [*options, beyond] if upward else [beyond, *options]
        text = ",".join(f"{option:g}" for option in wider)
    else:
        width = searched.high - searched.low
        upward = value >= searched.high - NEAR * width
        if not upward and value > searched.low + NEAR * width:
            return None
        step = width / 2 if isinstance(searched, Uniform) else max(1, width // 2)
        beyond = searched.high + step if upward else max(searched.low - step, 0)
        low, high = (searched.low, beyond) if upward else (beyond, searched.high)
        text = f"{low:g}:{high:g}"
    if isinstance(value, int):
        beyond = round(beyond)
    try:
        config.replace(**{name: beyond})
    except ConfigError:
        return None  # the end of what makes sense
    return Edge(name, value, text) if beyond != value else None


def _next(before: float, last: float) -> float:
    """Go on with a row of numbers: by the same factor where it is two or more, else by the same step."""
    if before > 0 and last > 0 and not 0.5 < last / before < 2:
        return float(f"{last * last / before:.3g}")
    return max(2 * last - before, 0) if last > 0 else 0.0


def _are_numbers(searched: Choice) -> bool:
    return all(isinstance(o, int | float) and not isinstance(o, bool) for o in searched.options)


def trials_table(found: Findings) -> pd.DataFrame:
    """Return one row per finished trial, of the study before too."""
    parts = [trials_table(found.initial)] if found.initial else []
    mine = found.tuning.trials.copy()
    mine.insert(0, "study", found.study)
    return pd.concat([*parts, mine], ignore_index=True)


def recipe_text(found: Findings, options: Mapping[str, Any] | None = None) -> str:
    """Return the best setting as a recipe: what differs from the defaults, and where it is from."""
    tuning, task = found.tuning, found.tuning.task
    changed = tuning.config.changes()
    dataset = task.dataset.strip().lower()
    lines = [
        f"# {task.model} on {task.dataset}, tuned. What is left out has its default. Use it with",
        f"# heterophily evaluate {dataset} --recipe FILE, or from_recipe({dataset!r}, source=FILE).",
        "#",
        *(f"# {name}: {words}" for name, words in _origin(found).items()),
        *([f"# graph: {json.dumps(dict(options))}"] if options else []),
        "# The test labels were not opened.",
        "",
        f"model = {json.dumps(task.model)}",
        "",
        f"[{dataset}]",
        _search(found).to_toml(),
        *(f"{name} = {json.dumps(value)}" for name, value in changed.items()),
    ]
    return "\n".join(lines) + "\n"


def _search(found: Findings) -> Chosen:
    tuning, task, first = found.tuning, found.tuning.task, found.initial
    return Chosen(
        by="searched",
        validation=round(tuning.validation, 4),
        splits=len(task.splits),
        trials=len(tuning.trials),
        initial_trials=len(first.tuning.trials) if first else 0,
        raced=tuning.raced + (first.tuning.raced if first else 0),
        halves=task.halves,
    )


def _list(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _origin(found: Findings) -> dict[str, str]:
    tuning, task = found.tuning, found.tuning.task
    before = found.initial and f", after {found.initial.study} ({len(found.initial.tuning.trials)} trials)"
    return {
        "study": found.study + (before or ""),
        "trials": f"{len(tuning.trials)}, {found.dropped} of them dropped early",
        "sampler": f"{task.sampler}, seed {task.seed}",
        "validation": f"{found.metric} {tuning.validation!r}, mean of splits {_list(task.splits)}",
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
    }
