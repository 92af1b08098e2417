"""Estimators in scikit-learn's manner: fit on a graph, predict its nodes, and those that come later.

The nodes to predict may be part of the graph that is fitted, with label -1, as in scikit-learn's
`semi_supervised` module. Nodes that come later, and other graphs, are predicted without another fit:
``extended`` and ``applied_to`` return an estimator that is fitted there. ``save`` and `load_model` keep one.
"""

from __future__ import annotations

import inspect
import math
import os
import textwrap
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from heterophily import folder as folders
from heterophily.config import Config, ConfigError, meanings, types
from heterophily.fitted import ACCOUNT, Fitted, Origin, seed_of
from heterophily.graph import Graph, Split
from heterophily.graph.convert import is_of_pyg
from heterophily.graph.graph import GraphError
from heterophily.hdp import HDPConfig
from heterophily.models import MODELS, Model, find_model
from heterophily.outcomes import edge_table, probabilities, representations, temperature
from heterophily.reading import Reading
from heterophily.recipes import PACKAGED, recipe
from heterophily.stage import DivergedError, Frozen
from heterophily.training import metrics
from heterophily.training.device import choose_device
from heterophily.training.engine import Watch
from heterophily.training.runs import Precision, Run, train_runs

KEYWORD = inspect.Parameter.KEYWORD_ONLY
OWN = {
    "validation_fraction": "Share of the labelled nodes held out for early stopping if no split says which.",
    "random_state": "Seed of weights, dropout and that choice, from 0 to 2^32 - 1; None is 0.",
    "device": '"auto" (a GPU if any), "cpu", "cuda" or "cuda:N".',
    "clusters": "Mini-batches of an epoch, for a graph whose training does not fit; 0 is the full batch.",
    "precision": '"full"; "mixed": bfloat16 where float32 is not needed, for less memory; "double": float64.',
}
"""Parameters beside the config's, with their meanings."""


class GraphClassifier(Fitted, ClassifierMixin, BaseEstimator):
    """A model of the registry as an estimator; its parameters are the fields of the model's config.

    Parameters beside the config's: ``validation_fraction`` of the labelled nodes is held out for
    early stopping where no split says which; ``random_state`` seeds weights, dropout and that choice;
    ``device`` is "auto", "cpu", "cuda" or "cuda:N"; ``clusters`` and ``precision`` are for large graphs.
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
        clusters: int = 0,
        precision: Precision = "full",
        **config: Any,
    ):
        self.validation_fraction, self.random_state, self.device = validation_fraction, random_state, device
        self.clusters, self.precision = clusters, precision
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
        seed = seed_of(self.random_state)
        ids = encoding = None
        if isinstance(graph, Reading):
            ids, encoding, graph = graph.ids.tolist(), graph.encoding.to_json(), graph.graph
        graph = Graph.from_pyg(graph) if is_of_pyg(graph) else graph
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
        (outcome,) = train_runs(
            graph,
            [run],
            choose_device(self.device),
            watch=watch,
            clusters=self.clusters,
            precision=self.precision,
        )
        if not math.isfinite(outcome.trained.validation_loss):
            raise DivergedError(
                f"no epoch gave a finite validation loss: {outcome.trained.diverged}; lower the learning "
                "rate or check the scale of X"
            )
        self._settle(graph, split, outcome)
        self._how, self._origin = (run.config, seed), None
        self.temperature_ = temperature(outcome.trained.logits.cpu(), graph.y.cpu(), split.validation.cpu())
        self.ids_, self.encoding_ = ids, encoding
        self.history_ = pd.DataFrame(outcome.trained.history).rename_axis("epoch")
        self.history_.index += outcome.trained.epochs > 0  # where nothing is trained there is epoch 0 alone
        self.n_features_in_ = graph.num_features
        return self

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
        graph = Graph.from_pyg(graph) if is_of_pyg(graph) else graph
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
    return classifier_of(find_model(name).name)(**params)


def load_model(folder: str | os.PathLike[str], device: str = "cpu") -> GraphClassifier:
    """Return the fitted estimator of a model folder, wherever it was trained.

    A file that was cut or changed is refused by name, and so is a folder of a newer version.
    """
    kept = folders.read(folder)
    where = choose_device(device)
    try:
        return _revived(kept, device, where)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise folders.FolderError(
            f"{folder} holds what makes no model ({error}); get the model again"
        ) from None


def _revived(kept: folders.Kept, device: str, where: torch.device) -> GraphClassifier:
    """Return an estimator as it was when it was saved."""
    model = make_classifier(kept.model, **kept.params | {"device": device})
    model.classes_ = np.asarray(kept.classes)
    model.n_features_in_, model.temperature_ = kept.features, kept.temperature
    model.ids_, model.encoding_ = kept.ids, kept.encoding
    model.history_ = kept.history.set_index("epoch")
    model._how = model.config, seed_of(model.random_state)
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


def _from_arrays(x: Any, y: Any, edge_index: Any) -> tuple[Graph, NDArray[Any]]:
    y = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)  # [-1, "a"] stays two types
    known = ~pd.isna(y)
    # NumPy makes np.array(["a", -1]) words, so that its -1 is a word too.
    known[known] = (y[known] != -1) & (y[known] != "-1")
    classes, codes = np.unique(y[known], return_inverse=True)
    labels = np.full(y.shape, -1, dtype=np.int64)
    labels[known] = codes
    return Graph(x, labels, edge_index, num_classes=max(len(classes), 1)), classes


def classifier_of(model: str) -> type[GraphClassifier]:
    """Return the estimator of a model by the model's name, made when it is first asked for."""
    if model not in CLASSIFIERS or CLASSIFIERS[model].config_type is not MODELS[model].config:
        kind = CLASSIFIERS[model] = _classifier(MODELS[model])
        globals()[kind.__name__] = kind  # pickle looks for it here
    return CLASSIFIERS[model]


CLASSIFIERS: dict[str, type[GraphClassifier]] = {}
"""The estimator of each model by the model's name."""
for _name in MODELS:
    classifier_of(_name)
