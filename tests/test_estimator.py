"""Estimators in scikit-learn's manner: what a user does with them, and what they say when misused."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from torch_geometric.data import HeteroData

from heterophily import MODELS, Graph, HDPClassifier, Split, estimator, make_classifier
from heterophily.bench import evaluate
from heterophily.config import ConfigError
from heterophily.estimator import CLASSIFIERS, GraphClassifier, held_out
from heterophily.graph.graph import GraphError
from heterophily.hdp import HDPConfig
from heterophily.hdp.algorithm import edge_set
from heterophily.models import find_model
from tests.tiny import LEARNERS, SETTINGS, tiny_config, tiny_graph

WORDS = np.array(["cat", "dog", "eel"])


def classifier(**changes: Any) -> HDPClassifier:
    return HDPClassifier(**SETTINGS | {"device": "cpu"} | changes)


@cache
def fitted() -> HDPClassifier:
    return classifier(epoch=40, learning_rate=0.03, epoch_init=3).fit(tiny_graph(), split=0)


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y with every third label hidden, edge_index."""
    graph = tiny_graph()
    y = graph.y.numpy().copy()
    y[::3] = -1
    return graph.x.numpy(), y, graph.edge_index.numpy()


# fit(graph, split)


def test_fitting_a_graph_predicts_each_of_its_nodes() -> None:
    model, graph = fitted(), tiny_graph()
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict().shape == model.transduction_.shape == (graph.num_nodes,)
    assert np.array_equal(model.predict(), model.transduction_)
    assert np.array_equal(model.predict(graph), model.transduction_)
    assert model.n_features_in_ == graph.num_features
    assert is_classifier(model)


def test_probabilities_sum_to_one_and_their_largest_is_the_prediction() -> None:
    p = fitted().predict_proba()
    assert p.shape == (tiny_graph().num_nodes, 3)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6)
    assert np.array_equal(p.argmax(1), fitted().predict())


def test_some_nodes_may_be_asked_for_by_number_or_by_mask() -> None:
    model, mask = fitted(), tiny_graph().split(0).test.numpy()
    assert np.array_equal(model.predict([3, 1]), model.transduction_[[3, 1]])
    assert np.array_equal(model.predict(mask), model.transduction_[mask])
    assert np.array_equal(model.predict_proba(mask), model.predict_proba()[mask])
    assert np.array_equal(model.transform([5]), model.transform()[[5]])


def test_the_score_is_the_accuracy_on_the_test_nodes() -> None:
    graph, model = tiny_graph(), fitted()
    split = graph.split(0)
    test = split.test.numpy()
    wanted = (model.predict()[test] == graph.y.numpy()[test]).mean()
    assert model.score(split=split) == model.score(graph, split=split.name) == pytest.approx(wanted)
    assert model.score() == model.score(split=0) == model.score(graph.to_pyg(), split=0)
    assert model.score(test, graph.y[test]) == pytest.approx(wanted)


def test_test_nodes_that_were_fitted_on_are_not_scored() -> None:
    with pytest.raises(GraphError, match=r"test nodes of split '1' were fitted on.*fit\(graph, split='1'\)"):
        fitted().score(split=1)
    all_labels = classifier(epoch=1, epoch_init=1).fit(tiny_graph())
    with pytest.raises(GraphError, match="test nodes of split '0' were fitted on"):
        all_labels.score(split=0)


def test_chosen_nodes_are_scored_by_labels_that_are_classes() -> None:
    graph = tiny_graph()
    named = Graph(graph.x, graph.y, graph.edge_index.clone(), graph.splits, class_names=tuple(WORDS))
    model = classifier(epoch=2, epoch_init=2).fit(named, split=0)
    assert model.score([3, 1], model.predict([3, 1])) == 1
    assert model.score(None, WORDS[graph.y]) == pytest.approx((model.predict() == WORDS[graph.y]).mean())
    with pytest.raises(GraphError, match="is none of classes_ \\(cat, dog, eel\\)"):
        model.score([3, 1], [0, 1])
    with pytest.raises(GraphError, match="labels of shape \\(1,\\) for 2 nodes"):
        model.score([3, 1], ["cat"])
    with pytest.raises(TypeError, match="takes no split"):
        model.score([3], ["cat"], split=0)
    with pytest.raises(GraphError, match="score takes a graph and a split"):
        model.score([3])


