"""Nodes that are copies of others, and what the labels of copies in the training set give away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from heterophily.graph.audit.finding import Finding, Severity, many, percent
from heterophily.graph.audit.look import Look
from heterophily.graph.twins import Ints

SERIOUS, NOTICEABLE = 0.10, 0.01
"""Shares of the test nodes that copying may get right: a leak from the first on is serious, one below the
second but a note."""
COARSE = 0.1
"""With fewer distinct feature rows than this share of the nodes, equal rows are no copies but few values."""


def check_twins(look: Look) -> Iterator[Finding]:
    """Nodes with the same neighbors as another, and what their labels give away."""
    lists = {"out-neighbors": "out", "in-neighbors": "into"}
    table = {}
    for kind, number in look.number.items():
        if kind != "features":
            degree = getattr(look, lists.get(kind, "neighbors")).lengths
            table[kind] = _copies(look, number) | {"large": _copies(look, np.where(degree >= 2, number, 0))}
    worst = max(table, key=lambda kind: (table[kind]["large"]["excess"], table[kind]["twins"]))
    found, large = table[worst], table[worst]["large"]
    if not found["twins"]:
        return
    words = _agreement(found)
    yield Finding(
        "twins", _leak(large["excess"]), large["excess"],
        f"{found['twins']:,} of {many(look.nodes, 'node')} have exactly the same {worst} as another{words}",
        "A model can copy the label of a training twin instead of learning anything. By twins that share two "
        f"neighbors or more, {percent(large['excess'])} of the test nodes could be got right, beyond what "
        "the most frequent class gives.",
        "Compare with the model twin-copy, which does nothing else. Remove copies, keep twins in one part of "
        "a split, or use a filtered version if there is one." if large["excess"] >= NOTICEABLE else
        "Nothing, unless scores differ by less than this. The model twin-copy shows what twins are worth.",
        table,
    )  # fmt: skip


def check_duplicate_features(look: Look) -> Iterator[Finding]:
    """Nodes with the same features as another, and what their labels give away."""
    if not look.graph.num_features:
        yield Finding(
            "no-features", "note", 1.0, "there are no features",
            "Models that read features have nothing to go by but the edges.",
            "Add features, or use a model of the rows of the adjacency, such as linkx.",
        )  # fmt: skip
        return
    number = look.number["features"]
    found = _copies(look, number)
    distinct = int(number.max(initial=0))
    facts = found | {"distinct": distinct}
    if not found["twins"]:
        return
    if distinct < COARSE * look.nodes:
        yield Finding(
            "coarse-features", "note", found["twins"] / look.nodes,
            f"there are only {many(distinct, 'distinct row')} of features for {many(look.nodes, 'node')}",
            "Features alone can tell no more nodes apart than that.",
            "Expect little of an MLP here.", facts,
        )  # fmt: skip
        return
    yield Finding(
        "duplicate-features", _leak(found["excess"]), found["excess"],
        f"{found['twins']:,} of {many(look.nodes, 'node')} have exactly the same features as another"
        f"{_agreement(found)}",
        "If they are copies of each other, their labels leak from the training set into the test set: "
        f"{percent(found['excess'])} of the test nodes could be got right that way, beyond what the most "
        "frequent class gives.",
        "Remove copies, or keep nodes with the same features in one part of a split."
        if found["excess"] >= NOTICEABLE else "Nothing, unless scores differ by less than this.", facts,
    )  # fmt: skip


def _copies(look: Look, number: Ints) -> dict[str, Any]:
    """Count twins, and test nodes with training twins, and how often the training twins' label is right.

    ``excess`` is the share of test nodes got right by copying, beyond what the most frequent class would get
    right among those same nodes; the means over splits.
    """
    size = np.bincount(number)
    twins = (number > 0) & (size[number] > 1)
    found: dict[str, Any] = {"twins": int(twins.sum()), "groups": int((size[1:] > 1).sum())}
    covered, agreed, excess = [], [], []
    for split in look.splits:
        train, test = split.train.numpy() & twins, np.flatnonzero(split.test.numpy() & twins)
        total = int(split.test.sum())
        if not total:
            continue
        classes = look.graph.num_classes
        votes = np.unique(number[train] * classes + look.y[train], return_counts=True)
        order = np.lexsort((-votes[0], votes[1], votes[0] // classes))
        group, label = np.divmod(votes[0][order], classes)
        last = np.append(group[1:] != group[:-1], True) if len(group) else np.zeros(0, bool)
        best = np.full(len(size), -1)
        best[group[last]] = label[last]
        copied = best[number[test]]
        test, copied = test[copied >= 0], copied[copied >= 0]
        right = copied == look.y[test]
        common = np.bincount(look.y[split.train.numpy()], minlength=classes).argmax()
        covered.append(len(test) / total)
        agreed.append(float(right.mean()) if len(test) else math.nan)
        excess.append(max(0.0, float(right.sum() - (look.y[test] == common).sum()) / total))
    found["test_share"] = float(np.mean(covered)) if covered else None
    seen = [share for share in agreed if not math.isnan(share)]
    found["agreement"] = float(np.mean(seen)) if seen else None
    found["excess"] = float(np.mean(excess)) if excess else 0.0
    return found


def _agreement(found: Mapping[str, Any]) -> str:
    if not found["test_share"] or found["agreement"] is None:
        return ""
    return (
        f"; {percent(found['test_share'])} of the test nodes have a training twin, whose label is theirs in "
        f"{percent(found['agreement'])} of cases"
    )


def _leak(share: float) -> Severity:
    return "serious" if share >= SERIOUS else "warning" if share >= NOTICEABLE else "note"
