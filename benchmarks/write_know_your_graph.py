"""Write the measured parts of docs/know-your-graph.md from benchmarks/audit.json and benchmarks/advice.json.

python benchmarks/write_know_your_graph.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heterophily.files import write_file

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "know-your-graph.md"
TITLES = {"mlp": "MLP", "gcn": "GCN", "hdp": "HDP"}


def audit_words() -> str:
    """Say how long audits took."""
    found = json.loads((HERE / "audit.json").read_text(encoding="utf-8"))
    large, shared = found["large"], found["shared_seconds"]
    slowest = max(shared, key=lambda name: shared[name])
    return (
        f"An audit of {large['nodes']:,} nodes and {large['edges']:,} undirected edges "
        f"({large['columns']:,} columns of `edge_index`) took {large['seconds']:.0f} s and\n"
        f"{large['peak_GiB']:.1f} GiB on a machine of {found['cores']} cores (`benchmarks/audit.py`). "
        f"Of the {len(shared)} benchmark graphs at hand\n{slowest} took longest, {shared[slowest]:.1f} s."
    )


def advice_words() -> str:
    """Say how good the advice was, and each fixed choice."""
    found = json.loads((HERE / "advice.json").read_text(encoding="utf-8"))
    whole = found["all"]
    rows = [
        ["graphs", "cases", "good advice", *(f"always {TITLES[model]}" for model in TITLES), "points behind"]
    ]
    rows.append(["---"] * len(rows[0]))
    for kind in ("all", "synthetic", "benchmark"):
        part = found[kind]
        cells = [kind, str(part["cases"]), f"**{100 * part['share']:.0f} %**"]
        cells += [f"{100 * part['always'][model]:.0f} %" for model in TITLES]
        rows.append([*cells, f"{100 * part['mean_behind']:.1f}"])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    behind = ", ".join(f"{TITLES[m]} {100 * whole['mean_behind_always'][m]:.1f}" for m in TITLES)
    bad = "; ".join(
        f"{row['name']} ({TITLES[row['advice']]} instead of {TITLES[row['best']]}, "
        f"{100 * row['behind']:.1f} points)"
        for row in found["rows"]
        if not row["good"]
    )
    share = f"{100 * whole['share']:.0f} %"
    return (
        f"**The advice was good in {whole['good']} of {whole['cases']} cases, {share}.**\n\n{table}\n"
        "The columns *always …* are for comparison: one model on all graphs. *Points behind* is how far the "
        "model advised lies\nbehind the best of the three on average; one model on all graphs would lie "
        f"behind by: {behind}.\n\nNot good: {bad or 'none'}."
    )


PARTS: dict[str, Callable[[], Any]] = {"audit": audit_words, "advice": advice_words}


def page(text: str) -> str:
    """Return the page with what stands between the markers as measured."""
    for name, words in PARTS.items():
        begin, end = (
            f"<!-- {name}: written by benchmarks/write_know_your_graph.py -->",
            f"<!-- end of {name} -->",
        )
        assert begin in text and end in text
        part = f"{begin}\n\n{words()}\n\n{end}"
        text = re.sub(f"{begin}.*?{end}", lambda _, part=part: part, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8")))
