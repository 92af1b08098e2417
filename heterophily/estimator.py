"""Estimators in scikit-learn's manner: fit on a graph, predict its nodes, and those that come later.

The nodes to predict may be part of the graph that is fitted, with label -1, as in scikit-learn's
`semi_supervised` module. Nodes that come later, and other graphs, are predicted without another fit:
``extended`` and ``applied_to`` return an estimator that is fitted there. ``save`` and `load_model` keep one.
"""

from __future__ import annotations

import copy
import inspect
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch_geometric.data.data import BaseData

from heterophily import folder as folder_files
from heterophily.config import Config, ConfigError, meanings, types
from heterophily.explain import Explanation, explain
from heterophily.export import node_program
from heterophily.folder import FolderError, Kept
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.hdp import HDPConfig
from heterophily.models import MODELS, Model, find_model
from heterophily.outcomes import edge_table, prediction_table, probabilities, temperature
from heterophily.reading import Reading
from heterophily.recipes import PACKAGED, recipe
from heterophily.replay import freeze, replay
from heterophily.stage import DivergedError, Frozen, Outcome
from heterophily.training import metrics
from heterophily.training.device import choose_device
from heterophily.training.engine import Watch
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import seal

ACCOUNT = ("validation", "validation_loss", "best_epoch", "epochs", "seconds")
"""What a folder tells of the training."""
KEYWORD = inspect.Parameter.KEYWORD_ONLY
OWN = {
    "validation_fraction": "Share of the labelled nodes held out for early stopping if no split says which.",
    "random_state": "Seed of weights, dropout and that choice, from 0 to 2^32 - 1; None is 0.",
    "device": '"auto" (a GPU if any), "cpu", "cuda" or "cuda:N".',
}
"""Parameters beside the config's, with their meanings."""


class Origin(NamedTuple):
    """What an estimator was fitted on, sealed as training saw it, and what it learned there."""

    graph: Graph | None
    """None where a folder left it out."""
    split: Split | None
    frozen: Frozen


