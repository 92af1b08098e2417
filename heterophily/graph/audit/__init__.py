"""What is wrong with a graph and its splits: findings, ranked by how much they can distort a result.

Every finding has a severity and a share, by which findings are ranked:

- serious: a score on this graph does not mean what it seems to mean
- warning: a score depends on it, by some points or by how the graph is treated
- note: good to know

The share is that part of the test nodes, or of the nodes or edges, that is touched; the more, the higher it
ranks. All labels are read, those of test nodes too: an audit judges data. It is no ground to choose a
model on.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heterophily.graph.audit.content import check_identity, check_relation, raw_finding
from heterophily.graph.audit.copies import check_duplicate_features, check_twins
from heterophily.graph.audit.edges import check_edges
from heterophily.graph.audit.finding import SEVERITIES, Audit, Finding, Severity
from heterophily.graph.audit.labels import check_constant_features, check_labels, check_unfeatured
from heterophily.graph.audit.look import Look
from heterophily.graph.audit.splits import check_splits
from heterophily.graph.graph import Graph
from heterophily.graph.raw import read_raw

__all__ = ["SEVERITIES", "Audit", "Finding", "Severity", "audit"]

CHECKS = (
    check_identity,
    check_relation,
    check_twins,
    check_duplicate_features,
    check_unfeatured,
    check_constant_features,
    check_labels,
    check_splits,
    check_edges,
)


def audit(graph: Graph, raw: Iterable[Path] = ()) -> Audit:
    """Look for everything that can distort a result on a graph; ``raw`` are the files it was read from."""
    look = Look(graph.to("cpu"))
    findings = [finding for check in CHECKS for finding in check(look)]
    findings += [raw_finding(look, oddity) for oddity in read_raw(raw, graph.num_features)]
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), -finding.share))
    return Audit(graph.name, look.facts(), tuple(findings))
