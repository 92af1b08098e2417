"""A study in words: its forecast before, its findings after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heterophily.bench.findings import ENOUGH, Findings
from heterophily.bench.forecast import Forecast
from heterophily.bench.tuning import FIELD, RUNGS, SCREEN
from heterophily.models import MODELS
from heterophily.show.cards import value_words
from heterophily.show.tables import METRICS, percent


def forecast_words(expected: Forecast, seconds: float | None = None) -> str:
    """Say in a line what a study will take, ``seconds`` being the most that it may."""
    pace = f"{expected.runs:,} runs of some {expected.epochs:,.0f} epochs"
    time = f"about {duration(expected.seconds)}"
    if seconds is not None and expected.seconds > seconds:
        time += f", of which {duration(seconds)} are allowed"
    where = "GPU memory" if expected.device == "cuda" else "memory"
    room = f", about {size(expected.memory)} of {where}" if expected.memory else ""
    return f"forecast: {pace}, {time}{room}; fewer where trials are dropped early"


def duration(seconds: float) -> str:
    """Return a time roughly, in one or two units: 8 s, 12 min, 1 h 30 min, 2 d 4 h."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 36:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def size(count: int) -> str:
    """Return bytes roughly, as 0.4 GB."""
    return f"{count / 1e9:.1f} GB" if count >= 5e7 else "0.1 GB"


def findings_markdown(
    found: Findings, recipe: str, options: Mapping[str, Any] | None = None, left_out: Sequence[str] = ()
) -> str:
    """Return what a study found, in a few paragraphs and the command that goes on from there."""
    task = found.tuning.task
    head = (
        f"# {task.dataset} · {MODELS[task.model].title}: {len(found.tuning.trials)} trials of {task.sampler}"
    )
    parts = [head, best_words(found), settings_block(found)]
    if found.initial:
        first = found.initial
        parts += [
            f"Before, the initial assignment was tuned by itself (study {first.study}): its best validation "
            f"{METRICS[first.metric]} is {percent(first.tuning.validation)} %. {mattered_words(first)} "
            f"{dropped_words(first)}",
            *edges_words(first),
        ]
    parts += [mattered_words(found), dropped_words(found), *edges_words(found), *left_out]
    graph = "".join(f" --graph {name}={value}" for name, value in (options or {}).items())
    parts += [
        "The test labels were not opened. To train with this setting on all splits and open them once:",
        f"    heterophily evaluate {task.dataset} --recipe {recipe}{graph}",
    ]
    return "\n\n".join(parts) + "\n"


def best_words(found: Findings) -> str:
    """Say how good the best setting is, and how far ahead."""
    best, task = found.tuning.validation, found.tuning.task
    splits = f"mean of {len(task.splits)} splits" if len(task.splits) > 1 else f"split {task.splits[0]} alone"
    words = f"Best validation {METRICS[found.metric]}: {percent(best)} % ({splits})."
    if found.second is not None:
        words += f" {_ahead(best - found.second, 'the second best')}"
    if found.defaults is not None:
        words += f" {_ahead(best - found.defaults, 'the defaults')}"
        if best < found.defaults:
            words += " The search was too short: the same command with more --trials goes on."
    return words


def _ahead(difference: float, other: str) -> str:
    points = round(100 * difference, 1)
    if points == 0:
        return f"It ties with {other}."
    return f"It is {abs(points):.1f} points {'ahead of' if points > 0 else 'behind'} {other}."


def settings_block(found: Findings) -> str:
    """Return the settings that were searched, one per line."""
    searched = [*(found.initial.tuning.task.space if found.initial else ()), *found.tuning.task.space]
    settings = found.tuning.config.to_dict()
    return "\n".join(f"    {name} = {value_words(settings[name])}" for name in searched)


def mattered_words(found: Findings) -> str:
    """Say what mattered most, and how sure that is."""
    mattered = found.importance
    if mattered is None:
        return f"What mattered most cannot be said from {len(found.tuning.trials)} trials; it takes {ENOUGH}."
    if mattered.explained <= 0:
        return "What mattered most cannot be said: a random forest foretells no trial that it has not seen."
    most = [
        f"{name} ({100 * share:.0f} %)" for name, share in list(mattered.shares.items())[:3] if share >= 0.01
    ]
    return (
        f"What mattered most: {', '.join(most)}. So says a random forest, by how much worse it foretells "
        "the ranks of the trials when a setting is shuffled; of trials that it has not seen it explains "
        f"{100 * mattered.explained:.0f} %."
    )


def dropped_words(found: Findings) -> str:
    """Say how many trials were dropped and what that spared."""
    if not found.dropped:
        return f"None of the {len(found.tuning.trials)} trials was dropped early."
    count, spared = len(found.tuning.trials), f"that spared {100 * found.tuning.spared:.0f} % of the runs"
    were = "was" if found.dropped == 1 else "were"
    if found.tuning.task.race:
        rungs = " or ".join(str(epochs) for epochs in RUNGS)
        return (
            f"{found.dropped} of the {count} trials {were} dropped, most of them after {rungs} epochs on one "
            f"split, where they were not among the best {100 // FIELD} %; {spared}."
        )
    return (
        f"{found.dropped} of the {count} trials {were} dropped after the first {SCREEN} splits, clearly "
        f"worse than the best before them; {spared}."
    )


def edges_words(found: Findings) -> list[str]:
    """Say which chosen values lie at an end of their range, and how to look beyond."""
    if not found.edges:
        return []
    values = ", ".join(f"{edge.name} = {value_words(edge.value)}" for edge in found.edges)
    options = " ".join(f"--space {edge.name}={edge.wider}" for edge in found.edges)
    base = found.study.removesuffix("-initial")
    return [
        f"At an end of what was tried: {values}. Better ones may lie beyond; to look there, add\n\n"
        f"    --study {base}-wider {options}"
    ]
