"""Anyone's results, compared: scores of models on the same splits, paired, tested, ranked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import pandas as pd

from heterophily.bench import statistics
from heterophily.bench.scores import CompareError, Scores
from heterophily.bench.statistics import Posterior, Ranks

ALPHA, ROPE, SURE = 0.05, 0.01, 0.95
"""The level of a test, what difference counts as none (a point), and how probable is probable enough."""
GEOM_GCN = 20 / 48
"""Test to training nodes in the splits of the paper, for scores that come without numbers of nodes."""


@dataclass(frozen=True)
class Pair:
    """One model against another on one dataset; a positive difference is in favor of the first."""

    first: str
    second: str
    dataset: str
    splits: int
    difference: float
    """Mean difference of the test scores, a fraction."""
    std: float
    effect: float
    t: float
    p: float
    """Of the corrected resampled t-test."""
    p_holm: float
    wilcoxon: float
    wilcoxon_p: float
    wilcoxon_holm: float
    posterior: Posterior
    alpha: float = ALPHA

    @property
    def verdict(self) -> str:
        """What may be concluded: "first" or "second" is better, they are "equal" in practice, or "open"."""
        if self.p_holm < self.alpha:
            return "first" if self.difference > 0 else "second"
        return "equal" if self.posterior.equal >= SURE else "open"

    def to_json(self) -> dict[str, Any]:
        """Return the pair fit for JSON; an infinite number, of differences without spread, is null."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__}
        row["posterior"] = self.posterior._asdict()
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        return finite | {"verdict": self.verdict}


@dataclass(frozen=True)
class Comparison:
    """All pairs, and the mean ranks where there are blocks to rank in."""

    pairs: tuple[Pair, ...]
    models: tuple[str, ...]
    """Models that are ranked, in the order of ``ranks``."""
    ranks: Ranks | None
    blocks: str
    """What the models are ranked in: datasets or splits."""
    left_out: tuple[str, ...]
    """Models that lack a dataset and are not ranked."""
    means: Mapping[str, Mapping[str, float]]
    """Mean score by dataset and model."""
    against: str | None
    ratio: Mapping[str, float]
    """Test to training nodes by dataset."""
    assumed: tuple[str, ...]
    """Datasets whose ratio is not known and was taken as ``GEOM_GCN``."""
    rope: float
    alpha: float

    def to_json(self) -> dict[str, Any]:
        """Return everything fit for JSON."""
        ranks = None
        if self.ranks is not None:
            each = dict(zip(self.models, self.ranks.mean))
            ranks = self.ranks._asdict() | {"mean": each, "over": self.blocks}
        return {
            "against": self.against, "alpha": self.alpha, "rope": self.rope, "ratio": dict(self.ratio),
            "ratio_assumed": list(self.assumed), "means": {k: dict(v) for k, v in self.means.items()},
            "pairs": [pair.to_json() for pair in self.pairs], "ranks": ranks,
            "not_ranked": list(self.left_out),
        }  # fmt: skip


def compare(
    scores: Iterable[Scores] | Mapping[str, Sequence[float]],
    against: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    ratio: float | None = None,
) -> Comparison:
    """Compare models on each dataset that two or more of them have, split by split.

    ``scores`` are what ``read_scores`` reads, or fractions by model, on the same splits in the same order.
    With ``against`` each model is compared with that one, otherwise every two. p-values are adjusted by
    Holm's method within a dataset. ``ratio`` is that of test to training nodes; without it the results say
    it, or else it is taken as in the splits of the paper. Models are ranked over datasets where there are
    several, otherwise over splits. Scores on different splits are refused.
    """
    if not 0 < alpha < 1:
        raise CompareError(f"alpha is {alpha}; it is a number between 0 and 1, such as 0.05")
    if isinstance(scores, Mapping):
        scores = [
            Scores(model, "these splits", {str(i): float(score) for i, score in enumerate(each)})
            for model, each in scores.items()
        ]
    by_dataset: dict[str, dict[str, Scores]] = {}
    for one in scores:
        models = by_dataset.setdefault(one.dataset, {})
        if one.model in models:
            raise CompareError(
                f"{one.model} on {one.dataset} is there twice, from {models[one.model].source or 'one place'}"
                f" and {one.source or 'another'}; give each its own name as NAME=FILE"
            )
        models[one.model] = one
    if against is not None and not any(against in models for models in by_dataset.values()):
        known = sorted({name for models in by_dataset.values() for name in models})
        raise CompareError(
            f"there are no scores of {against!r} to compare with; there are {', '.join(known)}"
        )
    pairs: list[Pair] = []
    ratios: dict[str, float] = {}
    assumed = []
    for dataset, models in by_dataset.items():
        _same_splits(list(models.values()))
        known_ratios = [one.ratio for one in models.values() if one.ratio is not None]
        ratios[dataset] = ratio if ratio is not None else fmean(known_ratios) if known_ratios else GEOM_GCN
        if ratio is None and not known_ratios:
            assumed.append(dataset)
        couples = (
            list(combinations(models, 2))
            if against is None
            else [(against, other) for other in models if other != against and against in models]
        )
        pairs += _pairs(dataset, models, couples, ratios[dataset], rope, alpha)
    if not pairs:
        raise CompareError("nothing to compare: two models with scores on one dataset are needed")
    names, ranks, blocks, left_out = _ranked(by_dataset, alpha)
    means = {
        d: {name: fmean(one.by_split.values()) for name, one in models.items()}
        for d, models in by_dataset.items()
    }
    return Comparison(
        tuple(pairs), names, ranks, blocks, left_out, means, against, ratios, tuple(assumed), rope, alpha
    )