def test_a_graph_of_pyg_is_fitted_like_ours() -> None:
    ours, theirs = (
        classifier(epoch=2, epoch_init=2).fit(graph, split=0).predict_proba()
        for graph in (tiny_graph(), tiny_graph().to_pyg())
    )
    assert np.array_equal(ours, theirs)
    with pytest.raises(GraphError, match="to_homogeneous"):
        classifier().fit(HeteroData())


def test_fitting_and_transforming_at_once_is_one_after_the_other() -> None:
    model = classifier(epoch=2, epoch_init=2)
    h = model.fit_transform(tiny_graph(), split=0)
    assert np.array_equal(h, model.transform())


def test_probabilities_go_by_the_name_of_semi_supervised_learning_too() -> None:
    assert fitted().label_distributions_ is fitted().probabilities_


def test_the_representation_is_what_the_classifier_reads() -> None:
    model = fitted()
    h = torch.from_numpy(model.transform())
    assert h.shape == (tiny_graph().num_nodes, 2 * 4)  # [H^hm ‖ H^ht]
    weights = model.outcome_.trained.weights
    logits = h @ weights["classify.weight"].T + weights["classify.bias"]
    np.testing.assert_allclose(torch.softmax(logits, -1), model.predict_proba(), atol=1e-6)


def test_the_history_has_a_row_for_each_epoch_counted_from_one() -> None:
    history = fitted().history_
    assert isinstance(history, pd.DataFrame)
    assert history.index.name == "epoch" and history.index[0] == 1
    assert {"loss", "cross_entropy", "tpc", "train", "validation", "validation_loss"} <= set(history)
    assert len(history) == fitted().outcome_.trained.epochs


def test_a_split_may_be_given_by_number_name_or_itself() -> None:
    graph = tiny_graph()
    for split in (1, "1", graph.split(1)):
        assert classifier(epoch=1, epoch_init=1).fit(graph, split=split).split_ is graph.split(1)


def test_the_initial_assignment_can_be_looked_at() -> None:
    p = fitted().initial_probabilities_
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6)
    assert not np.allclose(p, fitted().predict_proba())


def test_class_names_of_a_graph_are_what_is_predicted() -> None:
    graph = tiny_graph()
    named = Graph(graph.x, graph.y, graph.edge_index.clone(), graph.splits, class_names=tuple(WORDS))
    model = classifier(epoch=2, epoch_init=2).fit(named, split=0)
    assert model.classes_.tolist() == WORDS.tolist()
    assert set(model.predict()) <= set(WORDS)


def test_test_labels_change_the_score_and_nothing_else() -> None:
    graph = tiny_graph()
    test = graph.split(0).test
    other = graph.with_labels(torch.where(test, (graph.y + 1) % 3, graph.y))
    a, b = (classifier(epoch=40, learning_rate=0.03, random_state=1).fit(g, split=0) for g in (graph, other))
    assert np.array_equal(a.predict_proba(), b.predict_proba())
    pd.testing.assert_frame_equal(a.history_, b.history_, check_exact=True)
    pd.testing.assert_frame_equal(a.edges_, b.edges_, check_exact=True)
    assert a.score() != b.score()


# edges_


def test_edges_have_one_row_for_each_edge_and_loop() -> None:
    table, edges = fitted().edges_, edge_set(tiny_graph(), 1)
    assert list(table.columns) == ["source", "target", "probability", "threshold", "verdict"]
    assert table["source"].tolist() == edges.u.tolist()
    assert table["target"].tolist() == edges.v.tolist()
    assert bool((table["source"] <= table["target"]).all())


@pytest.mark.parametrize("changes", [{}, {"order": 2}, {"rescale": 0.5}, {"known_loops": True}])
def test_the_verdict_agrees_with_probability_and_threshold(changes: dict[str, Any]) -> None:
    model = classifier(**changes).fit(tiny_graph(), split=0)
    table = model.edges_
    homophilous = table["verdict"] == "homophilous"
    assert set(table["verdict"]) == {"homophilous", "heterophilous"}
    above, below = table["probability"] > table["threshold"], table["probability"] < table["threshold"]
    assert bool(homophilous[above].all()) and not bool(homophilous[below].any())
    share = model.outcome_.details["estimated_homophily"]
    assert homophilous.sum() == round(share * len(table))
    assert bool(table["probability"].between(0, 1).all())


