"""Charts as SVG for a page: text stays text, the page's style gives the colors, every mark says its value.

A chart is drawn mark by mark. Each mark also leaves a row, so the data of a chart can be had as CSV.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from heterophily.show.style import OTHER, SAME

WIDTH = 400
"""Units of a chart, about as many as a telephone has pixels: its words stay readable there."""
TEXT = "var(--text)"
LETTER = 6.3
"""Width of a letter, roughly."""
GAP = 8
"""Room between two names side by side."""
SHAPES = {
    "s": "-4-4h8v8h-8z",
    "^": "0-5l5 9h-10z",
    "v": "0 5l5-9h-10z",
    "D": "0-5.4l5.4 5.4-5.4 5.4-5.4-5.4z",
    "P": "-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "X": "-5-3l2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z",
    "*": "0-7.5l1.8 5.1 5.3 .1-4.2 3.2 1.5 5.2-4.4-3-4.4 3 1.5-5.2-4.2-3.2 5.3-.1z",
}
"""Outlines of the markers that matplotlib names so, around a point; any other is a circle."""
RED, BLUE = "#b2182b", "#2166ac"
"""Of a matrix with signs: above 0, and below."""


@dataclass(frozen=True)
class Look:
    """Color and shape of marks that belong together."""

    color: str
    marker: str = "o"
    hollow: bool = False


HERE, PAPER = Look(SAME), Look(OTHER, "s", hollow=True)
ONE, TWO = Look(SAME), Look(OTHER, "s")
"""What joins one class, and two."""


@dataclass(frozen=True)
class Axis:
    """A scale with its words; ``high`` may lie below ``low``."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()


