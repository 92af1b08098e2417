"""An audit finds what is known to be wrong with the real graphs, and each kind of fault in a small one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from heterophily.graph import Graph, Split, load, random_splits, synthetic
from heterophily.graph.audit import SEVERITIES, Audit, Finding, audit
from heterophily.graph.audit.look import Look
from heterophily.graph.audit.splits import _by_chance
from heterophily.graph.datasets import raw_files
from heterophily.graph.known import fingerprint, known, overlap, to_json
from tests.shared import SHARED

pytestmark = pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")


@cache
def audited(name: str, data: Path) -> Audit:
    return audit(load(name, data), raw_files(name, data))


def finding(found: Audit, code: str) -> Finding:
    codes = [one.code for one in found.findings]
    assert codes.count(code) == 1, f"{code} not in {codes}"
    return found.findings[codes.index(code)]


def codes(found: Audit) -> set[str]:
    return {one.code for one in found.findings}


# The list of known oddities of the real graphs, one by one


def test_old_cornell_is_texas_on_another_graph(data_folder: Path) -> None:
    found = audited("cornell", data_folder)
    mixed = found.findings[0]
    assert (mixed.code, mixed.severity) == ("mixed-content", "serious")
    assert "those of texas" in mixed.title and "graph of cornell" in mixed.title
    unrelated = finding(found, "unrelated-edges").facts
    assert round(unrelated["homophily"], 3) == 0.296 and unrelated["p"] > 0.05
    assert unrelated["shuffled_mean"] == pytest.approx(0.370, abs=0.015)
    assert unrelated["shuffled_std"] == pytest.approx(0.073, abs=0.015)


def test_cornell_is_recognized_under_any_name_and_numbering(data_folder: Path) -> None:
    graph = load("cornell", data_folder)
    moved = graph.renumbered(torch.randperm(graph.num_nodes))
    other = Graph(moved.x, moved.y, moved.edge_index, name="mine")
    assert finding(audit(other), "mixed-content").severity == "serious"


def test_corrected_cornell_has_the_graph_of_the_old_one_and_other_nodes(data_folder: Path) -> None:
    found = audited("cornell-corrected", data_folder)
    assert "mixed-content" not in codes(found) and "unrelated-edges" not in codes(found)
    assert "those of cornell" in finding(found, "same-edges").title


@pytest.mark.parametrize(
    "name, twins, share, unfeatured", [("chameleon", 1840, 0.69, 233), ("squirrel", 4148, 0.64, 165)]
)
def test_chameleon_and_squirrel_leak_through_twins(
    name: str, twins: int, share: float, unfeatured: int, data_folder: Path
) -> None:
    found = audited(name, data_folder)
    worst = found.findings[0]
    assert (worst.code, worst.severity) == ("twins", "serious")
    facts = worst.facts["out-neighbors"]
    assert facts["twins"] == twins and round(facts["test_share"], 2) == share
    assert 0.98 <= facts["agreement"] <= 0.99
    assert finding(found, "unfeatured").facts["nodes"] == unfeatured
    filtered = audited(f"{name}-filtered", data_folder)
    assert not filtered.serious
    assert finding(filtered, "twins").facts["out-neighbors"]["twins"] < twins / 10
    assert f"nodes of {name}" in finding(filtered, "part-of").title


@pytest.mark.parametrize(
    "name, splits", [("texas", ["0", "1", "2", "7"]), ("cornell", ["1", "2", "3", "4", "5", "6", "9"])]
)
def test_texas_has_a_class_of_one_node_that_is_often_absent_from_training(
    name: str, splits: list[str], data_folder: Path
) -> None:
    found = audited(name, data_folder)
    assert finding(found, "single-member").facts["classes"] == [1]
    assert finding(found, "missing-class").facts["classes"] == {"1": splits}


def test_actors_files_say_other_things_than_the_graph(data_folder: Path) -> None:
    found = audited("actor", data_folder)
    assert finding(found, "raw-duplicates").facts["count"] == 3372
    assert "says 931 features, there are 932" in finding(found, "raw-header").title
    assert "not in the order" in finding(found, "raw-order").title


def test_coras_splits_use_the_largest_component_only(data_folder: Path) -> None:
    found = finding(audited("cora", data_folder), "unused-nodes")
    assert found.facts["unused"] == [223] * 10 and "outside the largest component" in found.title


def test_citeseers_splits_differ_and_15_of_its_labels_are_made_up(data_folder: Path) -> None:
    found = audited("citeseer", data_folder)
    assert finding(found, "uneven-splits").facts["odd"] == ["4", "5"]
    unused = finding(found, "unused-nodes").facts
    assert unused["unused"] == [0, 0, 0, 0, 1207, 1207, 0, 0, 0, 0]
    assert unused["largest_component"] == ["4", "5"]
    assert finding(found, "isolated").facts["nodes"] == 48
    made_up = finding(found, "default-labels").facts
    assert made_up == {"nodes": 15, "class": 0, "parts": ["train", "validation", "test"]}
    assert finding(found, "raw-loops").facts["count"] == 124
    assert finding(audited("pubmed", data_folder), "raw-loops").facts["count"] == 3


@pytest.mark.parametrize("name", SHARED)
def test_what_comes_directed_is_said_to(name: str, data_folder: Path) -> None:
    directed = ["texas", "wisconsin", "cornell", "cornell-corrected", "chameleon", "squirrel", "actor"]
    found = audited(name, data_folder)
    if name.endswith("-filtered"):
        assert finding(found, "one-way").facts["each_edge_once"]
    else:
        assert ("one-way" in codes(found)) == (name in directed)
    if name in directed:
        assert not finding(found, "one-way").facts["each_edge_once"]


def test_homophily_with_and_without_loops(data_folder: Path) -> None:
    for name, without, with_loops in (("texas", 0.061, 0.112), ("wisconsin", 0.178, 0.206)):
        loops = finding(audited(name, data_folder), "loops")
        assert loops.severity == "warning"
        assert round(loops.facts["homophily"], 3) == without
        assert round(loops.facts["homophily_with_loops"], 3) == with_loops


def test_unlabelled_nodes_of_the_facebook_graphs(data_folder: Path) -> None:
    for name, count in (("reed98", 97), ("cornell5", 1838)):
        assert finding(audited(name, data_folder), "unlabelled").facts["nodes"] == count


def test_serious_is_what_is_serious(data_folder: Path) -> None:
    assert {name for name in SHARED if audited(name, data_folder).serious} == {
        "cornell", "chameleon", "squirrel",
    }  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_the_fingerprints_are_those_of_the_files(name: str, data_folder: Path) -> None:
    assert known()[name] == Look(load(name, data_folder)).mark


def test_split_sizes_are_told(data_folder: Path) -> None:
    sizes = audited("texas", data_folder).facts["split_sizes"]
    assert sizes == {"train": [87], "validation": [59], "test": [37]}


# Each kind of fault, in a graph that has no other


def clean() -> Graph:
    """A graph in which nothing is wrong."""
    return synthetic(600, 3, homophily=0.8, average_degree=12, splits=3, train=0.4, validation=0.2)


def with_edges(graph: Graph, edges: Any) -> Graph:
    return Graph(graph.x, graph.y, torch.as_tensor(edges), graph.splits, graph.num_classes)


def with_splits(graph: Graph, change: Callable[[Split], Split]) -> Graph:
    return graph.with_splits([change(split) for split in graph.splits])


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    found = audit(clean())
    assert found.findings == () and not found.serious
    assert found.facts["nodes"] == 600 and found.facts["undirected"]


def test_copied_nodes_leak() -> None:
    graph = clean()
    half = graph.num_nodes // 2
    # The second half of the nodes become copies of the first: same neighbors, features and labels.
    kept = (graph.edge_index < half).all(0)
    inner = graph.edge_index[:, kept]
    edges = torch.cat([inner, torch.stack([inner[0] + half, inner[1]])], 1)
    edges = torch.cat([edges, edges.flip(0)], 1)
    x, y = (torch.cat([part[:half], part[:half]]) for part in (graph.x, graph.y))
    found = audit(Graph(x, y, edges, random_splits(y, 3), 3))
    features = finding(found, "duplicate-features")
    assert features.severity == "serious" and features.facts["agreement"] == 1
    assert features.facts["twins"] == 600 and features.facts["test_share"] == pytest.approx(0.5, abs=0.1)

    only = Graph(None, y, torch.stack([inner[0] + half, inner[1]]), random_splits(y, 3), 3)
    doubled = torch.cat([only.edge_index, inner], 1)
    twins = finding(audit(Graph(None, y, doubled, random_splits(y, 3), 3)), "twins")
    assert twins.severity == "serious" and twins.facts["out-neighbors"]["agreement"] == 1


def test_twins_whose_labels_differ_are_no_leak() -> None:
    u, v = np.meshgrid(np.arange(20, 120), np.arange(20))  # 100 nodes that all have the same 20 neighbors
    y = np.arange(120) % 2
    graph = Graph(
        None, y, np.stack([np.r_[u.ravel(), v.ravel()], np.r_[v.ravel(), u.ravel()]]), random_splits(y, 5)
    )
    found = finding(audit(graph), "twins")
    assert found.facts["neighbors"]["twins"] == 120 and found.severity != "serious"


def test_few_distinct_features_are_no_copies() -> None:
    graph = clean()
    found = audit(Graph((graph.x[:, :2] > 0).float() + 1, graph.y, graph.edge_index, graph.splits, 3))
    assert finding(found, "coarse-features").facts["distinct"] == 4
    assert "duplicate-features" not in codes(found)


def test_loops_duplicates_and_directions() -> None:
    graph = clean()
    edges = graph.edge_index
    nodes = torch.arange(300).expand(2, -1)
    assert finding(audit(with_edges(graph, torch.cat([edges, nodes], 1))), "loops").facts["loops"] == 300
    assert finding(
        audit(with_edges(graph, torch.cat([edges, edges[:, :7]], 1))), "duplicate-edges"
    ).facts == {"duplicates": 7}
    once = edges[:, edges[0] < edges[1]]
    assert finding(audit(with_edges(graph, once)), "one-way").facts["each_edge_once"]
    found = finding(audit(with_edges(graph, edges[:, 1:])), "one-way").facts
    assert found == {"one_way": 1, "edges": once.shape[1], "each_edge_once": False}


def test_isolated_nodes_and_components() -> None:
    graph = clean()
    edges = graph.edge_index
    low, high = (edges < 300).all(0), (edges >= 300).all(0)
    apart = audit(with_edges(graph, edges[:, low | high]))
    assert finding(apart, "components").facts["components"] >= 2
    alone = audit(with_edges(graph, edges[:, (edges >= 100).all(0)]))
    assert finding(alone, "isolated").facts["nodes"] >= 100
    assert finding(alone, "isolated").severity == "warning"


def test_features_that_say_nothing() -> None:
    graph = clean()
    x = torch.cat([graph.x, torch.zeros(600, 2), torch.ones(600, 1)], 1)
    for features in (x, x.to_sparse_csr()):
        found = audit(Graph(features, graph.y, graph.edge_index, graph.splits, 3))
        assert finding(found, "constant-features").facts == {"constant": 3, "zero": 2}
    assert "no-features" in codes(audit(Graph(None, graph.y, graph.edge_index, graph.splits, 3)))
    empty = graph.x.clone()
    empty[:60] = 0
    found = audit(Graph(empty, graph.y, graph.edge_index, graph.splits, 3))
    assert finding(found, "unfeatured").facts["nodes"] == 60 and "default-labels" not in codes(found)
    y = graph.y.clone()
    y[:60] = 2
    found = audit(Graph(empty, y, graph.edge_index, graph.splits, 3))
    assert finding(found, "default-labels").facts["class"] == 2


def test_labels_too_few_and_too_many() -> None:
    graph = clean()
    y = graph.y.clone()
    y[:30] = -1
    y[31] = 3
    splits = random_splits(y, 3)
    found = audit(Graph(graph.x, y, graph.edge_index, splits, 5))
    assert finding(found, "unlabelled").facts["nodes"] == 30
    assert finding(found, "single-member").facts["classes"] == [3]
    assert finding(found, "empty-class").facts["classes"] == [4]
    most = torch.where(torch.rand(600) < 0.9, 0, y.clamp(min=0))
    uneven = audit(Graph(graph.x, most, graph.edge_index, random_splits(most, 3), 4))
    assert finding(uneven, "imbalance").severity == "warning"


def test_edges_that_know_nothing_of_the_labels() -> None:
    graph = clean()
    shuffled = graph.y[torch.randperm(600)]
    found = audit(Graph(graph.x, shuffled, graph.edge_index, random_splits(shuffled, 3), 3))
    assert finding(found, "unrelated-edges").facts["p"] > 0.05


def test_classes_of_splits() -> None:
    graph = clean()
    zero = graph.y == 0

    def without_class_0(split: Split) -> Split:
        return Split(split.train & ~zero, split.validation, split.test | (split.train & zero), split.name)

    found = audit(with_splits(graph, without_class_0))
    missing = finding(found, "missing-class")
    assert missing.severity == "serious" and missing.facts["classes"] == {"0": ["0", "1", "2"]}
    assert finding(found, "shifted-classes").facts["splits"] == ["0", "1", "2"]


def test_sizes_of_splits() -> None:
    graph = clean()
    first, second, third = graph.splits
    nodes = torch.arange(600)
    smaller = Split(second.train & (nodes < 300), second.validation, second.test, "1")
    found = audit(
        graph.with_splits([first, smaller, Split(first.train, first.validation, first.test, "again")])
    )
    assert finding(found, "uneven-splits").facts["odd"] == ["1"]
    assert finding(found, "unused-nodes").facts["splits"] == ["1"]
    assert finding(found, "same-splits").facts["splits"] == ["again"]
    tiny = Split(third.train, third.validation, third.test & (nodes < 60), "0")
    assert "small-test" in codes(audit(graph.with_splits(tiny)))
    assert "no-splits" in codes(audit(graph.with_splits(())))


def test_raw_files_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "out1_graph_edges.txt").write_text("a\tb\n0\t1\n1\t2\n0\t1\n\n")
    (tmp_path / "out1_node_feature_label.txt").write_text(
        "id\tfeature(feature_amount:9)\tlabel\n1\t3\t0\n0\t2\t1\n"
    )
    (tmp_path / "ind.mine.graph").write_bytes(pickle.dumps({0: [0, 1, 1], 1: [0, 0]}))
    found = audit(clean(), sorted(tmp_path.iterdir()))
    repeated = [one.facts["count"] for one in found.findings if one.code == "raw-duplicates"]
    assert sorted(repeated) == [1, 2]
    assert finding(found, "raw-loops").facts["count"] == 1
    assert "says 9 features, there are 32" in finding(found, "raw-header").title
    assert finding(found, "raw-order").facts["count"] == 2


# What an audit is


def test_findings_come_ranked_and_as_json(data_folder: Path) -> None:
    for name in SHARED:
        found = audited(name, data_folder)
        ranks = [(SEVERITIES.index(one.severity), -one.share) for one in found.findings]
        assert ranks == sorted(ranks)
        for one in found.findings:
            assert 0 <= one.share <= 1
            assert one.title and one.why.endswith(".") and one.advice.endswith(".")
        assert json.loads(json.dumps(found.to_json(), allow_nan=False))["serious"] == found.serious


def test_an_audit_leaves_the_graph_alone_and_needs_no_labels_or_edges() -> None:
    graph = Graph(None, [-1, -1, -1], [[], []], num_classes=2)
    assert {"unlabelled", "isolated", "no-splits"} <= codes(audit(graph))
    assert audit(Graph([[1.0]], [0], [[0], [0]])).facts["loops"] == 1


def test_overlap_is_estimated_from_the_sketches() -> None:
    graph = synthetic(2000, splits=0)
    part = synthetic(2000, splits=0)
    part = Graph(part.x[:800], part.y[:800], [[0], [1]], num_classes=5)
    other = synthetic(2000, splits=0, seed=1)
    whole, some, others = (Look(g).mark for g in (graph, part, other))
    assert overlap(some, whole) == pytest.approx(1, abs=0.25)
    assert overlap(whole, some) == pytest.approx(0.4, abs=0.2)
    assert overlap(whole, others) == 0
    assert to_json(whole)["size"] == 2000
    assert fingerprint(Look(graph).neighbors, None, graph.y.numpy()).nodes is None


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=6))
def test_chance_is_what_scipy_says_it_is(pairs: list[tuple[int, int]]) -> None:
    table = np.array(pairs).T
    assert _by_chance(table) == pytest.approx(
        scipy.stats.chi2_contingency(table).pvalue, rel=1e-9, abs=1e-300
    )
