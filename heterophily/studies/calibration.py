"""Beyond the paper: do the probabilities mean what they say, before and after temperature scaling?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from heterophily.graph import Graph
from heterophily.studies.plan import Plan, Trial
from heterophily.studies.result import Result, StudyError, mean, ratio

MODELS = ("hdp",)
BINS = 15
DRAWS = 1000
"""Times that a calibrated model is drawn."""
TIMES = ("before", "after")


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration(Result):
    """Confidence against accuracy on the test nodes, by model and before or after temperature scaling.

    The confidence of a node is the probability of its predicted class. Bins are of equal width.
    """

    study = "calibration"

    models: list[str]
    temperature: dict[str, list[float]]
    """By model, one per run: the logits are divided by it; the loss on the validation nodes chose it."""
    nodes: dict[str, dict[str, list[list[int]]]]
    """Test nodes by run and bin."""
    right: dict[str, dict[str, list[list[int]]]]
    """Those of them that are classified right."""
    confidence: dict[str, dict[str, list[list[float]]]]
    """The sum of their confidences."""
    loss: dict[str, dict[str, list[float]]]
    """Mean cross-entropy on the test nodes, one per run."""

    def ece(self, model: str, time: str) -> list[float]:
        """Return the expected calibration error of each run: Σ |right - confidence| / nodes over the bins."""
        table = self.right[model][time], self.confidence[model][time], self.nodes[model][time]
        return [
            float(np.abs(np.subtract(right, sure)).sum() / np.sum(nodes))
            for right, sure, nodes in zip(*table)
        ]

    def pooled_ece(self, model: str, time: str) -> float:
        """Return the expected calibration error of all runs together, in which chance weighs less."""
        nodes, right, sure = self._pooled(model, time)
        return float(np.abs(right - sure).sum() / nodes.sum())

    def ece_by_chance(self, model: str, time: str, seed: int = 0) -> float:
        """Return the mean pooled error of a calibrated model: one that is right as often as it is confident.

        Within a bin all nodes are taken to be as confident as their mean.
        """
        nodes, _, sure = self._pooled(model, time)
        random = np.random.default_rng(seed)
        right = random.binomial(nodes, np.clip(sure / nodes.clip(min=1), 0, 1), (DRAWS, BINS))
        return float(np.abs(right - sure).sum(1).mean() / nodes.sum())

    def _pooled(self, model: str, time: str) -> list[NDArray[Any]]:
        table = self.nodes[model][time], self.right[model][time], self.confidence[model][time]
        return [np.sum(part, axis=0) for part in table]

    def diagram(self, model: str, time: str) -> list[tuple[float, float, int]]:
        """Return mean confidence, accuracy and number of nodes of each bin that has nodes, over all runs."""
        return [(float(c / n), float(r / n), int(n)) for n, r, c in zip(*self._pooled(model, time)) if n]

    def accuracy(self, model: str) -> float | None:
        """Return the accuracy over all runs; temperature scaling does not change it."""
        right, nodes = self.right[model]["before"], self.nodes[model]["before"]
        return mean([ratio(sum(r), sum(n)) for r, n in zip(right, nodes)])


def study(graph: Graph, plan: Plan | None = None, models: Sequence[str] = MODELS) -> Calibration:
    """Train the models on all splits together and compare their confidence with their accuracy."""
    trials, about = (plan or Plan()).train_models(graph, models)
    return replace(look(graph, trials), about=about)


def look(graph: Graph, trials: Mapping[str, Sequence[Trial]]) -> Calibration:
    """Compare confidence and accuracy of trained runs."""
    y = graph.y.cpu().numpy()
    temperature: dict[str, list[float]] = {model: [] for model in trials}
    tables: list[dict[str, dict[str, list[Any]]]] = [
        {model: {time: [] for time in TIMES} for model in trials} for _ in range(4)
    ]
    for model, some in trials.items():
        for trial in some:
            logits = trial.outcome.trained.logits.double().cpu().numpy()
            test, validation = (
                mask.cpu().numpy() & (y >= 0) for mask in (trial.split.test, trial.split.validation)
            )
            if not test.any():
                raise StudyError("no test node has a label, so there is nothing to compare with")
            temperature[model].append(fit_temperature(logits[validation], y[validation]))
            for time, divisor in zip(TIMES, (1.0, temperature[model][-1])):
                for table, column in zip(tables, reliability(logits[test] / divisor, y[test])):
                    table[model][time].append(column)
    nodes, right, confidence, loss = tables
    first = next(iter(trials.values()))
    return Calibration(
        dataset=graph.name,
        about={"splits": [trial.split.name for trial in first]},
        models=list(trials),
        temperature=temperature,
        nodes=nodes,
        right=right,
        confidence=confidence,
        loss=loss,
    )


def fit_temperature(logits: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the temperature with the lowest cross-entropy, between 1/20 and 20."""
    found = minimize_scalar(
        lambda log_t: cross_entropy(logits / np.exp(log_t), labels),
        bounds=(-np.log(20), np.log(20)),
        method="bounded",
    )
    return float(np.exp(found.x))


def cross_entropy(logits: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the mean cross-entropy of logits (n, K)."""
    return float(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels].mean())


def reliability(
    logits: NDArray[Any], labels: NDArray[Any]
) -> tuple[list[int], list[int], list[float], float]:
    """Return per bin the nodes, those right and the sum of their confidences; and the cross-entropy."""
    p = np.exp(log_softmax(logits, axis=1))
    sure = p.max(1)
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    right = p.argmax(1) == labels

    def total(weights: NDArray[Any] | None = None) -> NDArray[Any]:
        return np.bincount(place, weights=weights, minlength=BINS)

    return (
        total().tolist(),
        total(right).astype(int).tolist(),
        total(sure).tolist(),
        cross_entropy(logits, labels),
    )