def _pairs(
    dataset: str,
    models: Mapping[str, Scores],
    couples: Sequence[tuple[str, str]],
    ratio: float,
    rope: float,
    alpha: float,
) -> list[Pair]:
    found: list[dict[str, Any]] = []
    for first, second in couples:
        mine, theirs = models[first].by_split, models[second].by_split
        d = [mine[split] - theirs[split] for split in mine]
        t, signed = statistics.corrected_t(d, ratio), statistics.wilcoxon(d)
        found.append({
            "first": first, "second": second, "dataset": dataset, "splits": len(d), "difference": fmean(d),
            "std": float(pd.Series(d).std(ddof=1)), "effect": statistics.effect_size(d),
            "t": t.value, "p": t.p, "wilcoxon": signed.value, "wilcoxon_p": signed.p,
            "posterior": statistics.posterior(d, ratio, rope), "alpha": alpha,
        })  # fmt: skip
    both = [statistics.holm([row[name] for row in found]) for name in ("p", "wilcoxon_p")]
    return [Pair(**row, p_holm=p, wilcoxon_holm=w) for row, p, w in zip(found, *both)]


def _ranked(
    by_dataset: Mapping[str, Mapping[str, Scores]], alpha: float
) -> tuple[tuple[str, ...], Ranks | None, str, tuple[str, ...]]:
    """Rank the models that have all datasets, over datasets or, of a single one, over its splits."""
    every = list(dict.fromkeys(name for models in by_dataset.values() for name in models))
    whole = tuple(name for name in every if all(name in models for models in by_dataset.values()))
    left_out = tuple(name for name in every if name not in whole)
    if len(by_dataset) > 1:
        blocks = "datasets"
        table = [[fmean(models[name].by_split.values()) for name in whole] for models in by_dataset.values()]
    else:
        blocks = "splits"
        (models,) = by_dataset.values()
        table = [[models[name].by_split[split] for name in whole] for split in models[whole[0]].by_split]
    if len(whole) < 2:
        return whole, None, blocks, left_out
    return whole, statistics.mean_ranks(table, alpha), blocks, left_out


def _same_splits(some: Sequence[Scores]) -> None:
    """Refuse scores that are not of the same splits: a difference between them would mean nothing."""
    first = some[0]
    for other in some[1:]:
        names = f"{first.model} and {other.model} on {first.dataset}"
        if other.graph != first.graph:
            raise CompareError(
                f"{names} are results on graphs drawn with different options; not to be paired"
            )
        if set(other.by_split) != set(first.by_split):
            lack = sorted(set(first.by_split) ^ set(other.by_split))
            raise CompareError(
                f"{names} are not on the same splits: only one of them has split {', '.join(lack)}. "
                "Paired tests need both on each; train the missing ones"
            )
        for split, mask in first.masks.items():
            if other.masks.get(split, mask) != mask:
                raise CompareError(
                    f"{names} have different nodes in split {split}, though it is called the same; scores on "
                    "different splits are not to be paired"
                )
    if len(first.by_split) < 2:
        raise CompareError(
            f"the results on {first.dataset} have one split; a paired test needs two or more (--split all)"
        )
