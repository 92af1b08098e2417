"""Semantic structural encoding: landing probabilities of random walks on training nodes (Eq. 7-8)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from heterophily.graph.graph import GraphError
from heterophily.hdp import encoding
from heterophily.hdp.encoding import scaled, structural_encoding, target_set
from heterophily.sparse import Features, SparseMatrix


def adjacency(nodes: int = 12, density: float = 0.2, seed: int = 0) -> Tensor:
    """An undirected graph with self-loops, as the paper's caption says."""
    a = torch.rand(nodes, nodes, generator=torch.Generator().manual_seed(seed)) < density
    return (a | a.T | torch.eye(nodes).bool()).double()


def walk(a: Tensor) -> SparseMatrix:
    return SparseMatrix.from_torch(a).normalized("walk")


def dense(x: Features) -> Tensor:
    return x if isinstance(x, Tensor) else x.to_dense()


def mask(nodes: list[int], size: int) -> Tensor:
    return torch.zeros(size, dtype=torch.bool).index_fill(0, torch.tensor(nodes), True)


@given(
    hops=st.integers(0, 8),
    density=st.sampled_from([0.0, 0.05, 0.2, 0.6]),
    seed=st.integers(0, 50),
    targets=st.lists(st.integers(0, 11), unique=True, min_size=1).map(sorted),
)
def test_the_encoding_equals_the_dense_power_of_the_transition_matrix(
    hops: int, density: float, seed: int, targets: list[int]
) -> None:
    a = adjacency(density=density, seed=seed)
    x_str = dense(structural_encoding(walk(a), torch.tensor(targets), hops))
    power = torch.linalg.matrix_power(a / a.sum(1, keepdim=True), hops)
    # The i-th column is the i-th target's: a one-hot row at the target is what walks start from (Eq. 7).
    torch.testing.assert_close(x_str, power[:, targets], rtol=0, atol=1e-6)
    assert bool((x_str >= 0).all()) and bool((x_str.sum(1) <= 1 + 1e-6).all())


def test_every_walk_lands_somewhere_when_all_nodes_are_targets() -> None:
    x_str = dense(structural_encoding(walk(adjacency()), torch.arange(12), 3))
    torch.testing.assert_close(x_str.sum(1), torch.ones(12).double(), rtol=0, atol=1e-6)


def test_without_a_step_the_encoding_says_which_target_a_node_is() -> None:
    x_str = dense(structural_encoding(walk(adjacency()), torch.tensor([2, 5]), 0))
    wanted = torch.zeros(12, 2).double()
    wanted[2, 0] = wanted[5, 1] = 1
    assert torch.equal(x_str, wanted)


def test_columns_to_spare_are_zero() -> None:
    targets = torch.tensor([1, 4, 7])
    x_str = dense(structural_encoding(walk(adjacency()), targets, 2))
    wide = dense(structural_encoding(walk(adjacency()), targets, 2, width=5))
    assert wide.shape == (12, 5)
    assert torch.equal(wide[:, :3], x_str) and not wide[:, 3:].any()


@pytest.mark.parametrize("chunk", [1, 3, 4])
def test_encoding_a_few_targets_at_a_time_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    for density in (0.0, 0.05, 0.6):  # sparse chunks, a mixture, dense chunks
        a, targets = adjacency(density=density), torch.arange(0, 12, 2)
        whole = structural_encoding(walk(a), targets, 2, width=8)
        monkeypatch.setattr(encoding, "ROOM", chunk * len(a))
        pieces = structural_encoding(walk(a), targets, 2, width=8)
        monkeypatch.undo()
        assert type(pieces) is type(whole)
        assert torch.equal(dense(pieces), dense(whole))


def test_where_few_walks_land_the_encoding_is_sparse_and_where_many_do_it_is_dense() -> None:
    assert isinstance(
        structural_encoding(walk(adjacency(density=0.02)), torch.tensor([0, 5]), 1), SparseMatrix
    )
    assert isinstance(structural_encoding(walk(adjacency(density=0.5)), torch.tensor([0, 5]), 2), Tensor)
    alone = torch.eye(12).double()
    alone[0, 0] = 0  # not even a loop: no walk from here, none to here
    nowhere = structural_encoding(walk(alone), torch.tensor([0]), 2)
    assert isinstance(nowhere, SparseMatrix) and not nowhere.to_dense().any()


def test_without_targets_the_encoding_has_no_columns() -> None:
    assert structural_encoding(walk(adjacency()), torch.tensor([], dtype=torch.long), 2).shape == (12, 0)


