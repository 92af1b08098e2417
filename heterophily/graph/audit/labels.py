"""Labels and features: filled in, missing, constant, too rare or too frequent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heterophily.graph.audit.finding import Finding, many, percent
from heterophily.graph.audit.look import Look


def check_unfeatured(look: Look) -> Iterator[Finding]:
    """Nodes without features that all have one label, as if it had been filled in."""
    if not look.graph.num_features:
        return
    empty = look.unfeatured
    there = empty & look.labelled
    if there.sum() >= 5:
        share = look.counts / look.counts.sum()
        label = int(np.bincount(look.y[there]).argmax())
        if (look.y[there] == label).all() and share[label] ** int(there.sum()) < 1e-6:
            parts = [
                part for part in ("train", "validation", "test")
                if any((getattr(split, part).numpy() & there).any() for split in look.splits)
            ]  # fmt: skip
            where = f", and are in {', '.join(parts)} sets" if parts else ""
            yield Finding(
                "default-labels", "warning", look.mean_share(there),
                f"{many(int(there.sum()), 'node')} without any feature are all of class {label}{where}",
                "Such a label looks filled in, not observed: scores count answers that nobody knows.",
                "Set their label to -1 and take them out of the splits.",
                {"nodes": int(there.sum()), "class": label, "parts": parts},
            )  # fmt: skip
    if empty.any():
        share_of_test = look.mean_share(empty)
        yield Finding(
            "unfeatured", "warning" if share_of_test >= 0.05 else "note", share_of_test,
            f"{many(int(empty.sum()), 'node')} ({percent(float(empty.mean()))}) "
            f"ha{'s' if empty.sum() == 1 else 've'} no feature but zeros",
            "A model of the features gives all of them one answer; a row divided by its sum is 0/0 there.",
            "Report scores with and without them, or mark them by a feature of their own.",
            {"nodes": int(empty.sum()), "test_share": share_of_test},
        )  # fmt: skip


def check_constant_features(look: Look) -> Iterator[Finding]:
    """Columns that say nothing."""
    rows = look.rows
    if not look.graph.num_features:
        return
    if rows.dense is not None:
        constant = rows.dense.min(0) == rows.dense.max(0)
        zero = constant & (rows.dense[0] == 0)
    else:
        assert rows.indices is not None and rows.values is not None
        width = look.graph.num_features
        filled = np.bincount(rows.indices, minlength=width)
        low, high = np.full(width, np.inf, np.float32), np.full(width, -np.inf, np.float32)
        np.minimum.at(low, rows.indices, rows.values)
        np.maximum.at(high, rows.indices, rows.values)
        zero = filled == 0
        constant = zero | ((filled == look.nodes) & (low == high))
    if constant.any():
        count, share = int(constant.sum()), float(constant.mean())
        yield Finding(
            "constant-features", "note", share,
            f"{many(count, 'feature')} of {look.graph.num_features:,} "
            f"{'is' if count == 1 else 'are'} the same for all nodes ({int(zero.sum()):,} of them 0)",
            "They cost weights and tell nothing.", "Drop these columns.",
            {"constant": count, "zero": int(zero.sum())},
        )  # fmt: skip


def check_labels(look: Look) -> Iterator[Finding]:
    """Unlabelled nodes, classes of one node, one class above all."""
    hidden = int((~look.labelled).sum())
    if hidden:
        yield Finding(
            "unlabelled", "note", hidden / look.nodes,
            f"{many(hidden, 'node')} ({percent(hidden / look.nodes)}) "
            f"{'is' if hidden == 1 else 'are'} unlabelled",
            "Measures that count them as a class of their own give other numbers.",
            "Leave them out of measures and splits, as is done here; keep them in the graph.",
            {"nodes": hidden},
        )  # fmt: skip
    names = look.graph.class_names or [str(c) for c in range(look.graph.num_classes)]
    single, empty = np.flatnonzero(look.counts == 1), np.flatnonzero(look.counts == 0)
    if len(single):
        yield Finding(
            "single-member", "warning", len(single) / int(look.labelled.sum()),
            f"{'class' if len(single) == 1 else 'classes'} {', '.join(names[c] for c in single)} "
            f"ha{'s' if len(single) == 1 else 've'} a single node{'' if len(single) == 1 else ' each'}",
            "Whichever part of a split has that node, the class is either never learned or never tested.",
            "Merge or drop the class.", {"classes": single.tolist()},
        )  # fmt: skip
    if len(empty):
        yield Finding(
            "empty-class", "note", len(empty) / look.graph.num_classes,
            f"no node is of class {', '.join(names[c] for c in empty)}",
            "Models have outputs for classes that do not exist.", "Lower num_classes.",
            {"classes": empty.tolist()},
        )  # fmt: skip
    share = float(look.counts.max() / look.counts.sum()) if look.counts.sum() else 0.0
    if share >= 0.5 and look.graph.num_classes > 1 and share > 1.2 / look.graph.num_classes:
        accuracy = look.graph.metric == "accuracy"
        yield Finding(
            "imbalance", "warning" if accuracy and share >= 0.75 else "note", share,
            f"{percent(share)} of the labelled nodes are of class {names[int(look.counts.argmax())]}",
            f"Who always answers that class has an accuracy of {percent(share)}."
            + ("" if accuracy else " The metric here, ROC AUC, does not reward that."),
            "Compare with the model majority." if accuracy else "Do not report accuracy.",
            {"share": share},
        )  # fmt: skip
