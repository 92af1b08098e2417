"""Draw docs/explain.svg: what heterophily is, and what HDP does about it.

python docs/site/explain.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from heterophily.show.style import INK, OTHER, PALETTE, SAME, styled, to_file

FILE = Path(__file__).parents[1] / "explain.svg"
COLORS = {"A": PALETTE[1], "B": PALETTE[0], "C": PALETTE[2]}
"""Three classes; the node asked about is of class A."""
ALIKE, DIFFERENT = "AAABAA", "BACBBA"
"""Classes of its neighbors in a homophilous and in a heterophilous graph."""


def figure() -> Figure:
    """Draw three panels: neighbors that are alike, neighbors that differ, and HDP's two parts."""
    with styled(), mpl.rc_context({"svg.fonttype": "path"}):
        made = Figure(figsize=(8.6, 2.75), facecolor="white")
        axes = made.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set(xlim=(-2.05, 13.25), ylim=(-2.75, 2.15))
        for x, classes, title, conclusion in (
            (0.0, ALIKE, "Homophily: neighbors are alike", "Averaging tells the class: A."),
            (4.2, DIFFERENT, "Heterophily: neighbors differ", "Averaging misleads: it looks like B."),
        ):
            neighborhood(axes, x, classes)
            bar(axes, classes, "the mean of its neighbors", x - 1.2, -2.05, 2.4)
            words(axes, x, title, conclusion)
        neighborhood(axes, 8.0, DIFFERENT, split=True)
        parts = [[c for c in DIFFERENT if (c == "A") == own] for own in (True, False)]
        bar(axes, parts[0], "homophilous part:\nwho is like me", 10.4, 0.45, 2.4)
        bar(axes, parts[1], "heterophilous part:\nwhich others I connect to", 10.4, -1.15, 2.4)
        words(
            axes,
            10.1,
            "HDP: guess, split, learn from both parts",
            "“Like A, and among B and C as an A is”: A.",
        )
        return made


def neighborhood(axes: Axes, x: float, classes: Sequence[str], split: bool = False) -> None:
    """Draw a node with its neighbors; where the edges are split, those of its own class to the upper side."""
    order = sorted(classes, key=lambda c: c != "A") if split else classes
    turn = 2 * math.pi / len(order)
    for k, kind in enumerate(order):
        angle = math.pi / 2 + turn / 2 - k * turn
        right, up = x + 1.15 * math.cos(angle), 1.15 * math.sin(angle)
        own = split and kind == "A"
        color = SAME if own else OTHER if split else "#aaaaaa"
        axes.plot([x, right], [0, up], color=color, linewidth=2.4 if split else 1.4, zorder=1,
                  linestyle="-" if own or not split else (0, (2, 1.2)))  # fmt: skip
        dot(axes, right, up, COLORS[kind], kind)
    dot(axes, x, 0, "white", "?")
    if split:
        for low, high, color in ((0.62, 0.62, SAME), (-0.7, -0.98, OTHER)):
            ends = (x + 1.5, low), (x + 2.25, high)
            axes.add_patch(
                FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=9, color=color, linewidth=1.4)
            )


def dot(axes: Axes, x: float, y: float, color: str, text: str) -> None:
    """Draw a node."""
    axes.scatter([x], [y], s=240, color=color, edgecolor=INK, linewidth=0.8, zorder=2)
    ink = INK if text == "?" else "white"
    axes.text(x, y - 0.015, text, ha="center", va="center", color=ink, weight="bold", fontsize=8.5, zorder=3)


def bar(axes: Axes, classes: Sequence[str], title: str, left: float, bottom: float, width: float) -> None:
    """Draw the shares of the classes as one bar, with words above it."""
    axes.text(left, bottom + 0.44, title, fontsize=7.2, va="bottom", linespacing=1.15)
    start = left
    for kind in sorted(set(classes)):
        share = classes.count(kind) / len(classes) * width
        axes.barh(bottom + 0.17, share, 0.36, left=start, color=COLORS[kind], edgecolor=INK, linewidth=0.6)
        axes.text(start + share / 2, bottom + 0.155, kind, ha="center", va="center", color="white",
                  weight="bold", fontsize=7.5)  # fmt: skip
        start += share


def words(axes: Axes, x: float, title: str, conclusion: str) -> None:
    """Write what a panel is about, and what follows."""
    axes.text(x, 2.0, title, ha="center", va="top", fontsize=8.8, weight="bold")
    axes.text(x, -2.45, conclusion, ha="center", va="center", fontsize=7.8)


if __name__ == "__main__":
    FILE.write_bytes(to_file(figure(), "svg"))
