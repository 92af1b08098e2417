"""Pictures of a study: its course, what mattered, each setting by itself, and all settings side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from heterophily.bench.findings import ENOUGH, Findings, Importance, places
from heterophily.config import Choice, Integer, Range
from heterophily.models import MODELS
from heterophily.show.cards import value_words
from heterophily.show.plots import to_png
from heterophily.show.style import OTHER, SAME
from heterophily.show.tables import METRICS

DROPPED = "#aaaaaa"
FEW = 5
"""Trials that a picture of settings needs."""


def study_plots(found: Findings) -> tuple[dict[str, bytes | None], list[str]]:
    """Return the pictures of a study as PNG files, those of the study before with "initial-" in front.

    None stands for a picture that is left out, and sentences say why.
    """
    files: dict[str, bytes | None] = {}
    said: list[str] = []
    for prefix, each in (("initial-", found.initial), ("", found)):
        if each is None:
            continue
        mattered, count = each.importance, len(each.tuning.trials)
        figures = {
            "history": history_figure(each),
            "importance": importance_figure(each, mattered) if mattered else None,
            "slices": slices_figure(each, mattered) if count >= FEW else None,
            "parallel": parallel_figure(each, mattered) if count >= FEW else None,
        }
        for name, figure in figures.items():
            files[f"{prefix}{name}.png"] = None if figure is None else to_png(figure)
        missing = [f"{prefix}{name}.png" for name, figure in figures.items() if figure is None]
        if missing:
            needs = f"{ENOUGH} trials with different scores" if mattered is None else f"{FEW} trials"
            said.append(f"Left out for want of trials: {', '.join(missing)} (importance needs {needs}).")
    return files, said


def history_figure(found: Findings) -> Figure:
    """Draw the validation score of each trial, in the order of their numbers, and the best so far."""
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots()
    trials = found.tuning.trials.sort_values("number")
    complete = (trials["state"] == "complete").to_numpy()
    place = trials["number"].to_numpy()
    score = 100 * trials["validation"].to_numpy()
    low = _floor(score)
    shown = np.maximum(score, low)
    kinds: tuple[tuple[Any, dict[str, Any]], ...] = (
        (~complete, {"c": DROPPED, "marker": "x", "label": "dropped early"}),
        (complete, {"c": OTHER, "marker": "o", "label": "trained on all splits"}),
        (score < low, {"c": "black", "marker": "v", "label": f"below {low:.0f}"}),
    )
    for which, look in kinds:
        if which.any():
            look["label"] += f" ({which.sum()})"
            axes.scatter(place[which], shown[which], s=26, zorder=2, **look)
    best = pd.Series(np.where(complete, score, np.nan)).cummax().ffill()
    axes.step(place, best, where="post", color=SAME, linewidth=2, label="best so far", zorder=3)
    if found.defaults is not None:
        default = 100 * found.defaults
        line: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1, "zorder": 1}
        if default >= low:
            axes.axhline(default, label=f"defaults ({default:.1f})", **line)
        else:
            axes.plot([], [], " ", label=f"defaults: {default:.1f}, below")
    axes.set_xlabel("trial")
    axes.set_ylabel(_score(found))
    axes.set_title(_title(found, f"best validation {100 * found.tuning.validation:.1f} %"), fontsize=13)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=5, frameon=False, fontsize=9)
    return figure


def importance_figure(found: Findings, mattered: Importance) -> Figure:
    """Draw the share of each setting, largest on top."""
    names = list(mattered.shares)
    figure = Figure(figsize=(9, 1.8 + 0.36 * len(names)), layout="constrained")
    axes = figure.subplots()
    shares = [100 * share for share in mattered.shares.values()]
    bars = axes.barh(names, shares, color=OTHER)
    axes.bar_label(
        bars, [f"{share:.0f} %" if share >= 0.5 else "<1 %" for share in shares], padding=4, fontsize=9
    )
    axes.invert_yaxis()
    axes.set_xlim(0, max(shares) * 1.12)
    axes.set_title(_title(found, "what mattered"), fontsize=13)
    explained = f"{100 * max(mattered.explained, 0):.0f} % of the ranks of trials that it has not seen"
    axes.set_xlabel(
        "share of the loss of foresight when a setting is shuffled among the trials, in %\n"
        f"(random forest on {len(found.tuning.trials)} trials; it explains {explained})",
        fontsize=9,
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def slices_figure(found: Findings, mattered: Importance | None = None) -> Figure:
    """Draw the scores over each setting by itself, the setting that mattered most first."""
    task, trials = found.tuning.task, found.tuning.trials
    names = _order(found, mattered)
    columns = min(4, len(names))
    rows = math.ceil(len(names) / columns)
    figure = Figure(figsize=(3.1 * columns + 0.4, 2.5 * rows + 0.9), layout="constrained")
    figure.suptitle(_title(found, "each setting by itself"), fontsize=13)
    panels: Any = figure.subplots(rows, columns, sharey=True, squeeze=False)
    score = 100 * trials["validation"].to_numpy()
    low = _floor(score)
    complete = (trials["state"] == "complete").to_numpy()
    random = np.random.default_rng(0)
    for k, name in enumerate(names):
        axes, searched = panels.flat[k], task.space[name]
        x = places(trials[name], searched)
        if not isinstance(searched, Choice):
            shaken = x + (random.uniform(-0.15, 0.15, len(x)) if isinstance(searched, Integer) else 0)
        else:
            shaken = x + random.uniform(-0.18, 0.18, len(x))
        y = np.maximum(score, low)
        axes.scatter(shaken[~complete], y[~complete], s=12, c=DROPPED, marker="x", linewidths=0.9)
        axes.scatter(shaken[complete], y[complete], s=14, c=OTHER, alpha=0.65, linewidths=0)
        best = places(pd.Series([found.best[name]]), searched)
        axes.axvline(best[0], color=SAME, linewidth=1.2, alpha=0.8, zorder=0)
        axes.scatter(best, [100 * found.tuning.validation], s=70, c=SAME, marker="*", zorder=4)
        _ticks(axes, searched)
        share = f" ({100 * mattered.shares[name]:.0f} %)" if mattered else ""
        axes.set_title(f"{name}{share}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    figure.supylabel(_score(found), fontsize=10)
    share = "in brackets how much it mattered; " if mattered else ""
    figure.supxlabel(f"{share}dots: trained on all splits, gray crosses: dropped, star: the best", fontsize=9)
    return figure


def parallel_figure(found: Findings, mattered: Importance | None = None) -> Figure:
    """Draw every trial as a line through its settings to its score; what mattered most is nearest to it."""
    task, trials = found.tuning.task, found.tuning.trials
    names = _order(found, mattered)[::-1]
    figure = Figure(figsize=(max(8, 1.15 * (len(names) + 1) + 1), 6), layout="constrained")
    axes = figure.subplots()
    score = 100 * trials["validation"].to_numpy()
    low, high = _floor(score), score.max()
    random = np.random.default_rng(0)
    heights = []
    for name in names:
        searched = task.space[name]
        first, last = _ends(searched)
        y = (places(trials[name], searched) - first) / max(last - first, 1e-12)
        step = 1 / max(last - first, 1) if isinstance(searched, Choice | Integer) else 0
        heights.append(y + min(0.12 * step, 0.025) * random.uniform(-1, 1, len(y)))
    norm = Normalize(low, high)
    heights.append(np.clip(norm(np.maximum(score, low)), 0, 1))
    lines = np.column_stack(heights)
    best = int(np.flatnonzero(trials["number"] == found.best["number"])[0])
    x = np.arange(len(names) + 1)
    order = np.argsort(-score, kind="stable")
    top = order[: max(3, len(order) // 10)]
    for i in order[len(top) :]:
        axes.plot(x, lines[i], color=DROPPED, alpha=0.35, linewidth=0.7)
    for i in top:
        axes.plot(x, lines[i], color=OTHER, alpha=0.85, linewidth=1.3, zorder=3)
    axes.plot([], [], color=OTHER, label=f"the best {len(top)}")
    axes.plot([], [], color=DROPPED, label="the others")
    axes.plot(x, lines[best], color=SAME, linewidth=2.6, label="the best one", zorder=5)
    for k, name in enumerate(names):
        axes.axvline(k, color="black", linewidth=0.8, zorder=4)
        _side_labels(axes, k, task.space[name])
    axes.axvline(len(names), color="black", linewidth=0.8, zorder=4)
    for value in np.linspace(low, high, 5):
        at = float(norm(value))
        axes.text(len(names) + 0.06, at, f"{value:.1f}", va="center", fontsize=8, zorder=6)
    axes.set_xticks(x, [*names, "validation"], rotation=30, ha="right", fontsize=9)
    axes.set_yticks([])
    axes.set_xlim(-0.15, len(names) + 0.5)
    axes.set_ylim(-0.06, 1.06)
    axes.spines[:].set_visible(False)
    axes.set_title(_title(found, "every trial as a line"), fontsize=13, pad=30)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False)
    figure.supxlabel(f"last axis: {_score(found)}", fontsize=9)
    return figure


def _side_labels(axes: Axes, place: int, searched: Range) -> None:
    """Write the values of a setting beside its axis."""
    first, last = _ends(searched)
    box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
    for value, text in _marks(searched):
        at = (value - first) / max(last - first, 1e-12)
        axes.text(place + 0.05, at, text, va="center", fontsize=8, zorder=6, bbox=box)


def _ticks(axes: Axes, searched: Range) -> None:
    """Write the values of a setting below its axis."""
    marks = _marks(searched)
    texts = [text for _, text in marks]
    long = sum(map(len, texts)) > 24
    axes.set_xticks(
        [value for value, _ in marks],
        texts,
        fontsize=8,
        rotation=35 if long else 0,
        ha="right" if long else "center",
    )
    first, last = _ends(searched)
    room = 0.5 if isinstance(searched, Choice | Integer) else 0.05 * (last - first)
    axes.set_xlim(first - room, last + room)


def _marks(searched: Range) -> Sequence[tuple[float, str]]:
    if isinstance(searched, Choice):
        return [(k, value_words(option)) for k, option in enumerate(searched.options)]
    if isinstance(searched, Integer):
        step = max(1, math.ceil((searched.high - searched.low) / 8))
        return [(value, str(value)) for value in range(searched.low, searched.high + 1, step)]
    return [(value, f"{value:.3g}") for value in np.linspace(searched.low, searched.high, 5)]


def _ends(searched: Range) -> tuple[float, float]:
    return (0, len(searched.options) - 1) if isinstance(searched, Choice) else (searched.low, searched.high)


def _order(found: Findings, mattered: Importance | None) -> list[str]:
    return list(mattered.shares if mattered else found.tuning.task.space)


def _floor(score: np.ndarray) -> float:
    """Return the lowest score worth showing: a few hopeless trials must not squeeze all others together."""
    low, middle, high = np.quantile(score, [0.1, 0.5, 1.0])
    return float(max(score.min(), min(low, middle - 1.5 * (high - middle)), 0))


def _title(found: Findings, words: str) -> str:
    task = found.tuning.task
    return f"{task.dataset} · {MODELS[task.model].title}: {words}"


def _score(found: Findings) -> str:
    return f"validation {METRICS[found.metric]} in %"
