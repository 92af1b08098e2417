"""Figure 6: the estimator against numbers that are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from heterophily.studies import StudyError, Trial, information
from heterophily.studies.information import own_information, shared_information, standardized
from heterophily.training.runs import Run, train_runs
from tests.studies.made import made
from tests.tiny import tiny_config, tiny_graph


def gaussian_information(correlation: float) -> float:
    """The Jensen-Shannon divergence in bits between a correlated and an uncorrelated Gaussian, summed up."""
    u = np.linspace(-6, 6, 601)
    x, y = np.meshgrid(u, u)
    cell = (u[1] - u[0]) ** 2
    rest = 1 - correlation**2
    p = np.exp(-(x**2 - 2 * correlation * x * y + y**2) / (2 * rest)) / (2 * np.pi * np.sqrt(rest)) * cell
    q = np.exp(-(x**2 + y**2) / 2) / (2 * np.pi) * cell
    middle = np.maximum((p + q) / 2, 1e-300)
    parts = [part * np.log2(np.maximum(part, 1e-300) / middle) for part in (p, q)]
    return float(sum(part.sum() for part in parts) / 2)


def test_the_estimate_bounds_the_truth_from_below_and_comes_near_it() -> None:
    random = torch.Generator().manual_seed(0)
    x, noise = torch.randn(900, 1, generator=random), torch.randn(900, 1, generator=random)
    (values,) = shared_information([(x, 0.9 * x + (1 - 0.81) ** 0.5 * noise)], draws=1)
    truth = gaussian_information(0.9)
    assert 0.75 * truth < np.mean(values) < truth


def test_clear_classes_tell_all_there_is_to_tell_and_noise_tells_nothing() -> None:
    random = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (450,), generator=random)
    clear = torch.randn(4, 8, generator=random)[labels] + 0.05 * torch.randn(450, 8, generator=random)
    noise = torch.randn(450, 8, generator=random)
    side = one_hot(labels, 4).float()
    told, nothing = shared_information([(standardized(clear), side), (standardized(noise), side)], draws=1)
    most = own_information((side.mean(0)).tolist())
    assert told == pytest.approx([most], abs=0.02)
    assert nothing == pytest.approx([0], abs=0.02)


def test_on_a_small_graph_noise_tells_nothing_and_a_copy_tells_much() -> None:
    random = torch.Generator().manual_seed(0)
    x, noise, turn = (torch.randn(rows, 64, generator=random) for rows in (183, 183, 64))
    (nothing,), (copied,) = shared_information([(x, noise), (x, standardized(x @ turn))], draws=1)
    assert abs(nothing) < 0.02 and copied > 0.5


def test_a_hub_does_not_spoil_what_the_others_tell() -> None:
    random = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 3, (150,), generator=random)
    x = torch.randn(3, 16, generator=random)[labels] + torch.randn(150, 16, generator=random)
    hubs = x * torch.where(torch.arange(150) < 4, 40.0, 1.0)[:, None]
    side = one_hot(labels, 3).float()
    (alone,), (beside,) = shared_information([(standardized(x), side), (standardized(hubs), side)], draws=1)
    assert beside > alone - 0.1


def test_a_draw_below_zero_is_kept_and_the_mean_is_not_below() -> None:
    values = {"hm_labels": [[0.3]], "ht_labels": [[0.2]], "hm_ht": [[-0.04, 0.01]]}
    result = information.Information(dataset="d", about={}, labels=0.5, nodes=9, values=values)
    assert result.to_json()["values"]["hm_ht"] == [[-0.04, 0.01]] and result.mean("hm_ht") == 0


def test_what_labels_tell_of_themselves_grows_with_their_number_up_to_a_bit() -> None:
    assert own_information([1.0]) == 0
    known = [own_information([1 / k] * k) for k in (2, 4, 16, 4096)]
    assert known == sorted(known) and 0.99 < known[-1] < 1
    # By the definition, for two equal classes: pairs (i, i) have 1/2 jointly and 1/4 by chance.
    joint, chance = np.array([0.5, 0, 0, 0.5]), np.full(4, 0.25)
    middle = (joint + chance) / 2
    first = sum(p * np.log2(p / m) for p, m in zip(joint, middle) if p)
    assert known[0] == pytest.approx((first + sum(chance * np.log2(chance / middle))) / 2)


def test_the_spread_over_draws_and_over_runs_are_told_apart() -> None:
    result = made("information")
    assert result.nodes == tiny_graph().num_nodes
    assert all(len(runs) == 3 and all(len(run) == 2 for run in runs) for runs in result.values.values())
    other = information.Information(
        dataset="d", about={}, labels=0.5, nodes=9, values={"hm_labels": [[0.1, 0.3], [0.5, 0.7]]}
    )
    assert other.mean("hm_labels") == pytest.approx(0.4)
    assert other.spread("hm_labels") == pytest.approx(
        (np.std([0.1, 0.3], ddof=1), np.std([0.2, 0.6], ddof=1))
    )


def test_few_labelled_nodes_are_refused() -> None:
    graph = tiny_graph(24)
    (outcome,) = train_runs(graph, [Run("hdp", tiny_config("hdp"))])
    with pytest.raises(StudyError, match="24 labelled nodes are too few"):
        information.look(graph, [Trial(graph.splits[0], outcome)])
