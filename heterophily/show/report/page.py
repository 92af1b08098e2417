"""The report: one HTML page that needs no other file and no network, made from a folder of results."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from itertools import groupby
from string import Template
from typing import Any

from rich.table import Table

from heterophily._version import __version__
from heterophily.bench.cells import Cell
from heterophily.bench.compare import Comparison
from heterophily.bench.scores import CompareError
from heterophily.bench.significance import significance as compare_cells
from heterophily.bench.table1 import Table1, by_split, table1
from heterophily.models import MODELS
from heterophily.show import significance
from heterophily.show import table1 as show
from heterophily.show.grids import html_table
from heterophily.show.report.charts import Chart, attribute, swatch
from heterophily.show.report.contents import Contents, read_contents
from heterophily.show.report.figures import agreement_chart, dataset_charts, ranks_chart
from heterophily.show.significance import name_of
from heterophily.show.study_tables import study_table
from heterophily.show.style import class_looks
from heterophily.show.tables import METRICS
from heterophily.studies import STUDIES, Result
from heterophily.studies.edges import PARTS, Edges

HERE = files("heterophily.show.report")
NAMES = {"tsne": "t-SNE"}
EDGES_ROOM = 2_000_000
"""Bytes for the edges of all datasets together: the page stays under 5 MiB."""


class Page:
    """A page in the making: sections, and the data that its script reads."""

    def __init__(self) -> None:
        self.sections: list[tuple[str, str, str, str]] = []
        self.csv: dict[str, str] = {}

    def section(self, anchor: str, name: str, heading: str, *parts: str) -> None:
        """Add a section; ``name`` is what the way to it is called."""
        self.sections.append((anchor, name, heading, "\n".join(part for part in parts if part)))

    def figures(self, charts: Iterable[Chart], group: str, *beside: str) -> str:
        """Return charts side by side, with other things after them, and keep their data."""
        drawn = "".join(self.figure(chart, group) for chart in charts)
        others = "".join(f'<div class="beside">{part}</div>' for part in beside if part)
        return f'<div class="figures">{drawn}{others}</div>'

    def figure(self, chart: Chart, group: str) -> str:
        """Return a chart with its words, and keep its data."""
        number = f"f{len(self.csv)}"
        self.csv[number] = chart.csv()
        key = "".join(f"<li>{swatch(look)}{escape(name)}</li>" for name, look in chart.keys)
        name = re.sub(r"[^a-z0-9]+", "-", f"{group} {chart.dataset} {chart.panel}".lower()).strip("-")
        return (
            f'<figure id="{number}"{attribute("dataset", chart.dataset)}{attribute("model", chart.model)}'
            f"{attribute('file', f'{name}.csv')}>"
            f"<figcaption>{escape(chart.title)}</figcaption>"
            + (f'<ul class="key">{key}</ul>' if key else "")
            + chart.svg()
            + (f'<p class="note">{_text(chart.note)}</p>' if chart.note else "")
            + "</figure>"
        )


def report(folder: str | os.PathLike[str] = "results") -> str:
    """Return the report on a folder of results as HTML."""
    return write_page(read_contents(folder))


def write_page(found: Contents) -> str:
    """Return the page that shows all this."""
    page = Page()
    table = table1(found.cells)
    comparison = _comparison(found.cells)
    _table_1(page, table)
    _against(page, comparison, table)
    _one_cell(page, found.cells)
    _edge_browser(page, [pair for pair in found.studies if isinstance(pair[0], Edges)])
    _studies(page, [pair for pair in found.studies if not isinstance(pair[0], Edges)])
    _lacking(page, {result.study for result, _ in found.studies})
    _tuning(page, found.tuned)
    _left_out(page, found.left_out)
    edges = [result for result, _ in found.studies if isinstance(result, Edges)]
    data = {"csv": page.csv, "cells": [_cell(cell) for cell in found.cells], "edges": _edges(edges)}
    datasets = [show.title(name) for name in table.datasets]
    datasets += [show.title(result.dataset) for result, _ in found.studies]
    datasets += [show.title(str(row["dataset"])) for row in found.tuned]
    models = [MODELS[name].title for name in table.models]
    models += [name_of(name) for result, _ in found.studies for name in getattr(result, "models", [])]
    models += [name_of(row["model"]) for row in found.tuned]
    script = (HERE / "page.js").read_text(encoding="utf-8")
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=script,
        # Only this script runs, whatever the results say.
        digest=base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode(),
        data=_island(data),
        datasets=_options(datasets),
        models=_options(models),
        nav="".join(f'<li><a href="#{anchor}">{escape(name)}</a></li>' for anchor, name, *_ in page.sections),
        body="\n".join(
            f'<section id="{anchor}" aria-labelledby="{anchor}-h"><h2 id="{anchor}-h">{escape(head)}</h2>'
            f"\n{content}</section>"
            for anchor, _, head, content in page.sections
        ),
        facts=escape(_facts(found, table)),
        version=escape(__version__),
    )


def _facts(found: Contents, table: Table1) -> str:
    said = [
        _count(len(found.cells), "cell of Table 1", "cells of Table 1")
        + (f" ({len(table.models)} models, {len(table.datasets)} datasets)" if found.cells else ""),
        _count(len(found.studies), "study", "studies"),
        _count(len(found.tuned), "tuned cell", "tuned cells"),
    ]
    return ", ".join(said)


def _table_1(page: Page, table: Table1) -> None:
    name = "Table 1"
    if not table.entries:
        words = "No cell of Table 1 is there."
        page.section("table1", name, name, _missing(words, "heterophily reproduce table1"))
        return
    grid = show.grid(table)
    ahead, rows = "", []
    for head, pieces in grid.rows:  # sorted, a row must say of itself which model's reading it is
        ahead = ahead if head.startswith("…") else head
        rows.append((f"{ahead} {head}" if head.startswith("…") else head, pieces))
    legend = "".join(f"<p>{escape(text)}</p>" for text in (f"{grid.legend} {grid.loud}", *grid.notes))
    agreement = agreement_chart(table)
    page.section(
        "table1", name, "Table 1: test scores, ours and the paper's",
        '<p class="lead">Means over splits ± standard deviation, in %. Below in small type: the paper\'s '
        "number, ours less the paper's in points, and the same in standard errors.</p>",
        _wide(html_table(replace(grid, rows=rows), "model"), name, "columns"),
        f'<details class="legend"><summary>How to read this table</summary>{legend}</details>',
        "<h3>Every dataset</h3>",
        page.figures([*dataset_charts(table), *([agreement] if agreement else [])], "table-1"),
    )  # fmt: skip


def _comparison(cells: Sequence[Cell]) -> Comparison | str:
    """Compare every model with HDP; where that cannot be done, say why."""
    try:
        return compare_cells(cells, models=[name for name, model in MODELS.items() if model.learns])
    except CompareError as error:
        return f"{_capital(str(error))}."


def _against(page: Page, found: Comparison | str, table: Table1) -> None:
    name, head = "Significance", "HDP against each model"
    if isinstance(found, str):
        if table.entries:
            page.section("against", name, head, _missing(found, "heterophily reproduce table1"))
        return
    grid = significance.grid(found, table)
    words = "".join(f"<p>{escape(text)}</p>" for text in (grid.legend, *significance.caveats(found)))
    chart = ranks_chart(found)
    said = f"<p>{escape(significance.ranks_words(found))}</p>"
    page.section(
        "against", name, head,
        '<p class="lead">HDP less each model, in points: ▲ HDP is better, ▼ it is worse, ≈ both are equal in '
        "practice; without a mark nothing may be concluded.</p>",
        _wide(html_table(grid, "model"), head, "columns"),
        f'<details class="legend"><summary>How this was tested</summary>{words}</details>',
        page.figures([chart] if chart else [], "ranks", said),
    )  # fmt: skip


def _one_cell(page: Page, cells: Sequence[Cell]) -> None:
    if cells:
        page.section(
            "cell", "One cell", "One cell: every split and setting",
            '<p class="lead">Choose a dataset and a model at the top, or click a number in Table 1.</p>',
            '<div id="cell-card" aria-live="polite"><noscript>This part needs JavaScript.</noscript></div>',
        )  # fmt: skip


def _edge_browser(page: Page, found: Sequence[tuple[Result, list[Chart]]]) -> None:
    name, head = "Edge browser", "Edge browser: what HDP says of a node's neighbors"
    if not found:
        words = "No verdicts on edges are there to look through."
        page.section("edges", name, head, _missing(words, _command("edges")))
        return
    titles = [show.title(result.dataset) for result, _ in found]
    options = "".join(f'<option value="{k}">{escape(text)}</option>' for k, text in enumerate(titles))
    browser = Template((HERE / "edges.html").read_text(encoding="utf-8")).substitute(options=options)
    page.section("edges", name, head, browser, *(_study(page, *pair) for pair in found))


def _studies(page: Page, found: Sequence[tuple[Result, list[Chart]]]) -> None:
    for name, group in groupby(found, key=lambda pair: pair[0].study):
        study = STUDIES[name]
        place = f"{study.paper}: " if study.paper else ""
        heading = f"{place}{study.title}" if place else _capital(study.title)
        page.section(
            f"study-{name}",
            NAMES.get(name, _capital(name)),
            heading,
            *(_study(page, *pair) for pair in group),
        )


def _study(page: Page, result: Result, charts: Sequence[Chart]) -> str:
    title, dataset, table = STUDIES[result.study].title, show.title(result.dataset), study_table(result)
    words = f"<p>{_text(str(table.caption))}</p>" if table.caption else ""
    about = f"<details><summary>What was trained</summary>{_about(result.about)}</details>"
    numbers = _wide(rich_table(table), f"{title}, {dataset}") + words + about
    return (
        f'<div class="study"{attribute("dataset", dataset)}><h3>{escape(dataset)}</h3>'
        f"{page.figures(charts, result.study, numbers)}</div>"
    )


def _lacking(page: Page, there: Container[str]) -> None:
    lacking = [name for name in STUDIES if name not in there and name != "edges"]
    items = "".join(
        f"<li>{escape(STUDIES[name].title)}: <code>{escape(_command(name))}</code></li>" for name in lacking
    )
    if items:
        page.section(
            "more", "Not there yet", "Studies that are not there yet", f'<ul class="missing">{items}</ul>'
        )


def _tuning(page: Page, tuned: Sequence[Mapping[str, Any]]) -> None:
    name, head = "Tuning", "Settings that were searched"
    if not tuned:
        command = "python -m benchmarks.tune_cells MODEL --datasets DATASET --out results/tuning/MODEL.json"
        page.section("tuning", name, head, _missing("No traces of tuning are there.", command))
        return
    heads = ["model", "dataset", "validation", "before the search", "trials", "splits", "seconds", "settings"]
    page.section(
        "tuning", name, head,
        '<p class="lead">The best mean validation score in % of each search. No test label was read.</p>',
        _wide(plain_table(heads, map(_tuned, tuned), tags=True), head),
    )  # fmt: skip


def _tuned(row: Mapping[str, Any]) -> list[str]:
    """Return the texts of a tuned cell; a search in stages has its numbers with each."""
    stages = [stage for stage in dict(row.get("search") or {}).values() if isinstance(stage, dict)]
    trials = row.get("trials") or sum(stage.get("proposals", 0) for stage in stages)
    seconds = row.get("seconds") or sum(stage.get("seconds", 0) for stage in stages)
    changes = dict(row.get("config") or {})
    settings = ", ".join(f"{key} = {_value(v)}" for key, v in changes.items()) or "the defaults"
    return [
        name_of(row["model"]), show.title(str(row["dataset"])), _percent(row["validation"]),
        _percent(row.get("validation_at_start")), str(trials or "–"), str(row.get("splits", "–")),
        f"{float(seconds):.0f}" if seconds else "–", settings,
    ]  # fmt: skip


def _left_out(page: Page, sentences: Sequence[str]) -> None:
    if sentences:
        items = "".join(f"<li>{escape(text)}</li>" for text in sentences)
        page.section("left-out", "Left out", "Files that were left out", f"<ul>{items}</ul>")


def rich_table(table: Table) -> str:
    """Return a table made for the terminal as one for a page; a blank name is that of the row above."""
    heads = [" ".join(str(column.header).split()) for column in table.columns]
    rows: list[list[str]] = []
    for cells in zip(*(column.cells for column in table.columns)):
        row = [str(cell) for cell in cells]
        if rows and not row[0]:
            row[0] = rows[-1][0]
        rows.append(row)
    return plain_table(heads, rows)


def plain_table(heads: Sequence[str], rows: Iterable[Sequence[str]], tags: bool = False) -> str:
    """Return a table of texts; with ``tags`` its rows tell the picker their model and dataset."""
    rows = list(rows)
    kinds = [_kind([row[k] for row in rows]) for k in range(len(heads))]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(heads, kinds))
    body = []
    for first, *others in rows:
        cells = "".join(f"<td{kind}>{escape(text)}</td>" for text, kind in zip(others, kinds[1:]))
        tag = attribute("model", first) + attribute("dataset", others[0]) if tags else ""
        body.append(f'<tr{tag}><th scope="row">{escape(first)}</th>{cells}</tr>\n')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(body)}</tbody></table>"


def _kind(texts: Sequence[str]) -> str:
    """Return how a column is set: numbers flush right, words flush left, long ones small."""
    if max(map(len, texts), default=0) > 40:
        return ' class="long"'
    return "" if all(re.match(r"[-+−<≥]?\d|–$|same$|$", text) for text in texts) else ' class="word"'


def _wide(table: str, name: str, kind: str = "rows") -> str:
    return f'<div class="wide {kind}" role="region" aria-label="{escape(name)}" tabindex="0">{table}</div>'


def _about(about: Mapping[str, Any]) -> str:
    words = {str(name).replace("_", " "): _value(value) for name, value in about.items()}
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in words.items())
    return f"<dl>{rows}</dl>"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(cell: Cell) -> dict[str, Any]:
    """Return what the script shows of a cell."""
    (entry,) = table1([cell]).entries
    validation = by_split(cell, lambda row: row["validation"]) or {}
    return {
        "model": MODELS[cell["model"]].title, "dataset": show.title(cell["dataset"]),
        "metric": METRICS[cell["metric"]], "mean": entry.mean, "std": entry.std, "paper": entry.paper,
        "errors": entry.standard_errors, "chosen": f"Settings ({entry.chosen}): {entry.note}",
        "splits": [[str(k), v, validation[k]] for k, v in entry.scores.items()],
        "facts": {"seeds": cell["seeds"], "device": cell["device"], "seconds": round(cell["seconds"], 1),
                  "versions": _value(cell["versions"]),
                  "test labels opened": _moment(str(cell["test_opened"].get("at", "")))},
        "config": {name: _value(value) for name, value in cell["config"].items()},
    }  # fmt: skip


def _edges(found: Sequence[Edges]) -> list[dict[str, Any]]:
    """Return what the edge browser shows, of each dataset no more than there is room for."""
    return [thinned(result, EDGES_ROOM // len(found)) for result in found]


def thinned(result: Edges, room: int) -> dict[str, Any]:
    """Return the nodes of a result with their neighbors: as many as ``room`` bytes hold."""
    count = len(result.centers)
    while True:
        used = sorted(set(result.centers[:count]).union(*result.neighbors[:count]))
        place = {k: i for i, k in enumerate(used)}
        kept = {
            "dataset": show.title(result.dataset), "classes": result.classes, "parts": PARTS,
            "colors": [color for color, _ in class_looks(len(result.classes))],
            "total": result.total, "threshold": result.threshold,
            "split": ", ".join(map(str, result.about.get("splits", []))),
            "ids": [result.ids[k] for k in used], "labels": [result.labels[k] for k in used],
            "part": [result.parts[k] for k in used], "predicted": [result.predicted[k] for k in used],
            "called": [result.called[k] for k in used],
            "centers": [place[k] for k in result.centers[:count]],
            "neighbors": [[place[k] for k in row] for row in result.neighbors[:count]],
            "probability": result.probability[:count], "homophilous": result.homophilous[:count],
        }  # fmt: skip
        size = len(json.dumps(kept, separators=(",", ":")))
        if size <= room or count <= 1:
            return kept
        count = max(1, int(0.95 * count * room / size))


def _island(data: Mapping[str, Any]) -> str:
    """Return JSON that can stand within a page: no text in it can end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _missing(words: str, command: str) -> str:
    return f'<p class="missing">{escape(words)} This makes it: <code>{escape(command)}</code></p>'


def _command(study: str) -> str:
    datasets = [name for name in STUDIES[study].datasets if name != "synthetic"]
    return " ".join(["heterophily study", study, *datasets])


def _text(text: str) -> str:
    """Return a text for a page; a number stays on a line with its % and its spread."""
    return escape(re.sub(" (?=[%±])|(?<=±) ", "\u00a0", text))


def _moment(text: str) -> str:
    """Return a time of day as one reads it."""
    return text.replace("T", " ").replace("+00:00", " UTC")


def _options(texts: Iterable[str]) -> str:
    return "".join(f"<option>{escape(text)}</option>" for text in dict.fromkeys(texts))


def _percent(value: Any) -> str:
    return f"{100 * value:.2f}" if isinstance(value, int | float) else "–"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
