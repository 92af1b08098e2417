"""Twin-Copy: nodes with exactly the same neighbors share a class, and real graphs are full of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heterophily.baselines.twin_copy import TwinCopyConfig, neighborhoods
from heterophily.bench import evaluate
from heterophily.graph import Graph, Split
from heterophily.graph.datasets import load
from heterophily.graph.synthetic import synthetic
from heterophily.stage import Trained
from heterophily.training.runs import Run, train_runs

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def copied(
    edges: list[tuple[int, int]], labels: list[int], train: list[int], validation: list[int]
) -> Trained:
    graph = Graph(None, labels, torch.tensor(edges).T)
    split = Split.from_indices(len(labels), train, validation, [])
    (outcome,) = train_runs(graph, [Run("twin-copy", TwinCopyConfig(), split)])
    return outcome.trained


# Nodes 0 to 3 are the leaves of the star around 4; 5 hangs on 6; 7 and 8 are alone.
STAR = [(0, 4), (4, 1), (2, 4), (4, 3), (3, 4), (5, 6)]


def test_a_node_takes_the_class_of_its_training_twins_and_the_rest_the_majority() -> None:
    trained = copied(STAR, [1, 2, 2, 0, 0, 0, 0, 1, 0], train=[0, 4, 6, 7], validation=[1, 2, 3, 8])
    assert trained.logits.argmax(1).tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0]


def test_several_training_twins_vote_and_a_tie_goes_to_the_lower_class() -> None:
    train = [0, 1, 2, 5, 6]
    trained = copied(STAR, [2, 1, 1, 0, 0, 2, 2, 0, 0], train, validation=[3])
    assert trained.logits.argmax(1)[3] == 1
    trained = copied(STAR, [2, 1, 0, 0, 0, 2, 2, 0, 0], train=[0, 1, 5, 6], validation=[3])
    assert trained.logits.argmax(1)[3] == 1  # although 2 is the majority


def test_nodes_without_neighbors_are_twins_of_nobody_and_a_loop_is_no_neighbor() -> None:
    labels = [0, 0, 0, 0, 0, 0, 0, 1, 0]
    for edges in (STAR, [*STAR, (7, 7), (8, 8)]):
        assert copied(edges, labels, train=[4, 5, 7], validation=[8]).logits.argmax(1)[8] == 0
    looped = copied([*STAR, (1, 1)], [1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 4, 5], [1])
    assert looped.logits.argmax(1)[1] == 1


def test_validation_labels_are_for_the_score_alone() -> None:
    one, other = (copied(STAR, [1, 0, v, v, 0, 0, 0, 0, 0], [0, 4, 5], [2, 3]) for v in (0, 1))
    assert torch.equal(one.logits, other.logits)
    assert (one.validation, other.validation) == (0, 1)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=16))
def test_twins_are_the_pairs_with_equal_rows_of_the_adjacency_matrix(pairs: list[tuple[int, int]]) -> None:
    a = torch.zeros(8, 8, dtype=torch.bool)
    a[tuple(torch.tensor(pairs).T)] = True
    a = (a | a.T) & ~torch.eye(8, dtype=torch.bool)
    number = neighborhoods(Graph(None, [0] * 8, torch.tensor(pairs).T))
    assert torch.equal(number == 0, ~a.any(1))
    assert torch.equal(number.unsqueeze(0) == number.unsqueeze(1), (a.unsqueeze(0) == a.unsqueeze(1)).all(2))


def test_a_larger_graph_takes_no_square_of_its_size() -> None:
    count = 100_000  # whose square would be ten billion
    hubs = torch.arange(count) // 4 * 4
    graph = Graph(None, [0] * count, torch.stack([torch.arange(count), hubs]))
    groups = torch.bincount(neighborhoods(graph))
    assert groups[0] == 0 and len(groups) - 1 == count // 2  # of four nodes a hub and its three leaves
    assert sorted(set(groups[1:].tolist())) == [1, 3]


def test_a_random_graph_has_no_twins_to_copy_from() -> None:
    graph = synthetic(num_nodes=300, average_degree=10, splits=1)
    assert torch.bincount(neighborhoods(graph)).max() == 1


@pytest.mark.parametrize("name, margin", [("chameleon", 0.35), ("squirrel", 0.3)])
def test_copying_twins_beats_the_majority_by_far_where_duplicates_leak(
    data_folder: Path, name: str, margin: float
) -> None:
    graph = load(name, data_folder)
    twins, most = (evaluate(graph, model) for model in ("twin-copy", "majority"))
    assert twins.mean > most.mean + margin
    words = " ".join(PAGE.read_text(encoding="utf-8").split())
    for found in (twins, most):
        assert found.std is not None
        assert f"{100 * found.mean:.1f} ± {100 * found.std:.1f} %" in words
