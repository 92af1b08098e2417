"""An evaluation: what it scores, what it writes down, and that test labels only enter the scores."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from heterophily.bench import Evaluation, SplitScore, evaluate, protocol
from heterophily.bench.protocol import DivergedError
from heterophily.config import ConfigError
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.stage import Outcome
from heterophily.training.engine import Progress
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config, tiny_graph


@cache
def evaluated(model: str) -> Evaluation:
    return evaluate(tiny_graph(), model, tiny_config(model))


@pytest.mark.parametrize("model", ["mlp", "hdp"])
def test_scores_are_those_of_the_predictions_on_each_split(model: str) -> None:
    graph, evaluation = tiny_graph(), evaluated(model)
    assert [score.split for score in evaluation.splits] == [0, 1, 2]
    for score, split, outcome in zip(evaluation.splits, graph.splits, evaluation.outcomes):
        right = outcome.trained.logits.argmax(1) == graph.y
        assert score.test == pytest.approx(right[split.test].double().mean().item())
        assert score.validation == pytest.approx(right[split.validation].double().mean().item())
        assert 1 <= score.epochs <= 12 and score.seconds > 0


@pytest.mark.parametrize("model", ["mlp", "hdp", "majority"])
def test_the_last_epoch_is_scored_beside_the_best(model: str) -> None:
    graph, evaluation = tiny_graph(), evaluated(model)
    for score, split, outcome in zip(evaluation.splits, graph.splits, evaluation.outcomes):
        last = outcome.trained.last_logits
        assert last is not None
        right = last.argmax(1) == graph.y
        assert score.test_last == pytest.approx(right[split.test].double().mean().item())
        history = outcome.trained.history["validation"]
        assert history[-1] == pytest.approx(right[split.validation].double().mean().item())
    if model != "majority":
        assert any(o.trained.best_epoch < o.trained.epochs for o in evaluation.outcomes)


def test_of_several_seeds_the_mean_of_their_assignments_is_scored_too() -> None:
    graph, evaluation = tiny_graph(), evaluate(tiny_graph(), "mlp", tiny_config("mlp"), seeds=3)
    for position, split in enumerate(graph.splits):
        runs = [i for i, score in enumerate(evaluation.splits) if score.split == position]
        z = sum(evaluation.outcomes[i].trained.logits.softmax(1) for i in runs)
        right = (z.argmax(1) == graph.y)[split.test].double().mean().item()
        assert [evaluation.splits[i].test_averaged for i in runs] == pytest.approx([right] * 3)
    rows = evaluation.to_json()["splits"]
    assert evaluation.averaged == pytest.approx(sum(row["test_averaged"] for row in rows) / len(rows))
    alone = evaluated("mlp")
    assert alone.averaged is None and "test_averaged" not in alone.to_json()["splits"][0]


def test_a_split_is_named_by_its_nodes_and_says_how_many_they_are() -> None:
    graph, rows = tiny_graph(), evaluated("mlp").to_json()["splits"]
    assert len({row["mask"] for row in rows}) == 3
    for row, split in zip(rows, graph.splits):
        assert row["nodes"] == {part: int(mask.sum()) for part, mask in split.parts()}
    again = evaluate(graph, "majority", splits=[2, 0]).to_json()["splits"]
    assert [row["mask"] for row in again] == [rows[2]["mask"], rows[0]["mask"]]
    other = evaluate(tiny_graph(seed=1), "majority").to_json()["splits"]
    assert not {row["mask"] for row in other} & {row["mask"] for row in rows}


def test_hdp_tells_its_initial_assignment_and_its_estimate() -> None:
    for score, outcome in zip(evaluated("hdp").splits, evaluated("hdp").outcomes):
        assert score.initial is not None and outcome.initial is not None
        assert score.initial.validation == outcome.initial.validation
        assert score.seconds > score.initial.seconds
        assert 0 < score.details["estimated_homophily"] <= 1
    assert all(score.initial is None for score in evaluated("mlp").splits)


def test_mean_and_std_are_those_of_a_sample() -> None:
    evaluation = evaluated("hdp")
    tests = [score.test for score in evaluation.splits]
    assert evaluation.mean == pytest.approx(np.mean(tests))
    assert evaluation.std == pytest.approx(np.std(tests, ddof=1))
    alone = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [1])
    assert alone.std is None and alone.mean == alone.splits[0].test


@cache
def over_seeds() -> Evaluation:
    return evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [2, 0], seed=5, seeds=3)


def test_every_split_is_trained_from_every_seed() -> None:
    rows = over_seeds().splits
    assert [(row.split, row.seed) for row in rows] == [(2, 5), (2, 6), (2, 7), (0, 5), (0, 6), (0, 7)]
    alone = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [0], seed=6)
    assert alone.splits[0].test == rows[4].test
    logits = [evaluation.outcomes[i].trained.logits for evaluation, i in ((alone, 0), (over_seeds(), 4))]
    torch.testing.assert_close(*logits, rtol=0, atol=1e-4)


def test_all_splits_and_seeds_go_to_the_engine_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(graph: Graph, runs: list[Run], *args: Any, **more: Any) -> list[Outcome]:
        calls.append([(run.split, run.seed) for run in runs])
        return train_runs(graph, runs, *args, **more)

    monkeypatch.setattr(protocol, "train_runs", counted)
    evaluate(tiny_graph(), "mlp", tiny_config("mlp"), seeds=4)
    assert calls == [[(split, seed) for split in tiny_graph().splits for seed in range(4)]]


def test_the_std_is_over_splits_each_the_mean_of_its_seeds() -> None:
    evaluation = over_seeds()
    tests = np.array([row.test for row in evaluation.splits]).reshape(2, 3)
    assert evaluation.std_over == "splits"
    assert evaluation.mean == pytest.approx(tests.mean())
    assert evaluation.std == pytest.approx(tests.mean(1).std(ddof=1))
    assert evaluation.std_seeds == pytest.approx(np.sqrt(tests.var(1, ddof=1).mean()))


def test_on_one_split_the_std_is_over_seeds_and_a_single_run_has_none() -> None:
    evaluation = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [1], seeds=3)
    assert evaluation.std_over == "seeds"
    assert evaluation.std == evaluation.std_seeds
    assert evaluation.std == pytest.approx(np.std([row.test for row in evaluation.splits], ddof=1))
    single = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [1])
    assert (single.std, single.std_over, single.std_seeds) == (None, None, None)
    assert evaluated("mlp").std_over == "splits" and evaluated("mlp").std_seeds is None


def test_the_two_stds_give_the_spread_of_a_single_run() -> None:
    """Drawn from known spreads between splits and between seeds, as the class says they add up."""
    draw = np.random.default_rng(0)
    splits, seeds, between, within = 4000, 3, 0.03, 0.02
    tests = draw.normal(0.5, between, (splits, 1)) + draw.normal(0, within, (splits, seeds))
    rows = [SplitScore(i, 0, tests[i, j], 1, 1, seed=j) for i in range(splits) for j in range(seeds)]
    seen = replace(over_seeds(), splits=tuple(rows), seeds=seeds)
    assert seen.std is not None and seen.std_seeds is not None
    single = np.sqrt(seen.std**2 + (1 - 1 / seeds) * seen.std_seeds**2)
    assert seen.std_seeds == pytest.approx(within, rel=0.05)
    assert single == pytest.approx(np.hypot(between, within), rel=0.05)


def test_the_json_has_the_agreed_keys_first_and_all_it_takes_to_repeat_the_run() -> None:
    written = json.loads(json.dumps(evaluated("hdp").to_json(), allow_nan=False))
    assert list(written)[:6] == ["model", "dataset", "metric", "splits", "mean", "std"]
    assert (written["model"], written["dataset"], written["metric"]) == ("hdp", "synthetic", "accuracy")
    for row in written["splits"]:
        assert list(row)[:6] == ["split", "validation", "test", "epochs", "seconds", "seed"]
        assert 0 <= row["validation"] <= 1 and 0 <= row["test"] <= 1
        assert list(row["initial"]) == ["validation", "test", "epochs", "seconds"]
    assert (written["std_over"], written["std_seeds"], written["ddof"]) == ("splits", None, 1)
    assert written["config"] == tiny_config("hdp").to_dict()
    assert (written["seed"], written["seeds"]) == (0, 1) and written["device"] == "cpu"
    assert {"heterophily", "python", "torch"} <= set(written["versions"])


def test_repeating_an_evaluation_repeats_its_scores() -> None:
    again = evaluate(tiny_graph(), "hdp", tiny_config("hdp").to_dict())
    assert [s.test for s in again.splits] == [s.test for s in evaluated("hdp").splits]
    other = evaluate(tiny_graph(), "hdp", tiny_config("hdp"), seed=1)
    logits = [e.outcomes[0].trained.logits for e in (again, other)]
    assert not torch.equal(*logits)


@pytest.mark.parametrize("model", ["mlp", "hdp"])
def test_shuffling_the_test_labels_changes_nothing_but_the_test_scores(model: str) -> None:
    graph = tiny_graph()
    split = graph.splits[0]
    hidden = split.test.nonzero().flatten()
    y = graph.y.clone()
    y[hidden] = (y[hidden] + 1) % 3
    config = tiny_config(model, epoch=40, learning_rate=0.03)
    shuffled = evaluate(graph.with_labels(y), model, config, [0], seed=1)
    kept = evaluate(graph, model, config, [0], seed=1)
    assert torch.equal(shuffled.outcomes[0].trained.logits, kept.outcomes[0].trained.logits)
    assert shuffled.splits[0].validation == kept.splits[0].validation
    assert shuffled.splits[0].test != kept.splits[0].test


def test_splits_go_by_position_or_name_and_in_the_order_asked_for() -> None:
    evaluation = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [2, "0"])
    assert [score.split for score in evaluation.splits] == [2, 0]


def test_somebody_who_watches_sees_every_batch_end() -> None:
    seen: list[Progress] = []
    evaluate(tiny_graph(), "hdp", tiny_config("hdp"), [0, 1], watch=seen.append)
    ended = [progress.runs for progress in seen if progress.alive == 0]
    assert sum(ended) == 4  # two stages of two runs
    assert list(dict.fromkeys(progress.stage for progress in seen)) == ["initial assignment", "HDP"]


def test_a_training_that_diverges_is_an_error_and_not_a_score() -> None:
    with pytest.raises(DivergedError, match="split 0 of synthetic from seed 0 .* lower the learning rate"):
        evaluate(tiny_graph(), "mlp", tiny_config("mlp", learning_rate=1e38), [0])


@pytest.mark.parametrize(
    "graph, model, splits, error, sentence",
    [
        (tiny_graph(), "gcnn", None, ConfigError, "no model 'gcnn'"),
        (tiny_graph(), "hdp", [7], GraphError, "no split 7"),
        (tiny_graph(), "hdp", [], GraphError, "no splits to train on"),
        (tiny_graph().with_splits([]), "hdp", None, GraphError, "no splits to train on"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    graph: Graph, model: str, splits: list[int | str] | None, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        evaluate(graph, model, splits=splits)


def test_no_seeds_are_refused() -> None:
    with pytest.raises(ConfigError, match="seeds is 0"):
        evaluate(tiny_graph(), "mlp", seeds=0)


def test_a_split_without_test_nodes_is_refused() -> None:
    graph = tiny_graph()
    first = graph.splits[0]
    empty = Split(first.train, first.validation, torch.zeros_like(first.test), "bare")
    with pytest.raises(GraphError, match="split 'bare' has no test node"):
        evaluate(graph.with_splits([empty]), "mlp")
