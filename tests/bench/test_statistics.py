"""The statistics agree with closed forms, with SciPy and with published worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from heterophily.bench import statistics
from heterophily.bench.statistics import Ranks, StatisticsError

DIFFERENCES = np.random.default_rng(0).normal(0.01, 0.02, 10)


def test_without_correction_the_t_test_is_the_paired_one() -> None:
    expected = stats.ttest_1samp(DIFFERENCES, 0)
    assert statistics.corrected_t(DIFFERENCES, 0) == pytest.approx((expected.statistic, expected.pvalue))


def test_the_corrected_t_test_agrees_with_a_worked_example() -> None:
    # d̄ = 0.02, s² = 1e-4, so t² = 0.02² / ((1/3 + 1/2) 1e-4) = 4.8; with two degrees of freedom the
    # two-sided p-value is 1 - t / sqrt(t² + 2).
    t, p = statistics.corrected_t([0.01, 0.02, 0.03], ratio=0.5)
    assert t == pytest.approx(math.sqrt(4.8))
    assert p == pytest.approx(1 - math.sqrt(4.8 / 6.8))


def test_the_more_the_splits_share_the_less_sure_the_test_is() -> None:
    p = [statistics.corrected_t(DIFFERENCES, ratio).p for ratio in (0.0, 0.25, 20 / 48, 1.0)]
    assert p == sorted(p) and p[0] < p[-1]


def test_differences_without_spread_are_certain_or_none_at_all() -> None:
    assert statistics.corrected_t([0.1 + 0.2 - 0.3, 0.0, 0.0], 0.4) == (0.0, 1.0)
    assert statistics.corrected_t([0.3 - 0.1, 0.2, 0.4 - 0.2], 0.4) == (math.inf, 0.0)
    assert statistics.effect_size([-0.1, -0.1]) == -math.inf
    assert statistics.posterior([0.02, 0.02], 0.4, 0.01) == (0, 0, 1)
    assert statistics.posterior([0.0, 0.0], 0.4, 0.01) == (0, 1, 0)


def test_ten_wins_of_ten_have_the_least_p_that_wilcoxon_can_give() -> None:
    assert statistics.wilcoxon(np.arange(1, 11) / 100).p == pytest.approx(2 / 2**10)


@pytest.mark.parametrize("tied", [[], [0.02, 0.02], [-0.02, 0.02, 0.02, -0.01]])
def test_wilcoxon_is_scipy_s_and_leaves_out_ties(tied: list[float]) -> None:
    expected = stats.wilcoxon([*DIFFERENCES, *tied])
    found = statistics.wilcoxon([*DIFFERENCES, *tied])
    assert found == pytest.approx((expected.statistic, expected.pvalue))
    assert statistics.wilcoxon([*DIFFERENCES, 0, 0.0]) == pytest.approx(statistics.wilcoxon(DIFFERENCES))
    assert statistics.wilcoxon([0.0, 0.1 + 0.2 - 0.3]) == (0.0, 1.0)


def test_the_effect_size_is_the_mean_in_standard_deviations() -> None:
    assert statistics.effect_size([0.01, 0.02, 0.03]) == pytest.approx(2.0)


def test_the_posterior_is_student_s_about_the_mean() -> None:
    # The same numbers as above: scale² = (1/3 + 1/2) 1e-4. With two degrees of freedom the distribution
    # function is 1/2 + x / (2 sqrt(x² + 2)).
    scale = math.sqrt(5 / 6) * 0.01
    below, above = (0.5 + x / (2 * math.sqrt(x**2 + 2)) for x in (-0.03 / scale, -0.01 / scale))
    found = statistics.posterior([0.01, 0.02, 0.03], 0.5, rope=0.01)
    assert found == pytest.approx((below, above - below, 1 - above))


def test_without_a_region_of_equivalence_the_posterior_says_what_the_test_says() -> None:
    found = statistics.posterior(DIFFERENCES, 0.4, rope=0)
    assert found.equal == 0
    assert min(found.less, found.greater) == pytest.approx(statistics.corrected_t(DIFFERENCES, 0.4).p / 2)


def test_holm_agrees_with_a_worked_example_in_any_order() -> None:
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([0.005, 0.01, 0.03, 0.04]) == pytest.approx([0.02, 0.03, 0.06, 0.06])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_the_critical_difference_is_that_of_demsar_s_table_and_example() -> None:
    published = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164}
    for models, q in published.items():
        found = statistics.critical_difference(models, 1) / math.sqrt(models * (models + 1) / 6)
        assert found == pytest.approx(q, abs=1e-3)
    assert statistics.critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)  # his example


def test_friedman_is_scipy_s_with_ties_too() -> None:
    scores = np.random.default_rng(1).integers(0, 6, (9, 4)) / 10
    expected = stats.friedmanchisquare(*scores.T)
    assert statistics.mean_ranks(scores).friedman == pytest.approx(expected.pvalue)


def test_the_best_has_rank_one_and_ties_share_their_ranks() -> None:
    found = statistics.mean_ranks([[0.9, 0.8, 0.8], [0.9, 0.7, 0.8]])
    assert found.mean == [1.0, 2.75, 2.25] and found.blocks == 2
    assert statistics.mean_ranks([[0.5, 0.5], [0.5, 0.5]]).friedman == 1.0


def test_a_clique_is_as_large_as_the_critical_difference_lets_it_be() -> None:
    ranks = Ranks([1.0, 3.5, 2.0, 5.0], 9, 1.6, 0.01, 0.05)
    assert statistics.cliques(ranks) == [(0, 2), (2, 1), (1, 3)]
    assert statistics.cliques(ranks._replace(critical_difference=9.0)) == [(0, 2, 1, 3)]
    assert statistics.cliques(ranks._replace(critical_difference=0.5)) == []


@pytest.mark.parametrize("scores", [[0.1], [0.1, math.nan], [[0.1, 0.2]]])
def test_what_cannot_be_tested_is_refused(scores: list[float]) -> None:
    with pytest.raises(StatisticsError, match="at least two differences"):
        statistics.corrected_t(scores, 0.4)


def test_bad_settings_and_missing_scores_are_refused() -> None:
    with pytest.raises(StatisticsError, match="ratio of test to training nodes is -1"):
        statistics.corrected_t(DIFFERENCES, -1)
    with pytest.raises(StatisticsError, match="region of practical equivalence is -0.1"):
        statistics.posterior(DIFFERENCES, 0.4, -0.1)
    with pytest.raises(StatisticsError, match="no score may be missing"):
        statistics.mean_ranks([[0.1, math.nan], [0.1, 0.2]])
