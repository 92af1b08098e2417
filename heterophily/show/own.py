"""A graph of one's own in words: what was fitted, and why a node got its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from heterophily.estimator import GraphClassifier
from heterophily.explain import Explanation
from heterophily.models import MODELS

MOST = 20
"""Neighbors that are listed; --json has them all."""
VERDICTS = {"homophilous": "green", "heterophilous": "magenta"}


def fit_facts(model: GraphClassifier) -> dict[str, Any]:
    """Return what a fit did, fit for JSON."""
    graph, split, trained = model.graph_, model.split_, model.outcome_.trained
    assert split is not None
    return {
        "model": model.model,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "classes": model.classes_.tolist(),
        "train": int(split.train.sum()),
        "validation": int(split.validation.sum()),
        "test": int(split.test.sum()),
        "unlabelled": int((graph.y < 0).sum()),
        "metric": graph.metric,
        "validation_score": trained.validation,
        "test_score": model.score() if split.test.any() else None,
        "best_epoch": trained.best_epoch,
        "epochs": trained.epochs,
        "temperature": model.temperature_,
        "settings": model.config.to_dict(),
    }


def fit_words(model: GraphClassifier, facts: Mapping[str, Any]) -> str:
    """Say what a fit did."""
    metric, score = facts["metric"].replace("_", " "), 100 * facts["validation_score"]
    lines = [
        f"{MODELS[model.model].title} fitted to {facts['nodes']:,} nodes, {facts['edges']:,} edges, "
        f"{facts['features']:,} features, {len(facts['classes'])} classes",
        f"learned from {facts['train']:,} labelled nodes, stopped by {facts['validation']:,} others: "
        f"validation {metric} {score:.1f} in epoch {facts['best_epoch']:,} of {facts['epochs']:,}",
    ]
    if facts["test_score"] is not None:
        lines.append(f"on {facts['test']:,} test nodes: {100 * facts['test_score']:.1f}")
    if "expected" in facts:
        splits, train, mean, std = facts["expected"].values()
        spread = "" if std is None else f" ± {100 * std:.1f}"
        lines.append(
            f"{metric} to expect on other nodes: {100 * mean:.1f}{spread}, over {splits} random splits with "
            f"{100 * train:.0f} % of the labels to learn from"
        )
    lines.append(
        f"{facts['unlabelled']:,} nodes without a label; probabilities calibrated with temperature "
        f"{facts['temperature']:.2f}, from the validation nodes"
    )
    return "\n".join(lines)


def explanation(found: Explanation) -> Group:
    """Show why a node got its class."""
    p, calibrated = found.probabilities, found.calibrated
    head = f"node {found.node}: {found.predicted}, probability {p[found.predicted]:.3f} "
    head += (
        f"(calibrated {calibrated[found.predicted]:.3f}), ahead of {found.runner_up} by {found.margin:.3f}"
    )
    if found.label is not None:
        head += f"; its label, which was trained or validated with, is {found.label}"
    parts: list[Any] = [Text(head), _mixes(found)]
    if found.carried:
        parts += [Text(f"carried by the {found.carrier} part. {_lead(found)}")]
    parts.append(_neighbors(found) if len(found.neighbors) else Text("it has no neighbors"))
    if (more := len(found.neighbors) - MOST) > 0:
        parts.append(Text(f"and {more:,} more neighbors", "dim"))
    if found.itself is not None:
        parts.append(Text(f"its own loop is {found.itself}", "dim"))
    return Group(*parts)


def _lead(found: Explanation) -> str:
    parts = ", ".join(f"{part} {lead:+.3f}" for part, lead in found.carried.items())
    lead = sum(found.carried.values())
    return f"Lead of {found.predicted} over {found.runner_up} in logits {lead:.3f}: {parts}"


def _mixes(found: Explanation) -> Table:
    table = Table("class", title="class mix", title_justify="left")
    columns: dict[str, dict[Any, float]] = {"node": found.probabilities}
    if found.neighbor_mix:
        columns["neighbors"] = found.neighbor_mix
    columns |= {f"{verdict}": mix for verdict, mix in found.verdict_mix.items() if mix}
    for name in columns:
        table.add_column(name, justify="right")
    for each in sorted(found.probabilities, key=lambda each: -found.probabilities[each]):
        table.add_row(str(each), *(f"{mix[each]:.3f}" for mix in columns.values()))
    return table


def _neighbors(found: Explanation) -> Table:
    table = Table(title="neighbors", title_justify="left")
    numbers = {"homophilous", "probability"}
    names = [str(name) for name in found.neighbors.columns]
    for name in names:
        title = "P(same class)" if name == "homophilous" else name
        table.add_column(title, justify="right" if name in numbers else "left")
    for row in found.neighbors.head(MOST).itertuples(index=False):
        cells = []
        for name, value in zip(names, row, strict=True):
            text = f"{value:.3f}" if name in numbers else "" if value is None else str(value)
            cells.append(Text(text, VERDICTS.get(str(value), "")))
        table.add_row(*cells)
    return table
