"""Whose data is it, do edges and labels belong together, and what did the raw files have?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heterophily.graph.audit.finding import Finding, percent
from heterophily.graph.audit.look import Look, pairs
from heterophily.graph.known import known, overlap
from heterophily.graph.twins import Ints

PART_OF = 0.3
"""A graph shares nodes with a dataset if this share of them is found there."""
SHUFFLES = 99
SEED = 7919
"""Not 0: Minesweeper was drawn with it, and shuffling its labels by that seed sorts them."""
SAMPLE = 1_000_000
"""Edges looked at to compare their labels with shuffled ones."""


def check_identity(look: Look) -> Iterator[Finding]:
    """Nodes, features or edges that are those of a known dataset."""
    mark, name = look.mark, look.graph.name

    def owners(part: str) -> list[str]:
        mine = getattr(mark, part)
        return [other for other, theirs in known().items() if mine and getattr(theirs, part) == mine]

    nodes, features, edges = map(owners, ("nodes", "features", "edges"))
    facts = {"nodes": nodes, "features": features, "edges": edges}
    owner = next(iter(nodes or features), None)  # of datasets with the same nodes the first is the original
    if owner and known()[owner].edges != mark.edges:
        whose = "features and labels" if nodes else "features"
        elsewhere = f"the graph of {edges[0]}" if edges else "another graph"
        yield Finding(
            "mixed-content", "serious", 1.0, f"{whose} are those of {owner}, put on {elsewhere}",
            "The nodes of one dataset on the edges of another: edges and labels have nothing to do with each "
            "other, and what a model learns from the edges is noise.",
            f"Get the right files, or load {owner}; say which version was used wherever a score is given.",
            facts,
        )  # fmt: skip
        return
    if nodes and owner and owner != name:
        yield Finding(
            "known-dataset", "note", 1.0, f"this is {owner}, nodes and edges, to the last bit",
            "Results on it can be compared with those on that dataset, if the splits are the same.",
            f"Call it {owner}, and use its splits.", facts,
        )  # fmt: skip
    for other in [other for other in edges if other != name and known()[other].nodes != mark.nodes][:1]:
        yield Finding(
            "same-edges", "note", 1.0, f"its edges are those of {other}, its nodes are others",
            "Up to the numbering of the nodes it is the same graph with other features or labels: another "
            "version of the data. Scores on the two cannot be compared.",
            "Say which version was used.", facts,
        )  # fmt: skip
    for other, theirs in known().items():
        share = overlap(mark, theirs)
        if share >= PART_OF and theirs.nodes != mark.nodes and other != name:
            yield Finding(
                "part-of", "note", share, f"about {percent(share)} of its nodes are nodes of {other}",
                "The two share features and labels: they are no independent evidence, and a model tuned on "
                "one has seen the other.",
                f"Do not count {other} and this graph as two datasets.",
                {"dataset": other, "estimated_share": share},
            )  # fmt: skip


def check_relation(look: Look) -> Iterator[Finding]:
    """Edges that know nothing of the labels."""
    u, v = pairs(look)
    if len(u) < 10 or (look.counts > 0).sum() < 2:
        return
    random = np.random.Generator(np.random.PCG64(SEED))
    shuffles = SHUFFLES
    if len(u) > SAMPLE:
        chosen = random.integers(0, len(u), SAMPLE)
        u, v, shuffles = u[chosen], v[chosen], SHUFFLES // 5
    classes = look.graph.num_classes
    places = np.flatnonzero(look.labelled)

    def measure(y: Ints) -> tuple[float, float]:
        counts = np.bincount(y[u] * classes + y[v], minlength=classes**2).reshape(classes, classes)
        counts = counts + counts.T
        joint = counts / counts.sum()
        alone = joint.sum(0)
        expected = np.outer(alone, alone)
        there = joint > 0
        return float(np.trace(joint)), float((joint[there] * np.log(joint[there] / expected[there])).sum())

    same, information = measure(look.y)
    drawn = []
    for _ in range(shuffles):
        y = look.y.copy()
        y[places] = random.permutation(y[places])
        drawn.append(measure(y))
    shuffled, informations = np.array(drawn).T
    chance = (1 + int((informations >= information).sum())) / (1 + shuffles)
    if chance > 0.05:
        mean, std = float(shuffled.mean()), float(shuffled.std(ddof=1))
        yield Finding(
            "unrelated-edges", "warning", 1.0,
            f"classes of neighbors look unrelated: homophily {same:.3f}, with shuffled labels "
            f"{mean:.3f} ± {std:.3f}",
            f"Labels shuffled over the nodes fit the edges as well in {percent(chance)} of cases (by what "
            "one end of an edge tells of the other). The class of a neighbor tells nothing here; its "
            "features still may.",
            "Check that labels and edges belong to the same nodes, in the same order. If they do, a model of "
            "the edges has to beat an MLP before it is believed.",
            {"homophily": same, "shuffled_mean": mean, "shuffled_std": std, "p": chance},
        )  # fmt: skip


def raw_finding(look: Look, oddity: tuple[str, str, int]) -> Finding:
    code, title, count = oddity
    return Finding(
        code, "note", min(1.0, count / max(look.columns, 1)), title,
        "The file is not quite what it seems to be; another reader may make another graph of it.",
        "Nothing here: the graph as it was read is what the other findings are about.", {"count": count},
    )  # fmt: skip
