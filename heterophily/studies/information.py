"""Figure 6: how much H^hm, H^ht and the labels tell of one another, by Deep InfoMax's estimator.

The measure is the Jensen-Shannon divergence between the joint distribution of two variables and the
product of their own, in bits, so from 0 (independent) to 1. It is what the Jensen-Shannon estimator of Deep
InfoMax bounds from below: a discriminator T that tells pairs of one node from pairs of two has

    E_joint[-softplus(-T)] - E_product[softplus(T)] ≤ 2 JSD - 2 log 2,

with equality for the best T, and 0 bits for T = 0. It is fitted on some nodes and judged on others, so it
cannot flatter itself: the estimate is what is shared at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.graph import Graph
from heterophily.outcomes import representations
from heterophily.studies.plan import Plan, Trial, splits_neighborhoods
from heterophily.studies.result import Result, StudyError, mean, std
from heterophily.studies.venn import Point, three_circles, worst_miss

PAIRS = {"hm_labels": ("h_hm", "labels"), "ht_labels": ("h_ht", "labels"), "hm_ht": ("h_hm", "h_ht")}
DRAWS = 3
"""Estimates of each number, from different seeds: the spread of the estimator."""
FOLDS = 5
"""Parts of the nodes: a discriminator is fitted on three, stopped by one, judged on the last."""
TRIES = ((3e-3, 0.0), (1e-3, 0.3))
"""Learning rates and dropouts of both sides: wide ones are learnt by heart without, narrow ones need none.
The fold that stops chooses."""
WIDTH, STEPS, CHECK, BATCH, DECAY = 64, 240, 20, 384, 1e-3
NOTHING = -2 * math.log(2)
"""The bound for T = 0. A small graph may have no better discriminator."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Information(Result):
    """Jensen-Shannon information in bits between the representations and the labels."""

    study = "information"

    values: dict[str, list[list[float]]]
    """By pair ("hm_labels", "ht_labels", "hm_ht"), run and draw; chance takes some below 0."""
    labels: float
    """What the labels tell of themselves, the most that anything can tell of them; of a representation,
    which tells nodes apart, it is 1."""
    nodes: int

    def mean(self, pair: str) -> float:
        """Return the mean over runs and draws: what the pair shares at least, so never below 0."""
        return max(0.0, float(np.mean(self.values[pair])))

    def circles(self) -> tuple[list[Point], list[float], float]:
        """Return centers and radii of labels, H^hm and H^ht as circles, and how far overlaps are off."""
        overlaps = [self.mean(pair) for pair in PAIRS]
        centers, radii = three_circles([self.labels, 1.0, 1.0], overlaps)
        return centers, radii, worst_miss(centers, radii, overlaps)

    def spread(self, pair: str) -> tuple[float | None, float | None]:
        """Return the standard deviation over the draws of a run (pooled), and over the runs' means."""
        within = [std(run) for run in self.values[pair]]
        if any(value is None for value in within):
            return None, std([mean(run) for run in self.values[pair]])
        pooled = float(np.sqrt(np.mean(np.square([value or 0.0 for value in within]))))
        return pooled, std([mean(run) for run in self.values[pair]])


def study(graph: Graph, plan: Plan | None = None, draws: int = DRAWS) -> Information:
    """Train HDP and estimate what its two representations tell."""
    plan = plan or Plan(splits=[0])
    (trials,), about = plan.train(graph, [("hdp", plan.config("hdp", graph.name))])
    return replace(look(graph, trials, draws, plan.seed), about=about)


def look(graph: Graph, trials: Sequence[Trial], draws: int = DRAWS, seed: int = 0) -> Information:
    """Estimate what the representations of trained runs tell, on all labelled nodes."""
    splits_neighborhoods(trials)
    values: dict[str, list[list[float]]] = {pair: [] for pair in PAIRS}
    known = graph.y >= 0
    if int(known.sum()) < 6 * FOLDS:
        raise StudyError(
            f"{int(known.sum())} labelled nodes are too few to fit a discriminator; take a larger graph"
        )
    one_hot = F.one_hot(graph.y[known], graph.num_classes).float()
    for trial in trials:
        found = representations(trial.outcome)
        device = found.h.device
        sides = {
            "h_hm": standardized(found.h_hm[known.to(device)]),
            "h_ht": standardized(found.h_ht[known.to(device)]),
            "labels": one_hot.to(device),
        }
        estimates = shared_information([(sides[a], sides[b]) for a, b in PAIRS.values()], draws, seed)
        for pair, each in zip(PAIRS, estimates):
            values[pair].append(each)
    return Information(
        dataset=graph.name,
        about={"splits": [trial.split.name for trial in trials]},
        values=values,
        labels=own_information(one_hot.mean(0).tolist()),
        nodes=int(known.sum()),
    )


def own_information(shares: Sequence[float]) -> float:
    """Return what a discrete variable with these probabilities tells of itself, in bits."""
    p = np.asarray([share for share in shares if share > 0])
    middle = (p + p**2) / 2  # of the pairs (i, i); others have no joint probability
    joint = (p * np.log2(p / middle)).sum()
    product = (p**2 * np.log2(p**2 / middle)).sum() + (
        1 - (p**2).sum()
    )  # log2(q / (q / 2)) = 1 for the others
    return float((joint + product) / 2)


