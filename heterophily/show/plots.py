"""Pictures, drawn without pyplot: nothing global is set, and no window is needed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from heterophily.show.style import OTHER, SAME


def to_png(figure: Figure, dpi: int = 150) -> bytes:
    """Return a figure as the content of a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi)
    return stream.getvalue()


def partition_figure(edges: pd.DataFrame, classes: Sequence[str], title: str) -> Figure:
    """Draw who neighbors whom before and after the partition, and how the edges were told apart.

    ``edges`` has the columns of ``HDPClassifier.edges_`` and the truth: ``source_class``,
    ``target_class``, ``same_class`` and ``known`` (both ends are training nodes). Edges whose kind is
    known and self-loops are left out of the picture: to place them is no feat.
    """
    edges = edges[(edges["source"] != edges["target"]) & ~edges["known"]]
    marked = edges["verdict"] == "homophilous"
    parts = {
        "All edges": edges,
        "Called homophilous": edges[marked],
        "Called heterophilous": edges[~marked],
    }
    figure = Figure(figsize=(10, 7.8), layout="constrained")
    figure.suptitle(title, fontsize=14, fontweight="bold")
    rows: Any = figure.subfigures(2, 1, height_ratios=(1.1, 1.0), hspace=0.06)
    above, below = rows

    above.suptitle(
        "Who neighbors whom, before and after HDP's partition (edges between two training nodes left out)",
        fontsize=11.5,
    )
    panels = above.subplots(1, 3, sharey=True)
    for axes, (name, part) in zip(panels, parts.items()):
        image = _class_matrix(axes, part, classes)
        truth = f"{part['same_class'].mean():.0%} join one class" if len(part) else "none"
        axes.set_title(f"{name}\n{len(part):,} edges, {truth}", fontsize=10)
        axes.set_xlabel("class of its neighbor")
    panels[0].set_ylabel("class of a node")
    bar = above.colorbar(image, ax=list(panels), shrink=0.75, label="share of a class's neighbors")
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    below.suptitle("How HDP tells edges apart", fontsize=11.5)
    _probability_histogram(below.subplots(), edges)
    return figure


def compatibility_figure(shares: NDArray[np.float64], classes: Sequence[str], title: str) -> Figure:
    """Draw to which classes the edges of each class lead; a row of NaN (a class without edges) is empty."""
    figure = Figure(figsize=(5.6, 5), layout="constrained")
    figure.suptitle(title, fontsize=10.5)
    axes = figure.subplots()
    image = _heat_map(axes, shares, classes)
    axes.set_xlabel("class of its neighbor")
    axes.set_ylabel("class of a node")
    bar = figure.colorbar(image, ax=axes, shrink=0.85, label="share of a class's neighbors")
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return figure


def _class_matrix(axes: Axes, edges: pd.DataFrame, classes: Sequence[str]) -> AxesImage:
    """Draw which share of the neighbors of each class is of each class."""
    size = len(classes)
    counts = np.zeros((size, size))
    np.add.at(counts, (edges["source_class"], edges["target_class"]), 1)
    counts += counts.T  # an edge has two ends
    return _heat_map(axes, counts / counts.sum(1, keepdims=True).clip(min=1), classes)


def _heat_map(axes: Axes, shares: NDArray[np.float64], classes: Sequence[str]) -> AxesImage:
    """Draw a matrix of shares, with numbers in it where there is room for them."""
    size = len(classes)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(size), classes)
    axes.set_yticks(range(size), classes)
    axes.tick_params(length=0)
    if size <= 8:
        for i, j in np.argwhere(~np.isnan(shares)):
            color = "white" if shares[i, j] > 0.6 else "black"
            axes.text(j, i, f"{100 * shares[i, j]:.0f}", ha="center", va="center", color=color, fontsize=9)
    return image


def _probability_histogram(axes: Axes, edges: pd.DataFrame) -> None:
    """Draw the edge probabilities of both kinds of edges and the threshold between the verdicts."""
    same = edges["same_class"].to_numpy(dtype=bool)
    probability = edges["probability"].to_numpy(dtype=float).clip(0, 1)  # rounding may pass 1
    bins = np.linspace(0, 1, 41).tolist()
    kinds = {
        f"truly joins two classes ({(~same).sum():,} edges)": (probability[~same], OTHER),
        f"truly joins one class ({same.sum():,} edges)": (probability[same], SAME),
    }
    for label, (values, color) in kinds.items():
        # Side by side, not stacked: on a log scale a stacked bar would hide what stands on top.
        fill: dict[str, Any] = {"facecolor": (color, 0.3), "edgecolor": color, "linewidth": 1.6}
        axes.hist(values, bins, histtype="stepfilled", label=label, **fill)
    axes.set_ylim(0.7, max(axes.get_ylim()[1], 1) * 4)  # room for the words
    axes.set_yscale("log")
    axes.set_xlim(0, 1)
    axes.set_xlabel("P (Eq. 3): how probable HDP thinks it that both ends are of one class")
    axes.set_ylabel("number of edges (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    threshold = float(edges["threshold"].iloc[0]) if len(edges) else np.inf
    if 0 <= threshold <= 1:
        axes.axvline(threshold, color="black", linestyle="--", linewidth=1.5)
        roomy: Literal["left", "right"] = "left" if threshold < 0.5 else "right"
        words = f" threshold {threshold:.2f}: \n edges to its right are called homophilous "
        axes.text(threshold, 0.97, words, transform=axes.get_xaxis_transform(), ha=roomy, va="top")