def test_probabilities_of_edges_are_those_of_the_assignment_they_were_cut_with() -> None:
    model = classifier(update=False).fit(tiny_graph(), split=0)
    z, table = model.initial_probabilities_.astype(float), model.edges_
    wanted = (z[table["source"]] * z[table["target"]]).sum(1)
    np.testing.assert_allclose(table["probability"], wanted, rtol=1e-5)


# fit(X, y, edge_index=...)


def test_fitting_arrays_predicts_labelled_and_unlabelled_nodes_alike() -> None:
    x, y, edge_index = arrays()
    model = classifier().fit(x, y, edge_index=edge_index)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict().shape == y.shape
    assert -1 not in model.predict()
    split = model.split_
    assert not bool((split.train | split.validation)[::3].any()) and not split.test.any()
    assert bool((split.train | split.validation)[torch.from_numpy(y) >= 0].all())


@pytest.mark.parametrize("missing", [-1, None, np.nan])
def test_labels_may_be_words(missing: Any) -> None:
    x, y, edge_index = arrays()
    words = np.where(y < 0, missing, WORDS[y].astype(object))
    model = classifier(epoch=3, epoch_init=2).fit(x, words, edge_index=edge_index)
    assert model.classes_.tolist() == WORDS.tolist()
    numbers = classifier(epoch=3, epoch_init=2).fit(x, y, edge_index=edge_index)
    assert np.array_equal(model.predict(), WORDS[numbers.predict()])


def test_minus_one_that_numpy_made_a_word_is_unlabelled_still() -> None:
    x, y, edge_index = arrays()
    words = np.array([-1 if label < 0 else str(WORDS[label]) for label in y])
    assert words.dtype.kind == "U"
    for given in (words, words.astype(object), words.tolist()):
        model = classifier(epoch=2, epoch_init=2).fit(x, given, edge_index=edge_index)
        assert model.classes_.tolist() == WORDS.tolist()


def test_class_numbers_may_have_gaps() -> None:
    x, y, edge_index = arrays()
    gaps = np.where(y < 0, -1, 10 * y + 5)
    model = classifier(epoch=2, epoch_init=2).fit(x, gaps, edge_index=edge_index)
    assert model.classes_.tolist() == [5, 15, 25]


@pytest.mark.parametrize("kind", [torch.from_numpy, pd.DataFrame, scipy.sparse.csr_array, np.ndarray.tolist])
def test_features_may_be_of_any_kind(kind: Any) -> None:
    x, y, edge_index = arrays()
    x = np.where(np.random.default_rng(0).random(x.shape) < 0.15, x, 0)
    first, second = (
        classifier(epoch=3, epoch_init=2).fit(features, y, edge_index=edge_index).predict_proba()
        for features in (x, kind(x))
    )
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_columns_of_a_table_may_be_labels() -> None:
    x, y, edge_index = arrays()
    table = pd.DataFrame(x, columns=list("abcde")).assign(label=WORDS[y])
    table.loc[y < 0, "label"] = None
    edges = pd.DataFrame(edge_index.T, columns=["from", "to"])
    model = classifier(epoch=2, epoch_init=2)
    model.fit(table[list("abcde")], table["label"], edge_index=edges.T)
    assert set(model.predict()) <= set(WORDS)


def test_a_split_may_be_given_with_arrays() -> None:
    x, _, edge_index = arrays()
    split = tiny_graph().split(0)
    model = classifier(epoch=2, epoch_init=2).fit(x, tiny_graph().y, edge_index=edge_index, split=split)
    assert model.split_ is split
    assert 0 <= model.score() <= 1


def test_the_held_out_nodes_are_a_share_of_each_class_and_follow_the_seed() -> None:
    graph = tiny_graph(240)
    split = held_out(graph, 0.25, seed=1)
    for label in range(3):
        nodes = graph.y == label
        assert int((split.validation & nodes).sum()) == int(nodes.sum()) // 4
        assert int((split.train & nodes).sum()) == int(nodes.sum()) - int(nodes.sum()) // 4
    assert torch.equal(split.train, held_out(graph, 0.25, seed=1).train)
    assert not torch.equal(split.train, held_out(graph, 0.25, seed=2).train)


def test_even_two_labelled_nodes_are_one_to_train_and_one_to_validate() -> None:
    graph = tiny_graph().with_labels(torch.full((48,), -1).index_fill(0, torch.tensor([4, 9]), 0))
    split = held_out(graph, 0.25, seed=0)
    assert int(split.train.sum()) == int(split.validation.sum()) == 1


# Parameters