def standardized(x: Tensor) -> Tensor:
    """Give every column mean 0, draw far rows nearer, and give the matrix mean square 1.

    All of this can be undone, so what is told stays the same; but hubs, ten times as long as other rows,
    would make a discriminator's worst mistakes.
    """
    x = x.float() - x.float().mean(0)
    far = x.norm(dim=1, keepdim=True)
    far = (far / far.median().clamp(min=1e-12)).clamp(min=1e-12)
    x = x * far.log1p() / far
    return x / x.square().mean().sqrt().clamp(min=1e-12)


def shared_information(
    pairs: Sequence[tuple[Tensor, Tensor]], draws: int = DRAWS, seed: int = 0
) -> list[list[float]]:
    """Estimate the Jensen-Shannon information in bits between the sides (n, ·) of each pair, ``draws`` times.

    Every draw cuts the nodes into folds of its own. All pairs, draws and folds are fitted at once.
    """
    device = pairs[0][0].device
    nodes, width = len(pairs[0][0]), max(side.shape[1] for pair in pairs for side in pair)
    left, right = (
        torch.stack([F.pad(pair[i], (0, width - pair[i].shape[1])) for pair in pairs]) for i in (0, 1)
    )  # (P, n, width)
    random = torch.Generator().manual_seed(seed)
    size = nodes // FOLDS
    folds = []
    for _ in range(draws):
        order = torch.randperm(nodes, generator=random)[: size * FOLDS].view(FOLDS, size)
        folds += [order.roll(-k, 0) for k in range(FOLDS)]  # each fold judges once
    rows = torch.stack(folds).repeat(len(pairs), 1, 1).to(device)  # (R, FOLDS, size), pairs first
    judge, stop, fit = rows[:, 0], rows[:, 1], rows[:, 2:].flatten(1)
    of_pair = torch.arange(len(pairs), device=device).repeat_interleave(draws * FOLDS)
    best = torch.full((len(rows),), NOTHING, device=device)
    kept = best.clone()

    def sides(part: Tensor) -> tuple[Tensor, Tensor]:
        return left[of_pair[:, None], part], right[of_pair[:, None], part]

    def judged(critic: Critics, part: Tensor) -> Tensor:
        blocks = [block for block in part.split(BATCH, 1) if block.shape[1] > 1]
        bounds = torch.stack([bound(critic(*sides(block))) for block in blocks])
        weights = torch.tensor([float(block.shape[1]) for block in blocks], device=device)
        return (bounds * weights[:, None]).sum(0) / weights.sum()

    for rate, dropout in TRIES:
        critic = Critics(len(rows), width, random, device)
        adam = torch.optim.AdamW(critic.parameters(), rate, weight_decay=DECAY)
        for step in range(1, STEPS + 1):
            batch = torch.randperm(fit.shape[1], generator=random)[:BATCH]
            masks = torch.rand(2, len(batch), width, generator=random).ge(dropout).to(device) / (1 - dropout)
            a, b = sides(fit[:, batch.to(device)])
            adam.zero_grad()
            (-bound(critic(a * masks[0], b * masks[1])).sum()).backward()
            adam.step()
            if step % CHECK == 0:
                with torch.no_grad():
                    now, then = judged(critic, stop), judged(critic, judge)
                better = now > best
                best, kept = torch.where(better, now, best), torch.where(better, then, kept)
    bits = (1 - kept / NOTHING).view(len(pairs), draws, FOLDS).mean(-1)
    return [[float(value) for value in row] for row in bits.cpu()]


def bound(scores: Tensor) -> Tensor:
    """Return E_joint[-softplus(-T)] - E_product[softplus(T)], (R,), of the scores of all pairs, (R, n, n)."""
    size = scores.shape[-1]
    joint = -F.softplus(-scores.diagonal(dim1=-2, dim2=-1)).mean(-1)
    every = F.softplus(scores)
    others = every.sum((-2, -1)) - every.diagonal(dim1=-2, dim2=-1).sum(-1)
    return joint - others / (size * (size - 1))


class Critics(torch.nn.Module):
    """R discriminators at once: T(a, b) is the inner product of two perceptrons' outputs, plus a number."""

    def __init__(self, runs: int, width: int, random: torch.Generator, device: torch.device):
        super().__init__()

        def drawn(*shape: int) -> torch.nn.Parameter:
            weights = torch.randn(runs, *shape, generator=random) * (2 / shape[0]) ** 0.5
            return torch.nn.Parameter(weights.to(device))

        self.first = torch.nn.ParameterList(drawn(width, WIDTH) for _ in range(2))
        self.second = torch.nn.ParameterList(drawn(WIDTH, WIDTH) for _ in range(2))
        self.shift = torch.nn.ParameterList(
            torch.nn.Parameter(torch.zeros(runs, 1, WIDTH, device=device)) for _ in range(2)
        )
        self.offset = torch.nn.Parameter(torch.zeros(runs, 1, 1, device=device))

    def forward(self, *sides: Tensor) -> Tensor:
        """Return the scores (R, n, n) of all pairs of the rows (R, n, width) of both sides."""
        a, b = (
            torch.relu(side @ first + shift) @ second
            for side, first, shift, second in zip(sides, self.first, self.shift, self.second)
        )
        return a @ b.mT / WIDTH + self.offset