# The target set


def test_the_whole_training_set_is_the_target_set_when_it_fits() -> None:
    y, train = torch.arange(12) % 3, mask([0, 3, 4, 9], 12)
    assert target_set(y, train, 4).tolist() == target_set(y, train, 4096).tolist() == [0, 3, 4, 9]


@given(
    labels=st.lists(st.integers(0, 3), min_size=20, max_size=20),
    size=st.integers(0, 14),
    seed=st.integers(0, 20),
)
def test_a_smaller_target_set_is_drawn_from_training_with_the_classes_in_balance(
    labels: list[int], size: int, seed: int
) -> None:
    y, train = torch.tensor(labels), mask(list(range(3, 17)), 20)
    targets = target_set(y, train, size, seed)
    assert len(targets) == len(set(targets.tolist())) == size
    assert bool(train[targets].all())
    assert targets.tolist() == sorted(targets.tolist())
    taken = torch.bincount(y[targets], minlength=4)
    there = torch.bincount(y[train], minlength=4)
    # Classes take turns: one is behind another only if it has no node left.
    for behind in range(4):
        assert bool((taken[behind] >= taken - 1).all()) or taken[behind] == there[behind]


def test_the_draw_follows_the_seed_and_never_the_labels_outside_training() -> None:
    y, train = torch.arange(40) % 3, mask(list(range(5, 35)), 40)
    draws = [target_set(y, train, 9, seed).tolist() for seed in range(4)]
    assert draws[0] == target_set(y, train, 9, 0).tolist()
    assert len({tuple(draw) for draw in draws}) == 4
    assert draws[0] == target_set(torch.where(train, y, -1), train, 9, 0).tolist()


# The scale, on which Eq. 8 is silent


@pytest.mark.parametrize("density", [0.02, 0.6], ids=["sparse", "dense"])
def test_scaling_sets_the_mean_length_of_the_rows_and_nothing_else(density: float) -> None:
    bare = structural_encoding(walk(adjacency(density=density)), torch.arange(0, 12, 2), 2)
    longer = scaled(bare, 3.0)
    assert type(longer) is type(bare)
    assert float(dense(longer).norm(dim=1).mean()) == pytest.approx(3.0, rel=1e-5)
    ratio = dense(longer)[dense(bare) > 0] / dense(bare)[dense(bare) > 0]
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio))


def test_a_length_of_zero_leaves_bare_landing_probabilities() -> None:
    bare = structural_encoding(walk(adjacency()), torch.arange(5), 2)
    assert scaled(bare, 0.0) is bare


def test_an_encoding_of_zeros_or_of_no_width_stays_what_it_is() -> None:
    nothing = torch.zeros(5, 3)
    assert not dense(scaled(nothing, 1.0)).any()
    assert not dense(scaled(SparseMatrix.from_torch(nothing), 1.0)).any()
    assert scaled(torch.zeros(5, 0), 1.0).shape == (5, 0)


# Large graphs


@given(hops=st.integers(0, 4), seed=st.integers(0, 30), density=st.sampled_from([0.05, 0.2, 0.6]))
def test_products_of_sparse_matrices_give_the_same_encoding(hops: int, seed: int, density: float) -> None:
    step, targets = walk(adjacency(density=density, seed=seed)), torch.tensor([0, 3, 8, 11])
    wanted = dense(structural_encoding(step, targets, hops, width=6))
    found = encoding._sparsely(step, targets, hops, 6, top=0)
    torch.testing.assert_close(found.to_dense(), wanted)


@given(hops=st.integers(1, 5), top=st.integers(1, 6), seed=st.integers(0, 30))
def test_with_the_largest_entries_of_a_row_no_entry_is_too_low_by_more_than_hops_over_top_plus_one(
    hops: int, top: int, seed: int
) -> None:
    step, targets = walk(adjacency(density=0.3, seed=seed)), torch.arange(12)
    whole = dense(structural_encoding(step, targets, hops))
    few = structural_encoding(step, targets, hops, top=top)
    assert isinstance(few, SparseMatrix) and int(few.crow.diff().max()) <= top
    error = whole - few.to_dense()
    assert bool((error >= -1e-12).all()) and float(error.max()) <= hops / (top + 1)


def test_an_encoding_that_will_not_fit_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "available", lambda: 1000)
    with pytest.raises(GraphError, match="would take about .* GiB are free; .*structural_top=32"):
        encoding._sparsely(walk(adjacency(density=0.6)), torch.arange(12), 2, 12, top=0)
