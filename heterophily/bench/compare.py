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
from heterophily.models import MODELS

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
    adjusted_over: int
    """How many tests of the dataset the p-values are adjusted over."""
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
    over: tuple[str, ...]
    """Datasets that the models are ranked over."""
    left_out: Mapping[str, tuple[str, ...]]
    """Models that are not ranked, each with the datasets that it lacks."""
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
            "pairs": [pair.to_json() for pair in self.pairs], "ranks": ranks, "ranked_over": list(self.over),
            "not_ranked": {model: list(lacks) for model, lacks in self.left_out.items()},
        }  # fmt: skip


def compare(
    scores: Iterable[Scores] | Mapping[str, Sequence[float]],
    against: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    ratio: float | None = None,
    family: Iterable[Scores] | None = None,
    ranked: Sequence[str] | None = None,
) -> Comparison:
    """Compare models on each dataset that two or more of them have, split by split.

    ``scores`` are what ``read_scores`` reads, or fractions by model, on the same splits in the same order.
    With ``against`` each model is compared with that one, otherwise every two. p-values are adjusted by
    Holm's method within a dataset: over all pairs, or over those of ``family``, to which any other pair is
    added alone. ``ratio`` is that of test to training nodes; without it the results say it, or else it is
    taken as in the splits of the paper. Models are ranked over the datasets ``ranked``, by default all;
    over splits where there is one. Scores on different splits are refused.
    """
    if not 0 < alpha < 1:
        raise CompareError(f"alpha is {alpha}; it is a number between 0 and 1, such as 0.05")
    if isinstance(scores, Mapping):
        scores = [
            Scores(model, "these splits", {str(i): float(score) for i, score in enumerate(each)})
            for model, each in scores.items()
        ]
    by_dataset = _by_dataset(scores)
    kin = None if family is None else _by_dataset(family)
    if against is not None:
        against = _found(against, {name for models in by_dataset.values() for name in models})
    pairs: list[Pair] = []
    ratios: dict[str, float] = {}
    assumed = []
    for dataset, models in by_dataset.items():
        relatives = models if kin is None else kin.get(dataset, {})
        every = {**relatives, **models}
        _same_splits(list(every.values()))
        known_ratios = [one.ratio for one in every.values() if one.ratio is not None]
        ratios[dataset] = ratio if ratio is not None else fmean(known_ratios) if known_ratios else GEOM_GCN
        if ratio is None and not known_ratios:
            assumed.append(dataset)
        own, theirs = (
            list(combinations(some, 2))
            if against is None
            else [(against, other) for other in some if other != against and against in models]
            for some in (models, relatives)
        )
        pairs += _pairs(dataset, every, own, theirs, ratios[dataset], rope, alpha)
    if not pairs:
        there = ", ".join(f"{name} on {dataset}" for dataset, models in by_dataset.items() for name in models)
        words = f"nothing to compare: two models with scores on one dataset are needed, and there is {there}"
        if any(
            one.source.lower().endswith(".csv") for models in by_dataset.values() for one in models.values()
        ):
            words += (
                ". A CSV without a column 'dataset' has its file's name for it; give both that column, or "
                "put the models into one file"
            )
        raise CompareError(words)
    names, ranks, blocks, over, left_out = _ranked(by_dataset, ranked, alpha)
    means = {
        d: {name: fmean(one.by_split.values()) for name, one in models.items()}
        for d, models in by_dataset.items()
    }
    return Comparison(
        tuple(pairs),
        names,
        ranks,
        blocks,
        over,
        left_out,
        means,
        against,
        ratios,
        tuple(assumed),
        rope,
        alpha,
    )


def _by_dataset(scores: Iterable[Scores]) -> dict[str, dict[str, Scores]]:
    found: dict[str, dict[str, Scores]] = {}
    for one in scores:
        models = found.setdefault(one.dataset, {})
        if one.model in models:
            raise CompareError(
                f"{one.model} on {one.dataset} is there twice, from {models[one.model].source or 'one place'}"
                f" and {one.source or 'another'}; give each its own name as NAME=FILE"
            )
        models[one.model] = one
    return found


def _found(wanted: str, known: Iterable[str]) -> str:
    """Return the model of a name or title, in any case unless it is there as written."""
    names = sorted(known)
    spelled = {MODELS[name].title.lower(): name for name in names if name in MODELS}
    spelled |= {name.lower(): name for name in names} | {name: name for name in names}
    found = spelled.get(wanted) or spelled.get(wanted.strip().lower())
    if found is None:
        raise CompareError(f"there are no scores of {wanted!r} to compare with; there are {', '.join(names)}")
    return found


def _pairs(
    dataset: str,
    models: Mapping[str, Scores],
    couples: Sequence[tuple[str, str]],
    family: Sequence[tuple[str, str]],
    ratio: float,
    rope: float,
    alpha: float,
) -> list[Pair]:
    """Test the couples, those of the family adjusted over it, any other over the family and itself."""
    tests: dict[tuple[str, str], dict[str, Any]] = {}
    for first, second in dict.fromkeys((*family, *couples)):
        mine, theirs = models[first].by_split, models[second].by_split
        d = [mine[split] - theirs[split] for split in mine]
        t, signed = statistics.corrected_t(d, ratio), statistics.wilcoxon(d)
        tests[first, second] = {
            "first": first, "second": second, "dataset": dataset, "splits": len(d), "difference": fmean(d),
            "std": float(pd.Series(d).std(ddof=1)), "effect": statistics.effect_size(d),
            "t": t.value, "p": t.p, "wilcoxon": signed.value, "wilcoxon_p": signed.p,
            "posterior": statistics.posterior(d, ratio, rope), "alpha": alpha,
        }  # fmt: skip
    adjusted: dict[tuple[str, str], dict[str, Any]] = {}
    for over in (family, *([*family, couple] for couple in couples if couple not in family)):
        both = [statistics.holm([tests[couple][name] for couple in over]) for name in ("p", "wilcoxon_p")]
        for couple, p, w in zip(over, *both):
            adjusted.setdefault(couple, {"p_holm": p, "wilcoxon_holm": w, "adjusted_over": len(over)})
    return [Pair(**tests[couple], **adjusted[couple]) for couple in couples]


def _ranked(
    by_dataset: Mapping[str, Mapping[str, Scores]], ranked: Sequence[str] | None, alpha: float
) -> tuple[tuple[str, ...], Ranks | None, str, tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Rank the models that have all datasets, over datasets or, of a single one, over its splits."""
    over = tuple(by_dataset if ranked is None else ranked)
    if unknown := [dataset for dataset in over if dataset not in by_dataset]:
        raise CompareError(
            f"there are no scores on {unknown[0]!r} to rank; there are {', '.join(by_dataset)}"
        )
    every = list(dict.fromkeys(name for models in by_dataset.values() for name in models))
    lacks = {name: tuple(dataset for dataset in over if name not in by_dataset[dataset]) for name in every}
    whole = tuple(name for name in every if not lacks[name])
    left_out = {name: some for name, some in lacks.items() if some}
    blocks = "datasets" if len(over) > 1 else "splits"
    if len(whole) < 2:
        return whole, None, blocks, over, left_out
    if blocks == "datasets":
        table = [[fmean(by_dataset[dataset][name].by_split.values()) for name in whole] for dataset in over]
    else:
        models = by_dataset[over[0]]
        table = [[models[name].by_split[split] for name in whole] for split in models[whole[0]].by_split]
    return whole, statistics.mean_ranks(table, alpha), blocks, over, left_out


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
