"""Tables and sentences for the terminal; percentages here, fractions everywhere else."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from statistics import mean, stdev
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from heterophily.bench.demo import Demo
from heterophily.bench.protocol import Evaluation
from heterophily.graph.datasets import Facts
from heterophily.models import MODELS

METRICS = {"accuracy": "accuracy", "roc_auc": "ROC AUC"}
"""What a score is called."""


def percent(fraction: float) -> str:
    """Return a fraction as a percentage with one decimal; a dash where there is none."""
    return f"{100 * fraction:.1f}" if math.isfinite(fraction) else "–"


def evaluation_table(evaluation: Evaluation) -> Table:
    """Return one row per split; with the initial assignment where the model has one.

    Of several seeds it shows the means, how far they lie apart on the test nodes, and the seconds of all.
    """
    several = evaluation.seeds > 1
    title = f"{evaluation.dataset} · {MODELS[evaluation.model].title} · {METRICS[evaluation.metric]} in %"
    title += f", means of {evaluation.seeds} seeds" if several else ""
    initial = any(score.initial for score in evaluation.splits)
    columns = ["split", *(["initial\nvalidation", "initial\ntest"] if initial else []), "validation", "test"]
    table = new_table(title, [*columns, *(["± over\nseeds"] if several else []), "epochs", "seconds"])
    for split, runs in evaluation.by_split.items():
        first = [run.initial for run in runs if run.initial]
        scores = [mean(r.validation for r in first), mean(r.test for r in first)] if first else []
        tests = [run.test for run in runs]
        spread = stdev(tests) if len(tests) > 1 else math.nan
        scores += [mean(run.validation for run in runs), mean(tests), *([spread] if several else [])]
        epochs, seconds = mean(run.epochs for run in runs), sum(run.seconds for run in runs)
        table.add_row(str(split), *map(percent, scores), f"{epochs:,.0f}", f"{seconds:.1f}")
    return table


def summary(evaluation: Evaluation) -> str:
    """Return the line to remember: the mean over splits and how far they lie apart."""
    name = f"{evaluation.dataset} · {MODELS[evaluation.model].title} · {METRICS[evaluation.metric]}"
    splits, seeds = list(evaluation.by_split), evaluation.seeds
    if evaluation.std is None:
        return f"{name} {percent(evaluation.mean)} (split {splits[0]} alone)"
    spread = "mean ± std over "
    if evaluation.std_over == "seeds":
        spread += f"{seeds} seeds, split {splits[0]} alone"
    else:
        spread += f"{len(splits)} splits"
        if evaluation.std_seeds is not None:
            apart = percent(evaluation.std_seeds)
            spread += f", each the mean of {seeds} seeds; ± {apart} over the seeds of a split"
    if evaluation.averaged is not None:
        spread += f"; the seeds' mean assignment {percent(evaluation.averaged)}"
    return f"{name} {percent(evaluation.mean)} ± {percent(evaluation.std)} ({spread})"


def datasets_table(rows: Iterable[Facts]) -> Group:
    """Return the facts of all datasets, one row each; it fits 80 columns."""
    columns = ("name", "nodes", "edges", "features", "classes", "homophily", "metric")
    table = new_table("", columns, words=("name", "metric"))
    table.box, table.padding, table.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    for facts in rows:
        numbers = (facts.nodes, facts.edges, facts.features, facts.classes)
        share = "–" if facts.homophily is None else f"{facts.homophily:.2f}"
        cells = ["–" if number is None else f"{number:,}" for number in numbers]
        table.add_row(facts.name, *cells, share, METRICS[facts.metric])
    words = (
        "Edges are undirected, without loops and duplicates; homophily is the share of them that join nodes "
        "of one class. More on one: heterophily datasets NAME. Besides, synthetic is drawn to order."
    )
    return Group(table, Text(words))


def facts_json(facts: Facts) -> dict[str, Any]:
    """Return what a user may want to know of a dataset, fit for JSON."""
    names = (
        "name",
        "title",
        "nodes",
        "edges",
        "features",
        "classes",
        "homophily",
        "splits",
        "metric",
        "note",
    )
    return {name: getattr(facts, name) for name in names} | facts.source._asdict()


def dataset_card(facts: Facts) -> Table:
    """Return everything known of one dataset."""
    table = Table(title=facts.title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    share = None if facts.homophily is None else f"{facts.homophily:.3f} (edges that join one class)"
    edges = None if facts.edges is None else f"{facts.edges:,} undirected, without loops and duplicates"
    lines = {
        "name": facts.name,
        "nodes": f"{facts.nodes:,}",
        "edges": edges or "not checked",
        "features": f"{facts.features:,}",
        "classes": str(facts.classes),
        "homophily": share or "not checked",
        "splits": str(facts.splits),
        "metric": METRICS[facts.metric],
        "paper": f"{facts.source.paper} {facts.source.year}",
        "files": facts.source.url,
        "note": facts.note,
    }
    for name, value in lines.items():
        if value:
            table.add_row(name, Text(value))
    return table


def synthetic_card(options: Mapping[str, Any]) -> Group:
    """Return the options of the synthetic graph with their defaults."""
    table = new_table("", ["option", "default"], words=["option"])
    for name, default in options.items():
        table.add_row(name, "–" if default is None else str(default))
    words = (
        "Drawn, not loaded: a stochastic block model of any homophily and connection preference. "
        'In Python load("synthetic", homophily=0.1), on the command line --graph homophily=0.1.'
    )
    return Group(Text(words), table)


def demo_title(demo: Demo) -> str:
    """Return the title of the demo's picture."""
    share = percent(demo.quality.homophily)
    return f"HDP splits neighborhoods: a graph where only {share} % of the edges join one class"


def demo_table(demo: Demo) -> Table:
    """Return what the three models of the demo reached."""
    score = demo.hdp.splits[0]
    assert score.initial is not None
    rows = {
        "MLP, features only": demo.mlp.splits[0],
        "HDP's initial assignment": score.initial,
        "HDP": score,
    }
    table = new_table("accuracy in %", ["model", "validation", "test", "epochs"], words=["model"])
    for name, row in rows.items():
        table.add_row(name, percent(row.validation), percent(row.test), str(row.epochs))
    return table


def demo_words(demo: Demo) -> str:
    """Say in three plain sentences what the demo has shown."""
    quality, score = demo.quality, demo.hdp.splits[0]
    points = 100 * (score.test - demo.mlp.splits[0].test)
    return (
        f"In this graph only {percent(quality.homophily)} % of the edges join nodes of one class. From the "
        "training labels HDP estimated the share of such homophilous edges, self-loops included, at "
        f"{percent(score.details['estimated_homophily'])} % (in truth {percent(quality.with_loops)} %), and "
        "called as many edges homophilous; where training did not know both ends, "
        f"{percent(quality.precision)} % of the edges so called are homophilous, and it found "
        f"{percent(quality.recall)} % of those there are. Propagating the two kinds of neighbors apart, it "
        f"scores {abs(points):.0f} points {'more' if points >= 0 else 'less'} on the test nodes than an MLP, "
        "which never sees an edge."
    )


def new_table(title: str, columns: Iterable[str], words: Container[str] = ()) -> Table:
    """Return an empty table; columns of numbers are flush right, those named in ``words`` flush left."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in words else "right", vertical="bottom")
    return table
