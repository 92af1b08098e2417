"""What a trained model says of nodes that come later, and of another graph."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from heterophily.estimator import GraphClassifier, make_classifier
from heterophily.graph import Graph, GraphError
from heterophily.hdp.encoding import structural_encoding
from heterophily.hdp.model import HDP
from heterophily.models import MODELS
from heterophily.outcomes import network
from tests.tiny import LEARNERS, stages, tiny_config, tiny_graph

every_model = pytest.mark.parametrize("model", MODELS)
every_learner = pytest.mark.parametrize("model", LEARNERS)
NOBODY = np.zeros((0, 5)), np.zeros((2, 0), dtype=int)
# These look at all nodes: GloGNN collects from everyone, UGCN joins a node to those of nearest features,
# WRGAT to those in alike places. So a node far away may still be felt.
LOOK_AROUND = {"glognn", "glognn-plus", "ugcn", "wrgat"}


@cache
def fitted(model: str, **changes: Any) -> GraphClassifier:
    settings = tiny_config(model, **changes).to_dict()
    return make_classifier(model, device="cpu", **settings).fit(tiny_graph(), split=0)


@every_model
def test_a_graph_with_nothing_new_is_predicted_as_it_was_fitted(model: str) -> None:
    one = fitted(model)
    later = one.extended(*NOBODY)
    np.testing.assert_array_equal(later.predict_proba(), one.predict_proba())
    if model == "hdp":
        assert later.edges_.equals(one.edges_)


@every_model
def test_new_nodes_and_edges_are_predicted_and_the_fitted_estimator_stays_as_it_is(model: str) -> None:
    one = fitted(model)
    before = one.predict_proba().copy()
    x = np.random.default_rng(0).normal(size=(3, 5))
    later = one.extended(x, [[48, 49, 50, 0], [0, 1, 48, 9]])
    assert later.predict_proba().shape == (51, 3) and np.isfinite(later.predict_proba()).all()
    np.testing.assert_array_equal(one.predict_proba(), before)
    twice = one.extended(x[:1], [[48], [0]]).extended(x[1:], [[49, 50, 0], [1, 48, 9]])
    np.testing.assert_allclose(twice.predict_proba(), later.predict_proba(), atol=1e-6)


@every_model
def test_the_order_in_which_new_nodes_come_does_not_matter(model: str) -> None:
    x = np.random.default_rng(1).normal(size=(2, 5))
    one = fitted(model).extended(x, [[48, 49], [3, 7]]).predict_proba()
    other = fitted(model).extended(x[::-1].copy(), [[49, 48], [3, 7]]).predict_proba()
    if model != "wrgat":  # compares nodes of one degree in their order
        np.testing.assert_allclose(one[[48, 49]], other[[49, 48]], atol=1e-5)


@every_learner
def test_what_is_far_from_a_node_does_not_move_it(model: str) -> None:
    if model in LOOK_AROUND:
        pytest.skip("it looks at all nodes")
    alone = fitted(model).predict_proba()
    later = fitted(model).extended(np.ones((2, 5)), [[48], [49]]).predict_proba()  # joined to nobody else
    np.testing.assert_allclose(later[:48], alone, atol=1e-5)


@every_learner
def test_another_graph_is_predicted_as_if_it_stood_beside_without_an_edge_between(model: str) -> None:
    other = tiny_graph(40, seed=1)
    got = fitted(model).applied_to(other).predict_proba()
    assert got.shape == (40, 3)
    if model not in LOOK_AROUND:
        beside = fitted(model).extended(other.x, other.edge_index + 48).predict_proba()[48:]
        np.testing.assert_allclose(got, beside, atol=1e-5)


@pytest.mark.parametrize("model", ["majority", "twin-copy"])
def test_a_rule_has_nothing_to_take_to_another_graph(model: str) -> None:
    with pytest.raises(GraphError, match="fit it there"):
        fitted(model).applied_to(tiny_graph(40, seed=1))


def test_labels_of_another_graph_are_not_read() -> None:
    other = tiny_graph(40, seed=1)
    hidden = other._replace(y=torch.full_like(other.y, -1), num_classes=0)
    one, two = (fitted("hdp").applied_to(g).predict_proba() for g in (other, hidden))
    np.testing.assert_array_equal(one, two)


@every_learner
def test_only_the_named_weights_have_a_row_for_every_node(model: str) -> None:
    """Zero rows for new nodes rest on these names."""
    shapes = []
    for graph in (tiny_graph(48), tiny_graph(40, seed=1)):
        # The targets of HDP are training nodes, so graphs are given equally many.
        config = tiny_config(model, epoch=1, epoch_init=1, delta=0.5)
        found = {}
        for stage, _ in stages(model, graph, graph.splits[0], config):
            found |= {name: tuple(p.shape) for name, p in stage.module.named_parameters()}
        shapes.append(found)
    differ = {name for name in shapes[0] if shapes[0][name] != shapes[1][name]}
    assert differ == set(MODELS[model].rows)


@pytest.mark.parametrize("model", ["linkx", "acm-gcn-plus", "glognn"])
def test_an_edge_to_a_new_node_says_nothing_where_weights_belong_to_nodes(model: str) -> None:
    later = fitted(model, delta=0.5).extended(np.ones((1, 5)), [[48], [0]])
    for name in MODELS[model].rows:
        rows = later.outcome_.trained.weights[name]
        assert len(rows) == 49 and rows[:48].any() and not rows[48].any()


def test_hdp_walks_from_new_nodes_to_the_targets_of_the_training() -> None:
    one = fitted("hdp")
    later = one.extended(np.ones((1, 5)), [[48, 48], [0, 5]])
    numbers = one._frozen().frozen.numbers
    from heterophily.adjacency import adjacency  # the walk of the grown graph

    walk = adjacency(later.graph_).normalized("walk")
    expected = structural_encoding(walk, numbers["targets"], 1, int(numbers["structural_width"]))
    expected = expected if isinstance(expected, torch.Tensor) else expected.to_dense()
    blocks = later.outcome_.trained.state["blocks"]
    given = torch.cat([b if isinstance(b, torch.Tensor) else b.to_dense() for b in blocks], 1)[:, 5:]
    torch.testing.assert_close(given, expected * numbers["structural_scale"])


def test_hdp_judges_new_edges_by_the_stored_threshold_and_leaves_old_verdicts() -> None:
    one = fitted("hdp")
    rng = np.random.default_rng(2)
    later = one.extended(rng.normal(size=(4, 5)), [[48, 49, 50, 51, 48, 0], [1, 2, 3, 4, 49, 30]])
    old, table = one.edges_, later.edges_
    both = table.merge(old, on=["source", "target"], suffixes=("", "_old"))
    assert len(both) == len(old) and (both["verdict"] == both["verdict_old"]).all()
    new = table.merge(old[["source", "target"]], how="left", indicator=True)
    new = new[new.pop("_merge") == "left_only"]
    assert len(new) >= 9  # five edges and the loops of four nodes
    above = new["probability"] >= new["threshold"]
    assert ((new["verdict"] == "homophilous") == above).all()
    threshold = float(one._frozen().frozen.numbers["final_threshold"])
    assert new["threshold"].unique().tolist() == [threshold]


def test_without_the_update_new_edges_are_judged_by_the_initial_assignment() -> None:
    one = fitted("hdp", update=False)
    later = one.extended(np.ones((1, 5)), [[48], [0]])
    new = later.edges_[later.edges_["target"] == 48]
    z = torch.softmax(later.outcome_.initial.logits.double(), -1)  # type: ignore[union-attr]
    expected = (z[new["source"].tolist()] * z[48]).sum(-1)
    np.testing.assert_allclose(new["probability"], expected, atol=1e-12)
    assert (new["threshold"] == float(one._frozen().frozen.numbers["initial_threshold"])).all()


@pytest.mark.parametrize("structural_dim", [0, 4, 16])
@pytest.mark.parametrize("order", [1, 2])
def test_sparse_features_and_two_hop_edges_are_replayed_too(structural_dim: int, order: int) -> None:
    rng = np.random.default_rng(3)
    tiny = tiny_graph()
    x = torch.tensor((rng.random((48, 60)) < 0.05) * 1.0).to_sparse_csr()
    graph = Graph(x, tiny.y, tiny.edge_index, tiny.splits)
    config = tiny_config("hdp", structural_dim=structural_dim, order=order).to_dict()
    one = make_classifier("hdp", device="cpu", **config).fit(graph, split=0)
    np.testing.assert_array_equal(
        one.extended(np.zeros((0, 60)), np.zeros((2, 0), dtype=int)).predict_proba(), one.predict_proba()
    )
    dense = np.ones((6, 60))  # so many that X and X^str may no longer be sparse
    later = one.extended(dense, [[48, 49, 50, 51, 52, 53], [0, 1, 2, 3, 4, 5]])
    assert np.isfinite(later.predict_proba()).all()
    assert isinstance(network(later.outcome_), HDP)


def test_another_graph_may_grow_too() -> None:
    other, x = tiny_graph(40, seed=1), np.ones((1, 5))
    grown = fitted("hdp").applied_to(other).extended(x, [[40], [3]])
    whole = fitted("hdp").applied_to(other.with_nodes(x, [[40], [3]]))
    np.testing.assert_array_equal(grown.predict_proba(), whole.predict_proba())


def test_parameters_set_after_the_fit_change_nothing_before_the_next() -> None:
    one = make_classifier("hdp", device="cpu", **tiny_config("hdp").to_dict()).fit(tiny_graph(), split=0)
    expected = fitted("hdp").extended(np.ones((1, 5)), [[48], [0]]).predict_proba()
    one.set_params(order=2, hidden_dim=3)
    np.testing.assert_array_equal(one.extended(np.ones((1, 5)), [[48], [0]]).predict_proba(), expected)


def test_a_model_whose_form_goes_by_the_graph_says_so() -> None:
    """WRGAT has a relation for every ring that some pair of nodes reaches; a clique has one ring."""
    one = fitted("wrgat", depth=5)
    clique = Graph(np.ones((4, 5)), [0, 1, 0, 1], [[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]])
    with pytest.raises(GraphError, match="fit it anew"):
        one.applied_to(clique)


def test_what_does_not_fit_is_refused_in_words() -> None:
    one = fitted("hdp")
    with pytest.raises(GraphError, match="5 features"):
        one.extended(np.ones((1, 4)), [[48], [0]])
    with pytest.raises(GraphError, match="there is no node 49"):
        one.extended(np.ones((1, 5)), [[49], [0]])
    with pytest.raises(GraphError, match="features, the model was fitted with 5"):
        one.applied_to(Graph(np.ones((3, 2)), [0, 1, 1], [[0], [1]]))
    for changed in (
        one.extended(np.ones((1, 5)), [[48], [0]]),
        one.extended(np.ones((0, 5)), [[1], [0]]),  # edges alone
        one.applied_to(tiny_graph(48, seed=1)),
    ):
        with pytest.raises(GraphError, match="save the fitted one"):
            changed.save("nowhere")
    with pytest.raises(GraphError, match="no split"):
        one.applied_to(tiny_graph(40, seed=1)).score()
