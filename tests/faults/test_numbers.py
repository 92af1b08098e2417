"""Numbers that go wrong: a run that blows up ends alone and says where, and odd graphs are trained on."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from heterophily.bench import evaluate, protocol
from heterophily.bench import reproduce as bench
from heterophily.bench.results import save
from heterophily.bench.storage import open_storage, open_study
from heterophily.bench.tuning import tune
from heterophily.config import Choice
from heterophily.estimator import make_classifier
from heterophily.graph import Graph
from heterophily.stage import Diverged, DivergedError
from heterophily.training.runs import Run, train_runs
from tests.command import GRAPH, Ask
from tests.tiny import LEARNERS, tiny_config, tiny_graph

together = pytest.mark.parametrize("at_once", [True, False], ids=["together", "alone"])


def wild() -> Graph:
    """The tiny graph with features that overflow in any network."""
    graph = tiny_graph()
    x = torch.full_like(graph.x, 3e38)
    return Graph(x, graph.y, graph.edge_index, graph.splits, name="wild")


@together
@pytest.mark.parametrize("model", ["mlp", "gcn", "hdp"])
def test_a_loss_that_is_not_finite_ends_that_run_alone(model: str, at_once: bool) -> None:
    """In double precision, where a run together with others is the same as alone."""
    good, bad = tiny_config(model), tiny_config(model, learning_rate=1e200)
    runs = [Run(model, bad if i == 1 else good, 0, i) for i in range(4)]
    found = train_runs(tiny_graph(), runs, dtype=torch.float64, together=at_once)
    broke = found[1].trained
    assert broke.diverged is not None and 1 <= broke.diverged.epoch == broke.epochs < 12
    assert not math.isfinite(broke.history[broke.diverged.term][-1])
    for i in (0, 2, 3):
        (calm,) = train_runs(tiny_graph(), [runs[i]], dtype=torch.float64)
        assert found[i].trained.diverged is None and found[i].trained.epochs == calm.trained.epochs
        torch.testing.assert_close(found[i].trained.logits, calm.trained.logits)


def test_a_run_that_breaks_off_keeps_its_best_epoch_and_its_result_says_where(tmp_path: Path) -> None:
    """A rate at which the numbers of the first epoch are huge and those of the second are too large."""
    found = evaluate(tiny_graph(), "gcn", tiny_config("gcn", learning_rate=2.5e18, dropout=0.0), [0])
    (row,) = found.splits
    assert row.diverged is not None and row.diverged["stage"] == "training"
    assert row.epochs == row.diverged["epoch"] > found.outcomes[0].trained.best_epoch >= 1
    assert row.diverged["term"] in ("loss", "validation_loss") and row.test >= 0
    written = json.loads(save(tmp_path, found, tiny_graph())[0].read_text())
    assert written["splits"][0]["diverged"] == row.diverged
    assert written["config"]["learning_rate"] == 2.5e18


def test_where_no_run_has_a_finite_loss_there_is_no_result_but_a_sentence() -> None:
    with pytest.raises(DivergedError, match="split 0 of wild from seed 0 .*loss was not finite in epoch 1"):
        evaluate(wild(), "mlp", tiny_config("mlp"), [0, 1])


def test_a_run_without_a_single_finite_loss_is_told_of_and_the_others_are_scored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As if the second of three runs had had no luck at all."""
    config = tiny_config("mlp")
    calm = evaluate(tiny_graph(), "mlp", config, [0, 1, 2])

    def unlucky(*args: Any, **more: Any) -> Any:
        found = train_runs(*args, **more)
        lost = replace(found[1].trained, validation_loss=math.inf, diverged=Diverged(3, "loss"))
        return [found[0], replace(found[1], trained=lost), *found[2:]]

    monkeypatch.setattr(protocol, "train_runs", unlucky)
    found = evaluate(tiny_graph(), "mlp", config, [0, 1, 2])
    assert [row.test for row in found.splits] == [calm.splits[0].test, calm.splits[2].test]
    (told,) = found.to_json()["diverged"]
    assert told == {"split": 1, "seed": 0, "stage": "training", "epoch": 3, "term": "loss",
                    "setting": config.to_dict()}  # fmt: skip
    assert [file.name for file in save(tmp_path, found, tiny_graph())] == ["result.json", "predictions.csv"]
    (tmp_path / "mlp.toml").write_text("[tiny]\nepoch = 6\nhidden_dim = 8\n")
    monkeypatch.setattr("heterophily.recipes.HERE", tmp_path)
    steps = bench.reproduce(["tiny"], ["mlp"], tmp_path / "results", read=lambda name: tiny_graph())
    assert {step.state for step in steps if step.model == "mlp"} == {"failed"}  # a mean of fewer is no cell


def test_the_named_term_is_a_part_before_it_is_the_sum() -> None:
    from heterophily.training.engine import _diverged

    curve = {"loss": [1.0, math.nan], "tpc": [1.0, math.inf], "cross_entropy": [1.0, 1.0],
             "validation_loss": [1.0, math.nan]}  # fmt: skip
    terms = ["loss", "cross_entropy", "tpc", "validation_loss"]
    assert _diverged(curve, 2, terms) == Diverged(2, "tpc")
    assert _diverged(curve | {"tpc": [1.0]}, 2, terms) == Diverged(2, "loss")
    assert _diverged(curve | {"tpc": [1.0], "loss": [1.0]}, 2, terms) == Diverged(2, "validation_loss")
    assert _diverged({name: [1.0] for name in terms}, 1, terms) is None
    assert str(Diverged(2, "cross_entropy")) == "its cross entropy was not finite in epoch 2"


