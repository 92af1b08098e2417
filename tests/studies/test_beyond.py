"""The studies beyond the paper: local homophily, calibration, the sweep, and what is taken for what."""

from __future__ import annotations

import numpy as np
import pytest

from heterophily.bench import evaluate
from heterophily.graph import Graph
from heterophily.studies import StudyError, Trial, calibration, confusion, homophily, local
from heterophily.training.runs import Run, train_runs
from tests.studies.made import PLAN, SMALL, made
from tests.tiny import tiny_config, tiny_graph


def test_local_homophily_counts_neighbors_once_and_no_loops() -> None:
    edges = [[0, 1, 0, 0, 3], [1, 0, 2, 0, 0]]
    graph = Graph(np.ones((5, 1)), [0, 0, 1, -1, 1], edges)
    shares, degree = local.local_homophily(graph)
    assert degree.tolist() == [3, 1, 1, 1, 0]
    assert shares.tolist() == pytest.approx([1 / 3, 1, 0, 0, 0])


@pytest.mark.parametrize("by", ["homophily", "degree"])
def test_the_bins_hold_every_test_node_and_their_hits_make_the_accuracy(by: str) -> None:
    graph, result = tiny_graph(), made("local")
    whole = evaluate(graph, "hdp", tiny_config("hdp"))
    _, degree = local.local_homophily(graph)
    for split, nodes, right, score in zip(
        graph.splits, result.nodes[by], result.right[by]["hdp"], whole.splits
    ):
        counted = split.test.numpy() & ((degree > 0) | (by == "degree"))
        assert sum(nodes) == counted.sum()
        if counted.sum() == split.test.sum():
            assert sum(right) / sum(nodes) == pytest.approx(score.test)
    assert result.models == ["hdp", "mlp", "gcn"] and all(result.total(by))


def test_bins_are_named_as_they_are_cut() -> None:
    assert local._homophily_words()[:2] == ["0–0.2", "0.2–0.4"]
    words = local._degree_words()
    assert words[:5] == ["0", "1", "2", "3–4", "5–8"] and words[-1] == "≥129"
    assert [int(np.digitize(d, local.DEGREES)) for d in (0, 1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 3, 3, 4, 4, 5]


def drawn(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from the softmax of the logits before they were scaled."""
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(20_000, 3))
    noise = random.gumbel(size=logits.shape)
    return scale * logits, (logits + noise).argmax(1)


def test_temperature_scaling_finds_the_scale_that_the_logits_lack() -> None:
    for scale in (0.5, 1.0, 4.0):
        assert calibration.fit_temperature(*drawn(scale)) == pytest.approx(scale, rel=0.03)


def test_honest_probabilities_have_no_calibration_error_and_boasting_ones_have() -> None:
    nodes, right, sure, _ = calibration.reliability(*drawn(1.0))
    assert np.abs(np.subtract(right, sure)).sum() / sum(nodes) < 0.01
    boast = calibration.reliability(*drawn(4.0))
    assert np.abs(np.subtract(boast[1], boast[2])).sum() / sum(boast[0]) > 0.1


def test_the_calibration_error_is_the_printed_formula() -> None:
    logits = np.log([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    nodes, right, sure, loss = calibration.reliability(logits, np.array([0, 1, 1]))
    assert (nodes[13], right[13], nodes[9], right[9]) == (2, 1, 1, 1)
    assert np.abs(np.subtract(right, sure)).sum() / 3 == pytest.approx((0.8 + 0.4) / 3)
    assert loss == pytest.approx(-np.log([0.9, 0.1, 0.6]).mean())


def test_temperature_scaling_changes_confidence_but_no_prediction() -> None:
    result = made("calibration")
    for model in result.models:
        assert len(result.temperature[model]) == 3
        for before, after in zip(result.right[model]["before"], result.right[model]["after"]):
            assert sum(before) == sum(after)


def test_a_calibrated_model_of_few_nodes_has_the_error_that_chance_gives() -> None:
    logits, labels = drawn(1.0)
    runs = [calibration.reliability(logits[k : k + 37], labels[k : k + 37]) for k in range(0, 370, 37)]
    nodes, right, sure, loss = ({"hdp": {"before": list(column)}} for column in zip(*runs))
    result = calibration.Calibration(
        dataset="d", about={}, models=["hdp"], temperature={}, nodes=nodes, right=right, confidence=sure,
        loss=loss,
    )  # fmt: skip
    alone = float(np.mean(result.ece("hdp", "before")))
    pooled, chance = result.pooled_ece("hdp", "before"), result.ece_by_chance("hdp", "before")
    assert alone > 0.12 and pooled < alone / 2 and pooled == pytest.approx(chance, abs=0.02)


def test_the_diagonal_of_the_confusion_is_the_accuracy() -> None:
    graph, result = tiny_graph(), made("confusion")
    whole = evaluate(graph, "hdp", tiny_config("hdp"))
    for matrix, split, score in zip(result.counts["hdp"], graph.splits, whole.splits):
        assert np.sum(matrix) == int(split.test.sum())
        assert np.trace(matrix) / np.sum(matrix) == pytest.approx(score.test)
        assert np.sum(matrix, axis=1).tolist() == np.bincount(graph.y[split.test], minlength=3).tolist()


def test_every_homophily_has_a_graph_of_its_own_and_a_best_model() -> None:
    result = made("homophily")
    assert result.homophily == [0.0, 1.0] and len(result.best()) == 2
    assert all(len(result.test[model]) == 2 and len(result.test[model][0]) == 2 for model in result.models)
    assert result.test["gcn"][0] != result.test["gcn"][1]
    assert result.models == ["hdp", "gcn"]
    assert result.about["runs"] == 8 and result.about["graph"] == SMALL


def test_models_within_a_paired_standard_error_of_the_best_win_together() -> None:
    test = {"hdp": [[0.8, 0.9], [0.9]], "gcn": [[0.83, 0.87], [0.9]], "mlp": [[0.7, 0.8], [0.8]]}
    result = homophily.Homophily(dataset="d", about={}, homophily=[0, 1], models=list(test), test=test)
    assert result.best() == [["hdp", "gcn"], ["hdp", "gcn"]]


def test_a_sweep_beyond_the_possible_is_refused() -> None:
    with pytest.raises(StudyError, match="between 0 and 1"):
        homophily.study(PLAN, grid=[0.5, 1.5])
    with pytest.raises(StudyError, match="is what this study varies"):
        homophily.study(PLAN, options={"homophily": 0.3})


def test_without_labelled_test_nodes_nothing_is_counted() -> None:
    graph = tiny_graph()
    (outcome,) = train_runs(graph, [Run("mlp", tiny_config("mlp"))])
    split = graph.splits[0]
    hidden = graph.with_labels(np.where(split.test.numpy(), -1, graph.y.numpy()))
    trials = {"mlp": [Trial(split, outcome)]}
    for study in (local, calibration, confusion):
        with pytest.raises(StudyError, match="no test node has a label"):
            study.look(hidden, trials)
