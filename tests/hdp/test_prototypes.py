"""Trust set, prototypes and the TPC loss (Eq. 24-28), and Theorem 1 that they serve (Eq. 10-13)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from heterophily.hdp.partition import EdgeSet, partition
from heterophily.hdp.propagation import neighbor_distribution
from heterophily.hdp.prototypes import TrustSet, prototypes, tpc_loss, trust_set
from heterophily.sparse import SparseMatrix

mixes = st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def everyone(classes: list[int] | Tensor) -> TrustSet:
    predicted = torch.as_tensor(classes)
    return TrustSet(torch.ones(len(predicted)).bool(), predicted)


# Theorem 1 (Eq. 10-13)


def neighbor_mean(mix: list[int], c: Tensor, spread: float = 0.0) -> Tensor:
    """H^nb of a node with ``mix[k]`` heterophilous neighbors of each class, by Eq. 14 itself."""
    classes = torch.tensor([k for k, n in enumerate(mix) for _ in range(n)])
    nodes = len(classes) + 1
    star = torch.zeros(nodes, nodes)
    star[0, 1:] = star[1:, 0] = 1
    edges = EdgeSet.from_adjacency(SparseMatrix.from_torch(star))
    parts = partition(torch.ones(nodes, 1), edges, torch.tensor(0), dtype=torch.float64)
    h_ego = torch.cat([torch.zeros(1, c.shape[1]).double(), c[classes]])
    return neighbor_distribution(parts, h_ego + spread * draw(*h_ego.shape))[0]


def orthogonal_prototypes() -> Tensor:
    """Four prototypes at right angles, of different lengths, in six dimensions."""
    rotation, _ = torch.linalg.qr(draw(6, 6))
    return torch.tensor([0.5, 1, 2, 3]).double().unsqueeze(1) * rotation[:4]


@given(mix=mixes)
def test_theorem_1_with_orthogonal_prototypes_the_mean_gives_back_the_class_mix(mix: list[int]) -> None:
    c = orthogonal_prototypes()
    b = neighbor_mean(mix, c)  # M X = b (Eq. 12), which is M' X_p (Eq. 13)
    found = (c @ b) / c.square().sum(1)  # projections on the prototypes: M'
    wanted = torch.tensor(mix).double() / sum(mix)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)


@given(one=mixes, other=mixes)
def test_theorem_1_orthogonal_prototypes_make_the_mean_injective(one: list[int], other: list[int]) -> None:
    share = [[Fraction(n, sum(mix)) for n in mix] for mix in (one, other)]
    assume(share[0] != share[1])
    c = orthogonal_prototypes()
    # Distinct mixes differ by at least 1/16 of a share somewhere, times the shortest prototype.
    assert (neighbor_mean(one, c) - neighbor_mean(other, c)).norm() > 0.5 / 16**2


def test_theorem_1_holds_within_the_spread_of_the_classes() -> None:
    c, mix = orthogonal_prototypes(), [4, 0, 3, 1]
    found = (c @ neighbor_mean(mix, c, spread=0.01)) / c.square().sum(1)
    torch.testing.assert_close(found, torch.tensor(mix).double() / 8, rtol=0, atol=0.05)


def test_without_orthogonality_two_mixes_may_look_the_same() -> None:
    c = orthogonal_prototypes()
    c[2] = (c[0] + c[1]) / 2
    torch.testing.assert_close(neighbor_mean([1, 1, 0, 0], c), neighbor_mean([0, 0, 3, 0], c))


# Trust set (Eq. 24-25)


def assignment(nodes: int, seed: int, levels: int = 4) -> Tensor:
    """Soft assignments with few levels of confidence, so that ties occur."""
    random = torch.Generator().manual_seed(seed)
    return torch.randint(levels, (nodes, 3), generator=random).double().softmax(-1)


@given(nodes=st.integers(1, 30), seed=st.integers(0, 300), share=st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_the_trust_set_has_rho_n_nodes_and_they_are_the_surest(nodes: int, seed: int, share: float) -> None:
    z = assignment(nodes, seed)
    random = torch.Generator().manual_seed(seed + 1)
    labels = torch.randint(3, (nodes,), generator=random)
    known = torch.rand(nodes, generator=random) < share
    known[0] = True
    trust = trust_set(z, labels, known)
    rho = Fraction(int(((z.argmax(-1) == labels) & known).sum()), int(known.sum()))
    assert abs(int(trust.trusted.sum()) - rho * nodes) <= Fraction(1, 2)  # round(ρN)
    assert torch.equal(trust.predicted, z.argmax(-1))
    surest, trusted = z.max(-1).values, trust.trusted
    if trusted.any() and not trusted.all():
        delta = surest[trusted].min()
        assert delta >= surest[~trusted].max()
        tied = (surest == delta).nonzero().flatten()
        assert trusted[tied].tolist() == sorted(trusted[tied].tolist(), reverse=True)  # earlier first


def test_rho_is_the_accuracy_on_training_and_validation_together() -> None:
    z = torch.eye(2)[torch.tensor([0, 0, 1, 1, 0, 1, 0, 1])].double() * 0.8 + 0.1
    labels = torch.tensor([0, 0, 0, 1, -1, -1, -1, -1])
    known = torch.tensor([1, 1, 1, 1, 0, 0, 0, 0]).bool()
    assert int(trust_set(z, labels, known).trusted.sum()) == 6  # three of four are right


def test_a_perfect_model_trusts_everyone_and_a_useless_one_nobody() -> None:
    z, known = assignment(9, 0), torch.ones(9).bool()
    assert trust_set(z, z.argmax(-1), known).trusted.all()
    assert not trust_set(z, (z.argmax(-1) + 1) % 3, known).trusted.any()


def test_labels_of_unknown_nodes_are_not_read() -> None:
    z, known = assignment(12, 1), torch.arange(12) < 5
    labels = torch.arange(12) % 3
    hidden = torch.where(known, labels, -1)
    assert torch.equal(trust_set(z, labels, known).trusted, trust_set(z, hidden, known).trusted)


# Prototypes (Eq. 26)


def test_a_prototype_is_the_mean_of_the_trusted_nodes_of_a_class() -> None:
    h = torch.tensor([[1.0, 2], [3, 4], [9, 9], [5, 0], [7, 7]])
    trust = TrustSet(torch.tensor([1, 1, 0, 1, 0]).bool(), torch.tensor([0, 0, 0, 2, 1]))
    c, present = prototypes(h, trust, 4)
    assert c[0].tolist() == [2, 3] and c[2].tolist() == [5, 0]
    assert present.tolist() == [True, False, True, False]


# TPC loss (Eq. 27-28)


def by_hand(h: np.ndarray, trusted: np.ndarray, predicted: np.ndarray, tau: float) -> float:
    """Eq. 26-28 as they are printed, with loops; the sum divided by |S^tru|."""

    def s(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    c = {j: h[trusted & (predicted == j)].mean(0) for j in set(predicted[trusted])}
    total = 0.0
    for i in np.flatnonzero(trusted):
        numerator = math.exp(s(h[i], c[predicted[i]]) / tau)
        denominator = sum(math.exp(max(s(h[i], c_k), 0) / tau) for c_k in c.values())
        total -= math.log(numerator / denominator)
    return total / trusted.sum()


@pytest.mark.parametrize("tau", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_the_printed_formula(tau: float, seed: int) -> None:
    h, random = draw(12, 5, seed=seed), torch.Generator().manual_seed(seed)
    trust = TrustSet(torch.arange(12) % 4 > 0, torch.randint(4, (12,), generator=random))
    wanted = by_hand(h.numpy(), trust.trusted.numpy(), trust.predicted.numpy(), tau)
    assert float(tpc_loss(h, trust, 4, tau)) == pytest.approx(wanted, rel=1e-10)


def test_a_class_that_nobody_is_trusted_to_be_plays_no_part() -> None:
    h = draw(6, 4)
    trust = everyone([0, 0, 2, 2, 2, 0])
    few = everyone([0, 0, 1, 1, 1, 0])
    torch.testing.assert_close(tpc_loss(h, trust, 5, 0.5), tpc_loss(h, few, 2, 0.5))
    nobody = TrustSet(torch.zeros(6).bool(), trust.predicted)
    assert tpc_loss(h, nobody, 5, 0.5) == 0


def test_gradients_agree_with_finite_differences_and_flow_through_the_prototypes() -> None:
    trust = TrustSet(torch.tensor([1, 1, 1, 0, 1, 1, 1]).bool(), torch.tensor([0, 1, 0, 1, 1, 0, 3]))
    h = draw(7, 4).requires_grad_()
    assert gradcheck(lambda h: tpc_loss(h, trust, 4, 0.5), h)
    assert gradcheck(lambda h: prototypes(h, trust, 4)[0], h)
    (gradient,) = torch.autograd.grad(tpc_loss(h, trust, 4, 0.5), h)
    assert (gradient.abs().sum(1) > 0).tolist() == trust.trusted.tolist()


def test_gradients_stay_finite_without_trust_without_length_and_at_the_clip() -> None:
    h = torch.cat([torch.zeros(1, 3), torch.eye(3)]).double().requires_grad_()
    for trusted in ([1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]):
        trust = TrustSet(torch.tensor(trusted).bool(), torch.tensor([0, 0, 1, 2]))
        (gradient,) = torch.autograd.grad(tpc_loss(h, trust, 4, 0.1), h)
        assert bool(gradient.isfinite().all())


# Its minimum


def cosines(c: Tensor) -> Tensor:
    c = torch.nn.functional.normalize(c)
    return c @ c.T


def least(classes: int, tau: float) -> float:
    """The loss when all nodes stand on prototypes at right angles."""
    return math.log(math.exp(1 / tau) + classes - 1) - 1 / tau


@given(seed=st.integers(0, 500), tau=st.sampled_from([0.1, 0.2, 0.5]))
def test_no_representation_has_a_lower_loss_than_one_with_orthogonal_prototypes(
    seed: int, tau: float
) -> None:
    trust = everyone([0, 1, 2, 0, 1, 2])
    orthogonal = 3 * torch.linalg.qr(draw(5, 5, seed=seed))[0][trust.predicted]
    best = float(tpc_loss(orthogonal, trust, 3, tau))
    assert best == pytest.approx(least(3, tau), rel=1e-9)
    assert float(tpc_loss(draw(6, 5, seed=seed), trust, 3, tau)) > best


@pytest.mark.parametrize("angle", [5, 20, 45, 70, 85])
def test_turning_a_prototype_towards_another_raises_the_loss(angle: float) -> None:
    trust, theta = everyone([0, 1, 2, 0, 1, 2]), math.radians(angle)
    corner = torch.eye(3).double()
    turned = corner.clone()
    turned[1] = math.cos(theta) * corner[0] + math.sin(theta) * corner[1]
    loss = [float(tpc_loss(c[trust.predicted], trust, 3, 0.5)) for c in (corner, turned)]
    assert loss[1] > loss[0] + 0.005


def test_nothing_is_gained_beyond_a_right_angle() -> None:
    trust = everyone([0, 1, 0, 1])
    right, obtuse = torch.eye(2).double(), torch.tensor([[1.0, 0], [-0.8, 0.6]]).double()
    loss = [float(tpc_loss(c[trust.predicted], trust, 2, 0.5)) for c in (right, obtuse)]
    assert loss[0] == pytest.approx(loss[1])


def descend(h: Tensor, trust: TrustSet, floor: float = -math.inf, steps: int = 1000) -> Tensor:
    """Follow the gradient of the loss alone; ``floor`` 0 keeps representations non-negative."""
    for _ in range(steps):
        h.requires_grad_()
        (gradient,) = torch.autograd.grad(tpc_loss(h, trust, int(trust.predicted.max()) + 1, 0.5), h)
        h = (h - 0.4 * gradient).detach().clamp(min=floor)
    return h


@pytest.mark.parametrize("classes, floor", [(2, -math.inf), (2, 0.0), (4, 0.0)])
def test_descending_the_loss_turns_acute_prototypes_to_right_angles(classes: int, floor: float) -> None:
    trust = everyone(torch.arange(classes))  # one node a class: it is its own prototype
    h = 1 + 0.5 * draw(classes, 6).abs()
    off = ~torch.eye(classes).bool()
    assert bool((cosines(h)[off] > 0.8).all())  # all within a narrow cone
    h = descend(h, trust, floor)
    assert bool((cosines(h)[off].abs() < 0.02).all())
    assert float(tpc_loss(h, trust, classes, 0.5)) == pytest.approx(least(classes, 0.5), abs=0.005)


def test_with_more_classes_of_any_sign_some_angles_grow_beyond_the_right_one_and_none_is_acute() -> None:
    # Pushed by two others at once, a prototype overshoots, and nothing draws it back: the paper's
    # "all prototypes orthogonal" is one of the minima, the only one where representations are >= 0.
    trust = everyone(torch.arange(4))
    h = descend(1 + 0.5 * draw(4, 6).abs(), trust)
    off = cosines(h)[~torch.eye(4).bool()]
    assert float(off.max()) < 0.01 and float(off.min()) < -0.1
    assert float(tpc_loss(h, trust, 4, 0.5)) == pytest.approx(least(4, 0.5), abs=0.005)


def test_descending_the_loss_draws_a_class_together_and_classes_apart() -> None:
    trust = everyone(torch.arange(12) % 4)
    h = cosines(descend(1 + 0.5 * draw(12, 6).abs(), trust))
    same = trust.predicted.unsqueeze(1) == trust.predicted
    assert float(h[same].min()) > 0.9 and float(h[~same].max()) < 0.05
