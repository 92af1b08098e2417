"""The study of single nodes: what it keeps is what HDP said, and a large graph leaves a sample."""

from __future__ import annotations

import numpy as np

from heterophily.outcomes import edge_table, probabilities
from heterophily.studies import Plan
from heterophily.studies.edges import NEIGHBORS, PARTS, look
from tests.tiny import SETTINGS, tiny_graph


def trial(num_nodes: int = 48):
    plan = Plan(splits=[1], changes=SETTINGS)
    (trials,), _ = plan.train(tiny_graph(num_nodes), [("hdp", plan.config("hdp", "synthetic"))])
    return trials


def test_every_node_is_there_with_each_neighbor_as_hdp_has_judged_it() -> None:
    graph, trials = tiny_graph(), trial()
    found, table = look(graph, trials), edge_table(trials[0].outcome)
    assert table is not None
    judged = {(min(a, b), max(a, b)): (p, v) for a, b, p, _, v in table.itertuples(index=False)}
    assert sorted(found.ids) == list(range(48)) == sorted(found.ids[k] for k in found.centers)
    seen = []
    for center, others, ps, marks in zip(
        found.centers, found.neighbors, found.probability, found.homophilous
    ):
        u = found.ids[center]
        assert ps == sorted(ps, reverse=True)
        assert found.called[center] == [sum(marks), len(marks) - sum(marks)]
        for k, p, marked in zip(others, ps, marks):
            pair = (min(u, found.ids[k]), max(u, found.ids[k]))
            assert abs(judged[pair][0] - p) <= 5e-5
            assert (judged[pair][1] == "homophilous") == bool(marked)
            seen.append(pair)
    proper = [pair for pair in judged if pair[0] != pair[1]]
    assert sorted(seen) == sorted(2 * proper) and found.total == {"nodes": 48, "edges": len(proper)}


def test_classes_parts_and_probabilities_are_those_of_the_nodes() -> None:
    graph, trials = tiny_graph(), trial()
    found = look(graph, trials)
    assert found.labels == graph.y[found.ids].tolist()
    p = probabilities(trials[0].outcome.trained)
    assert np.abs(np.array(found.predicted) - p[found.ids]).max() <= 5.1e-4
    for name, mask in graph.splits[1].parts():
        there = [node for node, part in zip(found.ids, found.parts) if PARTS[part] == name]
        assert there == mask.nonzero().flatten().tolist()


def test_the_histogram_leaves_out_edges_that_training_knew() -> None:
    graph, trials = tiny_graph(), trial()
    table, train = edge_table(trials[0].outcome), graph.splits[1].train.numpy()
    assert table is not None
    u, v = table["source"].to_numpy(), table["target"].to_numpy()
    counted = (u != v) & ~(train[u] & train[v])
    y = graph.y.numpy()
    same = y[u] == y[v]
    marked = (table["verdict"] == "homophilous").to_numpy()
    assert look(graph, trials).tally() == {
        truth: {"homophilous": int((alike & counted & marked).sum()),
                "heterophilous": int((alike & counted & ~marked).sum())}
        for truth, alike in (("same", same), ("other", ~same))
    }  # fmt: skip


def test_of_a_large_graph_a_sample_is_kept_that_says_so() -> None:
    graph, trials = tiny_graph(), trial()
    few = look(graph, trials, most=20)
    kept = sum(map(len, few.neighbors))
    assert 0 < len(few.centers) < 48 and kept <= 20 and few.total["nodes"] == 48
    assert max(map(len, few.neighbors)) <= NEIGHBORS
    for center, others in zip(few.centers, few.neighbors):
        assert len(others) == sum(few.called[center])  # none is missing of those that are here
    assert look(graph, trials, most=20).to_json() == few.to_json()
