"""Three circles whose areas, and whose overlaps two by two, are given numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq, minimize

Point = tuple[float, float]
PAIRS = ((0, 1), (0, 2), (1, 2))


def lens(a: float, b: float, distance: float) -> float:
    """Return the area that two circles with radii ``a`` and ``b`` share."""
    if distance >= a + b:
        return 0.0
    if distance <= abs(a - b):
        return math.pi * min(a, b) ** 2
    angle_a = math.acos((distance**2 + a**2 - b**2) / (2 * distance * a))
    angle_b = math.acos((distance**2 + b**2 - a**2) / (2 * distance * b))
    return a**2 * (angle_a - math.sin(2 * angle_a) / 2) + b**2 * (angle_b - math.sin(2 * angle_b) / 2)


def distance_for(a: float, b: float, overlap: float) -> float:
    """Return how far apart two circles lie that share ``overlap``, at most the whole smaller one."""
    if overlap <= 0:
        return a + b
    if overlap >= math.pi * min(a, b) ** 2:
        return abs(a - b)
    return float(brentq(lambda d: lens(a, b, d) - overlap, abs(a - b), a + b, xtol=1e-12))


def three_circles(areas: Sequence[float], overlaps: Sequence[float]) -> tuple[list[Point], list[float]]:
    """Return centers and radii of circles with three areas and the overlaps of 0-1, 0-2 and 1-2.

    Where no three centers lie that far apart, those whose overlaps come nearest are taken. What all three
    share follows, and means nothing.
    """
    radii = [math.sqrt(area / math.pi) for area in areas]
    near, far, across = (
        distance_for(radii[i], radii[j], overlap) for (i, j), overlap in zip(PAIRS, overlaps)
    )
    # Circle 0 is at the origin, circle 1 to its right; the third distance gives the angle to circle 2.
    cosine = (near**2 + far**2 - across**2) / (2 * near * far) if near * far > 0 else 0.0
    angle = math.acos(min(1.0, max(-1.0, cosine)))
    centers = np.array([[0, 0], [near, 0], [far * math.cos(angle), far * math.sin(angle)]])
    if abs(cosine) > 1:

        def miss(flat: np.ndarray) -> float:
            x = flat.reshape(3, 2)
            return float(np.square(np.subtract(shared(x, radii), overlaps)).sum())

        start = centers.ravel() + 1e-3 * np.arange(6)
        centers = minimize(miss, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12}).x
        centers = centers.reshape(3, 2)
    return [(float(x), float(y)) for x, y in centers], radii


def shared(centers: Sequence[Sequence[float]] | np.ndarray, radii: Sequence[float]) -> list[float]:
    """Return the areas that circles 0-1, 0-2 and 1-2 share."""
    return [lens(radii[i], radii[j], math.dist(centers[i], centers[j])) for i, j in PAIRS]


def worst_miss(centers: Sequence[Point], radii: Sequence[float], overlaps: Sequence[float]) -> float:
    """Return how far the overlap of two of three circles is off at most."""
    return float(np.abs(np.subtract(shared(centers, radii), overlaps)).max())