def test_parameters_are_the_fields_of_the_config_and_five_of_its_own() -> None:
    params = HDPClassifier().get_params()
    own = {"validation_fraction": 0.25, "random_state": 0, "device": "auto"}
    large = {"clusters": 0, "precision": "full"}
    assert params == HDPConfig().to_dict() | own | large


def test_parameters_can_be_set_and_cloned() -> None:
    model = classifier(rescale=0.9, random_state=4)
    twin = clone(model)
    assert twin.get_params() == model.get_params() and twin is not model
    assert model.set_params(rescale=1.1, random_state=5) is model
    assert (model.rescale, model.random_state, model.config.to_dict()["rescale"]) == (1.1, 5, 1.1)
    assert twin.rescale == 0.9
    with pytest.raises(NotFittedError):
        clone(fitted()).predict()


def test_the_random_state_decides() -> None:
    a, b, c = (classifier(random_state=seed).fit(tiny_graph(), split=0).predict_proba() for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_fitting_again_forgets_the_first_fit() -> None:
    model = classifier(epoch=3, epoch_init=2)
    first = model.fit(tiny_graph(), split=0).predict_proba()
    other = model.fit(tiny_graph(), split=1).predict_proba()
    again = model.fit(tiny_graph(), split=0).predict_proba()
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_a_fitted_model_survives_pickling() -> None:
    twin = pickle.loads(pickle.dumps(fitted()))
    assert np.array_equal(twin.predict_proba(), fitted().predict_proba())
    assert np.array_equal(twin.transform(), fitted().transform())
    pd.testing.assert_frame_equal(twin.edges_, fitted().edges_)


def test_no_random_state_is_zero_and_a_strange_one_is_refused() -> None:
    a, b = (
        classifier(epoch=2, epoch_init=2, random_state=state).fit(tiny_graph(), split=0).predict_proba()
        for state in (None, np.int64(0))
    )
    assert np.array_equal(a, b)
    with pytest.raises(ConfigError, match="random_state must be a whole number or None"):
        classifier(random_state="x").fit(tiny_graph(), split=0)
    with pytest.raises(ConfigError, match="random_state must lie between 0 and 2\\^32 - 1"):
        classifier(random_state=-1).fit(tiny_graph(), split=0)


def test_help_and_signature_show_every_parameter() -> None:
    parameters = inspect.signature(HDPClassifier).parameters
    assert {name: p.default for name, p in parameters.items()} == HDPClassifier().get_params()
    said = HDPClassifier.__doc__ or ""
    assert said.startswith("HDP as an estimator")
    for name, p in parameters.items():
        assert f"\n{name} : default {p.default!r}\n    " in said
    assert "λ of Eq. 2" in said


# Misuse


@pytest.mark.parametrize("name", ["predict", "predict_proba", "score", "transform"])
def test_before_fitting_nothing_is_answered(name: str) -> None:
    with pytest.raises(NotFittedError, match=r"not fitted yet; call fit\(graph, split=0\) first"):
        getattr(HDPClassifier(), name)()


@pytest.mark.parametrize("name", ["edges_", "initial_probabilities_", "label_distributions_"])
def test_before_fitting_nothing_is_shown(name: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(HDPClassifier(), name)


def test_a_parameter_that_does_not_exist_is_refused_with_the_ones_that_do() -> None:
    with pytest.raises(ConfigError, match=r"no field 'lamda'; did you mean 'rescale' \(λ\)\? Fields: "):
        HDPClassifier(lamda=0.9)
    with pytest.raises(ConfigError, match="no field 'droput'; did you mean 'dropout'"):
        HDPClassifier().set_params(droput=0.5)


def test_a_value_that_makes_no_sense_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="order must be one of 1, 2"):
        HDPClassifier(order=3)
    model = HDPClassifier()
    with pytest.raises(ConfigError, match="dropout must be below 1"):
        model.set_params(dropout=1.0)
    assert model.dropout == HDPConfig().dropout


def test_a_value_that_makes_no_sense_with_the_others_is_refused() -> None:
    model = HDPClassifier(homophilous=False)
    with pytest.raises(ConfigError, match="both off"):
        model.set_params(heterophilous=False)
    assert model.heterophilous
    model.set_params(homophilous=True, heterophilous=False)


def test_fitting_says_what_it_needs() -> None:
    x, y, edge_index = arrays()
    with pytest.raises(TypeError, match="needs all three"):
        classifier().fit(x, y)
    with pytest.raises(TypeError, match="labels and edges in the graph"):
        classifier().fit(tiny_graph(), y)
    with pytest.raises(GraphError, match="has no split 7"):
        classifier().fit(tiny_graph(), split=7)
    with pytest.raises(GraphError, match="0 labelled nodes; at least 2 are needed"):
        classifier().fit(x, np.full(len(y), -1), edge_index=edge_index)
    with pytest.raises(ConfigError, match="validation_fraction must lie between 0 and 1"):
        classifier(validation_fraction=1.0).fit(x, y, edge_index=edge_index)
    with pytest.raises(ConfigError, match="unknown device 'abacus'"):
        classifier(device="abacus").fit(tiny_graph(), split=0)


def test_only_nodes_it_was_fitted_with_can_be_asked_for() -> None:
    with pytest.raises(GraphError, match="between 0 and 47"):
        fitted().predict([48])
    for strange in ([0.5], 3, [[1, 2]], np.ones(7, dtype=bool), ["a"], [[1], [2, 3]]):
        with pytest.raises(
            GraphError, match="pass node numbers, such as \\[0, 3\\], or a boolean mask of length 48"
        ):
            fitted().predict(strange)
    assert len(fitted().predict([])) == 0
    assert fitted().predict(torch.tensor([1, 2])).shape == (2,)
    with pytest.raises(GraphError, match="predicts the nodes it was fitted with"):
        fitted().predict(tiny_graph(60))
    with pytest.raises(GraphError, match="fitted on 48 nodes, asked to score 60"):
        fitted().score(tiny_graph(60), split=0)


def test_a_score_needs_test_nodes() -> None:
    x, y, edge_index = arrays()
    model = classifier(epoch=1, epoch_init=1).fit(x, y, edge_index=edge_index)
    with pytest.raises(GraphError, match="no test node"):
        model.score()
    graph = tiny_graph()
    whole = Split(y_ := torch.from_numpy(y) >= 0, torch.zeros_like(y_), ~y_)
    assert 0 <= model.score(graph, split=whole) <= 1


# Edges of the input


def test_minus_one_in_a_list_of_words_is_unlabelled_too() -> None:
    x, y, edge_index = arrays()
    words = [-1 if label < 0 else str(WORDS[label]) for label in y]
    model = classifier(epoch=2, epoch_init=2).fit(x, words, edge_index=edge_index)
    assert model.classes_.tolist() == WORDS.tolist()


def test_fitting_other_features_on_the_same_edges_uses_the_other_features() -> None:
    x, y, edge_index = arrays()
    edges = torch.from_numpy(edge_index)  # a tensor is taken as it is, so both fits hold the same one
    model = classifier(initial_features="nb", structural_dim=0, epoch=1)
    model.fit(x, y, edge_index=edges)
    second = model.fit(-x, y, edge_index=edges).initial_probabilities_
    fresh = model.fit(-x, y, edge_index=edges.clone()).initial_probabilities_
    np.testing.assert_allclose(second, fresh)


# Any model of the registry

every_model = pytest.mark.parametrize("name", MODELS)


@cache
def made(name: str) -> GraphClassifier:
    return make_classifier(name, device="cpu", **tiny_config(name).to_dict()).fit(tiny_graph(), split=0)


@every_model
def test_every_model_is_an_estimator_that_answers_for_every_node(name: str) -> None:
    model, graph = made(name), tiny_graph()
    assert type(model) is CLASSIFIERS[name] and is_classifier(model)
    assert model.model == name and model.config_type is MODELS[name].config
    assert model.classes_.tolist() == [0, 1, 2] and model.transduction_.shape == (graph.num_nodes,)
    assert np.array_equal(model.predict([3, 1]), model.classes_[model.predict_proba([3, 1]).argmax(1)])
    np.testing.assert_allclose(model.predict_proba().sum(1), 1, rtol=1e-6)
    assert {"train", "validation", "validation_loss"} <= set(model.history_)
    epochs = model.outcome_.trained.epochs
    assert model.history_.index[-1] == epochs and (epochs > 0) == (name in LEARNERS)


@every_model
def test_every_model_scores_what_an_evaluation_scores(name: str) -> None:
    result = evaluate(tiny_graph(), name, tiny_config(name), splits=[0])
    assert made(name).score() == result.mean


@every_model
def test_every_model_but_hdp_transforms_to_its_logits_and_has_no_edges(name: str) -> None:
    model = made(name)
    out = model.transform()
    assert np.array_equal(clone(model).fit_transform(tiny_graph(), split=0), out)
    assert np.array_equal(model.transform([5]), out[[5]])
    if name == "hdp":
        assert hasattr(model, "edges_")
        return
    np.testing.assert_allclose(torch.softmax(torch.from_numpy(out), -1), model.predict_proba(), rtol=1e-6)
    assert "logits" in (model.transform.__doc__ or "") and not hasattr(model, "edges_")
    with pytest.raises(AttributeError, match="splits no neighborhoods, so it has no edges_; HDPClassifier"):
        _ = model.edges_


@every_model
def test_every_model_can_be_set_cloned_and_pickled(name: str) -> None:
    model = make_classifier(name, random_state=4, **tiny_config(name).to_dict())
    assert model.get_params() == tiny_config(name).to_dict() | {
        "validation_fraction": 0.25, "random_state": 4, "device": "auto", "clusters": 0, "precision": "full",
    }  # fmt: skip
    for twin in (clone(model), pickle.loads(pickle.dumps(model))):
        assert type(twin) is type(model) and twin.get_params() == model.get_params()
    assert model.set_params(random_state=5).random_state == 5
    with pytest.raises(ConfigError, match="no field 'depth_charge'"):
        model.set_params(depth_charge=1)
    with pytest.raises(NotFittedError):
        model.transform()
    fitted = pickle.loads(pickle.dumps(made(name)))
    assert np.array_equal(fitted.predict_proba(), made(name).predict_proba())
    assert np.array_equal(fitted.transform(), made(name).transform())


@every_model
def test_every_class_shows_its_parameters_and_is_found_where_pickle_looks(name: str) -> None:
    kind = CLASSIFIERS[name]
    assert getattr(estimator, kind.__name__) is kind and kind.__module__ == estimator.__name__
    parameters = inspect.signature(kind).parameters
    assert {key: p.default for key, p in parameters.items()} == kind().get_params()
    said = kind.__doc__ or ""
    assert said.startswith(f"{MODELS[name].title} as an estimator: ``{kind.__name__}(")
    assert all(f"\n{key} : default {p.default!r}\n    " in said for key, p in parameters.items())


def test_no_two_models_share_a_class_or_a_name() -> None:
    assert len({kind.__name__ for kind in CLASSIFIERS.values()}) == len(MODELS)
    assert CLASSIFIERS["hdp"] is HDPClassifier


@pytest.mark.parametrize(
    "title, wanted",
    [
        ("GCN", "GCNClassifier"), ("GCNII*", "GCNIIStarClassifier"), ("GPR-GNN", "GPRGNNClassifier"),
        ("GloGNN++", "GloGNNPlusPlusClassifier"), ("ACM-GCN+", "ACMGCNPlusClassifier"),
        ("Twin-Copy", "TwinCopyClassifier"),
    ],
)  # fmt: skip
def test_a_class_is_named_after_the_title(title: str, wanted: str) -> None:
    assert estimator._classifier(replace(MODELS["gcn"], title=title)).__name__ == wanted


def test_a_model_goes_by_its_name_or_title_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        MODELS, "gcnii-star", star := replace(MODELS["gcn"], name="gcnii-star", title="GCNII*")
    )
    for name in ("gcnii-star", "GCNII*", " gcnii* ", "GCNII-Star"):
        assert find_model(name) is star
    assert type(make_classifier("Mlp")) is CLASSIFIERS["mlp"]
    with pytest.raises(
        ConfigError, match="there is no model 'gcni\\*'; did you mean 'gcnii-star'\\? The models"
    ):
        find_model("gcni*")


def test_a_model_or_parameter_that_does_not_exist_is_refused_as_on_the_command_line() -> None:
    with pytest.raises(
        ConfigError, match="there is no model 'hpd'; did you mean 'hdp'\\? The models are maj"
    ):
        make_classifier("hpd")
    with pytest.raises(ConfigError, match="GCNConfig has no field 'droput'; did you mean 'dropout'"):
        make_classifier("gcn", droput=0.1)


def test_any_model_takes_its_packaged_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heterophily.recipes.HERE", tmp_path)
    (tmp_path / "gcn.toml").write_text("epoch = 3\n[texas]\nhidden_dim = 7\n")
    model = type(make_classifier("gcn")).from_recipe("texas", dropout=0.1)
    params = model.get_params()
    assert (params["epoch"], params["hidden_dim"], params["dropout"]) == (3, 7, 0.1)
