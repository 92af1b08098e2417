"""The critical-difference diagram: mean ranks on a line, bars over models that are not told apart."""

from __future__ import annotations

import io
import textwrap
from typing import Literal

from matplotlib.figure import Figure

from heterophily.bench.compare import Comparison
from heterophily.bench.statistics import cliques
from heterophily.show.significance import equals, lacking, name_of
from heterophily.show.style import SAME

KINDS = ("png", "svg", "pdf")


def critical_difference_figure(found: Comparison) -> Figure:
    """Draw the mean ranks of a comparison, the best at the right, as Demšar (2006) does."""
    ranks = found.ranks
    if ranks is None:
        raise ValueError("there are no ranks to draw: no two models have all datasets")
    order = sorted(range(len(found.models)), key=lambda i: ranks.mean[i])
    groups = cliques(ranks)
    half = (len(order) + 1) // 2
    bars = 0.34 * len(groups)
    height = 0.45 + bars + 0.42 * half
    figure = Figure(figsize=(9, 1.5 + 0.75 * height), layout="constrained")
    axes = figure.subplots()
    low, high = 1.0, float(len(order))
    room = 0.32 * (high - low)
    axes.set_xlim(high + room, low - room)  # the best, rank 1, at the right
    axes.set_ylim(height + 0.1, -1.6)
    axes.axis("off")

    axes.plot([low, high], [0, 0], color="black", linewidth=1.2)
    step = 1 if high <= 15 else 2
    for tick in range(1, len(order) + 1, step):
        axes.plot([tick, tick], [0, -0.14], color="black", linewidth=1.2)
        axes.text(tick, -0.22, str(tick), ha="center", va="bottom", fontsize=10)

    width = min(ranks.critical_difference, high - low)
    ends = [low, low + width]
    axes.plot(ends, [-1.0, -1.0], color=SAME, linewidth=2)
    for end in ends:
        axes.plot([end, end], [-1.08, -0.92], color=SAME, linewidth=2)
    more = "" if width == ranks.critical_difference else " (longer than the scale)"
    words = f"critical difference {ranks.critical_difference:.2f}{more}"
    axes.text(low + width / 2, -1.14, words, ha="center", va="bottom", fontsize=10, color=SAME)

    for level, group in enumerate(groups):
        y = 0.3 + 0.34 * level
        best, worst = ranks.mean[group[0]], ranks.mean[group[-1]]
        pad = 0.012 * (high - low)
        axes.plot([best - pad, worst + pad], [y, y], color=SAME, linewidth=4.5, solid_capstyle="round")

    for place, model in enumerate(order):
        right = place < half
        row = place if right else len(order) - 1 - place
        y = 0.45 + bars + 0.42 * row
        edge = low - 0.05 * (high - low) if right else high + 0.05 * (high - low)
        rank = ranks.mean[model]
        axes.plot([rank, rank, edge], [0, y, y], color="0.35", linewidth=0.9)
        axes.plot([rank], [0], "o", color="0.35", markersize=3.5)
        side: Literal["left", "right"] = "left" if right else "right"
        gap = -0.01 * (high - low) if right else 0.01 * (high - low)
        axes.text(
            edge + gap, y, f"{name_of(found.models[model])}  {rank:.2f}", ha=side, va="center", fontsize=10
        )
    axes.set_title(
        f"Mean ranks over {ranks.blocks} {found.blocks}: the further right the better; "
        "a bar joins models that are not told apart",
        fontsize=11,
    )
    words = (
        f"Nemenyi's test, α = {ranks.alpha:g}. Friedman's test that all are alike: p "
        f"{equals(ranks.friedman)}. {lacking(found)}"
    )
    figure.supxlabel(textwrap.fill(words, 130), fontsize=8, color="0.35")
    return figure


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Return a figure as the content of a PNG, SVG or PDF file."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=150)
    return stream.getvalue()
