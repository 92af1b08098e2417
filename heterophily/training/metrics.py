"""Scores of logits against labels on a mask, for one run or a stack of runs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def score(metric: str, logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return accuracy or ROC AUC over the nodes of ``mask``; (..., N, K) and (..., N) give (...)."""
    return roc_auc(logits, labels, mask) if metric == "roc_auc" else accuracy(logits, labels, mask)


def accuracy(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Share of the nodes of ``mask`` whose largest logit is their label's."""
    right = (logits.argmax(-1) == labels) & mask
    return right.sum(-1).double() / mask.sum(-1)


def loss(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Mean cross-entropy over the nodes of ``mask``."""
    labels, mask = labels.expand(logits.shape[:-1]), mask.expand(logits.shape[:-1])
    each = F.nll_loss(
        torch.log_softmax(logits, -1).flatten(0, -2), labels.clamp(min=0).flatten(), reduction="none"
    ).view(labels.shape)
    return (each * mask).sum(-1) / mask.sum(-1)


def roc_auc(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Area under the ROC curve of class 1 against class 0, ties counted half."""
    margin = (logits[..., 1] - logits[..., 0]).contiguous()
    labels, mask = labels.expand(margin.shape), mask.expand(margin.shape)
    positive, negative = mask & (labels == 1), mask & (labels == 0)
    ranked = margin.masked_fill(~negative, torch.inf).sort(-1).values
    below = torch.searchsorted(ranked, margin) + torch.searchsorted(ranked, margin, right=True)
    wins = (below * positive).sum(-1).double() / 2
    return wins / (positive.sum(-1) * negative.sum(-1)).clamp(min=1)
