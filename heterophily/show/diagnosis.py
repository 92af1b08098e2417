"""A diagnosis in words, tables and a heat map."""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from heterophily.bench.diagnosis import CLOSE, MODELS, Diagnosis
from heterophily.models import MODELS as REGISTRY
from heterophily.show.cards import value_words
from heterophily.show.plots import compatibility_figure
from heterophily.show.tables import METRICS, percent

MEANINGS = {
    "edge": ("edge homophily", "edges that join one class"),
    "node": ("node homophily", "a node's neighbors of its class"),
    "class_insensitive": ("class-insensitive", "the same beyond class sizes"),
    "adjusted": ("adjusted homophily", "0 where edges ignore classes"),
    "label_informativeness": ("label informativeness", "what a neighbor's class tells"),
}
PROBES = {
    "mlp": "own features",
    "gcn": "features averaged twice over the neighborhood",
    "hdp": "own features, and neighbors' features and classes",
}
WIDEST = 12
"""Classes of which a heat map fits a terminal."""
RULE = (
    "The rule: advised is the model whose probe scores best, the simpler one if two score the same. A probe "
    "is a logistic regression, asked about training nodes it was not fitted on."
)


def diagnosis_words(
    found: Diagnosis, graph_options: Mapping[str, str] | None = None, files: str = ""
) -> Group:
    """Return the whole diagnosis for the terminal; options and files are those of the command."""
    head = (
        f"{found.name}, split {found.split}: seen with the labels of its {found.train:,} training nodes only "
        f"(of {found.nodes:,} nodes). No other label was read."
    )
    wide = len(found.classes) > WIDEST
    heat = Text(f"({len(found.classes)} classes are too many for here; --plot draws them)") if wide else None
    return Group(
        Text(head, "bold"),
        measures_table(found),
        Text("Class of a node, down, and of its neighbors, across, in %"),
        heat or heat_map(found),
        Text(f"\n{neighbor_words(found)}"),
        probes_table(found),
        Text(advice_words(found), "bold"),
        Text(f"{settings_words(found, graph_options or {}, files)}\n"),
        Text(RULE, "dim"),
    )


def measures_table(found: Diagnosis) -> Table:
    """Return the measures with their intervals and meanings."""
    measures = found.measures
    level = f"{measures.level:.0%} interval"
    table = _table("measure", "value", level, "meaning")
    for key, (name, meaning) in MEANINGS.items():
        low, high = measures.intervals.get(key, (math.nan, math.nan))
        ends = f"{_value(low)} to {_value(high)}" if math.isfinite(low) else "–"
        table.add_row(name, _value(getattr(measures, key)), ends, meaning)
    within, between = measures.informativeness_parts
    table.add_row("· within classes", _value(within), "", "by edges within a class")
    table.add_row("· between classes", _value(between), "", "by edges between classes")
    return table


def heat_map(found: Diagnosis) -> Table:
    """Return the compatibility matrix in shades, for the terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 0))
    table.add_column("", no_wrap=True, justify="right")
    for name in found.classes:
        table.add_column(Text(f" {name[:6]}", "bold"), justify="right", min_width=5)
    for name, row in zip(found.classes, found.measures.compatibility):
        table.add_row(Text(f"{name[:16]} ", "bold"), *map(_shade, row))
    return table


def diagnosis_figure(found: Diagnosis) -> Figure:
    """Draw the compatibility matrix."""
    measures = found.measures
    title = (
        f"{found.name}: who neighbors whom, by the {found.train:,} training labels of split {found.split}\n"
    )
    title += f"edge homophily {_value(measures.edge)}, adjusted {_value(measures.adjusted)}"
    return compatibility_figure(measures.compatibility, found.classes, title)


def neighbor_words(found: Diagnosis) -> str:
    """Say whether the neighbors' mix of classes separates the classes."""
    if found.gain < 2 * CLOSE:
        verdict = "The mix of classes among neighbors does not separate the classes by itself"
    elif found.gain < 10 * CLOSE:
        verdict = "The mix of classes among neighbors separates the classes a little"
    else:
        verdict = "The mix of classes among neighbors separates the classes"
    metric = METRICS[found.metric]
    return (
        f"{verdict}: a probe that reads nothing else, and of training neighbors only, has an {metric} of "
        f"{percent(found.mix)} %, always the most frequent class {percent(found.majority)} %. "
        f"{percent(found.known)} % of the training nodes have a training neighbor."
    )


def probes_table(found: Diagnosis) -> Table:
    """Return the scores of the probes."""
    table = _table("stands for", f"{METRICS[found.metric]} in %", "what the probe reads")
    for model in MODELS:
        style = "bold" if model == found.advice else ""
        table.add_row(REGISTRY[model].title, percent(found.probes[model]), PROBES[model], style=style)
    return table


def advice_words(found: Diagnosis) -> str:
    """Say which model to start with."""
    said = f"Advice: start with {REGISTRY[found.advice].title}."
    if found.close:
        close = " and ".join(REGISTRY[name].title for name in found.close)
        said += f" {close} may do as well: less than a point lies between the probes."
    return said


def settings_words(found: Diagnosis, graph_options: Mapping[str, str], files: str = "") -> str:
    """Say how to train what is advised, and how to go on."""
    name = found.name + "".join(f" --graph {key}={text}" for key, text in graph_options.items())
    options = "".join(f" --set {key}={value_words(value)}" for key, value in found.settings.items())
    if files:
        return f"heterophily fit {files} --model {found.advice}{options} --out MODEL"
    return (
        f"heterophily train {name} --model {found.advice}{options} --split all\n"
        f"heterophily tune {name} --model {found.advice}"
    )


def _value(number: float) -> str:
    return f"{number:.3f}" if math.isfinite(number) else "–"


def _shade(share: float) -> Text:
    """Return a cell: the more, the darker."""
    if not math.isfinite(share):
        return Text("    –", "dim")
    light = [round(247 + (low - 247) * share) for low in (8, 48, 107)]
    ink = "white" if share > 0.5 else "black"
    return Text(f" {100 * share:3.0f} ", f"{ink} on rgb({light[0]},{light[1]},{light[2]})")


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        words = name in ("measure", "meaning", "stands for", "what the probe reads")
        table.add_column(name, justify="left" if words else "right")
    return table
