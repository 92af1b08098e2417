"""Sparse products and attention are the dense ones, gradients included, alone and for many runs at once."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from heterophily.sparse import (
    Pattern,
    SparseMatrix,
    attend,
    features,
    inverse,
    multiply,
    row_exponentials,
    score,
    stack,
)


def draw(rows: int, cols: int, seed: int = 0, density: float = 0.4, empty: int | None = None) -> Tensor:
    """A random float64 matrix, mostly zero, with one row and one column empty if asked."""
    random = torch.Generator().manual_seed(seed)
    values = torch.randn(rows, cols, dtype=torch.float64, generator=random)
    values *= torch.rand(rows, cols, generator=random) < density
    if empty is not None:
        values[empty], values[:, empty] = 0, 0
    return values


def dense(*shape: int, seed: int = 7) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=random).requires_grad_()


def symmetric(a: Tensor) -> SparseMatrix:
    whole = SparseMatrix.from_torch(a)
    return SparseMatrix.symmetric(whole.crow, whole.col, whole.val)


def many(runs: SparseMatrix, h: Tensor) -> Tensor:
    """The product of each run; a symmetric matrix has no order to vectorize over."""
    dims = SparseMatrix(*(None if part is None else 0 for part in runs))
    return torch.vmap(multiply, in_dims=(dims, 0))(runs, h)


def with_gradient(product: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """The product and the gradient of a function of it in which every entry counts differently."""
    weights = torch.linspace(-1, 1, product.numel(), dtype=product.dtype).view(product.shape)
    return product.detach(), torch.autograd.grad((product.sin() * weights).sum(), h)[0]


def assert_same(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> None:
    for one, other in zip(a, b, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@given(
    rows=st.integers(1, 7),
    cols=st.integers(1, 7),
    width=st.integers(1, 4),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_product_and_its_gradient_are_the_dense_ones(
    rows: int, cols: int, width: int, density: float, seed: int
) -> None:
    a, h = draw(rows, cols, seed, density), dense(cols, width, seed=seed)
    sparse = SparseMatrix.from_torch(a)
    assert sparse.shape == (rows, cols)
    assert torch.equal(sparse.to_dense(), a)
    assert_same(with_gradient(multiply(sparse, h), h), with_gradient(a @ h, h))


@given(
    rows=st.integers(1, 7),
    width=st.integers(0, 20),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
def test_in_float32_too_alone_and_for_many_runs(rows: int, width: int, density: float, seed: int) -> None:
    each = [draw(rows, 5, seed + i, density).float() for i in range(3)]
    runs = dense(3, 5, width, seed=seed).detach().float()
    stacked = stack([SparseMatrix.from_torch(a) for a in each])
    found = [multiply(SparseMatrix.from_torch(a), h) for a, h in zip(each, runs)]
    wanted = torch.stack([a @ h for a, h in zip(each, runs)])
    torch.testing.assert_close(torch.stack(found), wanted)
    torch.testing.assert_close(many(stacked, runs), wanted)


def test_gradients_agree_with_finite_differences_to_the_second_order() -> None:
    sparse, h = SparseMatrix.from_torch(draw(5, 4, empty=2)), dense(4, 3)
    assert gradcheck(lambda h: multiply(sparse, h).sin(), h)
    assert gradgradcheck(lambda h: multiply(sparse, h).sin(), h)


def test_gradients_of_many_runs_agree_with_finite_differences() -> None:
    runs = stack([SparseMatrix.from_torch(draw(4, 4, seed, empty=seed)) for seed in range(3)])
    assert gradcheck(lambda h: many(runs, h).sin(), dense(3, 4, 2))


def test_runs_with_their_own_patterns_multiply_as_one_by_one() -> None:
    # Different densities: the fuller matrices set the room, the others are padded.
    each = [draw(6, 5, seed, density=0.15 + 0.25 * seed) for seed in range(4)]
    assert len({int(a.count_nonzero()) for a in each}) > 1
    h = dense(4, 5, 3)
    together = many(stack([SparseMatrix.from_torch(a) for a in each]), h)
    assert_same(with_gradient(together, h), with_gradient(torch.stack(each) @ h, h))


def test_runs_that_share_a_matrix_multiply_as_one_by_one() -> None:
    a, h = draw(6, 5, empty=1), dense(4, 5, 3)
    shared = SparseMatrix.from_torch(a)
    together = torch.vmap(lambda h: multiply(shared, h))(h)
    assert_same(with_gradient(together, h), with_gradient(a @ h, h))


def test_runs_that_share_a_pattern_but_not_the_values_multiply_as_one_by_one() -> None:
    shared, h = SparseMatrix.from_torch(draw(6, 5)), dense(4, 5, 3)
    values = shared.val * torch.arange(1, 5).unsqueeze(1)  # as after dropout
    together = torch.vmap(lambda val, h: multiply(shared._replace(val=val), h))(values, h)
    each = torch.stack([shared._replace(val=val).to_dense() for val in values])
    assert_same(with_gradient(together, h), with_gradient(each @ h, h))


def test_runs_with_their_own_matrices_may_share_the_dense_factor() -> None:
    each, h = [draw(6, 5, seed) for seed in range(3)], dense(5, 2)
    runs = stack([SparseMatrix.from_torch(a) for a in each])
    together = torch.vmap(multiply, in_dims=(0, None))(runs, h)
    assert_same(with_gradient(together, h), with_gradient(torch.stack(each) @ h, h))


def test_a_symmetric_matrix_needs_no_transpose() -> None:
    half = draw(6, 6, empty=3)
    a, h = half + half.T, dense(6, 2)
    assert_same(with_gradient(multiply(symmetric(a), h), h), with_gradient(a @ h, h))


def test_symmetric_runs_of_different_fullness_multiply_as_one_by_one() -> None:
    halves = [draw(6, 6, seed, density=0.1 + 0.2 * seed) for seed in range(3)]
    each, h = [half + half.T for half in halves], dense(3, 6, 2)
    together = many(stack([symmetric(a) for a in each]), h)
    assert_same(with_gradient(together, h), with_gradient(torch.stack(each) @ h, h))


def test_matrices_without_entries_give_zeros() -> None:
    nothing = SparseMatrix.from_torch(torch.zeros(3, 4, dtype=torch.float64))
    something = SparseMatrix.from_torch(draw(3, 4, density=1.0))
    h, runs = dense(4, 2), dense(2, 4, 2)
    assert_same(
        with_gradient(multiply(nothing, h), h), (torch.zeros(3, 2).double(), torch.zeros(4, 2).double())
    )
    for other in (nothing, something):
        first, second = many(stack([nothing, other]), runs)
        assert torch.equal(first, torch.zeros(3, 2).double())
        torch.testing.assert_close(second, other.to_dense() @ runs[1])


def test_what_is_not_a_number_in_one_run_stays_in_that_run() -> None:
    each = [draw(4, 4, seed, density=0.3 + 0.3 * seed) for seed in range(3)]
    h = dense(3, 4, 2).detach()
    clean = many(stack([SparseMatrix.from_torch(a) for a in each]), h)
    h[1] = torch.nan
    dirty = many(stack([SparseMatrix.from_torch(a) for a in each]), h)
    assert torch.equal(dirty[[0, 2]], clean[[0, 2]])


def test_an_adjacency_matrix_has_a_one_for_each_edge() -> None:
    a = SparseMatrix.from_edges(torch.tensor([[2, 0, 1, 0], [0, 2, 1, 1]]), 4)
    assert a.to_dense().tolist() == [[0, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert a.col.dtype == a.crow.dtype == torch.int32


def test_normalizing_divides_by_degrees_and_leaves_empty_rows_empty() -> None:
    a = (draw(6, 6, density=0.5, empty=4) != 0).double()
    degree = a.sum(1)
    walk = SparseMatrix.from_torch(a).normalized("walk").to_dense()
    torch.testing.assert_close(walk, a / degree.clamp(min=1).unsqueeze(1))
    assert walk.sum(1).tolist() == pytest.approx([1, 1, 1, 1, 0, 1])
    both = SparseMatrix.from_torch(a).normalized("symmetric").to_dense()
    scale = (degree.clamp(min=1).unsqueeze(1) * degree.clamp(min=1)).sqrt()
    torch.testing.assert_close(both, a / scale)


def test_a_normalized_matrix_still_multiplies_as_the_dense_one() -> None:
    a, h = (draw(6, 6, density=0.5, empty=4) != 0).double(), dense(6, 2)
    for how in ("walk", "symmetric"):
        sparse = SparseMatrix.from_torch(a).normalized(how)
        assert_same(with_gradient(multiply(sparse, h), h), with_gradient(sparse.to_dense() @ h, h))


def test_degrees_are_inverted_and_zero_stays_zero() -> None:
    assert inverse(torch.tensor([0, 1, 4])).tolist() == [0, 1, 0.25]


def test_features_are_kept_sparse_only_where_they_are_mostly_zero() -> None:
    few, many = draw(20, 10, density=0.05), draw(20, 10, density=0.6)
    assert isinstance(features(few), SparseMatrix)
    assert features(many) is many
    for matrix in (few.to_sparse_coo(), few.to_sparse_csr()):
        kept = features(matrix)
        assert isinstance(kept, SparseMatrix) and torch.equal(kept.to_dense(), few)
    unpacked = features(many.to_sparse_csr())
    assert isinstance(unpacked, Tensor) and torch.equal(unpacked, many)


def test_a_graph_without_features_has_dense_ones_of_no_width() -> None:
    assert features(torch.zeros(4, 0)).shape == (4, 0)


# Values that are computed at the places of a pattern


def places(nodes: int = 6, seed: int = 0, density: float = 0.4, empty: int | None = 2) -> Pattern:
    """A random pattern; by default node 2 collects from nobody, and nobody from it."""
    return Pattern.from_edges(draw(nodes, nodes, seed, density, empty).nonzero().T, nodes)


def spread(pattern: Pattern, val: Tensor) -> Tensor:
    """Values (..., nnz) as the dense matrices (..., N, N) they stand in."""
    nodes = len(pattern.crow) - 1
    place = (pattern.row * nodes + pattern.col).expand(val.shape)
    return val.new_zeros(*val.shape[:-1], nodes * nodes).scatter(-1, place, val).unflatten(-1, (nodes, nodes))


def softmax(pattern: Pattern, scores: Tensor) -> Tensor:
    each, total = row_exponentials(pattern, scores)
    return each / total.gather(-1, pattern.row.expand(scores.shape))


def gradients(out: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """The result and the gradients of a function of it in which every entry counts differently."""
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    return out.detach(), *torch.autograd.grad((out.sin() * weights).sum(), inputs)


@given(
    nodes=st.integers(1, 7),
    width=st.integers(1, 4),
    heads=st.sampled_from([None, 1, 3]),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    seed=st.integers(0, 99),
)
def test_scores_products_and_softmax_are_the_dense_ones_gradients_included(
    nodes: int, width: int, heads: int | None, density: float, seed: int
) -> None:
    pattern = places(nodes, seed, density, empty=None)
    i, j = pattern.row, pattern.col.long()
    axes = () if heads is None else (heads,)
    left, right, val = dense(*axes, nodes, width), dense(*axes, nodes, width, seed=8), dense(*axes, len(j))
    assert_same(
        gradients(score(pattern, left, right), left, right),
        gradients((left @ right.mT)[..., i, j], left, right),
    )
    assert_same(
        gradients(attend(pattern, val, left), val, left), gradients(spread(pattern, val) @ left, val, left)
    )
    places_taken = spread(pattern, torch.ones_like(val)) > 0
    whole = spread(pattern, val).masked_fill(~places_taken, -torch.inf)
    assert_same(gradients(softmax(pattern, val), val), gradients(whole.softmax(-1)[..., i, j], val))


def test_gradients_of_scores_products_and_softmax_agree_with_finite_differences() -> None:
    pattern = places()
    left, right, val = dense(2, 6, 3), dense(2, 6, 3, seed=8), dense(2, len(pattern.col))
    assert gradcheck(lambda a, b: score(pattern, a, b).sin(), (left, right))
    assert gradcheck(lambda v, h: attend(pattern, v, h).sin(), (val, left))
    assert gradcheck(lambda s: softmax(pattern, s).sin(), val)


def test_many_runs_with_many_heads_are_computed_as_one_by_one() -> None:
    pattern = places()
    left, right, val = dense(4, 2, 6, 3), dense(4, 2, 6, 3, seed=8), dense(4, 2, len(pattern.col))

    def one(left: Tensor, right: Tensor, val: Tensor) -> Tensor:
        return attend(pattern, softmax(pattern, score(pattern, left, right) + val), right)

    alone = torch.stack(
        [
            torch.stack([one(*parts) for parts in zip(*run, strict=True)])
            for run in zip(left, right, val, strict=True)
        ]
    )
    together = torch.vmap(one)(left, right, val)
    inputs = (left, right, val)
    assert_same(gradients(together, *inputs), gradients(alone, *inputs))


def test_runs_may_have_patterns_of_their_own() -> None:
    each = [places(seed=seed, density=1.0, empty=seed) for seed in range(3)]  # as many entries, elsewhere
    runs = Pattern(*map(torch.stack, zip(*each, strict=True)))
    val, h = dense(3, len(each[0].col)), dense(3, 6, 2)

    def one(pattern: Pattern, val: Tensor, h: Tensor) -> Tensor:
        weights, total = row_exponentials(pattern, val + score(pattern, h, h))
        return attend(pattern, weights, h) / total.clamp(min=1).unsqueeze(1)

    alone = torch.stack([one(*parts) for parts in zip(each, val, h, strict=True)])
    assert_same(gradients(torch.vmap(one)(runs, val, h), val, h), gradients(alone, val, h))


def test_a_node_that_collects_from_nobody_gets_zeros() -> None:
    pattern, h = places(empty=2), dense(6, 3)
    each, total = row_exponentials(pattern, dense(len(pattern.col)))
    assert total[2] == 0 and total[0] >= 1
    assert attend(pattern, each, h)[2].tolist() == [0, 0, 0]
    nobody = Pattern.from_edges(torch.empty(2, 0, dtype=torch.int64), 4)
    for heads in ((), (2,)):
        each, total = row_exponentials(nobody, dense(*heads, 0))
        assert each.shape == (*heads, 0) and torch.equal(total, torch.zeros(*heads, 4).double())
        assert torch.equal(attend(nobody, each, dense(*heads, 4, 3)), torch.zeros(*heads, 4, 3).double())


def test_a_softmax_of_scores_beyond_the_range_of_exp_is_finite() -> None:
    pattern = places(density=1.0)
    scores = 1e4 * dense(len(pattern.col)).detach()
    assert bool((scores > 800).any()) and bool((scores < -800).any())
    found = spread(pattern, softmax(pattern, scores)).sum(1)
    torch.testing.assert_close(found, torch.tensor([1.0, 1, 0, 1, 1, 1]).double())


def test_a_run_that_is_not_a_number_leaves_the_attention_of_others_alone() -> None:
    pattern = places()
    val, h = dense(3, len(pattern.col)).detach(), dense(3, 6, 2).detach()

    def one(val: Tensor, h: Tensor) -> Tensor:
        return attend(pattern, row_exponentials(pattern, val + score(pattern, h, h))[0], h)

    clean = torch.vmap(one)(val, h)
    val[1], h[1] = torch.nan, torch.nan
    dirty = torch.vmap(one)(val, h)
    assert bool(dirty[1].isnan().any()) and torch.equal(dirty[[0, 2]], clean[[0, 2]])


# Edges of the input


def test_a_symmetric_matrix_may_be_normalized_to_one_that_is_not() -> None:
    half = draw(6, 6, empty=3)
    a, h = ((half + half.T) != 0).double(), dense(6, 2)
    walk = symmetric(a).normalized("walk")
    assert_same(with_gradient(multiply(walk, h), h), with_gradient(walk.to_dense() @ h, h))


def test_symmetric_and_other_matrices_may_be_stacked() -> None:
    half = draw(5, 5)
    each, h = [half + half.T, draw(5, 5, 1)], dense(2, 5, 2)
    runs = stack([symmetric(each[0]), SparseMatrix.from_torch(each[1])])
    together = many(runs, h)
    assert_same(with_gradient(together, h), with_gradient(torch.stack(each) @ h, h))


def test_a_float64_matrix_is_normalized_in_float64() -> None:
    a = torch.ones(3, 3, dtype=torch.float64)
    assert SparseMatrix.from_torch(a).normalized("walk").val[0] == 1 / 3
