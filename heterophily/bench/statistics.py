"""Statistics of paired scores: what ten splits that overlap can say about a difference, and what not.

Splits of one graph share most of their nodes, so the differences on them are not independent, and a plain
t-test is far too sure. Nadeau and Bengio (Inference for the Generalization Error, 2003) put n_test / n_train
in place of the unknown correlation; Corani and Benavoli (A Bayesian approach for comparing cross-validated
algorithms, 2015) draw the posterior of the mean difference with the same correction. Ranks over datasets are
compared as in Demšar (Statistical Comparisons of Classifiers over Multiple Data Sets, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Numbers = Sequence[float] | npt.NDArray[np.float64]
EXACT = 13
"""Differences whose signs are all gone through; SciPy does so too where there are ties, but is slow."""


class StatisticsError(ValueError):
    """Scores that nothing can be computed from."""


class Statistic(NamedTuple):
    """A statistic and its two-sided p-value."""

    value: float
    p: float


class Posterior(NamedTuple):
    """How probable it is that the mean difference lies below, within and above what counts as equal."""

    less: float
    equal: float
    greater: float


def _differences(differences: Numbers) -> npt.NDArray[np.float64]:
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or len(d) < 2 or not np.isfinite(d).all():
        raise StatisticsError("a paired test needs at least two differences, all of them finite numbers")
    return np.round(d, 12)  # 0.3 - 0.1 and 0.2 are one difference, and 0.1 + 0.2 - 0.3 is none


def _scale(d: npt.NDArray[np.float64], ratio: float) -> float:
    """The corrected standard error of the mean difference."""
    if not ratio >= 0:
        raise StatisticsError(f"the ratio of test to training nodes is {ratio}; it is a number from 0")
    return math.sqrt((1 / len(d) + ratio) * _variance(d))


def _variance(d: npt.NDArray[np.float64]) -> float:
    """The variance of a sample; that of equal numbers is 0, whatever rounding makes of their mean."""
    return float(d.var(ddof=1)) if np.ptp(d) else 0.0


def corrected_t(differences: Numbers, ratio: float) -> Statistic:
    """The corrected resampled t-test: t = d̄ / sqrt((1/n + n_test/n_train) s²), n - 1 degrees of freedom.

    ``ratio`` is n_test / n_train; with 0 it is the paired t-test of independent samples. Without spread
    among the differences t is infinite, or 0 where all are 0.

    >>> corrected_t([0.01, 0.02, 0.03], ratio=0.0)
    Statistic(value=3.46..., p=0.074...)
    """
    d = _differences(differences)
    scale, mean = _scale(d, ratio), float(d.mean())
    if scale == 0:
        return Statistic(math.copysign(math.inf, mean), 0.0) if mean else Statistic(0.0, 1.0)
    t = mean / scale
    return Statistic(t, float(2 * stats.t.sf(abs(t), len(d) - 1)))


def wilcoxon(differences: Numbers) -> Statistic:
    """The Wilcoxon signed-rank test, exact where it can be; it takes the splits as independent.

    Differences of 0 are left out; where all are, p is 1.
    """
    d = _differences(differences)
    d = d[d != 0]
    if len(d) == 0:
        return Statistic(0.0, 1.0)
    if len(d) > EXACT:
        found = stats.wilcoxon(d)
        return Statistic(float(found.statistic), float(found.pvalue))
    least, p = min(signed_ranks(d), signed_ranks(-d))
    return Statistic(least, min(2 * p, 1.0))


def signed_ranks(differences: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the ranks of the positive differences, summed, and how probably luck makes them no more.

    All 2ⁿ signs are gone through, as there may be ties; none of the differences is 0.
    """
    ranks = stats.rankdata(np.abs(differences))
    above = float(ranks[differences > 0].sum())
    sums = np.array(list(product((0, 1), repeat=len(ranks)))) @ ranks
    return above, float((sums <= above).mean())


def effect_size(differences: Numbers) -> float:
    """The mean difference in standard deviations of the differences (Cohen's d of paired samples)."""
    d = _differences(differences)
    spread, mean = math.sqrt(_variance(d)), float(d.mean())
    if spread == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / spread


def posterior(differences: Numbers, ratio: float, rope: float) -> Posterior:
    """The correlated Bayesian t-test: where the mean difference lies, given the differences seen.

    The posterior is Student's t with n - 1 degrees of freedom about the mean, as wide as the corrected
    standard error. Differences from -``rope`` to ``rope`` are the region of practical equivalence.
    """
    d = _differences(differences)
    if not rope >= 0:
        raise StatisticsError(f"the region of practical equivalence is {rope}; it is a number from 0")
    scale, mean = _scale(d, ratio), float(d.mean())
    if scale == 0:
        return Posterior(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    below, above = stats.t(len(d) - 1, mean, scale).cdf([-rope, rope])
    return Posterior(float(below), float(above - below), float(1 - above))


def holm(p_values: Numbers) -> list[float]:
    """Adjust the p-values of a family of tests by Holm's step-down method, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = p.argsort(kind="stable")
    stepped = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = stepped.clip(max=1)
    return [float(value) for value in adjusted]


class Ranks(NamedTuple):
    """Mean ranks of k models over n blocks, 1 being the best."""

    mean: list[float]
    blocks: int
    critical_difference: float
    """Two models whose mean ranks lie further apart differ (Nemenyi)."""
    friedman: float
    """p-value of the hypothesis that all models are alike; the pairs mean little unless it is small."""
    alpha: float


def mean_ranks(scores: Sequence[Numbers] | npt.NDArray[np.float64], alpha: float = 0.05) -> Ranks:
    """Rank models (columns) in each block (row), the highest score first, ties sharing their mean rank."""
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise StatisticsError(
            "mean ranks need at least two blocks and two models, and no score may be missing"
        )
    blocks, models = table.shape
    ranks = stats.rankdata(-np.round(table, 12), axis=1)
    # Friedman's statistic with its correction for ties; SciPy's function wants three models or more.
    tied = sum(float((count**3 - count).sum()) for count in map(_ties, ranks))
    spread = 12 / (blocks * models * (models + 1)) * float((ranks.sum(0) ** 2).sum()) - 3 * blocks * (
        models + 1
    )
    share = 1 - tied / (blocks * models * (models**2 - 1))
    friedman = float(stats.chi2.sf(spread / share, models - 1)) if share > 0 else 1.0
    return Ranks(ranks.mean(0).tolist(), blocks, critical_difference(models, blocks, alpha), friedman, alpha)


def _ties(ranks: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.unique(ranks, return_counts=True)[1]


def critical_difference(models: int, blocks: int, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks: q sqrt(k (k + 1) / (6 n))."""
    q = float(stats.studentized_range.ppf(1 - alpha, models, math.inf)) / math.sqrt(2)
    return q * math.sqrt(models * (models + 1) / (6 * blocks))


def cliques(ranks: Ranks) -> list[tuple[int, ...]]:
    """Return the largest groups of models, best first, whose mean ranks are no critical difference apart."""
    order = np.argsort(ranks.mean, kind="stable").tolist()
    found: list[tuple[int, ...]] = []
    for start, first in enumerate(order):
        near = ranks.mean[first] + ranks.critical_difference
        group = tuple(model for model in order[start:] if ranks.mean[model] <= near)
        if len(group) > 1 and not (found and set(group) <= set(found[-1])):
            found.append(group)
    return found
