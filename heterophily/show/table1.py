"""Table 1 for people: in the terminal, in Markdown, LaTeX and HTML. Percentages, as the paper has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from heterophily.bench.reproduce import Step
from heterophily.bench.results import to_text
from heterophily.bench.table1 import READINGS, Entry, Table1, table1
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.show.progress import clock
from heterophily.show.tables import METRICS

FORMATS = ("terminal", "markdown", "latex", "html", "json")
CHOSEN = {"defaults": "ᵈ", "published": "ᵖ", "recipe": ""}
"""A mark where the setting was not searched here."""


def title(dataset: str) -> str:
    """Return what a dataset is called at the head of a column."""
    return DATASETS[dataset].title if dataset in DATASETS else dataset


def ours(entry: Entry) -> str:
    """Return our mean and standard deviation, as 86.49 ± 4.32."""
    return f"{100 * entry.mean:.2f}" + ("" if entry.std is None else f" ± {100 * entry.std:.2f}")


def paper(entry: Entry) -> str:
    """Return the paper's number and how far ours is from it, as 88.38 -1.89 -1.4; nothing without one."""
    if entry.paper is None or entry.difference is None:
        return ""
    errors = "" if entry.standard_errors is None else f" {signed(entry.standard_errors, 1)}"
    return f"{100 * entry.paper:.2f} {signed(100 * entry.difference, 2)}{errors}"


def signed(number: float, digits: int) -> str:
    """Return a number with its sign, a true minus, and none for what is rounded to zero."""
    text = f"{number:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def legend(table: Table1) -> str:
    """Say how the table is to be read."""
    counts = sorted({len(entry.scores) for entry in table.entries})
    seeds = sorted({entry.seeds for entry in table.entries})
    splits = " or ".join(map(str, counts))
    words = f"Mean ± standard deviation (ddof 1) of the test score in % over {splits} splits"
    if seeds != [1]:
        words += f", each the mean of {' or '.join(map(str, seeds))} seeds"
    other = {
        title(e.dataset): METRICS[e.metric] for e in table.entries if METRICS[e.metric] != METRICS["accuracy"]
    }
    words += ": accuracy" + "".join(f", {metric} on {name}" for name, metric in other.items()) + "."
    words += (
        " Each split is scored at the epoch that is best on validation. Below it the paper's number, where "
        "there is one, and ours less the paper's: in points, and in standard errors of our mean (std / "
        "√splits)."
        " In every column the best is bold and the second best underlined."
    )
    marks = {
        "ᵈ": "the model's default settings, not searched on this dataset",
        "ᵖ": "settings that others published",
    }
    used = {CHOSEN[e.chosen] for e in table.entries if MODELS[e.model].learns}
    words += "".join(f" {mark}: {said}." for mark, said in marks.items() if mark in used)
    if any("initial" in entry.others for entry in table.entries):
        said = "; ".join(f"… {name}: {meaning}" for name, (meaning, _) in READINGS.items())
        words += f" Other readings of the paper, from the same runs, {said}."
    return words


def mark(entry: Entry) -> str:
    """Return the mark of a setting that was not searched here; a rule has none to search."""
    return CHOSEN[entry.chosen] if MODELS[entry.model].learns else ""


def step_line(step: Step) -> str:
    """Say in a line what became of a cell; nothing of one that was there before."""
    if step.state == "kept":
        return ""
    head = f"{step.number}/{step.total} · {step.dataset} · {MODELS[step.model].title}"
    if step.cell is None:
        return f"{head} · failed: {step.error}"
    (entry,) = table1([step.cell]).entries
    beside = "" if entry.paper is None else f" (paper {100 * entry.paper:.2f})"
    return f"{head} · {ours(entry)}{beside} · {clock(step.seconds)}"


def _rows(table: Table1, datasets: Sequence[str]) -> Iterator[tuple[str, list[Entry | None]]]:
    """Yield the rows with their names; a model with an initial assignment has one for each other reading."""
    for model in table.models:
        entries = [table.find(model, dataset) for dataset in datasets]
        yield MODELS[model].title, entries
        if any(entry and "initial" in entry.others for entry in entries):
            for reading in READINGS:
                yield f"… {reading}", [entry and entry.read(reading) for entry in entries]