def numbers(
    label: str, values: Iterable[float | None], least: float | None = None, most: float | None = None
) -> Axis:
    """Return an axis that holds some numbers, with round ticks and no room beyond ``least`` and ``most``."""
    known = [value for value in values if value is not None and np.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = 0.06 * (high - low) or 0.5
    low, high = low - room, high + room
    low, high = low if least is None else max(low, least), high if most is None else min(high, most)
    found = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return Axis(label, low, high, [(t, f"{round(t, 10):g}") for t in found if low <= t <= high])


def names(label: str, texts: Sequence[str], down: bool = False) -> Axis:
    """Return an axis with a place for each name; ``down``: the first is at the top."""
    low, high = -0.5, len(texts) - 0.5
    ends = (high, low) if down else (low, high)
    return Axis(label, *ends, [(k, short(text)) for k, text in enumerate(texts)])


def short(text: str, most: int = 20) -> str:
    """Return a text cut to a length; names often differ at their end, so it is cut in the middle."""
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


@dataclass
class Chart:
    """A chart in the making."""

    title: str
    x: Axis
    y: Axis
    height: float = 250
    frame: bool = True
    """Whether there are axes."""
    panel: str = ""
    """Which of the charts of a study it is."""
    dataset: str = ""
    """What the picker of datasets goes by."""
    model: str = ""
    """What the picker of models goes by, of a chart of one model."""
    keys: list[tuple[str, Look]] = field(default_factory=list)
    note: str = ""
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    grid: bool = True

    def __post_init__(self) -> None:
        wide = max((len(text) for _, text in self.y.ticks), default=0)
        self.left = 18 + LETTER * wide + (16 if self.y.label else 0) if self.frame else 6
        self.right, self.top = WIDTH - 12, 10
        room = (self.right - self.left) / max(len(self.x.ticks), 1)
        lines = [text.split("\n") for _, text in self.x.ticks]
        self.turned = LETTER * max((len(line) for text in lines for line in text), default=0) + GAP > room
        long = max((len(" · ".join(text)) for text in lines), default=0)
        high = 14 * max(map(len, lines), default=1) + 6
        below = (LETTER * long * 0.72 + 14 if self.turned else high) + (20 if self.x.label else 0)
        self.bottom = self.height - (below if self.frame else 6)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies on the page."""
        across = (x - self.x.low) / (self.x.high - self.x.low)
        up = (y - self.y.low) / (self.y.high - self.y.low)
        return (
            round(self.left + across * (self.right - self.left), 2),
            round(self.bottom - up * (self.bottom - self.top), 2),
        )

    def mark(
        self,
        x: float,
        y: float,
        look: Look,
        tip: str,
        row: Mapping[str, Any] | None = None,
        spread: float | None = None,
        along: str = "y",
        size: float = 1.0,
        model: str = "",
        dataset: str = "",
    ) -> None:
        """Draw a point, with its spread to both sides along an axis, as far as the axis goes."""
        if row is not None:
            self.rows.append(row)
        a, b = self.at(x, y)
        bar = ""
        if spread:
            axis, middle = (self.x, x) if along == "x" else (self.y, y)
            least, most = sorted((axis.low, axis.high))
            ends = (max(middle - spread, least), min(middle + spread, most))
            (p, q), (r, s) = (self.at(end, y) if along == "x" else self.at(x, end) for end in ends)
            bar = f'<path class="error" d="M{p} {q}L{r} {s}"/>'
        scale = f" scale({size:.2f})" if size != 1 else ""
        about = attribute("model", model) + attribute("dataset", dataset)
        self.parts.append(
            f'<g {_k(look.color)}{about} class="value">{bar}<g transform="translate({a} {b}){scale}">'
            f"{_shape(look)}</g><title>{escape(tip)}</title></g>"
        )

    def line(self, points: Iterable[tuple[float, float]], look: Look, model: str = "") -> None:
        """Join points."""
        path = "L".join("{} {}".format(*self.at(x, y)) for x, y in points)
        if path:
            self.parts.append(f'<path class="line" {_k(look.color)}{attribute("model", model)} d="M{path}"/>')

    def band(self, points: Sequence[tuple[float, float, float]], look: Look) -> None:
        """Fill what lies between two heights at each x."""
        there = [self.at(x, low) for x, low, _ in points]
        back = [self.at(x, high) for x, _, high in reversed(points)]
        path = "L".join(f"{a} {b}" for a, b in there + back)
        if path:
            self.parts.append(f'<path class="band" {_k(look.color)} d="M{path}Z"/>')

    def box(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        look: Look,
        tip: str,
        row: Mapping[str, Any] | None = None,
        text: str = "",
        kind: str = "box",
    ) -> None:
        """Draw a bar from ``x`` to ``x`` and ``y`` to ``y``, with words in it."""
        if row is not None:
            self.rows.append(row)
        (a, b), (c, d) = self.at(x[0], y[0]), self.at(x[1], y[1])
        left, top, wide, high = min(a, c), min(b, d), abs(c - a), abs(d - b)
        words = (
            f'<text x="{left + wide / 2:.1f}" y="{top + high / 2:.1f}">{escape(text)}</text>' if text else ""
        )
        self.parts.append(
            f'<g class="value {kind}" {_k(look.color)}><rect x="{left:.2f}" y="{top:.2f}" width="{wide:.2f}" '
            f'height="{high:.2f}"/>{words}<title>{escape(tip)}</title></g>'
        )

    def cell(
        self, row: int, column: int, value: float | None, text: str, tip: str, signed: bool = False
    ) -> None:
        """Fill a field of a matrix by its value from 0 to 1, or from -1, with words in it."""
        share = 0.0 if value is None else min(abs(value), 1.0)
        (a, b), (c, d) = self.at(column - 0.5, row - 0.5), self.at(column + 0.5, row + 0.5)
        wide, high = abs(c - a), abs(d - b)
        color = OTHER if not signed else BLUE if value is not None and value < 0 else RED
        words = f'<text x="{(a + c) / 2:.1f}" y="{(b + d) / 2:.1f}">{escape(text)}</text>' if text else ""
        self.parts.append(
            f'<g class="value cell" style="--k:{color};--p:{100 * share:.0f}%">'
            f'<rect x="{min(a, c):.2f}" y="{min(b, d):.2f}" width="{wide:.2f}" height="{high:.2f}"/>'
            f"{words}<title>{escape(tip)}</title></g>"
        )

    def cloud(self, points: Iterable[tuple[float, float]], look: Look, name: str, width: float) -> None:
        """Draw many points, as one path of marks that are ``width`` wide."""
        scale = width / 9
        outline = SHAPES.get(look.marker)
        if outline:
            step = re.sub(r"-?\d*\.?\d+", lambda found: f" {scale * float(found[0]):.1f}", f"m{outline}")
            drawn = 'class="cloud"'
        else:
            step, drawn = "h0", f'class="cloud dots" stroke-width="{width:.1f}"'
        path = "".join("M{:.1f} {:.1f}".format(*self.at(x, y)) + step for x, y in points)
        self.parts.append(f'<path {drawn} {_k(look.color)} data-name="{escape(name)}" d="{path}"/>')

    def disc(self, x: float, y: float, radius: float, color: str, tip: str) -> None:
        """Draw a circle to scale, see-through."""
        a, b = self.at(x, y)
        edge, _ = self.at(x + radius, y)
        self.parts.append(
            f'<g class="value disc" {_k(color)}><circle cx="{a}" cy="{b}" r="{edge - a:.2f}"/>'
            f"<title>{escape(tip)}</title></g>"
        )

    def words(self, x: float, y: float, text: str, kind: str = "", color: str = TEXT) -> None:
        """Write a text centered on a point."""
        a, b = self.at(x, y)
        self.parts.append(f'<text class="note {kind}" {_k(color)} x="{a}" y="{b}">{escape(text)}</text>')

    def rule(self, x: float, y: tuple[float, float] | None = None) -> None:
        """Draw a dashed line at ``x``, from ``y`` to ``y`` or across the chart."""
        low, high = y or (self.y.low, self.y.high)
        a, b, c, d = *self.at(x, low), *self.at(x, high)
        self.parts.append(f'<path class="rule" d="M{a} {b}L{c} {d}"/>')

    def diagonal(self) -> None:
        """Draw where x equals y."""
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        a, b, c, d = *self.at(low, low), *self.at(high, high)
        self.parts.append(f'<path class="rule" d="M{a} {b}L{c} {d}"/>')

    def svg(self) -> str:
        """Return the drawing."""
        inner = "".join(self.parts)
        if self.frame:
            inner = f'<g class="axes">{self._axes()}</g>{inner}'
        label = escape(self.alt())
        return f'<svg viewBox="0 0 {WIDTH} {self.height:g}" role="img" aria-label="{label}">{inner}</svg>'

    def alt(self) -> str:
        """Say what there is to see, for those who do not see it."""
        axes = [axis.label for axis in (self.y, self.x) if axis.label] if self.frame else []
        kinds = [name for name, _ in self.keys]
        said = f"{self.title}." + (f" {' against '.join(axes)}." if axes else "")
        return said + (f" Shown: {', '.join(kinds)}." if kinds else "")

    def csv(self) -> str:
        """Return the data as CSV, in full precision as far as it means anything."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for row in self.rows:
            writer.writerow([_plain(row.get(name)) for name in columns])
        return stream.getvalue()

    def _axes(self) -> str:
        parts = []
        for value, text in self.y.ticks:
            _, b = self.at(self.x.low, value)
            if self.grid:
                parts.append(f'<path d="M{self.left} {b}H{self.right}"/>')
            parts.append(f'<text text-anchor="end" x="{self.left - 6:.1f}" y="{b + 4}">{escape(text)}</text>')
        for value, text in self.x.ticks:
            a, _ = self.at(value, self.y.low)
            if self.grid:
                parts.append(f'<path d="M{a} {self.top}V{self.bottom}"/>')
            y = self.bottom + 15
            place = (
                f'text-anchor="end" transform="translate({a + 4} {y - 3:.1f}) rotate(-45)"'
                if self.turned
                else f'text-anchor="middle" x="{a}" y="{y:.1f}"'
            )
            first, *others = (" · ".join(text.split("\n")) if self.turned else text).split("\n")
            more = "".join(f'<tspan x="{a}" dy="14">{escape(line)}</tspan>' for line in others)
            parts.append(f"<text {place}>{escape(first)}{more}</text>")
        if self.x.label:
            middle = (self.left + self.right) / 2
            parts.append(
                f'<text class="label" text-anchor="middle" x="{middle:.1f}" y="{self.height - 5}">'
                f"{escape(self.x.label)}</text>"
            )
        if self.y.label:
            middle = (self.top + self.bottom) / 2
            parts.append(
                f'<text class="label" text-anchor="middle" transform="translate(12 {middle:.1f}) '
                f'rotate(-90)">{escape(self.y.label)}</text>'
            )
        return "".join(parts)


def swatch(look: Look) -> str:
    """Return a small picture of a mark, for a key."""
    drawn = f"<g {_k(look.color)}>{_shape(look)}</g>"
    return f'<svg class="swatch" viewBox="-8 -8 16 16" aria-hidden="true">{drawn}</svg>'


def _shape(look: Look) -> str:
    kind = "mark hollow" if look.hollow else "mark star" if look.marker == "*" else "mark"
    outline = SHAPES.get(look.marker)
    return f'<path class="{kind}" d="M{outline}"/>' if outline else f'<circle class="{kind}" r="4.4"/>'


def _k(color: str) -> str:
    return f'style="--k:{color}"'


def attribute(name: str, text: str) -> str:
    """Return an attribute that the page's script goes by, unless it is empty."""
    return f' data-{name}="{escape(text)}"' if text else ""


def _plain(value: Any) -> Any:
    return f"{value:.7g}" if isinstance(value, float) else "" if value is None else value
