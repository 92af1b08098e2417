"""Heterophily estimation and neighborhood partition by soft assignments (Eq. 1-6)."""

from __future__ import annotations

import warnings
from pathlib import Path
from statistics import mean

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from heterophily.graph import load
from heterophily.graph.graph import MissingClassWarning
from heterophily.hdp.algorithm import assignments, edge_set
from heterophily.hdp.partition import (
    EdgeSet,
    edge_probabilities,
    estimate_homophily,
    homophilous_count,
    mark_homophilous,
    partition,
)
from heterophily.sparse import SparseMatrix, multiply
from tests.tiny import tiny_graph

# Edges of E', each once, loops included. Nodes 0-3 train; 0 and 1 are of one class.
EDGES = [(0, 0), (0, 1), (0, 2), (0, 4), (1, 1), (1, 2), (1, 3), (2, 2), (2, 5), (3, 3), (4, 4), (5, 5)]
LABELS = torch.tensor([0, 0, 1, 2, -1, -1])
TRAIN = torch.tensor([1, 1, 1, 1, 0, 0]).bool()


def edges_of(pairs: list[tuple[int, int]], nodes: int) -> EdgeSet:
    a = torch.zeros(nodes, nodes)
    for u, v in pairs:
        a[u, v] = a[v, u] = 1
    return EdgeSet.from_adjacency(SparseMatrix.from_torch(a))


def dense(a: SparseMatrix) -> Tensor:
    """The matrix as the models see it: its product with the identity."""
    return multiply(a, torch.eye(a.shape[1]))


def random_edges(nodes: int, seed: int) -> EdgeSet:
    a = torch.rand(nodes, nodes, generator=torch.Generator().manual_seed(seed)) < 0.3
    return EdgeSet.from_adjacency(SparseMatrix.from_torch((a | a.T | torch.eye(nodes).bool()).float()))


def soft(nodes: int, seed: int, levels: int = 3) -> Tensor:
    """Soft assignments with few distinct rows, so that many edges have the same probability."""
    random = torch.Generator().manual_seed(seed)
    return torch.randint(levels, (nodes, 3), generator=random).double().softmax(-1)


# E'


def test_each_undirected_edge_and_each_loop_is_counted_once() -> None:
    edges = edges_of(EDGES, 6)
    assert list(zip(edges.u.tolist(), edges.v.tolist(), strict=True)) == EDGES
    assert edges.size == len(EDGES) == 12
    assert edges.col.numel() == 6 + 2 * 6  # six loops, six edges in both directions


@pytest.mark.parametrize("order", [1, 2])
def test_two_hop_edges_join_what_is_at_most_two_steps_apart(order: int) -> None:
    graph = tiny_graph()
    a = torch.eye(graph.num_nodes)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    reached = torch.linalg.matrix_power((a + a.T).clamp(max=1), order) > 0
    edges = edge_set(graph, order)
    u, v = reached.triu().nonzero().T
    assert torch.equal(edges.u, u) and torch.equal(edges.v, v)


# Eq. 1-2


def test_the_homophily_ratio_is_counted_among_training_nodes() -> None:
    # Inside the training set: 4 loops and (0, 1) agree; (0, 2), (1, 2), (1, 3) do not.
    assert estimate_homophily(edges_of(EDGES, 6), LABELS, TRAIN) == 5 / 8


def test_known_loops_are_counted_for_the_whole_graph_and_the_ratio_on_the_other_edges() -> None:
    # One of four real edges agrees, so do all six loops of the twelve edges of E'.
    assert estimate_homophily(edges_of(EDGES, 6), LABELS, TRAIN, known_loops=True) == (6 + 6 / 4) / 12


def test_labels_outside_the_training_set_do_not_enter_the_estimate() -> None:
    for hidden in ([0, 0], [1, 2], [2, 1]):
        labels = torch.cat([LABELS[:4], torch.tensor(hidden)])
        assert estimate_homophily(edges_of(EDGES, 6), labels, TRAIN) == 5 / 8


def test_without_a_training_edge_the_estimate_is_refused_with_a_way_out() -> None:
    bare = [(u, v) for u, v in EDGES if u != v]
    lonely = torch.tensor([0, 0, 0, 1, 1, 1]).bool()
    with pytest.raises(ValueError, match="use order=2 if it is 1, or a larger training set"):
        estimate_homophily(edges_of(bare, 6), LABELS, lonely)
    with pytest.raises(ValueError, match="order=2"):  # with loops, where they do not count
        estimate_homophily(edges_of(EDGES, 6), LABELS, lonely, known_loops=True)
    with pytest.raises(ValueError, match="but self-loops"):  # loops alone say nothing about neighbors
        estimate_homophily(edges_of(EDGES, 6), LABELS, lonely)


