"""Heterophilous neighbor distribution and semantic-aware message passing (Eq. 14-17)."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from heterophily.hdp.partition import EdgeSet, Partition, partition
from heterophily.hdp.propagation import SemanticMessagePassing, neighbor_distribution
from heterophily.sparse import SparseMatrix, multiply

# Nodes 0, 1 are of one class, 2, 3 of another, 4 of a third. The surest edges are the four inside
# {0, 1} and {2, 3} and the loops; node 4 has its loop and no homophilous neighbor besides.
Z = torch.tensor([0, 0, 1, 1, 2]).eq(torch.arange(3).unsqueeze(1)).T.double()
PAIRS = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (0, 1), (2, 3), (0, 2), (0, 4), (1, 4)]


def parts(count: int = 7, pairs: list[tuple[int, int]] = PAIRS) -> Partition:
    a = torch.zeros(5, 5)
    for u, v in pairs:
        a[u, v] = a[v, u] = 1
    edges = EdgeSet.from_adjacency(SparseMatrix.from_torch(a))
    return partition(Z, edges, torch.tensor(count), dtype=torch.float64)


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def dense_mean(a: SparseMatrix) -> Tensor:
    """D⁻¹A as a dense matrix."""
    whole = multiply(a, torch.eye(5, dtype=torch.float64))
    return whole / whole.sum(1, keepdim=True).clamp(min=1)


def set_weights(smp: SemanticMessagePassing, bias: float) -> None:
    """Make every α nearly the same: its weights zero, its bias as given."""
    for weigh in smp.weigh:
        torch.nn.init.zeros_(weigh.weight)
        torch.nn.init.constant_(weigh.bias, bias)


# Eq. 14


def test_the_neighbor_distribution_is_the_mean_over_heterophilous_neighbors() -> None:
    h = torch.tensor([[1.0, 0], [2, 0], [0, 3], [0, 5], [7, 7]], dtype=torch.float64)
    h_nb = neighbor_distribution(parts(), h)
    # 0 has 2 and 4 as heterophilous neighbors, 1 has 4, 2 has 0, 4 has 0 and 1.
    wanted = torch.tensor([[3.5, 5], [7, 7], [1, 0], [0, 0], [1.5, 0]], dtype=torch.float64)
    torch.testing.assert_close(h_nb, wanted)


def test_a_node_without_heterophilous_neighbors_gets_a_zero_row() -> None:
    assert not neighbor_distribution(parts(), draw(5, 3))[3].any()
    assert not neighbor_distribution(parts(len(PAIRS)), draw(5, 3)).any()


# Eq. 15


def test_with_alpha_one_message_passing_is_the_identity() -> None:
    smp, h = SemanticMessagePassing(3, 4).double(), draw(5, 3)
    set_weights(smp, 800.0)
    assert torch.equal(smp(h, parts()), h)


def test_without_layers_message_passing_is_the_identity() -> None:
    smp, h = SemanticMessagePassing(3, 0), draw(5, 3)
    assert smp(h, parts()) is h
    assert not list(smp.parameters())


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_with_alpha_zero_it_is_a_power_of_the_homophilous_mean(layers: int) -> None:
    smp, h = SemanticMessagePassing(3, layers).double(), draw(5, 3)
    set_weights(smp, -800.0)
    power = torch.linalg.matrix_power(dense_mean(parts().a_hm), layers)
    torch.testing.assert_close(smp(h, parts()), power @ h)


def test_each_layer_mixes_its_input_with_what_the_neighbors_say_by_a_learned_weight() -> None:
    smp, h_0 = SemanticMessagePassing(3, 3).double(), draw(5, 3)
    h, mean = h_0, dense_mean(parts().a_hm)
    for weigh in smp.weigh:
        h_tilde = mean @ h
        alpha = 1 / (1 + (-(torch.cat([h_0, h_tilde], 1) @ weigh.weight[0] + weigh.bias)).exp())
        h = alpha.unsqueeze(1) * h_0 + (1 - alpha.unsqueeze(1)) * h_tilde
    torch.testing.assert_close(smp(h_0, parts()), h)


def test_every_layer_has_a_weight_learner_of_its_own() -> None:
    smp = SemanticMessagePassing(3, 4)
    assert [tuple(weigh.weight.shape) for weigh in smp.weigh] == [(1, 6)] * 4
    assert len({weigh.weight.data_ptr() for weigh in smp.weigh}) == 4


def test_messages_travel_along_homophilous_edges_only() -> None:
    smp, h = SemanticMessagePassing(3, 4).double(), draw(5, 3)
    before = smp(h, parts())
    h[4] += 1  # joined to 0 and 1 by heterophilous edges
    moved = (smp(h, parts()) - before).abs().sum(1) > 0
    assert moved.tolist() == [False, False, False, False, True]


def test_after_l_layers_a_node_hears_from_l_steps_away() -> None:
    chain = [(i, i + 1) for i in range(4)]
    everything = parts(4, chain)
    for layers in range(4):
        smp = SemanticMessagePassing(2, layers).double()
        h = draw(5, 2).requires_grad_()
        (gradient,) = torch.autograd.grad(smp(h, everything)[0].sum(), h)
        heard = (gradient.abs().sum(1) > 0).tolist()
        assert heard == [node <= layers for node in range(5)]


def test_nodes_that_agree_with_all_they_hear_stay_as_they_are() -> None:
    h = torch.ones(5, 3, dtype=torch.float64) * draw(3)
    torch.testing.assert_close(SemanticMessagePassing(3, 3).double()(h, parts()), h)


# Gradients


def test_gradients_of_the_neighbor_distribution_agree_with_finite_differences() -> None:
    assert gradcheck(lambda h: neighbor_distribution(parts(), h), draw(5, 3).requires_grad_())


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_gradients_of_message_passing_agree_with_finite_differences(layers: int) -> None:
    smp = SemanticMessagePassing(3, layers).double()
    names = [name for name, _ in smp.named_parameters()]

    def call(h: Tensor, *values: Tensor) -> Tensor:
        out: Tensor = torch.func.functional_call(smp, dict(zip(names, values, strict=True)), (h, parts()))
        return out

    values = [p.detach().clone().requires_grad_() for p in smp.parameters()]
    assert gradcheck(call, (draw(5, 3).requires_grad_(), *values))
