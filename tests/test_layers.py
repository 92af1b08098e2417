"""The shared layers: a linear map of concatenated blocks, dropout that belongs to the run, attention."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.func import functional_call
from torch_geometric.nn import GATConv

from heterophily.layers import MLP, Dropout, FeatureLinear, GraphAttention
from heterophily.sparse import Pattern, SparseMatrix, features


def dropout(p: float, key: int = 12345) -> Dropout:
    layer = Dropout(p)
    layer.key.fill_(key)
    return layer


def zeros(p: float, size: int = 200_000, key: int = 12345) -> Tensor:
    """Where a fresh dropout layer puts its zeros, as 0.0 and 1.0."""
    return (dropout(p, key)(torch.ones(size)) == 0).double()


def assert_uncorrelated(a: Tensor, b: Tensor) -> None:
    """The sample correlation of independent draws has a standard deviation of 1 / √n."""
    both = torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))
    assert abs(both[0, 1]) < 4.5 / math.sqrt(a.numel())


# FeatureLinear


@pytest.mark.parametrize("density", [0.1, 0.9], ids=["sparse", "dense"])
def test_a_linear_map_of_blocks_is_nn_linear_on_their_concatenation(density: float) -> None:
    blocks = [torch.randn(30, w).double() * (torch.rand(30, w) < density) for w in (6, 0, 4)]
    ours = FeatureLinear([6, 0, 4], 3).double()
    theirs = nn.Linear(10, 3).double()
    theirs.weight.data = torch.cat(list(ours.weights)).T.contiguous()
    theirs.bias.data = ours.bias.data
    given = [features(block) for block in blocks]
    assert isinstance(given[0], SparseMatrix) == (density < 0.2)
    out, wanted = ours(given), theirs(torch.cat(blocks, 1))
    torch.testing.assert_close(out, wanted, rtol=0, atol=1e-12)
    out.sin().sum().backward()
    wanted.sin().sum().backward()
    assert theirs.weight.grad is not None
    gradients = torch.cat([w.grad for w in ours.weights if w.grad is not None])
    torch.testing.assert_close(gradients, theirs.weight.grad.T, rtol=0, atol=1e-12)


def test_weights_are_drawn_as_nn_linear_draws_them_for_the_whole_width() -> None:
    drawn = torch.cat(list(FeatureLinear([60, 40], 500).weights)).detach()
    bound = 1 / math.sqrt(100)
    assert drawn.abs().max() <= bound
    assert drawn.abs().max() > 0.99 * bound
    assert drawn.std() == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_a_block_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="argument"):
        FeatureLinear([2], 3)([torch.ones(4, 2), torch.ones(4, 2)])


def test_nodes_without_features_all_get_the_bias() -> None:
    assert FeatureLinear([0], 3)([torch.ones(4, 0)]).shape == (4, 3)


# Dropout


@pytest.mark.parametrize("p", [0.0, 0.1, 0.2, 0.5, 0.7, 0.95])
def test_the_share_of_zeros_is_p_within_sampling_error(p: float) -> None:
    size = 200_000
    share = float(zeros(p, size).mean())
    assert abs(share - p) <= 4 * math.sqrt(p * (1 - p) / size) + 2**-16


@pytest.mark.parametrize("p", [0.2, 0.5, 0.7])
def test_what_survives_is_scaled_so_that_the_expectation_stays(p: float) -> None:
    h = torch.rand(400, 500)
    dropped = dropout(p)(h)
    survived = dropped != 0
    torch.testing.assert_close(dropped[survived], h[survived] / (1 - p))
    spread = float((h.square().mean() * p / (1 - p) / h.numel()).sqrt())
    assert abs(float(dropped.mean() - h.mean())) < 4 * spread


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_entries_are_dropped_independently_of_their_neighbors(p: float) -> None:
    gone = zeros(p, 262_144)
    for lag in (1, 2, 3, 4, 5, 8, 64, 128, 512, 4096):
        assert_uncorrelated(gone[:-lag], gone[lag:])


def test_four_entries_hashed_from_one_word_take_all_sixteen_patterns_alike() -> None:
    words = zeros(0.5, 400_000).view(-1, 4) @ torch.tensor([1.0, 2, 4, 8]).double()
    counts = torch.bincount(words.long(), minlength=16).double()
    wanted = len(words) / 16
    chi_squared = float(((counts - wanted) ** 2 / wanted).sum())
    assert chi_squared < 37.7  # the 0.999 quantile at 15 degrees of freedom


def test_each_step_and_each_key_has_a_mask_of_its_own() -> None:
    layer = dropout(0.5)
    steps = [(layer(torch.ones(100_000)) == 0).double() for _ in range(4)]
    others = [zeros(0.5, 100_000, key) for key in (0, 99, 2**40, 2**61)]
    for a, b in itertools.combinations(steps + others, 2):
        assert_uncorrelated(a, b)


def test_the_same_key_gives_the_same_mask_and_a_lower_p_drops_fewer_of_the_same() -> None:
    assert torch.equal(zeros(0.5), zeros(0.5))
    assert bool((zeros(0.2) <= zeros(0.5)).all())


def test_the_random_state_comes_from_the_seed_and_travels_with_the_state_dict() -> None:
    torch.manual_seed(3)
    one = Dropout(0.5)
    torch.manual_seed(3)
    two, three = Dropout(0.5), Dropout(0.5)
    h = torch.ones(1000)
    first = one(h)
    assert torch.equal(first, two(h)) and not torch.equal(first, three(h))
    three.load_state_dict(one.state_dict())
    assert torch.equal(one(h), three(h))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1003])
def test_any_number_of_entries_may_be_dropped(size: int) -> None:
    assert dropout(0.5)(torch.ones(size)).shape == (size,)
    assert torch.equal(zeros(0.5, size), zeros(0.5, 2000)[:size])


def test_without_dropout_or_training_the_input_comes_back_as_it_was() -> None:
    h = torch.randn(50, 40)
    assert torch.equal(dropout(0.0)(h), h)
    layer = dropout(0.5).eval()
    key = int(layer.key)
    assert layer(h) is h
    assert int(layer.key) == key


def test_many_runs_drop_what_each_drops_alone_and_move_their_own_keys() -> None:
    skeleton, p = Dropout(0.5), torch.tensor([0.0, 0.3, 0.5, 0.9])
    key, h = torch.tensor([5, 6, 7, 5]), torch.randn(4, 31, 7)

    def one(p: Tensor, key: Tensor, h: Tensor) -> Tensor:
        return functional_call(skeleton, {"p": p, "key": key}, (h,))

    moved = key.clone()
    for step in range(3):
        together = torch.vmap(one)(p, moved, h)
        for run in range(4):
            alone = Dropout(float(p[run]))
            alone.key.copy_(key[run] + step)
            assert torch.equal(together[run], alone(h[run]))
    assert torch.equal(moved, key + 3)


def test_runs_that_share_their_features_still_drop_other_entries() -> None:
    skeleton, key, h = Dropout(0.5), torch.tensor([5, 6]), torch.ones(1000)
    call = lambda key: functional_call(skeleton, {"key": key}, (h,))  # noqa: E731
    first, second = torch.vmap(call)(key.clone())
    assert torch.equal(first, dropout(0.5, 5)(h)) and torch.equal(second, dropout(0.5, 6)(h))


def test_stored_values_of_sparse_features_are_dropped_and_the_pattern_stays() -> None:
    whole = SparseMatrix.from_torch(torch.ones(20, 10))
    dropped = dropout(0.5)(whole)
    assert torch.equal(dropped.val, dropout(0.5)(whole.val))
    assert set(dropped.val.tolist()) == {0, 2}
    assert dropped.col is whole.col and dropped.order is whole.order


def test_gradients_pass_through_survivors_only() -> None:
    h = torch.randn(200, dtype=torch.float64, requires_grad=True)
    out = dropout(0.5)(h)
    (gradient,) = torch.autograd.grad(out.sum(), h)
    assert torch.equal(gradient, torch.where(out == 0, 0.0, 2.0))


def test_a_perceptron_is_linear_relu_linear() -> None:
    mlp, x = MLP([4], 6, 3, dropout=0.5, input_dropout=0.5).eval(), torch.randn(7, 4)
    hidden = (x @ mlp.first.weights[0] + mlp.first.bias).relu()
    torch.testing.assert_close(mlp([x]), hidden @ mlp.second.weight.T + mlp.second.bias)


# GraphAttention


def neighborhoods(nodes: int = 12, loops: bool = True) -> tuple[Tensor, Pattern]:
    """Random directed edges, of which the last node has none, and who collects from whom: u from v."""
    edges = (torch.rand(nodes - 1, nodes - 1) < 0.3).fill_diagonal_(False).nonzero().T
    if loops:
        edges = torch.cat([edges, torch.arange(nodes).expand(2, -1)], 1)
    return edges, Pattern.from_edges(edges, nodes)


def attention(features: int, out: int, heads: int, dropout: float = 0.5) -> GraphAttention:
    return GraphAttention(features, out, heads, dropout).double().eval()


def attentive_to_nothing(layer: GraphAttention) -> GraphAttention:
    """The layer with a₁ = a₂ = 0."""
    for a in (layer.collecting, layer.giving):
        nn.init.zeros_(a)
    return layer


@pytest.mark.parametrize("heads", [1, 3])
def test_attention_is_that_of_pygs_layer_with_the_same_weights(heads: int) -> None:
    edges, pattern = neighborhoods()
    ours, x = attention(5, 4, heads), torch.randn(12, 5).double()
    theirs = GATConv(5, 4, heads=heads, bias=False, add_self_loops=False).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.weight.T)
        theirs.att_dst.copy_(ours.collecting.movedim(1, 0))
        theirs.att_src.copy_(ours.giving.movedim(1, 0))
    found, wanted = ours(x, pattern), theirs(x, edges.flip(0))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    found.sin().sum().backward()
    wanted.sin().sum().backward()
    pairs = (
        (ours.weight, theirs.lin.weight.grad.T),
        (ours.collecting, theirs.att_dst.grad.movedim(1, 0)),
        (ours.giving, theirs.att_src.grad.movedim(1, 0)),
    )
    for mine, gradient in pairs:
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad, gradient, rtol=0, atol=1e-12)


def test_attention_sums_to_one_at_every_node_in_every_head() -> None:
    _, pattern = neighborhoods()
    layer, x = attention(5, 4, heads=3), torch.randn(12, 5).double()
    x[:, 0] = 1  # read by the first column of each head, and by that one alone, while scores differ
    with torch.no_grad():
        first = layer.weight.unflatten(1, (3, 4))[:, :, 0]
        first.zero_()
        first[0] = 1
        out = layer(x, pattern).unflatten(1, (3, 4))
    torch.testing.assert_close(out[:, :, 0], torch.ones(12, 3).double(), rtol=0, atol=1e-12)
    assert out[:, :, 1].std() > 0.01


def test_without_attention_vectors_every_head_is_the_plain_mean_over_neighbors() -> None:
    edges, pattern = neighborhoods()
    layer, x = attentive_to_nothing(attention(5, 4, heads=2)), torch.randn(12, 5).double()
    a = torch.zeros(12, 12).double()
    a[edges[0], edges[1]] = 1
    wanted = a / a.sum(1, keepdim=True) @ x @ layer.weight
    torch.testing.assert_close(layer(x, pattern), wanted, rtol=0, atol=1e-12)


def test_dropout_takes_neighbors_away_without_sharing_their_attention_among_the_rest() -> None:
    edges, pattern = neighborhoods(60)
    layer = attentive_to_nothing(attention(1, 1, heads=1, dropout=0.75)).train()
    nn.init.ones_(layer.weight)
    kept = layer(torch.ones(60, 1).double(), pattern).squeeze(1) * torch.bincount(edges[0]) / 4
    torch.testing.assert_close(kept, kept.round(), rtol=0, atol=1e-12)
    assert 0.2 < kept.sum() / edges.shape[1] < 0.3


def test_a_node_without_anyone_to_collect_from_gets_zeros_and_finite_gradients() -> None:
    _, pattern = neighborhoods(loops=False)
    layer, x = attention(5, 4, heads=2), torch.randn(12, 5).double().requires_grad_()
    out = layer(x, pattern)
    assert out[-1].tolist() == [0] * 8 and bool(out[:-1].any())
    for gradient in torch.autograd.grad(out.sin().sum(), [x, *layer.parameters()]):
        assert bool(gradient.isfinite().all()) and bool(gradient.any())


def test_gradients_of_attention_agree_with_finite_differences() -> None:
    _, pattern = neighborhoods(6)
    layer, x = attention(3, 2, heads=2), torch.randn(6, 3).double().requires_grad_()
    names, weights = zip(*layer.named_parameters(), strict=True)

    def call(x: Tensor, *weights: Tensor) -> Tensor:
        return functional_call(layer, dict(zip(names, weights, strict=True)), (x, pattern))

    assert gradcheck(call, (x, *weights))


def test_heads_side_by_side_are_heads_one_by_one() -> None:
    _, pattern = neighborhoods()
    together, x = attention(5, 4, heads=3), torch.randn(12, 5).double()
    alone = []
    for head in range(3):
        one = attention(5, 4, heads=1)
        with torch.no_grad():
            one.weight.copy_(together.weight[:, 4 * head : 4 * head + 4])
            one.collecting.copy_(together.collecting[head : head + 1])
            one.giving.copy_(together.giving[head : head + 1])
        alone.append(one(x, pattern))
    torch.testing.assert_close(together(x, pattern), torch.cat(alone, 1), rtol=0, atol=1e-12)


def test_attention_takes_sparse_features_as_it_takes_dense_ones() -> None:
    _, pattern = neighborhoods()
    layer, x = attention(5, 4, heads=2), torch.randn(12, 5).double() * (torch.rand(12, 5) < 0.3)
    found = layer(SparseMatrix.from_torch(x), pattern)
    torch.testing.assert_close(found, layer(x, pattern), rtol=0, atol=1e-12)


def test_attention_is_drawn_by_xaviers_rule_for_each_head_with_gain_root_two() -> None:
    layer = GraphAttention(300, 100, 8, dropout=0.0)
    for drawn, ways in ((layer.weight, 400), (layer.collecting, 201), (layer.giving, 201)):
        bound = math.sqrt(2 * 6 / ways)
        assert 0.98 * bound < float(drawn.detach().abs().max()) <= bound
