"""What the page says of nodes that come later is what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from benchmarks.inductive import measure, table, without_test
from heterophily.graph import synthetic

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_numbers_of_the_benchmark() -> None:
    rows = json.loads((ROOT / "benchmarks/inductive.json").read_text())["rows"]
    assert table(rows) in (ROOT / "docs/own-graph.md").read_text(encoding="utf-8")


def test_no_edge_of_a_test_node_is_left_in_training() -> None:
    graph = synthetic(60, num_classes=3, splits=1, seed=0)
    whole, rest, known = without_test(graph, graph.splits[0])
    tested = int(graph.splits[0].test.sum())
    assert rest.num_nodes == 60 - tested == len(known.train) and not known.test.any()
    assert torch.equal(whole.y[: rest.num_nodes], rest.y)
    inside = (whole.edge_index < rest.num_nodes).all(0)
    assert torch.equal(whole.edge_index[:, inside], rest.edge_index) and not inside.all()
    assert torch.equal(whole.x[: rest.num_nodes], rest.x)


def test_both_ways_are_scored_on_the_test_nodes() -> None:
    found = measure(synthetic(60, num_classes=3, splits=1, seed=0), "majority", 0)
    assert 0 < found["transductive"] == found["inductive"] <= 1 and 0 < found["edges_taken_away"] < 1
