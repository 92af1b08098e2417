"""Loops, duplicates, directions, isolated nodes, components."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heterophily.graph.audit.finding import Finding, many, percent
from heterophily.graph.audit.look import Look, edge_homophily


def check_edges(look: Look) -> Iterator[Finding]:
    """Loops, duplicates, directions, isolated nodes, components."""
    edges = int(look.degree.sum()) // 2
    if look.loops:
        without, with_loops = edge_homophily(look, False), edge_homophily(look, True)
        change = abs((with_loops or 0.0) - (without or 0.0))
        yield Finding(
            "loops", "warning" if change >= 0.02 else "note", change,
            f"{many(look.loops, 'edge')} join{'s' if look.loops == 1 else ''} a node to itself",
            f"A loop always joins one class: homophily is {without or 0:.3f} without loops and "
            f"{with_loops or 0:.3f} with them, and published values are of either kind.",
            "Say how loops were counted. Most models here add one per node or none, whatever the graph has.",
            {"loops": look.loops, "homophily": without, "homophily_with_loops": with_loops},
        )  # fmt: skip
    if look.duplicates:
        yield Finding(
            "duplicate-edges", "note", look.duplicates / look.columns,
            f"{many(look.duplicates, 'edge')} repeat{'s' if look.duplicates == 1 else ''} an earlier one",
            "A model that does not merge them counts these neighbors twice.",
            "Merge them (graph.undirected() does).", {"duplicates": look.duplicates},
        )  # fmt: skip
    if not look.symmetric and edges:
        share = look.one_way / edges
        once = share == 1
        yield Finding(
            "one-way", "warning", min(share, 1.0),
            "every edge is listed in one direction only" if once else
            f"{look.one_way:,} of {many(edges, 'edge')} ({percent(share)}) go one way only",
            "Results depend on what a model makes of directions: one that reads edge_index as it is passes "
            "messages one way, and sees other neighbors than one that makes the graph undirected.",
            "Say whether directions were used. If they mean nothing, make the graph undirected first."
            if once else "Say whether directions were used; try both (settings called directed).",
            {"one_way": look.one_way, "edges": edges, "each_edge_once": once},
        )  # fmt: skip
    isolated = look.degree == 0
    if isolated.any():
        share = float(isolated.mean())
        yield Finding(
            "isolated", "warning" if share >= 0.05 else "note", share,
            f"{many(int(isolated.sum()), 'node')} ({percent(share)}) "
            f"ha{'s' if isolated.sum() == 1 else 've'} no neighbor",
            "Nothing reaches them: a graph model does there what an MLP does.",
            "Report the score on them apart where they are many.", {"nodes": int(isolated.sum())},
        )  # fmt: skip
    sizes = np.bincount(look.component)
    if len(sizes) - int(isolated.sum()) > 1:
        share = 1 - float(sizes[0]) / look.nodes
        yield Finding(
            "components", "note", share,
            f"the graph falls into {many(len(sizes), 'component')}; the largest has {percent(1 - share)} "
            "of the nodes",
            "Published versions of a graph are often its largest component only, with other scores.",
            "Say which was used.", {"components": len(sizes), "largest": int(sizes[0])},
        )  # fmt: skip
