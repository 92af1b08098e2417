"""What a fitted estimator says: of its nodes, of later ones, of another graph; and how it is kept."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from heterophily import folder as folders
from heterophily.config import Config, ConfigError
from heterophily.explain import Explanation, explain
from heterophily.export import node_program
from heterophily.graph import Graph, Split
from heterophily.graph.convert import is_of_pyg
from heterophily.graph.graph import GraphError
from heterophily.models import MODELS
from heterophily.outcomes import prediction_table, probabilities
from heterophily.replay import freeze, replay
from heterophily.stage import Frozen, Outcome
from heterophily.training.seal import seal

ACCOUNT = ("validation", "validation_loss", "best_epoch", "epochs", "seconds")
"""What a folder tells of the training."""


class Origin(NamedTuple):
    """What an estimator was fitted on, sealed as training saw it, and what it learned there."""

    graph: Graph | None
    """None where a folder left it out."""
    split: Split | None
    frozen: Frozen


class Fitted:
    """What all estimators can do once they are fitted, beside what scikit-learn asks of one."""

    model: ClassVar[str]
    validation_fraction: float
    random_state: int | None
    device: str
    classes_: NDArray[Any]
    graph_: Graph
    split_: Split | None
    """None on a graph that is not the one fitted to."""
    outcome_: Outcome
    probabilities_: NDArray[Any]
    transduction_: NDArray[Any]
    temperature_: float
    history_: pd.DataFrame
    n_features_in_: int
    ids_: list[Any] | None
    """What the nodes are called, where they came from files."""
    encoding_: Mapping[str, Any] | None
    """How files are read, as JSON."""
    _how: tuple[Config, int]
    """Settings and seed of the fit; parameters may be set otherwise since."""
    _origin: Origin | None

    def _settle(self, graph: Graph, split: Split | None, outcome: Outcome) -> None:
        """Take over what the model says of a graph."""
        self.graph_, self.split_, self.outcome_ = graph, split, outcome
        self.probabilities_ = probabilities(outcome.trained)
        self.transduction_ = self.classes_[self.probabilities_.argmax(1)]

    # What comes later

    def extended(self, x: Any, edge_index: Any, ids: Sequence[Any] | None = None) -> Self:
        """Return the estimator on its graph with new nodes and edges, predicted without another fit.

        ``x`` has a row of features for each new node; they are numbered from the graph's N on.
        ``edge_index``, (2, E), has the new edges, which may join old nodes too; ``ids`` are the names of the
        new nodes, where the old ones have names. This estimator stays as it is.
        """
        self._check_fitted()
        graph = self.graph_.with_nodes(x, edge_index)
        names: list[Any] | None = None
        if self.ids_ is not None:
            names = [*self.ids_, *(ids if ids is not None else range(len(self.ids_), graph.num_nodes))]
        base, known, _ = self._frozen()
        if self.split_ is None or base is None or known is None:
            return self.applied_to(graph, names)  # another graph than the fitted one has grown
        split = known.padded(graph.num_nodes)
        later = copy.copy(self)
        later._settle(
            graph,
            self.split_.padded(graph.num_nodes),
            self._replayed(seal(graph.to(base.y.device), split), split, base),
        )
        later.ids_ = names
        return later

    def applied_to(self, graph: Graph | Any, ids: Sequence[Any] | None = None) -> Self:
        """Return the estimator on another graph with the same features, predicted without another fit.

        Its labels, if it has some, are not read. The graph is a Graph or PyG's ``Data``; ``ids`` are the
        names of its nodes, if they have some.
        """
        self._check_trained()
        graph = Graph.from_pyg(graph) if is_of_pyg(graph) else graph
        if graph.num_features != self.n_features_in_:
            raise GraphError(
                f"the graph has {graph.num_features} features, the model was fitted with "
                f"{self.n_features_in_}; they must be the same, in the same order"
            )
        device = next(iter(self._frozen().frozen.weights.values()), graph.y).device
        bare = graph._replace(y=torch.full_like(graph.y, -1), splits=(), num_classes=len(self.classes_))
        later = copy.copy(self)
        later._settle(graph, None, self._replayed(bare.to(device), None, None))
        later.ids_ = None if ids is None else list(ids)
        return later

    def _replayed(self, graph: Graph, split: Split | None, base: Graph | None) -> Outcome:
        return replay(MODELS[self.model], graph, split, *self._how, self._frozen().frozen, base)

    def _frozen(self) -> Origin:
        """Return what was fitted: the graph and the split as training saw them, and what was learned."""
        if self._origin is None:
            assert self.split_ is not None
            device = self.outcome_.trained.logits.device
            split = self.split_.map(lambda mask: mask.to(device))
            graph = seal(self.graph_.to(device), split)
            frozen = freeze(MODELS[self.model], graph, split, *self._how, self.outcome_)
            self._origin = Origin(graph, split, frozen)
        return self._origin

    # To keep, and to look into

    def save(self, folder: str | os.PathLike[str], *, graph: bool = True) -> Path:
        """Write a model folder, which `load_model` reads: JSON and safetensors, whole or not at all.

        ``graph=False`` leaves the graph out, to share a model without its data: what is loaded then predicts
        other graphs (``applied_to``), but neither the nodes it was fitted with nor new ones beside them.
        """
        self._check_fitted()
        (base, split, frozen), model = self._frozen(), MODELS[self.model]
        size = self.graph_.num_nodes, self.graph_.num_edges
        if self.split_ is None or base is None or split is None or (base.num_nodes, base.num_edges) != size:
            raise GraphError(
                "this estimator was extended or applied to another graph; save the fitted one, and extend "
                "it again after loading"
            )
        if not graph and not model.learns:
            raise GraphError(f"{model.title} is a rule that reads its graph; it cannot be saved without")
        training = {
            "graph": self.graph_.name,
            "nodes": self.graph_.num_nodes,
            "edges": self.graph_.num_edges,
            "train_nodes": int(split.train.sum()),
            "validation_nodes": int(split.validation.sum()),
        } | {
            name: (value if math.isfinite(value := getattr(self.outcome_.trained, name)) else None)
            for name in ACCOUNT
        }
        return folders.write(
            folder,
            folders.Kept(
                model=self.model,
                params=self._how[0].to_dict() | {"random_state": self._how[1]},
                classes=self.classes_.tolist(),
                features=self.n_features_in_,
                metric=self.graph_.metric,
                frozen=frozen,
                temperature=self.temperature_,
                training=training,
                history=self.history_.reset_index(),
                graph=base if graph else None,
                split=split if graph else None,
                ids=self.ids_ if graph else None,
                encoding=self.encoding_,
            ),
        )

    def predictions(self, nodes: Any = None) -> pd.DataFrame:
        """Return a table: id, class, its probability, calibrated too, margin, and those of every class.

        ``part`` says which nodes were fitted on, for training or validation: their predictions are flattered.
        """
        self._check_fitted()
        ids = np.asarray(self.ids_ if self.ids_ is not None else range(self.graph_.num_nodes), dtype=object)
        p, calibrated = self.predict_proba(nodes), self.predict_proba(nodes, calibrated=True)
        table = prediction_table(ids[self._nodes(nodes)].tolist(), self.classes_, p, calibrated)
        part = np.full(self.graph_.num_nodes, "", dtype=object)
        for name in ("train", "validation") if self.split_ else ():
            part[getattr(self.split_, name).cpu().numpy()] = name
        table.insert(1, "part", part[self._nodes(nodes)])
        return table

    def export(self) -> torch.export.ExportedProgram:
        """Return the part of the model that is per node as a program for `torch.export.save`.

        It maps dense rows of features to class logits (MLP, HDP-Init) or to H^ego (HDP); others have none.
        """
        self._check_fitted()
        return node_program(self.outcome_)

    def explain(self, node: Any) -> Explanation:
        """Say why a node got its class: its neighbors with verdicts, class mixes, what each part added.

        ``node`` is an id, where nodes have ids, else a number.
        """
        self._check_fitted()
        if self.ids_ is not None:
            try:
                number = self.ids_.index(node)
            except ValueError:
                raise GraphError(f"there is no node {node!r}; the first is {self.ids_[0]!r}") from None
        else:
            number = int(self._nodes([node])[0])
        return explain(self.outcome_, self.graph_, number, self.classes_, self.temperature_, self.ids_)

    def predict(self, nodes: Any = None) -> NDArray[Any]:
        """Return the predicted class of the given nodes, by default of all."""
        self._check_fitted()
        return self.transduction_[self._nodes(nodes)]

    def predict_proba(self, nodes: Any = None, *, calibrated: bool = False) -> NDArray[Any]:
        """Return class probabilities, one row per given node, columns in the order of ``classes_``.

        ``calibrated`` divides the logits by ``temperature_`` first, which was fitted on the validation nodes.
        """
        self._check_fitted()
        if calibrated:
            logits = self.outcome_.trained.logits.cpu() / self.temperature_
            return torch.softmax(logits, -1).numpy()[self._nodes(nodes)]
        return self.probabilities_[self._nodes(nodes)]

    @property
    def label_distributions_(self) -> NDArray[Any]:
        """Class probabilities of every node, by the name of scikit-learn's ``semi_supervised``."""
        self._check_fitted()
        return self.probabilities_

    def _nodes(self, nodes: Any) -> Any:
        count = self.graph_.num_nodes
        if nodes is None:
            return slice(None)
        if isinstance(nodes, Graph):
            if nodes.num_nodes != count:
                raise GraphError(
                    f"fitted on {count} nodes, asked about a graph of {nodes.num_nodes}; "
                    "this estimator predicts the nodes it was fitted with"
                )
            return slice(None)
        advice = f"pass node numbers, such as [0, 3], or a boolean mask of length {count}"
        try:
            chosen = np.asarray(nodes.cpu() if isinstance(nodes, torch.Tensor) else nodes)
        except (TypeError, ValueError) as error:
            raise GraphError(f"nodes cannot be made an array ({error}); {advice}") from None
        if chosen.dtype == bool and chosen.shape == (count,):
            return chosen
        if chosen.ndim == 1 and not chosen.size:
            return chosen.astype(np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise GraphError(f"nodes are {chosen.dtype} of shape {chosen.shape}; {advice}")
        if chosen.min() < 0 or chosen.max() >= count:
            raise GraphError(f"nodes must lie between 0 and {count - 1}")
        return chosen

    def _check_trained(self) -> None:
        if not hasattr(self, "_origin"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(graph, split=0) first"
            )

    def _check_fitted(self) -> None:
        self._check_trained()
        if not hasattr(self, "outcome_"):
            raise NotFittedError(
                "this model was saved without its graph, so it has no nodes to speak of; give it some: "
                "applied_to(graph)"
            )


def seed_of(random_state: Any) -> int:
    if random_state is None:
        return 0
    if not isinstance(random_state, Integral) or isinstance(random_state, bool):
        raise ConfigError(f"random_state must be a whole number or None, which is 0; not {random_state!r}")
    if not 0 <= (seed := int(random_state)) < 2**32:
        raise ConfigError(f"random_state must lie between 0 and 2^32 - 1, not {seed}")
    return seed