class GraphClassifier(ClassifierMixin, BaseEstimator):
    """A model of the registry as an estimator; its parameters are the fields of the model's config.

    Parameters beside the config's: ``validation_fraction`` of the labelled nodes is held out for
    early stopping where no split says which; ``random_state`` seeds weights, dropout and that choice;
    ``device`` is "auto", "cpu", "cuda" or "cuda:N".
    """

    model: ClassVar[str]
    config_type: ClassVar[type[Config]]
    __signature__: ClassVar[inspect.Signature]

    def __init__(
        self,
        *,
        validation_fraction: float = 0.25,
        random_state: int | None = 0,
        device: str = "auto",
        **config: Any,
    ):
        self.validation_fraction, self.random_state, self.device = validation_fraction, random_state, device
        settings = self.config_type.parse(config).to_dict()
        for name, value in (settings | config).items():
            setattr(self, name, value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the config's fields, hidden in ``**config``, to help() and to inspect.signature."""
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "config_type"):
            return  # a base of others, as this one is
        own = inspect.signature(GraphClassifier.__init__).parameters
        cls.__signature__ = inspect.Signature(
            [
                *(
                    inspect.Parameter(name, KEYWORD, default=v)
                    for name, v in cls.config_type().to_dict().items()
                ),
                *(inspect.Parameter(name, KEYWORD, default=own[name].default) for name in OWN),
            ]
        )
        with suppress(OSError):  # an installation without sources has no meanings to show
            cls.__doc__ = _with_parameters(cls)

    @classmethod
    def from_recipe(cls, dataset: str, *, source: str | os.PathLike[str] = PACKAGED, **changes: Any) -> Self:
        """Return the estimator with the settings for a dataset, and some of them changed.

        They are the packaged ones, or those of a TOML file, such as tuning writes: ``source="recipe.toml"``.
        """
        return cls(**(recipe(cls.model, dataset, source) | changes))

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*OWN, *types(cls.config_type)])

    @property
    def config(self) -> Config:
        """The model's settings."""
        return self.config_type.parse({name: getattr(self, name) for name in types(self.config_type)})

    def set_params(self, **params: Any) -> Self:
        """Change parameters; what makes no sense, alone or with the others, is refused."""
        now = {name: getattr(self, name) for name in types(self.config_type)}
        self.config_type.parse(now | {name: value for name, value in params.items() if name not in OWN})
        super().set_params(**params)
        return self

    def fit(
        self,
        graph: Graph | Any,
        y: Any = None,
        *,
        edge_index: Any = None,
        split: int | str | Split | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Fit on ``fit(graph, split=0)`` or ``fit(X, y, edge_index=...)``; -1 marks unlabelled nodes.

        The graph is a Graph, PyG's ``Data``, or what ``heterophily.read`` made of files: then nodes keep the
        names they have there.
        With a split, its training nodes are learned from and its validation nodes end the training;
        labels of all others are never read. Without one, all labelled nodes are used, a stratified
        ``validation_fraction`` of them for validation. ``watch`` is called after each epoch.
        """
        seed = _seed(self.random_state)
        ids = encoding = None
        if isinstance(graph, Reading):
            ids, encoding, graph = graph.ids.tolist(), graph.encoding.to_json(), graph.graph
        graph = Graph.from_pyg(graph) if isinstance(graph, BaseData) else graph
        if isinstance(graph, Graph):
            if y is not None or edge_index is not None:
                raise TypeError(
                    "fit(graph) has labels and edges in the graph; pass y and edge_index with X only"
                )
            self.classes_ = np.arange(graph.num_classes)
            if graph.class_names is not None:
                self.classes_ = np.asarray(graph.class_names)
        else:
            if y is None or edge_index is None:
                raise TypeError(
                    "fit(X, y, edge_index=...) needs all three; or pass a Graph: fit(graph, split=0)"
                )
            graph, self.classes_ = _from_arrays(graph, y, edge_index)
        if split is None:
            split = held_out(graph, self.validation_fraction, seed)
        elif not isinstance(split, Split):
            split = graph.split(split)
        run = Run(self.model, self.config, split, seed)
        (outcome,) = train_runs(graph, [run], choose_device(self.device), watch=watch)
        if not math.isfinite(outcome.trained.validation_loss):
            raise DivergedError(
                "no epoch gave a finite validation loss; lower the learning rate or check the scale of X"
            )
        self._settle(graph, split, outcome)
        self._origin: Origin | None = None
        self.temperature_ = temperature(outcome.trained.logits.cpu(), graph.y.cpu(), split.validation.cpu())
        self.ids_: list[Any] | None = ids
        self.encoding_: Mapping[str, Any] | None = encoding
        self.history_ = pd.DataFrame(outcome.trained.history).rename_axis("epoch")
        self.history_.index += outcome.trained.epochs > 0  # where nothing is trained there is epoch 0 alone
        self.n_features_in_ = graph.num_features
        return self

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
        base, known, _ = self._frozen()
        assert base is not None and known is not None
        graph = self.graph_.with_nodes(x, edge_index)
        split = known.padded(graph.num_nodes)
        outcome = self._replayed(seal(graph.to(base.y.device), split), split, base)
        later = copy.copy(self)
        later._settle(graph, self.split_.padded(graph.num_nodes) if self.split_ else None, outcome)
        if self.ids_ is not None:
            later.ids_ = [*self.ids_, *(ids if ids is not None else range(len(self.ids_), graph.num_nodes))]
        return later

    def applied_to(self, graph: Graph | Any, ids: Sequence[Any] | None = None) -> Self:
        """Return the estimator on another graph with the same features, predicted without another fit.

        Its labels, if it has some, are not read. The graph is a Graph or PyG's ``Data``; ``ids`` are the
        names of its nodes, if they have some.
        """
        self._check_trained()
        graph = Graph.from_pyg(graph) if isinstance(graph, BaseData) else graph
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
        frozen, seed = self._frozen().frozen, _seed(self.random_state)
        return replay(MODELS[self.model], graph, split, self.config, seed, frozen, base)

    def _frozen(self) -> Origin:
        """Return what was fitted: the graph and the split as training saw them, and what was learned."""
        if self._origin is None:
            assert self.split_ is not None
            device = self.outcome_.trained.logits.device
            split = self.split_.map(lambda mask: mask.to(device))
            graph = seal(self.graph_.to(device), split)
            seed, model = _seed(self.random_state), MODELS[self.model]
            self._origin = Origin(graph, split, freeze(model, graph, split, self.config, seed, self.outcome_))
        return self._origin

    # To keep, and to look into

    def save(self, folder: str | os.PathLike[str], *, graph: bool = True) -> Path:
        """Write a model folder, which `load_model` reads: JSON and safetensors, whole or not at all.

        ``graph=False`` leaves the graph out, to share a model without its data: what is loaded then predicts
        other graphs (``applied_to``), but neither the nodes it was fitted with nor new ones beside them.
        """
        self._check_fitted()
        (base, split, frozen), model = self._frozen(), MODELS[self.model]
        if self.split_ is None or split is None or len(split.train) != self.graph_.num_nodes:
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
        return folder_files.write(
            folder,
            Kept(
                model=self.model,
                params=self.config.to_dict()
                | {
                    "validation_fraction": self.validation_fraction,
                    "random_state": _seed(self.random_state),
                    "device": self.device,
                },
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

    def fit_transform(
        self,
        graph: Graph | Any,
        y: Any = None,
        *,
        edge_index: Any = None,
        split: int | str | Split | None = None,
    ) -> NDArray[Any]:
        """Fit, and return what ``transform`` gives for every node."""
        return self.fit(graph, y, edge_index=edge_index, split=split).transform()

    def transform(self, nodes: Any = None) -> NDArray[Any]:
        """Return the logits, (N, K): one row per given node, by default all."""
        self._check_fitted()
        return self.outcome_.trained.logits.cpu().numpy()[self._nodes(nodes)]

    @property
    def edges_(self) -> pd.DataFrame:
        """Only a model that splits neighborhoods, HDP, has a verdict on every edge."""
        title = MODELS[self.model].title
        raise AttributeError(f"{title} splits no neighborhoods, so it has no edges_; HDPClassifier has them")

    @property
    def label_distributions_(self) -> NDArray[Any]:
        """Class probabilities of every node, by the name of scikit-learn's ``semi_supervised``."""
        self._check_fitted()
        return self.probabilities_

    def score(
        self, graph: Graph | Any = None, y: Any = None, *, split: int | str | Split | None = None
    ) -> float:
        """Return the graph's metric (accuracy or ROC AUC) on the test nodes of a split.

        Both default to those fitted on; pass the graph with its labels if it was fitted without. Test
        nodes that were fitted on, for training or validation, are refused. ``score(nodes, y)`` is the
        accuracy on nodes of your choice, with labels in terms of ``classes_``.
        """
        self._check_fitted()
        if y is not None:
            return self._accuracy(graph, y, split)
        graph = self.graph_ if graph is None else graph
        graph = Graph.from_pyg(graph) if isinstance(graph, BaseData) else graph
        if not isinstance(graph, Graph):
            raise GraphError(
                "score takes a graph and a split, score(graph, split=0), or nodes and labels, score(nodes, y)"
            )
        if graph.num_nodes != self.graph_.num_nodes:
            raise GraphError(f"fitted on {self.graph_.num_nodes} nodes, asked to score {graph.num_nodes}")
        if split is None and self.split_ is None:
            raise GraphError("this graph came after the fit and has no split; pass split=..., or nodes and y")
        chosen = self.split_ if split is None else split if isinstance(split, Split) else graph.split(split)
        assert chosen is not None
        test = chosen.test.cpu()
        if not test.any():
            raise GraphError("the split has no test node to score; pass split=... with a test mask")
        if self.split_ and (seen := test & (self.split_.train | self.split_.validation).cpu()).any():
            raise GraphError(
                f"{int(seen.sum()):,} of the {int(test.sum()):,} test nodes of split {chosen.name!r} were "
                f"fitted on, for training or validation (split {self.split_.name!r}), so their score would "
                f"be flattered; fit with that split first: fit(graph, split={chosen.name!r})"
            )
        return float(metrics.score(graph.metric, self.outcome_.trained.logits.cpu(), graph.y.cpu(), test))

    def _accuracy(self, nodes: Any, y: Any, split: Any) -> float:
        if split is not None:
            raise TypeError("score(nodes, y) takes no split; score(graph, split=...) has labels in the graph")
        predicted, wanted = self.predict(nodes), np.asarray(y)
        if wanted.shape != predicted.shape or not wanted.size:
            raise GraphError(
                f"labels of shape {wanted.shape} for {len(predicted)} nodes; give one or more, one per node"
            )
        if (strange := ~pd.Series(wanted).isin(self.classes_.tolist())).any():
            raise GraphError(
                f"label {wanted[strange.to_numpy()][0]!r} is none of classes_ "
                f"({', '.join(map(str, self.classes_))}); give labels as they were fitted, of labelled nodes"
            )
        return float((predicted == wanted).mean())

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


def _with_parameters(cls: type[GraphClassifier]) -> str:
    """Return the docstring of an estimator with its parameters: name, default and meaning."""
    said = meanings(cls.config_type) | OWN
    lines = [inspect.cleandoc(cls.__doc__ or ""), "", "Parameters", "----------"]
    for name, parameter in cls.__signature__.parameters.items():
        lines += [f"{name} : default {parameter.default!r}"]
        lines += textwrap.wrap(said.get(name, ""), 100, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


class HDPClassifier(GraphClassifier):
    """HDP as an estimator: ``HDPClassifier(rescale=0.9).fit(graph, split=0)``."""

    model = "hdp"
    config_type = HDPConfig

    @property
    def initial_probabilities_(self) -> NDArray[Any]:
        """Soft assignments of the initialization, before HDP proper (Eq. 22)."""
        self._check_fitted()
        assert self.outcome_.initial is not None
        return probabilities(self.outcome_.initial)

    @property
    def edges_(self) -> pd.DataFrame:
        """One row per edge of E': probability of being homophilous (Eq. 3), threshold (Eq. 4), verdict.

        The partition is the one the kept weights were trained and judged with.
        """
        self._check_fitted()
        table = edge_table(self.outcome_)
        assert table is not None
        return table

    def transform(self, nodes: Any = None) -> NDArray[Any]:
        """Return the representation H of Eq. 18, one row per given node, by default all."""
        self._check_fitted()
        return representations(self.outcome_).h.cpu().numpy()[self._nodes(nodes)]


def _classifier(model: Model) -> type[GraphClassifier]:
    """Make the estimator of a row of the registry, named after its title."""
    if model.name == HDPClassifier.model:
        return HDPClassifier
    title = model.title.replace("*", "Star").replace("+", "Plus")
    name = "".join(filter(str.isalnum, title)) + "Classifier"
    body = {
        "__doc__": f"{model.title} as an estimator: ``{name}().fit(graph, split=0)``.\n\n"
        f"{model.summary[0].upper()}{model.summary[1:]}. {model.reference}.",
        "__module__": __name__,
        "model": model.name,
        "config_type": model.config,
    }
    return type(name, (GraphClassifier,), body)


def make_classifier(name: str, /, **params: Any) -> GraphClassifier:
    """Return the estimator of any model by its name: ``make_classifier("gcn", dropout=0.2)``."""
    return CLASSIFIERS[find_model(name).name](**params)


def representations(outcome: Outcome) -> Any:
    """Return what the fitted module computes for every node, with its best weights."""
    trained = outcome.trained
    with torch.no_grad():
        module = outcome.module.eval()
        return torch.func.functional_call(
            module, trained.weights, (trained.state["blocks"], trained.state["parts"])
        )


def load_model(folder: str | os.PathLike[str], device: str = "cpu") -> GraphClassifier:
    """Return the fitted estimator of a model folder, wherever it was trained.

    A file that was cut or changed is refused by name, and so is a folder of a newer version.
    """
    kept = folder_files.read(folder)
    where = choose_device(device)
    try:
        return _revived(kept, device, where)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise FolderError(f"{folder} holds what makes no model ({error}); get the model again") from None


def _revived(kept: Kept, device: str, where: torch.device) -> GraphClassifier:
    """Return an estimator as it was when it was saved."""
    model = make_classifier(kept.model, **kept.params | {"device": device})
    model.classes_ = np.asarray(kept.classes)
    model.n_features_in_, model.temperature_ = kept.features, kept.temperature
    model.ids_, model.encoding_ = kept.ids, kept.encoding
    model.history_ = kept.history.set_index("epoch")
    frozen = Frozen(*({n: t.to(where) for n, t in part.items()} for part in vars(kept.frozen).values()))
    if kept.graph is None or kept.split is None:
        model._origin = Origin(None, None, frozen)
        return model
    graph, split = kept.graph.to(where), kept.split.map(lambda mask: mask.to(where))
    model._origin = Origin(graph, split, frozen)
    outcome = model._replayed(graph, split, graph)
    account: dict[str, Any] = {
        name: math.nan if (value := kept.training[name]) is None else value for name in ACCOUNT
    }
    history = {str(name): column.tolist() for name, column in model.history_.items()}
    model._settle(
        graph, split, replace(outcome, trained=replace(outcome.trained, history=history, **account))
    )
    return model


def held_out(graph: Graph, fraction: float, seed: int) -> Split:
    """Split the labelled nodes into training and validation, class by class; the rest is nobody's."""
    if not 0 < fraction < 1:
        raise ConfigError(f"validation_fraction must lie between 0 and 1, not {fraction}")
    known = (graph.y >= 0).nonzero().flatten().cpu()
    if known.numel() < 2:
        raise GraphError(
            f"{known.numel()} labelled nodes; at least 2 are needed, one to train, one to validate"
        )
    order = known[torch.randperm(known.numel(), generator=torch.Generator().manual_seed(seed))]
    one_hot = torch.nn.functional.one_hot(graph.y.cpu()[order], graph.num_classes)
    size = one_hot.sum(0)
    turn = (one_hot.cumsum(0) * one_hot).sum(1)
    # In each class the first node trains; of the others every 1/fraction-th validates.
    validates = (turn * fraction).floor() > ((turn - 1) * fraction).floor()
    validates &= (turn > 1) & (size[graph.y.cpu()[order]] > 1)
    if not validates.any():
        validates[-1] = True
    none = order[:0]
    return Split.from_indices(graph.num_nodes, order[~validates], order[validates], none, name="held out")


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if not isinstance(random_state, Integral) or isinstance(random_state, bool):
        raise ConfigError(f"random_state must be a whole number or None, which is 0; not {random_state!r}")
    if not 0 <= (seed := int(random_state)) < 2**32:
        raise ConfigError(f"random_state must lie between 0 and 2^32 - 1, not {seed}")
    return seed


def _from_arrays(x: Any, y: Any, edge_index: Any) -> tuple[Graph, NDArray[Any]]:
    y = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)  # [-1, "a"] stays two types
    known = ~pd.isna(y)
    # NumPy makes np.array(["a", -1]) words, so that its -1 is a word too.
    known[known] = (y[known] != -1) & (y[known] != "-1")
    classes, codes = np.unique(y[known], return_inverse=True)
    labels = np.full(y.shape, -1, dtype=np.int64)
    labels[known] = codes
    return Graph(x, labels, edge_index, num_classes=max(len(classes), 1)), classes


CLASSIFIERS = {model.name: _classifier(model) for model in MODELS.values()}
"""The estimator of each model by the model's name."""
globals().update({kind.__name__: kind for kind in CLASSIFIERS.values()})  # pickle looks for them here
