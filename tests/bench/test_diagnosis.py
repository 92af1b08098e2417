"""A diagnosis reads training labels only, tells separable from inseparable, and advises by its rule."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from heterophily.bench.diagnosis import MODELS, diagnose, starting_settings
from heterophily.graph import Graph, GraphError, load, random_splits, synthetic
from heterophily.models import find_model

pytestmark = pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")


def even(homophily: float) -> list[list[float]]:
    """Five classes that like all others alike."""
    return [[homophily if i == j else (1 - homophily) / 4 for j in range(5)] for i in range(5)]


def test_hidden_labels_change_nothing() -> None:
    graph = synthetic(300, homophily=0.3, splits=1)
    train = graph.splits[0].train
    other = torch.where(train, graph.y, torch.randint(0, 5, graph.y.shape))
    one, two = (json.dumps(diagnose(g, resamples=10).to_json()) for g in (graph, graph.with_labels(other)))
    assert one == two


@pytest.mark.parametrize(
    "options, advice",
    [
        ({"homophily": 0.9}, "gcn"),
        ({"homophily": 0.1}, "hdp"),
        ({"compatibility": even(0.2)}, "mlp"),  # neighbors that tell nothing
        ({"compatibility": even(0.2), "feature_noise": 0.3}, "mlp"),
    ],
)
def test_the_advice_follows_the_graph(options: dict[str, object], advice: str) -> None:
    found = diagnose(synthetic(800, splits=1, **options), resamples=0)  # type: ignore[arg-type]
    assert found.advice == advice
    assert found.probes[advice] == max(found.probes.values())
    assert set(found.probes) == set(MODELS) and advice not in found.close


def test_the_class_mix_of_neighbors_separates_classes_or_not() -> None:
    circle, nothing = (
        synthetic(800, homophily=0.1, splits=1),
        synthetic(800, compatibility=even(0.2), splits=1),
    )
    assert diagnose(circle, resamples=0).gain > 0.3
    assert abs(diagnose(nothing, resamples=0).gain) < 0.1


def test_what_is_measured_is_measured_on_training_nodes() -> None:
    graph = synthetic(300, homophily=0.3, splits=2)
    found = diagnose(graph, 1, resamples=20)
    assert found.train == int(graph.splits[1].train.sum()) and found.split == "1"
    assert found.measures.nodes == found.train and set(found.measures.intervals)
    assert found.majority == pytest.approx(0.2, abs=0.01) and 0 < found.known <= 1


def test_the_starting_settings_are_settings() -> None:
    for features, norm in ((torch.randn(60, 4), "none"), (torch.rand(60, 4), "row")):
        graph = Graph(features, torch.arange(60) % 3, [[0], [1]])
        assert starting_settings(graph, "gcn") == {"feature_norm": norm}
        for model in MODELS:
            find_model(model).config.parse(starting_settings(graph, model))


def test_graphs_without_features_edges_or_some_classes_are_diagnosed() -> None:
    y = torch.arange(90) % 3
    splits = random_splits(y, 1)
    bare = diagnose(Graph(None, y, [[], []], splits), resamples=5)
    assert bare.advice == "mlp" and json.dumps(bare.to_json(), allow_nan=False)
    rare = y.clone()
    rare[0] = 3
    few = diagnose(Graph(torch.randn(90, 2), rare, [[0, 1], [1, 2]], random_splits(rare, 1)), resamples=5)
    assert np.isfinite(list(few.probes.values())).all()


def test_too_few_training_nodes_are_refused() -> None:
    y = torch.arange(30) % 2
    with pytest.raises(GraphError, match="a diagnosis needs 8 of two classes"):
        diagnose(Graph(None, y, [[0], [1]], random_splits(y, 1, train=0.1)))


def test_a_large_training_set_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heterophily.bench.diagnosis.MOST", 100)
    graph = synthetic(1000, homophily=0.9, splits=1)
    assert diagnose(graph, resamples=0).advice == "gcn"


@pytest.mark.parametrize(
    "name, advice", [("wisconsin", "mlp"), ("cora", "gcn"), ("minesweeper", "hdp"), ("cornell", "mlp")]
)
def test_real_graphs(name: str, advice: str, data_folder: Path) -> None:
    assert diagnose(load(name, data_folder), resamples=0).advice == advice
