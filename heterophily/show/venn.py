"""Figure 6 as three circles: names beside them, numbers in words, and how far the overlaps are off."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from numpy.typing import NDArray

from heterophily.show.style import COLUMN, INK, OTHER, SAME
from heterophily.studies.information import Information
from heterophily.studies.venn import Point

LOOKS = (("labels", "#cccccc", INK), ("H$^{hm}$", "#f5b183", SAME), ("H$^{ht}$", "#9dbbdc", OTHER))
"""Name, filling and line of each circle."""
PAIRS = {"hm_labels": "H$^{hm}$, labels", "ht_labels": "H$^{ht}$, labels", "hm_ht": "H$^{hm}$, H$^{ht}$"}
NAMES, LINE = 0.8, 0.165
"""Inches that two names take beside the circles, and a line of words."""
APART = math.radians(55)
"""Angle between the directions of two names at least."""
OFF = 0.01
"""Bits from which on overlaps that are off are said to be."""


def draw_circles(axes: Axes, result: Information) -> None:
    """Draw the labels and both representations as circles that overlap by what they share at least."""
    centers, radii, off = result.circles()
    words = said(result, off)
    inch = data_per_inch(centers, radii, words)
    places = names_beside(centers, radii, inch)
    for center, radius, place, (name, fill, edge) in zip(centers, radii, places, LOOKS):
        axes.add_patch(Circle(center, radius, facecolor=fill, edgecolor=edge, alpha=0.55, linewidth=1.2))
        away = np.subtract(place, center) / math.dist(place, center)
        ends = np.array(
            [np.add(center, 0.94 * radius * away), np.subtract(place, inch * margin(away) * away)]
        )
        axes.plot(*ends.T, color=edge, linewidth=0.7)
        axes.text(*place, name, ha="center", va="center", color=edge, fontweight="bold", fontsize=8)
    low, high = bounds(centers, radii, places, inch)
    more = max(0.0, inch * LINE * len(words) - (high[1] - low[1])) / 2
    axes.set(xlim=(low[0], high[0] + inch * width_of(words)), ylim=(low[1] - more, high[1] + more))
    axes.set_aspect("equal")
    axes.axis("off")
    text = "\n".join(words)
    axes.text(high[0] + 0.05 * inch, (low[1] + high[1]) / 2, text, va="center", linespacing=1.5)
    axes.set_title(f"{result.dataset}: shared information in bits")


def said(result: Information, off: float) -> list[str]:
    """Return the numbers in words."""
    spreads = {pair: result.spread(pair) for pair in PAIRS}
    lines = ["shared, at least:"]
    for pair, words in PAIRS.items():
        draws, runs = spreads[pair]
        spread = draws if runs is None else runs
        lines.append(f"{words}: {result.mean(pair):.3f}" + ("" if spread is None else f" ± {spread:.3f}"))
    lines.append(f"labels alone: {result.labels:.3f}")
    most = max((draws for draws, _ in spreads.values() if draws is not None), default=None)
    if any(runs is not None for _, runs in spreads.values()):
        lines.append("± over splits" + ("" if most is None else f" (draws: {most:.3f})"))
    elif most is not None:
        lines.append("± over draws")
    if off > OFF:
        lines += ["nearest possible;", f"overlaps off by up to {off:.2f}"]
    return lines


def height_of(result: Information) -> float:
    """Return the height in inches of a picture of a column's width that holds circles, words and title."""
    centers, radii, off = result.circles()
    words = said(result, off)
    inch = data_per_inch(centers, radii, words)
    low, high = bounds(centers, radii, names_beside(centers, radii, inch), inch)
    return 0.3 + max((high[1] - low[1]) / inch, LINE * len(words))


def width_of(words: Sequence[str]) -> float:
    """Return about how many inches the words are wide."""
    return 0.15 + 0.055 * max(len(re.sub(r"[$^{}]", "", line)) for line in words)


def data_per_inch(centers: Sequence[Point], radii: Sequence[float], words: Sequence[str]) -> float:
    """Return the scale at which circles, names and words fill a column."""
    x = np.array(centers)[:, 0]
    return float((x + radii).max() - (x - radii).min()) / (COLUMN - NAMES - width_of(words))


def names_beside(centers: Sequence[Point], radii: Sequence[float], inch: float) -> list[Point]:
    """Return a place outside all circles for the name of each, apart from the other names."""

    def free(k: int, angle: float, far: float) -> float:
        """Return how far a point beside circle k is from the nearest other circle, below 0 within it."""
        point = np.add(centers[k], far * toward(angle))
        return min(math.dist(point, centers[i]) - radii[i] for i in range(3) if i != k)

    ways = np.linspace(-math.pi, math.pi, 72, endpoint=False)
    angles = np.array([max(ways, key=lambda angle: free(k, angle, radii[k])) for k in range(3)])
    order = np.argsort(angles)
    for _ in range(20):  # turn names that are too near away from each other
        for i, j in zip(order, np.roll(order, -1)):
            lack = APART - (angles[j] - angles[i]) % (2 * math.pi)
            if lack > 0:
                angles[i], angles[j] = angles[i] - lack / 2, angles[j] + lack / 2
    places = []
    for k, angle in enumerate(angles):
        room = inch * (margin(toward(angle)) + 0.1)
        far = radii[k] + room
        while free(k, angle, far) < room:
            far += 0.02
        x, y = np.add(centers[k], far * toward(angle))
        places.append((float(x), float(y)))
    return places


def toward(angle: float) -> NDArray[Any]:
    """Return a step of length 1."""
    return np.array([math.cos(angle), math.sin(angle)])


def margin(way: NDArray[Any]) -> float:
    """Return how many inches the edge of a name is from its middle: a name is wider than tall."""
    return float(0.08 + 0.14 * abs(way[0]))


def bounds(
    centers: Sequence[Point], radii: Sequence[float], places: Sequence[Point], inch: float
) -> tuple[list[float], list[float]]:
    """Return the corners of what holds circles and names."""
    room = inch * np.array([0.22, 0.08])
    wide = np.array(radii)[:, None] + 0.02
    low = np.concatenate([np.subtract(centers, wide), np.subtract(places, room)]).min(0)
    high = np.concatenate([np.add(centers, wide), np.add(places, room)]).max(0)
    return low.tolist(), high.tolist()
