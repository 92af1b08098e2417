"""Why a node got its class: its neighbors with verdicts, class mixes, and what each part added to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from heterophily.graph import Graph
from heterophily.hdp.model import HDP
from heterophily.outcomes import edge_table, network
from heterophily.stage import Outcome


@dataclass(frozen=True, eq=False)
class Explanation:
    """All that a reader may ask about one prediction; ids and classes are the user's."""

    node: Any
    label: Any
    """The class it was trained or validated with; None for a node without."""
    predicted: Any
    runner_up: Any
    """The class that comes second."""
    probabilities: dict[Any, float]
    calibrated: dict[Any, float]
    margin: float
    """How far the calibrated probability of the predicted class is ahead of the second's."""
    neighbors: pd.DataFrame
    """id, for HDP verdict and probability of being homophilous, label, predicted class and how probable."""
    itself: str | None
    """The verdict on the node's own loop, which HDP ranks like any other edge; None for other models."""
    neighbor_mix: dict[Any, float]
    """Mean of the neighbors' probabilities, class by class."""
    verdict_mix: dict[str, dict[Any, float]]
    """The same among the neighbors of each verdict, for HDP."""
    contributions: dict[str, dict[Any, float]]
    """What ego, homophilous and heterophilous part and bias add to the logit of each class, for HDP."""
    carried: dict[str, float]
    """What each adds to the lead of the predicted class over the second: the sum is the lead in logits."""

    @property
    def carrier(self) -> str | None:
        """The part, bias aside, that did most for the predicted class against the second."""
        parts = {part: lead for part, lead in self.carried.items() if part != "bias"}
        return max(parts, key=lambda part: parts[part]) if parts else None

    def to_json(self) -> dict[str, Any]:
        """Return it fit for JSON; classes become texts where they are names of values."""
        texts = {
            name: {str(key): value for key, value in getattr(self, name).items()}
            for name in ("probabilities", "calibrated", "neighbor_mix")
        }
        nested = {
            name: {part: {str(k): v for k, v in mix.items()} for part, mix in getattr(self, name).items()}
            for name in ("verdict_mix", "contributions")
        }
        rows = self.neighbors.astype(object).where(self.neighbors.notna(), None).to_dict("records")
        head = {name: getattr(self, name) for name in ("node", "label", "predicted", "runner_up", "margin")}
        rest = {"itself": self.itself, "carried": self.carried, "carrier": self.carrier, "neighbors": rows}
        return head | texts | nested | rest


def explain(
    outcome: Outcome,
    graph: Graph,
    node: int,
    classes: NDArray[Any],
    temperature: float,
    ids: Sequence[Any] | None = None,
) -> Explanation:
    """Explain the prediction of a node by number."""
    logits = outcome.trained.logits.cpu().double()
    p, calibrated = torch.softmax(logits, -1).numpy(), torch.softmax(logits / temperature, -1).numpy()
    names = classes.tolist()
    first, second = np.argsort(-logits[node].numpy(), kind="stable")[[0, min(1, len(names) - 1)]]
    labels = outcome.trained.state["labels"].cpu().numpy()

    def label(i: int) -> Any:
        return names[labels[i]] if labels[i] >= 0 else None

    def mix(nodes: NDArray[Any]) -> dict[Any, float]:
        return dict(zip(names, p[nodes].mean(0).tolist(), strict=True)) if len(nodes) else {}

    others, verdicts, chances, itself = _around(outcome, graph, node)
    table = {
        "id": [i if ids is None else ids[i] for i in others.tolist()],
        "verdict": verdicts,
        "homophilous": chances,
        "label": pd.Series([label(i) for i in others], dtype=object),
        "predicted": classes[p[others].argmax(1)],
        "probability": p[others].max(1),
    }
    if verdicts is None:
        del table["verdict"], table["homophilous"]
    parts = _contributions(outcome, node)
    return Explanation(
        node=node if ids is None else ids[node],
        label=label(node),
        predicted=names[first],
        runner_up=names[second],
        probabilities=dict(zip(names, p[node].tolist(), strict=True)),
        calibrated=dict(zip(names, calibrated[node].tolist(), strict=True)),
        margin=float(calibrated[node, first] - calibrated[node, second]),
        neighbors=pd.DataFrame(table),
        itself=itself,
        neighbor_mix=mix(others),
        verdict_mix={}
        if verdicts is None
        else {verdict: mix(others[verdicts == verdict]) for verdict in ("homophilous", "heterophilous")},
        contributions={part: dict(zip(names, added.tolist(), strict=True)) for part, added in parts.items()},
        carried={part: float(added[first] - added[second]) for part, added in parts.items()},
    )


def _around(
    outcome: Outcome, graph: Graph, node: int
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None, str | None]:
    """Return a node's neighbors, the verdicts on them, their probabilities, and the verdict on its loop."""
    table = edge_table(outcome)
    if table is None:
        source, target = graph.edge_index.cpu().numpy()
        others = np.unique(np.concatenate([target[source == node], source[target == node]]))
        return others[others != node], None, None, None
    own = table[(table["source"] == node) | (table["target"] == node)]
    loop = own["source"] == own["target"]
    itself = own.loc[loop, "verdict"].iloc[0] if loop.any() else None
    own = own[~loop].sort_values("probability", ascending=False, kind="stable")
    others = np.where(own["source"] == node, own["target"], own["source"])
    return others, own["verdict"].to_numpy(), own["probability"].to_numpy(), itself


def _contributions(outcome: Outcome, node: int) -> dict[str, NDArray[Any]]:
    module = network(outcome)
    if not isinstance(module, HDP):
        return {}
    state = outcome.trained.state
    found = module.contributions(state["blocks"], state["parts"], node)
    return {part: added.double().cpu().numpy() for part, added in found.items()}
