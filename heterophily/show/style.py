"""How pictures for papers look: one size of type, colors that the color-blind tell apart, files to print.

Nothing global is set: the style holds within ``styled()``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMN = 3.3
"""Width of a column of a paper, in inches."""
SAME, OTHER = "#d95f02", "#4477aa"
"""Orange joins nodes of one class, blue nodes of two classes."""
INK, FAINT = "#222222", "#999999"
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#555555", "#f0e442")
"""Okabe and Ito's colors, for classes."""
MODEL_COLORS = {"hdp": SAME, "mlp": "#555555", "gcn": OTHER}
SPARE_COLORS = ("#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#882255", "#999933", "#117733")
"""For models beside these three."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""The star is for prototypes. Seven, as eight colors and seven markers make 56 pairs in turn."""
FORMATS = ("png", "svg", "pdf")

STYLE: Any = {
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "figure.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,
    "svg.hashsalt": "heterophily",  # the same picture is the same file
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the house style."""
    with mpl.rc_context(STYLE):
        yield


def new_axes(width: float = COLUMN, height: float = 2.4) -> Axes:
    """Return the axes of a new figure of their own."""
    return Figure(figsize=(width, height), layout="constrained").subplots()


def to_file(figure: Figure, kind: str) -> bytes:
    """Return a figure as the content of a PNG, SVG or PDF file; the same figure gives the same bytes."""
    stream = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with styled():
        figure.savefig(stream, format=kind, dpi=300, metadata=dates.get(kind))
    return stream.getvalue()


def class_looks(count: int) -> list[tuple[str, str]]:
    """Return color and marker of each class; neither has to be seen for the other."""
    return [(PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)]) for k in range(count)]


def model_looks(models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return color and marker of each model: HDP, MLP and GCN always have their own."""
    spare = cycle(SPARE_COLORS)
    return {
        model: {"color": MODEL_COLORS.get(model) or next(spare), "marker": MARKERS[k % len(MARKERS)]}
        for k, model in enumerate(models)
    }
