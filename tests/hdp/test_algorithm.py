"""Algorithm 1: what is trained, on which labels, and when partition and trust set are renewed."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from heterophily.graph import Graph, Split
from heterophily.hdp import ABLATIONS, HDPConfig, hdp
from heterophily.hdp.algorithm import (
    assignments,
    edge_set,
    initial_features,
    structural_features,
)
from heterophily.hdp.partition import estimate_homophily, homophilous_count, partition
from heterophily.hdp.prototypes import tpc_loss, trust_set
from heterophily.stage import Outcome, Stage, Trained
from heterophily.training.runs import Run, train_runs, train_stages
from tests.tiny import CPU, tiny_config, tiny_graph

RENEWAL = ("threshold", "changed_edges", "trusted", "estimated_homophily", "expected_homophily")


def config(**changes: Any) -> HDPConfig:
    settings = tiny_config("hdp", **{"patience": 50, "patience_init": 50} | changes)
    assert isinstance(settings, HDPConfig)
    return settings


def train(graph: Graph | None = None, seed: int = 0, split: int | Split = 0, **changes: Any) -> Outcome:
    (outcome,) = train_runs(graph or tiny_graph(), [Run("hdp", config(**changes), split, seed)])
    return outcome


def two_stages(bar: float | None = None, **changes: Any) -> tuple[Stage, Trained, Stage]:
    """The initial stage, its result, and the main stage; ``bar`` replaces the initial validation score."""
    graph = tiny_graph()
    procedure = hdp(graph, graph.split(0), config(**changes), 0)
    first = next(procedure)
    (initial,) = train_stages([first], CPU)
    if bar is not None:
        initial = dataclasses.replace(initial, validation=bar)
    return first, initial, procedure.send(initial)


def shapes(stage: Stage) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape) for name, p in stage.module.named_parameters()}


def assert_bitwise(one: Any, other: Any) -> None:
    """Equal to the last bit, NaN for NaN, through dictionaries, lists and tuples."""
    if isinstance(one, Tensor):
        assert one.dtype == other.dtype
        assert torch.equal(one.nan_to_num(-7.5), other.nan_to_num(-7.5))
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_bitwise(one[key], other[key])
    elif one is None:
        assert other is None
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_bitwise(a, b)
    else:
        assert one == other or (math.isnan(one) and math.isnan(other))


def assert_same_result(one: Trained, other: Trained) -> None:
    assert_bitwise(one.logits, other.logits)
    assert_bitwise(one.weights, other.weights)
    assert_bitwise(one.history, other.history)
    assert (one.validation, one.best_epoch, one.epochs) == (
        other.validation, other.best_epoch, other.epochs,
    )  # fmt: skip


# Lines 1-5


def test_the_main_training_starts_from_the_partition_and_trust_set_of_the_initial_assignment() -> None:
    graph = tiny_graph()
    split, settings = graph.split(0), config(rescale=0.9)
    _, initial, main = two_stages(rescale=0.9)
    z = assignments(initial.logits, 1.0)
    edges = edge_set(graph, 1)
    ratio = estimate_homophily(edges, graph.y, split.train, settings.known_loops)
    count = torch.tensor(homophilous_count(ratio, settings.rescale, edges))
    assert int(main.state["count"]) == int(count)
    assert_bitwise(main.state["parts"][:3], partition(z, edges, count)[:3])
    known = split.train | split.validation
    assert_bitwise(main.state["trust"], trust_set(z, graph.y, known))
    assert main.bar == initial.validation


def test_the_estimated_homophily_is_told() -> None:
    details = train(rescale=0.9, epoch=1, epoch_init=1).details
    graph = tiny_graph()
    ratio = estimate_homophily(edge_set(graph, 1), graph.y, graph.split(0).train, known_loops=True)
    assert details == {"training_homophily": ratio, "estimated_homophily": 0.9 * ratio}


@pytest.mark.parametrize("order", [1, 2])
def test_the_partition_is_of_the_order_asked_for(order: int) -> None:
    parts = train(order=order, epoch=2, epoch_init=2).trained.state["parts"]
    assert len(parts.probability) == edge_set(tiny_graph(), order).size


def test_the_structural_encoding_is_scaled_and_as_wide_as_the_largest_split_needs() -> None:
    graph = tiny_graph()
    wide = structural_features(graph, graph.split(0), config(structural_dim=4096, structural_norm=2.0), 0)
    largest = max(int(split.train.sum()) for split in graph.splits)
    assert wide.shape == (graph.num_nodes, largest)
    dense = wide if isinstance(wide, Tensor) else wide.to_dense()
    assert float(dense.norm(dim=1).mean()) == pytest.approx(2.0, rel=1e-5)
    assert structural_features(graph, graph.split(0), config(structural_dim=0), 0).shape[1] == 0


# Lines 6-13


def test_the_loss_is_cross_entropy_plus_beta_times_tpc() -> None:
    for weight, summed in ((0.1, False), (10.0, False), (0.1, True)):
        _, _, main = two_stages(tpc_weight=weight, tpc_sum=summed, dropout=0.0)
        out = main.module(main.state["blocks"], main.state["parts"])
        train = main.state["train"]
        ce = torch.nn.functional.cross_entropy(out.logits[train], tiny_graph().y[train])  # Eq. 23
        trust = main.state["trust"]
        tpc = tpc_loss(out.h_ego, trust, 3, 0.5) * (trust.trusted.sum() if summed else 1)
        parts = main.loss(main.module, main.state)
        torch.testing.assert_close(parts["loss"], ce + weight * tpc)  # Eq. 29
        torch.testing.assert_close(parts["cross_entropy"], ce)


# Lines 14-17


def test_partition_and_trust_set_are_renewed_exactly_when_validation_passes_all_before_it() -> None:
    for bar in (0.0, 0.4, 0.6):
        _, _, main = two_stages(bar, epoch=30, learning_rate=0.03)
        (trained,) = train_stages([main], CPU)
        renewed = [bool(value) for value in trained.history["refreshed"]]
        best, wanted = bar, []
        for score in trained.history["validation"]:
            wanted.append(score > best)
            best = max(best, score)
        assert renewed == wanted and (bar > 0 or any(wanted))


def test_nothing_is_renewed_unless_validation_passes_the_initial_assignment_s() -> None:
    _, _, main = two_stages(bar=1.0)
    (trained,) = train_stages([main], CPU)
    assert not any(trained.history["refreshed"])
    for note in RENEWAL:
        assert set(trained.history[note]) == {main.notes[note]}
    assert_bitwise(trained.state["parts"], main.state["parts"])
    assert_bitwise(trained.state["trust"], main.state["trust"])


def test_a_renewal_uses_the_current_assignment_and_keeps_the_number_of_homophilous_edges() -> None:
    _, _, main = two_stages()
    logits = torch.randn(main.state["labels"].shape[0], 3)
    assert main.refresh is not None
    new, notes = main.refresh(main.state, logits)
    z, old = assignments(logits, 1.0), main.state["parts"]
    wanted = partition(z, main.state["edges"], main.state["count"])
    assert_bitwise(new["parts"][:3], wanted[:3])
    known = main.state["train"] | main.state["validation"]
    assert_bitwise(new["trust"], trust_set(z, main.state["labels"], known))
    assert int(notes["changed_edges"]) == int((wanted.is_homophilous != old.is_homophilous).sum()) > 0
    assert int(wanted.is_homophilous.sum()) == int(old.is_homophilous.sum())
    assert int(notes["trusted"]) == int(new["trust"].trusted.sum())


def test_runs_that_renew_at_different_epochs_together_do_as_they_do_alone() -> None:
    settings = config(epoch=30, learning_rate=0.03, epoch_init=1, learning_rate_init=0.001)
    runs = [Run("hdp", settings.replace(rescale=0.8 + 0.1 * i), split=i % 3, seed=i) for i in range(5)]
    both = [train_runs(tiny_graph(), runs, dtype=torch.float64, together=flag) for flag in (True, False)]
    epochs = set()
    for one, other in zip(*both, strict=True):
        for note in RENEWAL:
            assert one.trained.history[note] == pytest.approx(other.trained.history[note], nan_ok=True)
        assert torch.equal(
            one.trained.state["parts"].is_homophilous, other.trained.state["parts"].is_homophilous
        )
        assert torch.equal(one.trained.state["trust"].trusted, other.trained.state["trust"].trusted)
        epochs.add(tuple(one.trained.history["refreshed"]))
    assert len(epochs) > 1 and max(map(sum, epochs)) > 1


def test_the_best_weights_come_with_the_partition_they_were_judged_with() -> None:
    _, _, main = two_stages(bar=0.0, epoch=30)
    (trained,) = train_stages([main], CPU)
    module = main.module.eval()
    again = torch.func.functional_call(
        module, trained.weights, (trained.state["blocks"], trained.state["parts"])
    )
    torch.testing.assert_close(again.logits, trained.logits)
    right = (trained.logits.argmax(-1) == tiny_graph().y)[main.state["validation"]].double().mean()
    assert float(right) == trained.validation == max(trained.history["validation"])


def test_both_trainings_may_keep_the_epoch_of_the_lowest_validation_loss() -> None:
    outcome = train(by_loss=True, epoch=30, epoch_init=30, learning_rate=0.1, learning_rate_init=0.1)
    assert outcome.initial is not None
    for trained in (outcome.initial, outcome.trained):
        losses = trained.history["validation_loss"]
        assert trained.validation_loss == min(losses) == losses[trained.best_epoch - 1]


def test_the_history_tells_losses_accuracies_and_renewals() -> None:
    _, _, main = two_stages(bar=0.0)
    (trained,) = train_stages([main], CPU)
    wanted = {"loss", "cross_entropy", "tpc", "train", "validation", "validation_loss"}
    assert wanted | {*RENEWAL, "refreshed"} == set(trained.history)
    assert {len(column) for column in trained.history.values()} == {trained.epochs} == {12}


# Table 3


def test_without_initialization_the_first_mlp_is_used_untrained() -> None:
    first, initial, _ = two_stages(initialization="random")
    assert (initial.epochs, initial.best_epoch) == (0, 0)  # judged once, no step taken
    assert_bitwise(
        {name: p.detach() for name, p in first.module.named_parameters()},
        {name: initial.weights[name] for name, _ in first.module.named_parameters()},
    )
    assert "loss" not in initial.history


@pytest.mark.parametrize("name", ABLATIONS)
def test_each_ablation_runs(name: str) -> None:
    outcome = train(**ABLATIONS[name])
    assert outcome.trained.epochs == 12 and bool(outcome.trained.logits.isfinite().all())


@pytest.mark.parametrize("name", ABLATIONS)
def test_each_ablation_removes_just_its_part(name: str) -> None:
    whole, left = two_stages(), two_stages(**ABLATIONS[name])
    before, after = shapes(whole[2]), shapes(left[2])
    lost = {key for key in before if after.get(key) != before[key]}
    assert set(after) <= set(before)
    assert lost == {
        "Homo": {*(key for key in before if key.startswith("smp_hm")), "classify.weight"},
        "Hete": {*(key for key in before if key.startswith("smp_ht")), "classify.weight"},
        "SSE": {"ego.first.weights.1"},
        "SMP": {key for key in before if key.startswith("smp_")},
    }.get(name, set())
    assert (left[0].schedule.epochs == 0) == (name == "Init")
    assert (left[2].refresh is None) == (name == "Upd")
    assert (float(left[2].state["tpc_weight"]) == 0) == (name == "TPC")
    assert len(left[2].state["blocks"]) == (1 if name == "SSE" else 2)
    assert left[2].schedule == whole[2].schedule
    if name != "Init":  # the initialization does not notice
        assert_same_result(left[1], whole[1])
        names = ("parts", "trust", "count", "edges")
        assert_bitwise([left[2].state[name] for name in names], [whole[2].state[name] for name in names])


def test_without_structural_encoding_the_initial_assignment_still_has_it() -> None:
    graph, left = tiny_graph(), config(**ABLATIONS["SSE"])
    assert len(initial_features(graph, graph.split(0), left, 0)) == 3


def test_without_update_the_first_partition_stays_to_the_end() -> None:
    _, _, main = two_stages(bar=0.0, update=False)
    (trained,) = train_stages([main], CPU)
    assert not any(trained.history["refreshed"])
    assert_bitwise(trained.state["parts"], main.state["parts"])


def test_without_tpc_the_loss_is_cross_entropy_alone() -> None:
    history = train(tpc_weight=0.0).trained.history
    assert history["loss"] == history["cross_entropy"]


# Which labels are read


def shuffled(graph: Graph, mask: Tensor, seed: int = 5) -> Graph:
    """The graph with the labels under a mask dealt out anew."""
    nodes = mask.nonzero().flatten()
    y = graph.y.clone()
    y[nodes] = y[nodes[torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed))]]
    assert not torch.equal(y, graph.y)
    return graph.with_labels(y)


def test_shuffling_test_labels_changes_no_prediction_no_history_and_no_edge() -> None:
    graph = tiny_graph()
    a, b = train(graph), train(shuffled(graph, graph.split(0).test))
    for one, other in ((a.trained, b.trained), (a.initial, b.initial)):
        assert one is not None and other is not None
        assert_same_result(one, other)
    assert_bitwise(a.trained.state["parts"], b.trained.state["parts"])
    assert a.details == b.details


def test_validation_labels_never_reach_the_loss_of_the_initial_assignment() -> None:
    graph = tiny_graph()
    a, b = train(graph).initial, train(shuffled(graph, graph.split(0).validation)).initial
    assert a is not None and b is not None
    assert a.epochs == b.epochs == 10
    assert a.history["loss"] == b.history["loss"] and a.history["train"] == b.history["train"]
    assert a.history["validation"] != b.history["validation"]


def test_validation_labels_reach_the_main_loss_only_through_the_trust_set() -> None:
    _, _, main = two_stages()
    y = shuffled(tiny_graph(), main.state["validation"]).y
    other = main.state | {"labels": torch.where(main.state["labels"] >= 0, y, -1)}
    module = main.module.eval()
    assert_bitwise(dict(main.loss(module, main.state)), dict(main.loss(module, other)))


def test_only_labels_that_training_may_see_are_handed_to_a_stage() -> None:
    split = tiny_graph().split(0)
    for stage in (two_stages()[0], two_stages()[2]):
        assert bool((stage.state["labels"][split.test] == -1).all())


# Seeds and sharing


def test_the_same_seed_gives_the_same_result_to_the_last_bit() -> None:
    a, b = train(seed=3), train(seed=3)
    assert_same_result(a.trained, b.trained)
    assert_bitwise(a.trained.state["parts"], b.trained.state["parts"])


def test_another_seed_gives_another_result() -> None:
    assert not torch.equal(train(seed=3).trained.logits, train(seed=4).trained.logits)


def test_training_leaves_torch_s_own_generator_alone() -> None:
    before = torch.get_rng_state()
    train(epoch=2, epoch_init=2)
    assert torch.equal(torch.get_rng_state(), before)


def test_runs_that_agree_in_the_initial_settings_share_the_initial_training() -> None:
    runs = [Run("hdp", config(rescale=value)) for value in (0.9, 1.1)]
    runs += [
        Run("hdp", config(dropout_init=0.2)),
        Run("hdp", config(), seed=1),
        Run("hdp", config(), split=1),
    ]
    first, second, *others = train_runs(tiny_graph(), runs)
    assert first.initial is second.initial
    assert all(other.initial is not first.initial for other in others)


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate_init": 0.02}, {"weight_decay_init": 0.0}, {"epoch_init": 5}, {"patience_init": 1},
        {"structural_dim": 8}, {"hidden_dim": 9}, {"hops": 2}, {"initial_features": "x"},
        {"normalization": "symmetric"}, {"feature_norm": "row"}, {"structural_norm": 3.0},
        {"dropout_init": 0.2}, {"input_dropout_init": 0.2}, {"initialization": "random"},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_a_setting_that_matters_to_the_initial_training_sets_it_apart(changes: dict[str, Any]) -> None:
    runs = [Run("hdp", config(epoch=1)), Run("hdp", config(epoch=1, **changes))]
    one, other = train_runs(tiny_graph(), runs)
    assert one.initial is not other.initial


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.01}, {"layers_hm": 1}, {"order": 2}, {"rescale": 0.8}, {"temperature": 0.1},
        {"tpc_weight": 0.1}, {"sharpness": 2.0}, {"dropout": 0.2}, {"update": False}, {"structural": False},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_a_setting_of_the_main_training_leaves_the_initial_one_shared(changes: dict[str, Any]) -> None:
    runs = [Run("hdp", config(epoch=1)), Run("hdp", config(epoch=1, **changes))]
    one, other = train_runs(tiny_graph(), runs)
    assert one.initial is other.initial


def test_a_smaller_epoch_count_really_is_a_prefix() -> None:
    curve = train(epoch=12).trained.history["loss"]
    assert train(epoch=5).trained.history["loss"] == curve[:5]
    assert all(a != b for a, b in pairwise(curve))


# Edges of the input


def test_splits_of_one_name_and_other_nodes_do_not_share_the_initial_training() -> None:
    one, two = tiny_graph().splits[:2]
    other = Split(two.train, two.validation, two.test, name=one.name)
    together = train_runs(tiny_graph(), [Run("hdp", config(), one), Run("hdp", config(), other)])
    assert together[0].initial is not together[1].initial


def test_random_initialization_trains_nothing_even_beside_runs_that_train() -> None:
    alone = train(initialization="random").initial
    runs = [Run("hdp", config()), Run("hdp", config(initialization="random"))]
    beside = train_runs(tiny_graph(), runs, together=True)[1].initial
    assert alone is not None and beside is not None
    assert beside.best_epoch == 0
    torch.testing.assert_close(beside.logits, alone.logits)


def test_graphs_with_the_same_edges_and_other_features_have_other_neighbor_features() -> None:
    graph, settings = tiny_graph(), config(initial_features="nb")
    other = Graph(2 * graph.x, graph.y, graph.edge_index, graph.splits)
    (one,), (two,) = (initial_features(g, g.split(0), settings, 0) for g in (graph, other))
    assert isinstance(one, Tensor) and isinstance(two, Tensor)
    torch.testing.assert_close(two, 2 * one)


def test_graphs_with_the_same_edges_and_more_nodes_have_a_larger_neighborhood() -> None:
    graph = tiny_graph()
    edge_set(graph, 1)
    larger = Graph(None, torch.cat([graph.y, graph.y[:1]]), graph.edge_index)
    assert edge_set(larger, 1).size == edge_set(graph, 1).size + 1  # the loop of the new node


def test_other_training_labels_give_other_structural_targets() -> None:
    graph, settings = tiny_graph(), config(structural_dim=6)
    before = structural_features(graph, graph.split(0), settings, 0)
    other = shuffled(graph, graph.split(0).train)
    after = structural_features(other, other.split(0), settings, 0)
    assert before is not after


def test_where_edges_go_both_ways_the_directed_variant_is_hdp_itself() -> None:
    graph, split = tiny_graph(), tiny_graph().split(0)
    assert graph.is_undirected
    one, other = (
        train_runs(graph, [Run(name, tiny_config(name), split, 0)])[0] for name in ("hdp", "hdp-directed")
    )
    assert torch.equal(one.trained.logits, other.trained.logits)


def test_the_partition_of_the_directed_variant_is_of_the_undirected_graph() -> None:
    whole = tiny_graph()
    source, target = whole.edge_index
    graph = whole._replace(edge_index=whole.edge_index[:, source < target])
    run = Run("hdp-directed", tiny_config("hdp-directed"), graph.split(0), 0)
    edges = train_runs(graph, [run])[0].trained.state["edges"]
    assert torch.equal(edges.col, edge_set(whole, 1).col)