def test_loops_weigh_more_in_the_estimate_than_in_the_graph_unless_they_are_known() -> None:
    # Eight nodes in a ring of alternating classes: no edge agrees, the loops do, half of E' is loops.
    ring = edges_of([(i, i) for i in range(8)] + [(i, (i + 1) % 8) for i in range(8)], 8)
    labels, train = torch.arange(8) % 2, torch.tensor([1, 1, 0, 0, 1, 1, 0, 0]).bool()
    assert estimate_homophily(ring, labels, train) == 4 / 6
    assert estimate_homophily(ring, labels, train, known_loops=True) == 1 / 2


@pytest.mark.parametrize(
    "ratio, rescale, count",
    [(0.5, 1.0, 6), (0.5, 0.8, 5), (0.5, 1.2, 7), (0.0, 1.0, 0), (1.0, 1.0, 12), (0.9, 1.2, 12)],
)
def test_the_rescaled_ratio_becomes_a_whole_number_of_edges(ratio: float, rescale: float, count: int) -> None:
    assert homophilous_count(ratio, rescale, edges_of(EDGES, 6)) == count


# Eq. 3


def test_an_edge_is_homophilous_as_probably_as_its_ends_agree() -> None:
    z = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [0, 0.2, 0.8], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
    p = edge_probabilities(z, edges_of(EDGES, 6))
    assert p.tolist() == pytest.approx([1, 0.5, 0, 1, 0.5, 0.1, 0, 0.68, 0.2, 1, 1, 1])


def test_sure_edges_stay_apart_where_float32_makes_them_all_one() -> None:
    # Logits of scale 30, as trained networks give: 1 - z is then between 1e-7.5 and 1e-14.
    margin = torch.linspace(18, 32, 24)[torch.randperm(24)]
    logits = torch.stack([margin, torch.zeros(24)], 1)
    edges = edges_of([(i, i + 1) for i in range(0, 24, 2)], 24)
    p = edge_probabilities(assignments(logits, 1.0), edges)
    in_float32 = logits.softmax(-1)
    assert (in_float32[edges.u] * in_float32[edges.v]).sum(-1).unique().tolist() == [1]
    doubt = (-margin.double()).exp()
    exact = doubt[edges.u] + doubt[edges.v]  # 1 - P, to first order
    assert len(p.unique()) == edges.size
    assert torch.equal(p.argsort(descending=True), exact.argsort())


def test_a_higher_sharpness_moves_assignments_towards_hard_labels() -> None:
    logits = torch.randn(20, 3)
    soft, sharp = assignments(logits, 1.0), assignments(logits, 5.0)
    assert soft.dtype == torch.float64
    assert torch.equal(soft.argmax(-1), sharp.argmax(-1))
    assert bool((sharp.max(-1).values > soft.max(-1).values).all())


# Eq. 4-6


@given(nodes=st.integers(2, 12), seed=st.integers(0, 200), share=st.floats(0, 1))
def test_the_partition_meets_the_ratio_exactly_even_with_ties(nodes: int, seed: int, share: float) -> None:
    edges, z = random_edges(nodes, seed), soft(nodes, seed)
    count = round(share * edges.size)
    parts = partition(z, edges, torch.tensor(count))
    p, marked = parts.probability, parts.is_homophilous
    assert int(marked.sum()) == count
    if 0 < count < edges.size:
        assert p[marked].min() >= p[~marked].max()
    if count:
        assert parts.threshold == p[marked].min()
        assert not bool((~marked & (p > parts.threshold)).any())
        tied = (p == parts.threshold).nonzero().flatten()
        assert marked[tied].tolist() == sorted(marked[tied].tolist(), reverse=True)  # earlier edges first
    else:
        assert parts.threshold == torch.inf