def terminal(table: Table1, width: int) -> Group:
    """Return the table for a terminal, in as many parts as its width asks for."""
    parts: list[RenderableType] = []
    first = max(len(MODELS[model].title) for model in table.models)
    fit = max((width - first - 2) // 20, 1)
    for start in range(0, len(table.datasets), fit):
        some = table.datasets[start : start + fit]
        shown = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
        shown.add_column("")
        for dataset in some:
            shown.add_column(title(dataset), justify="right", min_width=16)
        for name, entries in _rows(table, some):
            shown.add_row(name, *(_terminal_cell(entry) for entry in entries))
        parts.append(shown)
    return Group(*parts, Text(legend(table)))


def _terminal_cell(entry: Entry | None) -> Text:
    if entry is None:
        return Text("")
    style = {1: "bold", 2: "underline"}.get(entry.place or 0, "")
    below = f"\n{paper(entry)}" if entry.paper is not None else ""
    return Text.assemble((ours(entry), style), mark(entry) or " ", (below, "dim"), " " if below else "")


def markdown(table: Table1) -> str:
    """Return the table in Markdown, as GitHub shows it."""
    lines = [f"| | {' | '.join(map(title, table.datasets))} |", f"|---|{'--:|' * len(table.datasets)}"]
    for name, entries in _rows(table, table.datasets):
        shown = [_markup(entry, "**{}**", "<ins>{}</ins>", "<br><sub>{}</sub>") for entry in entries]
        lines.append(f"| {name.replace('*', chr(92) + '*')} | {' | '.join(shown)} |")
    return "\n".join(lines) + f"\n\n{legend(table)}\n"


def _markup(entry: Entry | None, best: str, second: str, below: str) -> str:
    if entry is None:
        return ""
    number, _, spread = ours(entry).partition(" ")
    number = {1: best, 2: second}.get(entry.place or 0, "{}").format(number)
    spread = f" {spread}" if spread else ""
    return number + spread + mark(entry) + (below.format(paper(entry)) if entry.paper is not None else "")


def latex(table: Table1) -> str:
    """Return the table in LaTeX; it needs the package booktabs."""
    names = [_tex(title(dataset)) for dataset in table.datasets]
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * len(names)}}}",
        "\\toprule",
        f" & {' & '.join(names)} \\\\",
        "\\midrule",
    ]
    for name, entries in _rows(table, table.datasets):
        shown = [_tex(_markup(entry, "\\textbf{{{}}}", "\\underline{{{}}}", "")) for entry in entries]
        lines.append(f"{_tex(name)} & {' & '.join(shown)} \\\\")
        below = [_tex(paper(entry)) if entry else "" for entry in entries]
        if any(below):
            small = [f"{{\\scriptsize {text}}}" if text else "" for text in below]
            lines.append(f" & {' & '.join(small)} \\\\")
    lines += ["\\bottomrule", "\\end{tabular}", f"% {legend(table)}"]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    for character, command in {
        "±": "$\\pm$", "−": "$-$", "ᵈ": "$^{d}$", "ᵖ": "$^{p}$", "*": "$^{*}$", "_": "\\_", "%": "\\%",
    }.items():  # fmt: skip
        text = text.replace(character, command)
    return text


STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; white-space: nowrap; vertical-align: top; }
thead th { border-top: 2px solid; border-bottom: 1px solid; vertical-align: bottom; }
tbody tr:last-child > * { border-bottom: 2px solid; }
tbody tr:nth-child(even) > * { background: #f5f6f8; }
th:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
small { display: block; color: #5f6368; }
.far { color: #b3261e; }
p { max-width: 60rem; }
"""


def html(table: Table1, heading: str = "Table 1, reproduced") -> str:
    """Return the table as a page of its own; a cell tells how its setting was chosen when pointed at."""
    head = "".join(f"<th>{escape(title(dataset))}</th>" for dataset in table.datasets)
    body = []
    for name, entries in _rows(table, table.datasets):
        cells = "".join(map(_html_cell, entries))
        body.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>\n'
        f"<style>{STYLE}</style></head>\n<body><h1>{heading}</h1>\n"
        f'<div class="wide"><table>\n<thead><tr><th></th>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(body)
        + f"\n</tbody></table></div>\n<p>{escape(legend(table))} A difference of more than one standard "
        "error is red. Point at a number to see how its setting was chosen.</p>\n</body></html>\n"
    )


def _html_cell(entry: Entry | None) -> str:
    if entry is None:
        return "<td></td>"
    far = entry.standard_errors is not None and abs(entry.standard_errors) > 1
    below = "<small{}>{{}}</small>".format(' class="far"' if far else "")
    said = escape(f"{entry.chosen}: {entry.note}", quote=True)
    return f'<td title="{said}">{_markup(entry, "<b>{}</b>", "<u>{}</u>", below)}</td>'


def written(table: Table1, kind: str, width: int = 200) -> str:
    """Return the table as text in one of ``FORMATS``."""
    if kind == "json":
        return to_text(table.to_json())
    if kind == "terminal":
        console = Console(width=width, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(terminal(table, width))
        return capture.get()
    return {"markdown": markdown, "latex": latex, "html": html}[kind](table)
