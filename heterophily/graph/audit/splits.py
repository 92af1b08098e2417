"""Coverage, sizes, classes and differences of the splits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import chdtrc

from heterophily.graph.audit.finding import Finding, listed, many, percent
from heterophily.graph.audit.look import Look
from heterophily.graph.splits import Split
from heterophily.graph.twins import Ints

SERIOUS = 0.10
"""Share of the test nodes that are of classes without training nodes, from which on it is serious."""


def check_splits(look: Look) -> Iterator[Finding]:
    """Coverage, sizes, classes and differences of the splits."""
    if not look.splits:
        yield Finding(
            "no-splits", "note", 1.0, "there are no splits",
            "Results on different random splits are hard to compare.",
            "Draw some with random_splits and publish the seed.",
        )  # fmt: skip
        return
    yield from _coverage(look)
    yield from _classes_of_splits(look)
    tests = [int(split.test.sum()) for split in look.splits]
    least = min(tests)
    if 0 < least < 200:
        error = 0.5 / math.sqrt(least)
        yield Finding(
            "small-test", "warning", error,
            f"test sets have as few as {many(least, 'node')}: one node is {100 / least:.1f} points",
            f"The score on such a split has a standard error of up to {100 * error:.0f} points; so does a "
            "difference between two models, nearly.",
            "Use all splits and several seeds, and compare models on the same splits with a paired test.",
            {"least": least},
        )  # fmt: skip
    texts = [b"".join(mask.numpy().tobytes() for _, mask in split.parts()) for split in look.splits]
    again = [split.name for i, split in enumerate(look.splits) if texts[i] in texts[:i]]
    if again:
        yield Finding(
            "same-splits", "warning", len(again) / len(texts), f"{listed(again)} repeat an earlier one",
            "Repeated splits make the spread over splits look smaller than it is.", "Drop the repetitions.",
            {"splits": again},
        )  # fmt: skip


def _coverage(look: Look) -> Iterator[Finding]:
    used = [split.train.numpy() | split.validation.numpy() | split.test.numpy() for split in look.splits]
    labelled = int(look.labelled.sum())
    unused = [labelled - int(mask.sum()) for mask in used]
    largest = look.component == 0
    by_component = [
        split.name
        for split, mask in zip(look.splits, used)
        if not largest.all() and (mask == (largest & look.labelled)).all()
    ]
    affected = [split.name for split, count in zip(look.splits, unused) if count]
    if affected:
        worst = max(unused) / labelled
        whole = len(affected) == len(look.splits)
        which = (
            "every split leaves" if whole else f"{listed(affected)} leave{'s' if len(affected) == 1 else ''}"
        )
        apart = sorted({count for count in unused if count})
        amount = f"{apart[0]:,}" if len(apart) == 1 else f"{apart[0]:,} to {apart[-1]:,}"
        reason = " (all outside the largest component)" if by_component == affected else ""
        yield Finding(
            "unused-nodes", "warning" if worst >= 0.25 else "note", worst,
            f"{which} out {amount} of {many(labelled, 'labelled node')}{reason}",
            "A score is that of the nodes used; it says nothing on those left out, often the harder ones.",
            "Say so where a score is given.",
            {"splits": affected, "unused": unused, "largest_component": by_component},
        )  # fmt: skip
    sizes = {part: [int(getattr(split, part).sum()) for split in look.splits] for part in ("train", "test")}
    spread = max(1 - min(counts) / max(max(counts), 1) for counts in sizes.values())
    if spread > 0.01 and len(look.splits) > 1:
        low, high = min(sizes["train"]), max(sizes["train"])
        few, most = min(sizes["test"]), max(sizes["test"])
        typical = float(np.median(sizes["train"]))
        odd = [s.name for s, n in zip(look.splits, sizes["train"]) if abs(n - typical) > 0.2 * typical]
        named = f"; {listed(odd)} differ{'s' if len(odd) == 1 else ''} by more than a fifth" if odd else ""
        yield Finding(
            "uneven-splits", "warning" if spread >= 0.25 else "note", spread,
            f"splits differ in size: {low:,} to {high:,} training and {few:,} to {most:,} test nodes{named}",
            "A mean over splits mixes tasks of different difficulty, and its spread is not by chance alone.",
            "Report the odd splits apart, or leave them out.", {"odd": odd} | sizes,
        )  # fmt: skip


def _classes_of_splits(look: Look) -> Iterator[Finding]:
    classes = look.graph.num_classes
    names = look.graph.class_names or [str(c) for c in range(classes)]

    def counts(split: Split, part: str) -> Ints:
        return np.bincount(look.y[getattr(split, part).numpy()], minlength=classes)

    missing: dict[int, list[str]] = {}
    touched = []
    shifted = []
    for split in look.splits:
        train, test = counts(split, "train"), counts(split, "test")
        absent = (train == 0) & (look.counts > 0)
        for label in np.flatnonzero(absent):
            missing.setdefault(int(label), []).append(split.name)
        touched.append(test[absent].sum() / max(test.sum(), 1))
        table = np.stack([train, test])[:, (train + test) > 0]
        if test.sum() and table.shape[1] > 1:
            if _by_chance(table) < 1e-3 / len(look.splits):
                shifted.append(split.name)
    if missing:
        where = "; ".join(f"class {names[c]} in {listed(splits)}" for c, splits in missing.items())
        yield Finding(
            "missing-class", "serious" if max(touched) >= SERIOUS else "warning", float(max(touched)),
            f"absent from training: {where}",
            "No model can learn a class it never sees; its test nodes are always wrong "
            f"({percent(float(max(touched)))} of the test nodes in the worst split).",
            "Merge or drop the class, or draw stratified splits.",
            {"classes": {str(c): splits for c, splits in missing.items()}},
        )  # fmt: skip
    if shifted:
        yield Finding(
            "shifted-classes", "warning", len(shifted) / len(look.splits),
            f"training and test set have different shares of the classes in {listed(shifted)}",
            "Chance alone would hardly do that (χ², level 0.1 % over all splits): the test set asks another "
            "question than the training set answers.",
            "Draw stratified splits, unless the shift is meant.", {"splits": shifted},
        )  # fmt: skip


def _by_chance(table: Ints) -> float:
    """Return how probable rows that differ so much are by chance: χ² with Yates' correction.

    As `scipy.stats` has it, which takes most of a second to import.
    """
    rows, columns = table.sum(1, keepdims=True), table.sum(0, keepdims=True)
    expected, freedom = rows * columns / table.sum(), (len(rows) - 1) * (columns.size - 1)
    off = np.abs(table - expected)
    off = off - np.minimum(0.5, off) if freedom == 1 else off
    return float(chdtrc(freedom, (off**2 / expected).sum()))