@given(nodes=st.integers(2, 12), seed=st.integers(0, 200), share=st.floats(0, 1))
def test_both_neighborhoods_are_symmetric_disjoint_and_cover_all_edges(
    nodes: int, seed: int, share: float
) -> None:
    edges, z = random_edges(nodes, seed), soft(nodes, seed)
    parts = partition(z, edges, torch.tensor(round(share * edges.size)))
    a_hm, a_ht = dense(parts.a_hm), dense(parts.a_ht)
    assert torch.equal(a_hm, a_hm.T) and torch.equal(a_ht, a_ht.T)
    whole = torch.zeros(nodes, nodes)
    whole[edges.u, edges.v] = whole[edges.v, edges.u] = 1
    assert torch.equal(a_hm + a_ht, whole) and not (a_hm * a_ht).any()
    assert torch.equal(a_hm[edges.u, edges.v].bool(), parts.is_homophilous)
    for a, inverse in ((a_hm, parts.inverse_hm), (a_ht, parts.inverse_ht)):
        torch.testing.assert_close(inverse, torch.where(a.sum(1) > 0, 1 / a.sum(1).clamp(min=1), 0))


def test_a_ratio_of_zero_or_one_leaves_one_neighborhood_empty() -> None:
    edges, z = edges_of(EDGES, 6), soft(6, 0)
    none, every = (partition(z, edges, torch.tensor(count)) for count in (0, 12))
    assert not dense(none.a_hm).any() and not none.inverse_hm.any() and none.threshold == torch.inf
    assert not dense(every.a_ht).any() and not every.inverse_ht.any()
    assert every.threshold == every.probability.min()
    assert torch.equal(dense(none.a_ht), dense(every.a_hm))


@given(seed=st.integers(0, 50), spare=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_room_to_spare_changes_nothing(seed: int, spare: tuple[int, int]) -> None:
    edges, z = random_edges(8, seed), soft(8, seed)
    count = torch.tensor(edges.size // 2)
    tight = partition(z, edges, count)
    room = tight.a_hm.col.numel() + spare[0], tight.a_ht.col.numel() + spare[1]
    loose = partition(z, edges, count, room)
    assert (loose.a_hm.col.numel(), loose.a_ht.col.numel()) == room
    h = torch.randn(8, 2, requires_grad=True)
    for a, b in ((tight.a_hm, loose.a_hm), (tight.a_ht, loose.a_ht)):
        assert torch.equal(multiply(a, h), multiply(b, h))
        gradients = [torch.autograd.grad(multiply(m, h).sin().sum(), h)[0] for m in (a, b)]
        assert torch.equal(*gradients)
    assert torch.equal(tight.is_homophilous, loose.is_homophilous)


def test_the_room_of_a_partition_is_enough_for_any_later_one_of_the_same_count() -> None:
    edges, count = random_edges(10, 0), torch.tensor(9)
    first = partition(soft(10, 0), edges, count)
    room = first.a_hm.col.numel(), first.a_ht.col.numel()
    for seed in range(1, 30):
        parts = partition(soft(10, seed), edges, count, room)
        whole = partition(soft(10, seed), edges, count, (100, 200))
        assert torch.equal(dense(parts.a_hm), dense(whole.a_hm))
        assert torch.equal(dense(parts.a_ht), dense(whole.a_ht))


def test_many_runs_partition_as_one_by_one() -> None:
    edges = random_edges(9, 3)
    z = torch.stack([soft(9, seed) for seed in range(4)])
    counts = torch.tensor([0, 3, 11, edges.size])
    room = edges.col.numel(), edges.col.numel()

    def parts(z: Tensor, count: Tensor) -> tuple[Tensor, ...]:
        cut = partition(z, edges, count, room)
        return cut.threshold, cut.is_homophilous, cut.a_hm.crow, cut.a_hm.col, cut.a_ht.val, cut.inverse_ht

    together = torch.vmap(parts)(z, counts)
    for run in range(4):
        for whole, own in zip(together, parts(z[run], counts[run]), strict=True):
            assert torch.equal(whole[run], own)


def test_marking_is_by_probability_then_by_place() -> None:
    threshold, marked = mark_homophilous(torch.tensor([0.2, 0.9, 0.5, 0.5, 0.5]), torch.tensor(3))
    assert threshold == 0.5
    assert marked.tolist() == [False, True, True, True, False]


# On the real graphs


@pytest.mark.parametrize("name", ["texas", "wisconsin", "cornell", "chameleon", "cora"])
def test_known_loops_bring_the_estimate_close_to_the_truth_where_eq_1_lies_above_it(
    data_folder: Path, name: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingClassWarning)
        graph = load(name, data_folder)
    edges = edge_set(graph, 1)
    truth = float((graph.y[edges.u] == graph.y[edges.v]).double().mean())
    as_printed, known = (
        mean(estimate_homophily(edges, graph.y, split.train, loops) for split in graph.splits)
        for loops in (False, True)
    )
    assert as_printed > truth + 0.03  # Texas: 0.65 for 0.43
    assert abs(known - truth) < 0.02
