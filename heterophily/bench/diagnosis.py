"""Which kind of model may suit a graph: a look at it with the labels of training nodes alone, and advice.

Three linear probes stand in for three kinds of models. Each is a logistic regression that is asked about
training nodes it was not fitted on (cross-validation within the training set):

- mlp: a node's own features
- gcn: features averaged twice over the neighborhood, with the symmetric weights of GCN
- hdp: a node's own features beside the mean features of its neighbors and their mix of classes, where a
  neighbor whose class is hidden counts by the class probabilities that the first probe gives it

**The rule: the model is advised whose probe scores best, the simpler one if two score the same.** No label
but those of training nodes is read; ``benchmarks/advice.py`` measures how good the advice is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from heterophily.graph import Graph, GraphError
from heterophily.graph.homophily import Homophily, homophily

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MODELS = ("mlp", "gcn", "hdp")
"""What is advised, the simplest first."""
FOLDS = 4
MOST = 5_000
"""Training nodes that probes are fitted to and asked about; of more, a sample is taken."""
WIDTH = 128
"""Features are brought to so many dimensions where they have more than twice as many."""
STRENGTH = 10.0
"""Inverse of the weight of the L2 penalty, for features of length 1."""
CLOSE = 0.01
"""Probes that score within one point of each other are called close."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What training labels tell of a graph and a split; scores are fractions of the graph's metric."""

    name: str
    split: str
    metric: str
    nodes: int
    train: int
    """Training nodes: all that was looked at."""
    classes: tuple[str, ...]
    measures: Homophily
    probes: Mapping[str, float]
    """Score of the probe that stands for each model."""
    mix: float
    """Score of a probe that reads nothing but the mix of classes among a node's training neighbors."""
    majority: float
    """Score of who always answers the most frequent class."""
    known: float
    """Share of training nodes that have a training neighbor."""
    advice: str
    settings: Mapping[str, Any]
    """Settings to start from."""

    @property
    def close(self) -> list[str]:
        """Models whose probes score nearly as well as the one advised."""
        best = self.probes[self.advice]
        return [name for name in MODELS if name != self.advice and best - self.probes[name] < CLOSE]

    @property
    def gain(self) -> float:
        """By how much the neighbors' class mix beats the most frequent class."""
        return self.mix - self.majority

    def to_json(self) -> dict[str, Any]:
        """Return everything, fit for JSON."""
        return {
            "name": self.name,
            "split": self.split,
            "labels": "training nodes only",
            "nodes": self.nodes,
            "train": self.train,
            "classes": list(self.classes),
            "homophily": self.measures.to_json(),
            "metric": self.metric,
            "probes": dict(self.probes),
            "neighbor_mix": self.mix,
            "majority": self.majority,
            "with_training_neighbor": self.known,
            "advice": self.advice,
            "close": self.close,
            "settings": dict(self.settings),
        }


def diagnose(graph: Graph, split: int | str = 0, resamples: int = 200, seed: int = 0) -> Diagnosis:
    """Look at a graph with the training labels of one split, and advise a model."""
    part = graph.split(split)
    graph = graph.to("cpu")
    train = part.train.cpu()
    sealed = graph.with_labels(torch.where(train, graph.y, -1))  # from here on nobody can read another label
    nodes = train.nonzero().flatten().numpy()
    if len(nodes) < 2 * FOLDS or len(torch.unique(sealed.y[train])) < 2:
        raise GraphError(
            f"split {part.name!r} has {len(nodes)} training nodes of {len(torch.unique(sealed.y[train]))} "
            f"classes; a diagnosis needs {2 * FOLDS} of two classes"
        )
    measures = homophily(sealed, resamples=resamples, seed=seed)
    scores, known = _probe(sealed, nodes, seed)
    most = float(torch.bincount(sealed.y[train]).max()) / len(nodes)
    majority = 0.5 if graph.metric == "roc_auc" else most
    best = max(scores[model] for model in MODELS)
    advice = next(model for model in MODELS if scores[model] == best)
    return Diagnosis(
        name=graph.name, split=part.name, metric=graph.metric, nodes=graph.num_nodes, train=len(nodes),
        classes=graph.class_names or tuple(map(str, range(graph.num_classes))), measures=measures,
        probes={model: scores[model] for model in MODELS}, mix=scores["mix"], majority=majority,
        known=known, advice=advice, settings=starting_settings(graph, advice),
    )  # fmt: skip


def starting_settings(graph: Graph, model: str) -> dict[str, Any]:
    """Return settings that train in short time and that a search may start from.

    Narrow and impatient for HDP; rows are divided by their sums for GCN only where no feature is negative.
    """
    if model == "hdp":
        return {"hidden_dim": 64, "patience": 50, "patience_init": 50}
    if model == "gcn":
        stored = graph.x.values() if graph.x.is_sparse_csr else graph.x
        return {"feature_norm": "none" if bool((stored < 0).any()) else "row"}
    return {}


