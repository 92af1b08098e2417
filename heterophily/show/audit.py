"""An audit for the terminal and as a page of its own."""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from pathlib import Path
from string import Template

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from heterophily._version import __version__
from heterophily.graph.audit import SEVERITIES, Audit, Finding

PAGE = Path(__file__).with_name("audit.html")
STYLES = {
    "serious": "bold white on red",
    "warning": "bold black on yellow",
    "note": "bold black on bright_black",
}
CLEAN = "Nothing was found that could distort a result."
READS = "All labels were read, those of test nodes too: an audit judges data. Choose no model by it."


def audit_words(found: Audit) -> Group:
    """Return the findings for the terminal, the gravest first."""
    head = [Text(found.name, "bold"), Text(plain_facts(found)), Text(verdict(found)), Text()]
    parts: list[RenderableType] = [*head]
    for finding in found.findings:
        label = Text.assemble((f" {finding.severity} ", STYLES[finding.severity]), f" {finding.title}")
        parts.append(label)
        parts.append(Padding(Text(f"{finding.why}\n→ {finding.advice}", "dim"), (0, 0, 1, 4)))
    parts.append(Text(READS, "dim"))
    return Group(*parts)


def verdict(found: Audit) -> str:
    """Say in a line how many findings there are of each severity."""
    counts = Counter(finding.severity for finding in found.findings)
    ends = {severity: "s" if counts[severity] > 1 else "" for severity in SEVERITIES} | {"serious": ""}
    said = [f"{counts[severity]} {severity}{ends[severity]}" for severity in SEVERITIES if counts[severity]]
    return f"Found: {', '.join(said)}." if said else CLEAN


def plain_facts(found: Audit) -> str:
    """Say in a line what kind of graph it is."""
    facts = found.facts
    homophily = facts["homophily"]
    said = [
        f"{facts['nodes']:,} nodes",
        f"{facts['edges']:,} undirected edges",
        f"{facts['features']:,} features",
        f"{facts['classes']:,} classes",
        "homophily –" if homophily is None else f"homophily {homophily:.3f}",
        f"{facts['splits']} splits",
    ]
    if sizes := split_sizes(found):
        said.append(sizes)
    return ", ".join(said)


def split_sizes(found: Audit) -> str:
    """Say how large the parts of the splits are."""
    parts = {part: sizes for part, sizes in found.facts["split_sizes"].items() if sizes}
    ranges = [f"{s[0]:,}" if len(s) == 1 else f"{s[0]:,} to {s[-1]:,}" for s in parts.values()]
    return f"{' / '.join(ranges)} nodes for {' / '.join(parts)}" if parts else ""


def audit_page(found: Audit) -> str:
    """Return the audit as an HTML page that needs no other file and no network."""
    facts = found.facts
    measured = (facts["homophily"], facts["homophily_with_loops"])
    homophily, looped = ("–" if share is None else f"{share:.3f}" for share in measured)
    sizes = ", ".join(f"{size:,}" for size in facts["class_sizes"][:20])
    rows = {
        "nodes": f"{facts['nodes']:,}",
        "edges": f"{facts['edges']:,} undirected, without loops; {facts['columns']:,} columns as given",
        "directions": "every edge both ways" if facts["undirected"] else "some edges one way only",
        "features": f"{facts['features']:,}",
        "classes": f"{facts['classes']:,} (nodes of each: {sizes}{' …' if facts['classes'] > 20 else ''})",
        "unlabelled nodes": f"{facts['unlabelled']:,}",
        "components": f"{facts['components']:,}, {facts['isolated']:,} of them isolated nodes",
        "edge homophily": f"{homophily} ({looped} with loops)",
        "splits": f"{facts['splits']}{', ' if facts['splits'] else ''}{split_sizes(found)}",
    }
    table = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    cards = "".join(map(_card, found.findings)) or f'<p class="clean">{escape(CLEAN)}</p>'
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        title=escape(found.name), verdict=escape(verdict(found)), table=table, cards=cards,
        reads=escape(READS), version=escape(__version__),
    )  # fmt: skip


def _card(finding: Finding) -> str:
    facts = ""
    if finding.facts:
        content = escape(json.dumps(dict(finding.facts), indent=1, ensure_ascii=False))
        facts = f"<details><summary>numbers</summary><pre>{content}</pre></details>"
    return (
        f'<article class="{finding.severity}"><h2><span>{finding.severity}</span> '
        f"{escape(finding.title)}</h2>"
        f"<p>{escape(finding.why)}</p><p class=advice>{escape(finding.advice)}</p>{facts}"
        f"<p class=code>{escape(finding.code)}</p></article>\n"
    )
