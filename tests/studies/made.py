"""Every study, made once on a graph small enough to train on in a blink."""

from __future__ import annotations

from functools import cache
from typing import Any

from heterophily.studies import STUDIES, Plan, Result
from tests.tiny import SETTINGS, tiny_graph

PLAN = Plan(changes=SETTINGS)
SMALL = {"num_nodes": 60, "num_classes": 2, "average_degree": 4, "splits": 2}
OPTIONS: dict[str, dict[str, Any]] = {
    "rescale": {"grid": [0.5, 1.0]},
    "information": {"draws": 2},
    "calibration": {"models": ["hdp", "mlp"]},
    "homophily": {"models": ["hdp", "gcn"], "grid": [0.0, 1.0], "options": SMALL},
}


@cache
def made(name: str) -> Any:
    """The result of a study of that name."""
    options = OPTIONS.get(name, {})
    graph = () if name == "homophily" else (tiny_graph(),)
    result: Result = STUDIES[name].make(*graph, plan=PLAN, **options)
    return result
