"""Scores are those of scikit-learn, for one run and for many at once."""

from __future__ import annotations

import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from torch import Tensor

from heterophily.training import metrics


def draw(classes: int, ties: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, labels (some unknown) and a mask of known nodes, for four runs of thirty nodes."""
    logits = torch.randn(4, 30, classes, dtype=torch.float64)
    labels = torch.randint(classes, (30,))
    mask = torch.arange(30) % 3 > 0
    return logits.round() if ties else logits, torch.where(mask, labels, -1), mask


def test_accuracy_is_scikit_learn_s() -> None:
    logits, y, mask = draw(3)
    wanted = [accuracy_score(y[mask], one.argmax(-1)[mask]) for one in logits]
    assert metrics.accuracy(logits, y, mask).tolist() == pytest.approx(wanted)
    assert float(metrics.score("accuracy", logits[0], y, mask)) == pytest.approx(wanted[0])


@pytest.mark.parametrize("ties", [False, True])
def test_roc_auc_is_scikit_learn_s_with_ties_counted_half(ties: bool) -> None:
    logits, y, mask = draw(2, ties)
    wanted = [roc_auc_score(y[mask], (one[:, 1] - one[:, 0])[mask]) for one in logits]
    assert metrics.score("roc_auc", logits, y, mask).tolist() == pytest.approx(wanted)
    assert float(metrics.roc_auc(logits[0], y, mask)) == pytest.approx(wanted[0])


def test_the_loss_is_the_mean_cross_entropy_over_the_mask() -> None:
    logits, y, mask = draw(3)
    wanted = [log_loss(y[mask], one.softmax(-1)[mask], labels=[0, 1, 2]) for one in logits]
    assert metrics.loss(logits, y, mask).tolist() == pytest.approx(wanted)


def test_runs_may_have_labels_and_masks_of_their_own() -> None:
    logits, y, mask = draw(2)
    labels = torch.stack([y, torch.where(mask, 1 - y, -1), y, y])
    masks = torch.stack([mask, mask, mask & (torch.arange(30) < 20), mask])
    for score in (metrics.accuracy, metrics.roc_auc, metrics.loss):
        each = [float(score(*one)) for one in zip(logits, labels, masks, strict=True)]
        assert score(logits, labels, masks).tolist() == pytest.approx(each)
