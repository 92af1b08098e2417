"""Grids of numbers for people, written for the terminal and in Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

FORMATS = ("terminal", "markdown", "latex", "html", "json")
ALIASES = {"md": "markdown", "tex": "latex"}


@dataclass(frozen=True)
class Piece:
    """A cell of a grid."""

    number: str = ""
    spread: str = ""
    """What follows the number and is never emphasized."""
    below: str = ""
    """A second line, small."""
    place: int | None = None
    """1 is bold, 2 underlined."""
    mark: str = ""
    hint: str = ""
    """What a page tells whoever points at the cell."""
    loud: bool = False
    """Whether the second line asks for attention."""


@dataclass(frozen=True)
class Grid:
    """Rows of pieces under heads, with the words to read them by."""

    heading: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Piece]]]
    legend: str
    loud: str = ""
    """What it means where a second line asks for attention; only a page shows it."""
    notes: Sequence[str] = field(default=())
    """Paragraphs after the legend."""


def terminal(grid: Grid, width: int) -> Group:
    """Return a grid for a terminal, in as many parts as its width asks for."""
    parts: list[RenderableType] = []
    first = max((len(name) for name, _ in grid.rows), default=0)
    wide = max(
        max(len(p.number + p.spread + p.mark), len(p.below)) + 1
        for _, row in grid.rows
        for p in (*row, Piece())
    )
    fit = max((width - first - 3) // (max(wide, *map(len, grid.heads)) + 2), 1)
    for start in range(0, len(grid.heads), fit):
        some = slice(start, start + fit)
        shown = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
        shown.add_column("", no_wrap=True)
        for head in grid.heads[some]:
            shown.add_column(head, justify="right", no_wrap=True)
        for name, row in grid.rows:
            shown.add_row(name, *map(_text, row[some]))
        parts.append(shown)
    words = [Text(paragraph) for paragraph in (grid.legend, *grid.notes)]
    return Group(*parts, *words)


def _text(piece: Piece) -> Text:
    style = {1: "bold", 2: "underline"}.get(piece.place or 0, "")
    if not piece.number:
        return Text("")
    below = f"\n{piece.below} " if piece.below else ""
    return Text.assemble((piece.number, style), piece.spread, piece.mark or " ", (below, "dim"))


def _marked(piece: Piece, best: str, second: str, below: str) -> str:
    number = {1: best, 2: second}.get(piece.place or 0, "{}").format(piece.number)
    return number + piece.spread + piece.mark + (below.format(piece.below) if piece.below else "")


def markdown(grid: Grid) -> str:
    """Return a grid in Markdown, as GitHub shows it."""
    lines = [f"| | {' | '.join(grid.heads)} |", f"|---|{'--:|' * len(grid.heads)}"]
    for name, row in grid.rows:
        shown = [_marked(piece, "**{}**", "<ins>{}</ins>", "<br><sub>{}</sub>") for piece in row]
        lines.append(f"| {name.replace('*', chr(92) + '*')} | {' | '.join(shown)} |")
    return "\n".join(lines) + "".join(f"\n\n{words}" for words in (grid.legend, *grid.notes)) + "\n"


def latex(grid: Grid) -> str:
    """Return a grid in LaTeX with its legend below; it needs the package booktabs."""
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{tabular}{@{}l@{}}",
        f"\\begin{{tabular}}{{l{'r' * len(grid.heads)}}}",
        "\\toprule",
        f" & {' & '.join(map(_tex, grid.heads))} \\\\",
        "\\midrule",
    ]
    for name, row in grid.rows:
        shown = [_tex(_marked(piece, "\\textbf{{{}}}", "\\underline{{{}}}", "")) for piece in row]
        lines.append(f"{_tex(name)} & {' & '.join(shown)} \\\\")
        if any(piece.below for piece in row):
            small = [f"{{\\scriptsize {_tex(piece.below)}}}" if piece.below else "" for piece in row]
            lines.append(f" & {' & '.join(small)} \\\\")
    words = "\\par ".join(map(_tex, (grid.legend, *grid.notes)))
    lines += [
        "\\bottomrule",
        "\\end{tabular} \\\\[1ex]",
        f"\\parbox{{\\linewidth}}{{\\footnotesize {words}}}",
    ]
    lines += ["\\end{tabular}"]
    return "\n".join(lines) + "\n"


TEX = str.maketrans({
    "±": "$\\pm$", "−": "$-$", "ᵈ": "$^{d}$", "ᵉ": "$^{e}$", "ᵍ": "$^{g}$", "ᵏ": "$^{k}$", "ᵖ": "$^{p}$",
    "*": "$^{*}$", "_": "\\_", "%": "\\%", "&": "\\&", "#": "\\#", "…": "\\dots{}", "–": "--",
    "√": "$\\surd$", "·": "$\\cdot$", "▲": "$\\uparrow$", "▼": "$\\downarrow$", "≈": "$\\approx$",
    "<": "$<$", ">": "$>$",
})  # fmt: skip


def _tex(text: str) -> str:
    return text.translate(TEX)


STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; white-space: nowrap; vertical-align: top; }
thead th { border-top: 2px solid; border-bottom: 1px solid; vertical-align: bottom; }
tbody th { font-weight: normal; }
tbody tr:last-child > * { border-bottom: 2px solid; }
tbody tr:nth-child(even) > * { background: #f5f6f8; }
tbody tr:nth-child(odd) > th { background: #fff; }
th:first-child { text-align: left; position: sticky; left: 0; }
small { display: block; color: #5f6368; }
small.loud { color: #b3261e; }
p { max-width: 60rem; }
"""


def html(grid: Grid) -> str:
    """Return a grid as a page of its own; a cell tells more when pointed at."""
    words = "\n".join(
        f"<p>{escape(text)}</p>" for text in (f"{grid.legend} {grid.loud}".strip(), *grid.notes)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(grid.heading)}</title>\n<style>{STYLE}</style></head>\n<body><h1>{escape(grid.heading)}</h1>\n"
        f'<div class="wide">{html_table(grid)}</div>\n{words}\n</body></html>\n'
    )


def html_table(grid: Grid, corner: str = "") -> str:
    """Return a grid as a table for a page; ``corner`` is the head of the names."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in (corner, *grid.heads))
    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_html_cell, row))}</tr>'
        for name, row in grid.rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _html_cell(piece: Piece) -> str:
    if not piece.number:
        return "<td></td>"
    below = '<small class="loud">{}</small>' if piece.loud else "<small>{}</small>"
    safe = replace(piece, number=escape(piece.number), below=escape(piece.below))
    hint = f' title="{escape(piece.hint, quote=True)}"' if piece.hint else ""
    return f"<td{hint}>{_marked(safe, '<b>{}</b>', '<u>{}</u>', below)}</td>"


def written(grid: Grid, kind: str, width: int = 200) -> str:
    """Return a grid as text in one of ``FORMATS`` but JSON."""
    if kind == "terminal":
        console = Console(width=width, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(terminal(grid, width))
        return capture.get()
    return {"markdown": markdown, "latex": latex, "html": html}[kind](grid)