def test_a_study_goes_on_past_a_setting_that_blows_up_and_keeps_why(tmp_path: Path) -> None:
    ranges = {"learning_rate": Choice(0.01, 1e30)}
    config = {"hidden_dim": 8, "epoch": 6, "dropout": 0.0, "weight_decay": 0.0, "feature_norm": "none"}
    found = tune(
        tiny_graph(), "mlp", 100, storage=tmp_path / "s.db", sampler="grid", ranges=ranges, config=config,
        splits=[0, 1],
    )  # fmt: skip
    assert found.config.to_dict()["learning_rate"] == 0.01
    trials = open_study(open_storage(tmp_path / "s.db"), "synthetic-mlp").trials
    told = {t.params["learning_rate"]: t.user_attrs["result"].get("diverged") for t in trials}
    assert told[0.01] is None
    assert all(each["epoch"] >= 1 and "loss" in each["term"] for each in told[1e30])


def test_the_command_says_in_a_line_that_all_blew_up(ask: Ask) -> None:
    answer = ask("train", "synthetic", "--model", "mlp", *GRAPH, "--set", "learning_rate=1e30")
    assert answer.code == 2 and "loss was not finite in epoch 1" in answer.err and answer.out == ""


# Odd graphs


def every_model_trains(graph: Graph, models: list[str] = LEARNERS, **changes: Any) -> None:
    for model in models:
        (found,) = train_runs(graph, [Run(model, tiny_config(model, **changes), 0, 0)])
        assert found.trained.diverged is None, model
        assert bool(found.trained.logits.isfinite().all()), model
        assert all(bool(weight.isfinite().all()) for weight in found.trained.weights.values()), model


def test_a_constant_feature_and_one_that_is_zero() -> None:
    graph = tiny_graph()
    x = graph.x.clone()
    x[:, 0], x[:, 1] = 7.0, 0.0
    every_model_trains(Graph(x, graph.y, graph.edge_index, graph.splits))


def test_features_that_are_all_zero() -> None:
    graph = tiny_graph()
    every_model_trains(Graph(torch.zeros_like(graph.x), graph.y, graph.edge_index, graph.splits))


def homophilous(same: bool) -> Graph:
    """The tiny graph with those edges alone that join nodes of one class, or of two."""
    graph = tiny_graph()
    u, v = graph.edge_index
    kept = graph.edge_index[:, (graph.y[u] == graph.y[v]) == same]
    return Graph(graph.x, graph.y, kept, graph.splits)


@pytest.mark.parametrize("same", [True, False])
def test_graphs_all_of_whose_edges_are_of_one_kind(same: bool) -> None:
    every_model_trains(homophilous(same))


@pytest.mark.parametrize("rescale, side", [(1e-9, "is_homophilous"), (1e9, "heterophilous")])
def test_an_empty_homophilous_or_heterophilous_side(rescale: float, side: str) -> None:
    """λ so small that no edge is homophilous, or so large that all are; known to both ends of a batch."""
    runs = [
        Run("hdp", tiny_config("hdp", rescale=r, update=u), 0, 0)
        for r in (rescale, 1.0)
        for u in (True, False)
    ]
    for at_once in (True, False):
        found = train_runs(tiny_graph(), runs, together=at_once)
        marked = found[0].trained.state["parts"].is_homophilous
        assert not bool((marked if side == "is_homophilous" else ~marked).any())
        for outcome in found:
            assert outcome.trained.diverged is None and bool(outcome.trained.logits.isfinite().all())


def test_an_empty_trust_set() -> None:
    """An initial assignment that is wrong on every known node trusts nobody, so TPC is zero and not 0/0."""
    from heterophily.hdp.prototypes import TrustSet, prototypes, tpc_loss, trust_set

    z = torch.eye(3)[torch.tensor([0, 1, 2, 0])]
    known = torch.ones(4, dtype=torch.bool)
    trust = trust_set(z, torch.tensor([1, 2, 0, 1]), known)
    assert not trust.trusted.any()
    h = torch.randn(4, 5, requires_grad=True)
    loss = tpc_loss(h, trust, 3, 0.5)
    loss.backward()
    assert loss.item() == 0 and h.grad is not None and bool(h.grad.isfinite().all())
    c, present = prototypes(h, trust, 3)
    assert not present.any() and bool(c.isfinite().all())
    one = TrustSet(torch.tensor([True, False, False, False]), torch.tensor([0, 1, 2, 0]))
    h.grad = None
    tpc_loss(h, one, 3, 0.5).backward()
    assert h.grad is not None and bool(h.grad.isfinite().all())


def test_a_class_with_no_prototype_and_one_that_no_training_node_has() -> None:
    """A class that only test nodes have is never predicted with trust; training goes on without it."""
    graph = tiny_graph()
    split = graph.splits[0]
    y = graph.y.clone()
    y[(split.train | split.validation) & (y == 2)] = 1
    with pytest.warns(UserWarning, match="class"):
        changed = Graph(graph.x, y, graph.edge_index, [split], num_classes=3)
    (found,) = train_runs(changed, [Run("hdp", tiny_config("hdp"), 0, 0)])
    trust = found.trained.state["trust"]
    assert not (trust.trusted & (trust.predicted == 2)).any()
    assert found.trained.diverged is None and bool(found.trained.logits.isfinite().all())
    every_model_trains(changed)


def test_an_estimator_says_where_it_blew_up() -> None:
    with pytest.raises(DivergedError, match="loss was not finite in epoch 1; lower the learning rate"):
        make_classifier("mlp", **tiny_config("mlp").to_dict()).fit(wild(), split=0)
