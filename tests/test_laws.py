"""Laws that every model of the registry obeys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.config import types
from heterophily.graph import Graph
from heterophily.layers import MLP
from heterophily.models import MODELS
from heterophily.stage import Outcome, Trained, drawn
from heterophily.training.runs import Run, train_runs
from tests.tiny import LEARNERS, stages, tiny_config, tiny_graph

every_model = pytest.mark.parametrize("model", MODELS)
every_learner = pytest.mark.parametrize("model", LEARNERS)
# Models that go by the order of the nodes; their own tests say how far. LINKX has a row of weights for every
# node, WRGAT compares nodes of one degree in their order.
GO_BY_ORDER = {"linkx", "wrgat"}
# Settings that may differ within one batch; a model takes those it knows.
VARIANTS: list[dict[str, Any]] = [
    {"learning_rate": 0.03, "learning_rate_init": 0.01, "dropout": 0.2},
    {"learning_rate": 0.003, "weight_decay": 0.0, "dropout": 0.7, "rescale": 0.8, "tpc_weight": 10.0},
    {
        "learning_rate": 0.1,
        "weight_decay": 0.01,
        "input_dropout": 0.5,
        "rescale": 1.2,
        "temperature": 0.1,
        "patience": 1,
    },
]


def mixture(model: str, count: int, **changes: Any) -> list[Run]:
    """Runs that differ in settings, split and seed, some of them stopping early."""
    return [
        Run(model, tiny_config(model, **VARIANTS[i % 3] | changes), split=i // 3 % 3, seed=i)
        for i in range(count)
    ]


def train(runs: Sequence[Run], together: bool, graph: Graph | None = None) -> list[Outcome]:
    return train_runs(graph or tiny_graph(), runs, dtype=torch.float64, together=together)


def assert_same(one: Trained, other: Trained) -> None:
    """Equal to the last digits, curves and weights too; a note that was never taken may be absent or NaN."""
    assert (one.epochs, one.best_epoch) == (other.epochs, other.best_epoch)
    assert one.validation == other.validation
    pairs = [(one.logits, other.logits), *((w, other.weights[name]) for name, w in one.weights.items())]
    for name in one.history.keys() | other.history.keys():
        absent = [math.nan] * one.epochs
        pairs.append(tuple(torch.tensor(t.history.get(name, absent)) for t in (one, other)))  # type: ignore[arg-type]
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10, equal_nan=True)


def assert_same_outcome(one: Outcome, other: Outcome) -> None:
    assert_same(one.trained, other.trained)
    assert (one.initial is None) == (other.initial is None)
    if one.initial is not None and other.initial is not None:
        assert_same(one.initial, other.initial)
    assert one.details == pytest.approx(other.details)


@every_model
def test_runs_together_are_runs_alone(model: str) -> None:
    """A few, and every variant on every split."""
    runs = mixture(model, 9)
    alone = train(runs, together=False)
    for count in (3, 9):
        for one, other in zip(train(runs[:count], together=True), alone[:count], strict=True):
            assert_same_outcome(one, other)
    if model in LEARNERS:
        assert len({outcome.trained.epochs for outcome in alone}) > 1, "no run stopped before another"


@every_learner
def test_in_float64_runs_on_a_gpu_are_runs_on_a_cpu(model: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    runs = mixture(model, 9)
    for one, other in zip(
        train_runs(tiny_graph(), runs, "cuda", torch.float64), train(runs, together=False), strict=True
    ):
        assert (one.trained.epochs, one.trained.best_epoch) == (
            other.trained.epochs,
            other.trained.best_epoch,
        )
        loss, wanted = (torch.tensor(outcome.trained.history["loss"]) for outcome in (one, other))
        torch.testing.assert_close(loss, wanted, rtol=1e-6, atol=1e-6)


@every_model
def test_runs_judged_by_roc_auc_together_are_runs_alone(model: str) -> None:
    graph = tiny_graph()
    two = Graph(graph.x, (graph.y > 0).long(), graph.edge_index.clone(), graph.splits, metric="roc_auc")
    runs = mixture(model, 4)
    for one, other in zip(train(runs, True, two), train(runs, False, two), strict=True):
        assert_same_outcome(one, other)


@every_model
def test_results_come_back_in_the_order_given_whatever_the_shapes(model: str) -> None:
    shapes: list[dict[str, Any]] = [
        {"hidden_dim": 8}, {"hidden_dim": 6, "layers_hm": 1}, {"layers_ht": 0, "order": 2}, {"hidden_dim": 8},
    ]  # fmt: skip
    runs = [Run(model, tiny_config(model, **shape), split=i % 3, seed=i) for i, shape in enumerate(shapes)]
    for run, found in zip(runs, train(runs, together=True), strict=True):
        (wanted,) = train([run], together=False)
        assert_same_outcome(found, wanted)


@every_learner
def test_a_run_that_blows_up_leaves_the_others_alone(model: str) -> None:
    runs = mixture(model, 4)
    runs[1] = Run(model, tiny_config(model, learning_rate=1e308, learning_rate_init=1e308), split=0, seed=1)
    first, broken, *rest = train(runs, together=True)
    assert any(math.isnan(loss) for loss in broken.trained.history["validation_loss"])
    alone = train([runs[0], *runs[2:]], together=False)
    for one, other in zip([first, *rest], alone, strict=True):
        assert_same_outcome(one, other)


@every_model
def test_no_runs_give_no_results(model: str) -> None:
    assert train_runs(tiny_graph(), []) == []


@every_learner
def test_the_same_seed_gives_the_same_curve_and_another_seed_another(model: str) -> None:
    run, other = mixture(model, 1)[0], Run(model, tiny_config(model, **VARIANTS[0]), seed=99)
    (a,), (b,), (c,) = (train_runs(tiny_graph(), [r]) for r in (run, run, other))
    assert a.trained.history["loss"] == b.trained.history["loss"] != c.trained.history["loss"]
    assert torch.equal(a.trained.logits, b.trained.logits)


@every_learner
def test_every_parameter_of_every_stage_gets_a_gradient(model: str) -> None:
    graph = tiny_graph()
    for stage, _ in stages(model, graph, graph.split(0), tiny_config(model)):
        stage.module.train()
        parameters = dict(stage.module.named_parameters())
        loss = stage.loss(stage.module, stage.state)["loss"]
        for name, gradient in zip(parameters, torch.autograd.grad(loss, parameters.values()), strict=True):
            assert bool(gradient.any()), f"{name} of {type(stage.module).__name__}"


@every_learner
def test_training_lowers_the_loss(model: str) -> None:
    config = tiny_config(model, dropout=0.0, dropout_init=0.0, learning_rate=0.03, patience=50, epoch=40)
    (outcome,) = train_runs(tiny_graph(), [Run(model, config)])
    curve = outcome.trained.history["loss"]
    assert curve[-1] < 0.9 * curve[0]


def other_labels(graph: Graph, mask: Tensor) -> Graph:
    """The graph with every label under the mask moved to the next class."""
    return graph.with_labels(torch.where(mask, (graph.y + 1) % graph.num_classes, graph.y))


@every_model
def test_test_labels_change_nothing(model: str) -> None:
    graph, run = tiny_graph(), mixture(model, 1)[0]
    hidden = graph.with_labels(torch.where(graph.split(0).test, -1, graph.y))
    (a,), (b,), (c,) = (
        train_runs(g, [run]) for g in (graph, other_labels(graph, graph.split(0).test), hidden)
    )
    assert torch.equal(a.trained.logits, b.trained.logits) and torch.equal(a.trained.logits, c.trained.logits)
    assert a.trained.history == b.trained.history == c.trained.history


@every_model
def test_no_stage_reads_test_labels_even_where_they_are_not_sealed(model: str) -> None:
    graph, config = tiny_graph(), tiny_config(model)
    split = graph.split(0)
    pairs = zip(
        stages(model, graph, split, config),
        stages(model, other_labels(graph, split.test), split, config),
        strict=True,
    )
    for (_, one), (_, other) in pairs:
        assert torch.equal(one.logits, other.logits) and one.history == other.history


@every_model
def test_labels_outside_the_training_set_reach_no_loss(model: str) -> None:
    graph = tiny_graph()
    split = graph.split(0)
    for stage, _ in stages(model, graph, split, tiny_config(model)):
        stage.module.eval()
        labels = stage.state["labels"]
        moved = torch.where(split.train | (labels < 0), labels, (labels + 1) % 3)
        assert not torch.equal(moved, labels)
        before = stage.loss(stage.module, stage.state)["loss"]
        assert torch.equal(before, stage.loss(stage.module, stage.state | {"labels": moved})["loss"])


@every_learner
def test_the_result_is_that_of_the_best_validation_epoch_and_ties_go_by_the_loss(model: str) -> None:
    # Long enough to overfit, so that the same score comes back with a higher loss.
    runs = mixture(model, 6, epoch=60, patience=60, learning_rate=0.03, dropout=0.0)
    passed_over = 0
    for outcome in train(runs, together=True):
        trained, history = outcome.trained, outcome.trained.history
        best = max(history["validation"])
        ties = [e for e, score in enumerate(history["validation"], 1) if score == best]
        assert trained.validation == best
        assert trained.best_epoch == min(ties, key=lambda e: history["validation_loss"][e - 1])
        assert trained.validation_loss == history["validation_loss"][trained.best_epoch - 1]
        passed_over += max(ties) > trained.best_epoch
    assert passed_over, "no later tie with a higher loss"


@every_learner
def test_training_stops_when_patience_is_spent_and_not_before(model: str) -> None:
    config = tiny_config(model, patience=3, epoch=60, learning_rate=0.03)
    (outcome,) = train_runs(tiny_graph(), [Run(model, config)])
    trained = outcome.trained
    assert trained.epochs == min(60, trained.best_epoch + 3)
    best = 0
    for epoch in range(1, trained.epochs + 1):
        rank = lambda e: (trained.history["validation"][e - 1], -trained.history["validation_loss"][e - 1])  # noqa: E731
        best = epoch if best == 0 or rank(epoch) > rank(best) else best
        assert epoch == trained.epochs or epoch - best < 3


@pytest.mark.parametrize("model", [name for name in MODELS if name not in GO_BY_ORDER])
def test_renumbering_the_nodes_permutes_the_output(model: str) -> None:
    """Without dropout, whose masks go by position; training nodes keep their order among themselves,
    since it numbers the columns of a structural encoding."""
    graph = tiny_graph()
    split = graph.split(0)
    order = torch.randperm(graph.num_nodes)
    places = split.train[order].nonzero().flatten()
    order[places] = order[places].sort().values
    still = {name: 0.0 for name in types(MODELS[model].config) if "dropout" in name}
    unnumbered = {"structure": False, "delta": 1.0}  # a weight per node knows the nodes by number
    run = Run(model, tiny_config(model, **still, **unnumbered), split=0)
    (one,), (other,) = train([run], False), train([run], False, graph.renumbered(order))
    torch.testing.assert_close(one.trained.logits[order], other.trained.logits, rtol=0, atol=1e-4)
    assert one.trained.best_epoch == other.trained.best_epoch


@every_model
def test_sparse_features_give_what_dense_ones_give(model: str) -> None:
    graph = tiny_graph()
    x = graph.x * (torch.rand(graph.x.shape) < 0.15)
    dense = Graph(x, graph.y, graph.edge_index.clone(), graph.splits)
    sparse = Graph(x.to_sparse_csr(), graph.y, graph.edge_index.clone(), graph.splits)
    (one,), (other,) = (train(mixture(model, 1), False, g) for g in (dense, sparse))
    torch.testing.assert_close(one.trained.logits, other.trained.logits, rtol=0, atol=1e-10)


@pytest.mark.parametrize("split, seed", [(0, 0), (1, 5)])
def test_the_engine_is_a_plain_loop_with_torch_s_adam(split: int, seed: int) -> None:
    graph, config = tiny_graph(), tiny_config("mlp", dropout=0.3, learning_rate=0.03, patience=5, epoch=40)
    masks = graph.split(split)
    module = drawn(seed, MLP, (graph.num_features,), 8, 3, 0.3, 0.3).double()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.03, weight_decay=config.weight_decay)  # type: ignore[attr-defined]
    x, y = graph.x.double(), graph.y
    losses, best, wait, kept = [], (-1.0, 0.0), 0, torch.empty(0)
    for _ in range(40):
        module.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(module([x])[masks.train], y[masks.train])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        module.eval()
        with torch.no_grad():
            logits = module([x])
        right = (logits.argmax(1) == y)[masks.validation].double().mean()
        rank = (float(right), -float(F.cross_entropy(logits[masks.validation], y[masks.validation])))
        wait += 1
        if rank > best or best[0] < 0:
            best, wait, kept = rank, 0, logits
        if wait >= 5:
            break
    (outcome,) = train([Run("mlp", config, split, seed)], together=False)
    assert outcome.trained.history["loss"] == pytest.approx(losses, rel=0, abs=1e-10)
    assert outcome.trained.validation == pytest.approx(best[0])
    torch.testing.assert_close(outcome.trained.logits, kept, rtol=0, atol=1e-10)


# Edges of the input


def test_a_history_has_the_same_columns_alone_and_together() -> None:
    runs = mixture("hdp", 12)
    for one, other in zip(train(runs, True), train(runs, False), strict=True):
        assert one.trained.history.keys() == other.trained.history.keys()


@every_model
def test_a_split_without_validation_nodes_is_refused(model: str) -> None:
    whole = tiny_graph().split(0)
    blind = type(whole)(whole.train, torch.zeros_like(whole.train), whole.test)
    with pytest.raises(ValueError, match="validation"):
        train_runs(tiny_graph(), [Run(model, tiny_config(model), blind)])


@every_model
def test_a_graph_without_features_can_be_fitted(model: str) -> None:
    graph = tiny_graph()
    bare = Graph(None, graph.y, graph.edge_index.clone(), graph.splits)
    config = tiny_config(model, structural_dim=0, initial_features="x+nb")
    (outcome,) = train_runs(bare, [Run(model, config)])
    assert outcome.trained.logits.shape == (graph.num_nodes, 3)
