"""Mini-batches: clusters of a graph, trained one after another and judged on all of it."""

from __future__ import annotations

import pytest
import torch

from heterophily import HDPClassifier
from heterophily.config import ConfigError
from heterophily.graph import Graph, GraphError
from heterophily.graph import clusters as module
from heterophily.graph.clusters import clusters
from heterophily.hdp.algorithm import part
from heterophily.training.runs import Run, train_runs
from tests.tiny import stages, tiny_config, tiny_graph

METHODS = ["breadth", "random", *(["metis"] if module.METIS else [])]


@pytest.mark.parametrize("method", METHODS)
def test_clusters_are_all_nodes_each_once_in_pieces_of_about_one_size(method: module.Method) -> None:
    graph = tiny_graph()
    pieces = clusters(graph, 5, method)
    assert torch.equal(torch.cat(pieces).sort().values, torch.arange(graph.num_nodes))
    assert len(pieces) == 5 and max(map(len, pieces)) <= 2 * min(map(len, pieces))
    assert all(torch.equal(piece, piece.sort().values) for piece in pieces)


def test_clusters_by_breadth_keep_more_edges_inside_than_random_ones() -> None:
    around = torch.arange(400)
    ring = Graph(None, around % 2, torch.stack([around, (around + 1) % 400]))

    def inside(method: module.Method) -> int:
        member = torch.empty(400, dtype=torch.long)
        for k, piece in enumerate(clusters(ring, 8, method)):
            member[piece] = k
        return int((member[ring.edge_index[0]] == member[ring.edge_index[1]]).sum())

    assert inside("breadth") > 3 * inside("random")


def test_too_many_clusters_are_refused() -> None:
    with pytest.raises(GraphError, match="cannot cut 48 nodes into 49 clusters"):
        clusters(tiny_graph(), 49)
    for wrong in (-1, 1000):
        with pytest.raises(ConfigError, match="clusters is .*1 to 48, or 0 for the full batch"):
            train_runs(tiny_graph(), [Run("hdp", tiny_config("hdp"))], clusters=wrong)


def test_a_cluster_keeps_the_verdicts_and_the_trust_of_the_whole_graph() -> None:
    graph = tiny_graph()
    (_, (main, _)) = stages("hdp", graph, graph.split(0), tiny_config("hdp"))
    nodes = torch.arange(0, graph.num_nodes, 2)
    state, whole = part(main.state, nodes), main.state
    for name in ("a_hm", "a_ht"):
        dense = getattr(whole["parts"], name).to_dense()
        found = getattr(state["parts"], name)
        assert torch.equal(found.to_dense(), dense[nodes][:, nodes])
        means = getattr(state["parts"], name.replace("a", "inverse"))
        degree = found.to_dense().sum(1)
        assert torch.equal(means, torch.where(degree > 0, 1 / degree.clamp(min=1), 0))
    assert torch.equal(state["trust"].trusted, whole["trust"].trusted[nodes])
    assert torch.equal(state["labels"], whole["labels"][nodes])


def test_all_nodes_in_one_cluster_are_the_full_batch() -> None:
    runs = [Run("hdp", tiny_config("hdp", epoch=5, patience=5), 1, 3)]
    (full,) = train_runs(tiny_graph(), runs, dtype=torch.float64)
    (one,) = train_runs(tiny_graph(), runs, dtype=torch.float64, clusters=1)
    assert one.trained.history["loss"] == pytest.approx(full.trained.history["loss"], rel=1e-6)
    torch.testing.assert_close(one.trained.logits, full.trained.logits, rtol=0, atol=1e-5)


def test_in_clusters_the_partition_is_renewed_for_the_whole_graph_and_the_same_seed_trains_the_same() -> None:
    runs = [Run("hdp", tiny_config("hdp", epoch=6, patience=6), 0, 1)]
    first, second = (train_runs(tiny_graph(), runs, clusters=3)[0].trained for _ in range(2))
    assert torch.equal(first.logits, second.logits)
    assert len(first.logits) == tiny_graph().num_nodes
    assert first.state["parts"].is_homophilous.shape == first.state["edges"].u.shape


def test_the_estimator_takes_clusters_and_a_model_that_cannot_says_so() -> None:
    graph = tiny_graph()
    settings = tiny_config("hdp").to_dict()
    fitted = HDPClassifier(**settings, clusters=2, device="cpu").fit(graph, split=0)
    assert fitted.predict_proba().shape == (graph.num_nodes, 3)
    with pytest.raises(ConfigError, match="cannot be trained in clusters; HDP and HDP-Init can"):
        train_runs(graph, [Run("gcn", tiny_config("gcn"))], clusters=2)


@pytest.mark.parametrize("clusters", [0, 2])
def test_mixed_precision_stays_close_to_full_and_its_logits_are_float32(clusters: int) -> None:
    runs = [Run("hdp", tiny_config("hdp", epoch=4, patience=4, dropout=0.0, dropout_init=0.0), 0, 1)]
    full, mixed = (
        train_runs(tiny_graph(), runs, clusters=clusters, precision=how)[0].trained
        for how in ("full", "mixed")
    )
    assert mixed.logits.dtype == torch.float32
    assert mixed.history["loss"] == pytest.approx(full.history["loss"], rel=0.05)
    assert mixed.history["loss"] != full.history["loss"]
    with pytest.raises(ConfigError, match="precision must be one of full, mixed"):
        train_runs(tiny_graph(), runs, precision="half")  # type: ignore[arg-type]