def _probe(graph: Graph, nodes: Ints, seed: int) -> tuple[dict[str, float], float]:
    """Return the score of each probe, and the share of training nodes with a training neighbor."""
    y, classes = graph.y.numpy(), graph.num_classes
    adjacency = graph.undirected().without_self_loops().to_scipy()
    walk = _scaled(adjacency, -1.0)
    looped = scipy.sparse.csr_array(adjacency + scipy.sparse.eye_array(graph.num_nodes))
    smooth = _scaled(looped, -0.5) @ scipy.sparse.diags_array(looped.sum(1) ** -0.5)
    own = _unit(_features(graph, seed))
    twice, around = _unit(smooth @ (smooth @ own)), _unit(walk @ own)

    random = np.random.Generator(np.random.PCG64(seed))
    asked = nodes if len(nodes) <= MOST else np.sort(random.choice(nodes, MOST, replace=False))
    guesses: dict[str, list[Floats]] = {}
    order = []
    for fitted, held in KFold(FOLDS, shuffle=True, random_state=seed).split(asked):
        fit, ask = asked[fitted], asked[held]
        order.append(ask)
        known = np.setdiff1d(nodes, ask)
        truth = np.zeros((graph.num_nodes, classes))
        truth[known, y[known]] = 1.0
        believed = _Probe(own, fit, y, classes)(own)
        believed[known] = truth[known]
        inputs = {
            "mlp": own,
            "gcn": twice,
            "hdp": np.hstack([own, _unit(walk @ believed), around]),
            "mix": walk @ truth,
        }
        for name, read in inputs.items():
            guesses.setdefault(name, []).append(_Probe(read, fit, y, classes)(read[ask]))
    truth_of = y[np.concatenate(order)]
    scores = {name: _score(np.concatenate(parts), truth_of, graph.metric) for name, parts in guesses.items()}
    counts = (adjacency @ (y >= 0).astype(float))[nodes]
    return scores, float((counts > 0).mean())


def _features(graph: Graph, seed: int) -> Floats:
    """Return features in few dimensions: rows of length 1, or standardized where some are negative."""
    x = graph.x
    if not x.shape[1]:
        return np.zeros((graph.num_nodes, 1))
    matrix: Any
    if x.is_sparse_csr:
        parts: Any = tuple(part.numpy() for part in (x.values().double(), x.col_indices(), x.crow_indices()))
        matrix = scipy.sparse.csr_array(parts, shape=(x.shape[0], x.shape[1]))
        length = np.sqrt(matrix.multiply(matrix).sum(1))
        matrix = scipy.sparse.diags_array(1 / np.where(length > 0, length, 1)) @ matrix
    else:
        matrix = x.double().numpy()
        if matrix.min() >= 0:
            matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        else:
            matrix = (matrix - matrix.mean(0)) / np.maximum(matrix.std(0), 1e-12)
    found: Floats
    if matrix.shape[1] > 2 * WIDTH:
        found = TruncatedSVD(min(WIDTH, *matrix.shape), random_state=seed).fit_transform(matrix)
    else:
        found = matrix.toarray() if x.is_sparse_csr else matrix
    return found


def _scaled(matrix: Any, power: float) -> Any:
    """Multiply each row by a power of its sum; a row without entries stays empty."""
    degree = matrix.sum(1)
    return scipy.sparse.diags_array(np.where(degree > 0, np.maximum(degree, 1) ** power, 0.0)) @ matrix


def _unit(block: Floats) -> Floats:
    """Scale a block so that its rows have a mean square length of 1."""
    return block / max(float(np.sqrt((block * block).sum(1).mean())), 1e-12)


class _Probe:
    """A logistic regression, or the only class there is."""

    def __init__(self, read: Floats, nodes: Ints, y: Ints, classes: int) -> None:
        self.classes = classes
        self.labels = np.unique(y[nodes])
        self.model = None
        if len(self.labels) > 1:
            self.model = LogisticRegression(C=STRENGTH, max_iter=1000, tol=1e-3).fit(read[nodes], y[nodes])

    def __call__(self, read: Floats) -> Floats:
        """Return the probabilities of all classes, (rows, C)."""
        found = np.zeros((len(read), self.classes))
        found[:, self.labels] = 1.0 if self.model is None else self.model.predict_proba(read)
        return found


def _score(guess: Floats, truth: Ints, metric: str) -> float:
    if metric == "roc_auc":
        return float(roc_auc_score(truth, guess[:, 1])) if len(np.unique(truth)) == 2 else 0.5
    return float((guess.argmax(1) == truth).mean())
