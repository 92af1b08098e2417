"""HDP as a plain module: from the blocks [X, X^str] and a partition to logits (Eq. 9, 14-19)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.hdp import HDP
from heterophily.hdp.partition import EdgeSet, Partition, partition
from heterophily.hdp.prototypes import tpc_loss, trust_set
from heterophily.sparse import SparseMatrix, multiply

N, K = 14, 3


def edges(order: Tensor | None = None) -> EdgeSet:
    a = torch.rand(N, N, generator=torch.Generator().manual_seed(0)) < 0.2
    a = (a | a.T | torch.eye(N).bool()).float()
    return EdgeSet.from_adjacency(SparseMatrix.from_torch(a if order is None else a[order][:, order]))


def assignment() -> Tensor:
    return torch.randn(N, K, generator=torch.Generator().manual_seed(1)).double().softmax(-1)


def parts() -> Partition:
    return partition(assignment(), edges(), torch.tensor(20), dtype=torch.float64)


def blocks() -> list[Tensor]:
    random = torch.Generator().manual_seed(2)
    return [torch.randn(N, w, generator=random, dtype=torch.float64) for w in (5, 4)]


def model(**changes: Any) -> HDP:
    torch.manual_seed(3)
    settings: dict[str, Any] = {"hidden": 7, "dim": 6, "layers_hm": 2, "layers_ht": 3}
    return HDP([5, 4], K, **settings | changes).double()


def dense_mean(a: SparseMatrix) -> Tensor:
    whole = multiply(a, torch.eye(N, dtype=torch.float64))
    return whole / whole.sum(1, keepdim=True).clamp(min=1)


def names(module: HDP) -> set[str]:
    return {name for name, _ in module.named_parameters()}


def test_the_whole_model_is_the_paper_s_equations_written_densely() -> None:
    module = model().eval()
    out = module(blocks(), parts())
    mean_hm, mean_ht = dense_mean(parts().a_hm), dense_mean(parts().a_ht)

    def smp(h_0: Tensor, learners: Any) -> Tensor:  # Eq. 15
        h = h_0
        for weigh in learners:
            h_tilde = mean_hm @ h
            alpha = torch.sigmoid(torch.cat([h_0, h_tilde], 1) @ weigh.weight.T + weigh.bias)
            h = alpha * h_0 + (1 - alpha) * h_tilde
        return h

    ego = module.ego
    hidden = (torch.cat(blocks(), 1) @ torch.cat(list(ego.first.weights)) + ego.first.bias).relu()
    h_ego = hidden @ ego.second.weight.T + ego.second.bias  # Eq. 9
    h_ht = smp(mean_ht @ h_ego, module.smp_ht.weigh)  # Eq. 14, 16
    h_hm = smp(h_ego, module.smp_hm.weigh)  # Eq. 17
    h = torch.cat([h_hm, h_ht], 1)  # Eq. 18
    logits = h @ module.classify.weight.T + module.classify.bias  # Eq. 19
    given = out.logits, out.h, out.h_ego, out.h_hm, out.h_ht
    for found, wanted in zip(given, (logits, h, h_ego, h_hm, h_ht), strict=True):
        torch.testing.assert_close(found, wanted)


def test_every_parameter_gets_a_gradient() -> None:
    module = model()
    module(blocks(), parts()).logits.square().sum().backward()
    for name, p in module.named_parameters():
        assert p.grad is not None and bool(p.grad.any()), name


def test_gradients_agree_with_finite_differences() -> None:
    module, given = model().eval(), blocks()
    values = {name: p.detach().clone().requires_grad_() for name, p in module.named_parameters()}

    def call(*tensors: Tensor) -> Tensor:
        bound = dict(zip(values, tensors, strict=True))
        out: Tensor = torch.func.functional_call(module, bound, (given, parts())).logits
        return out

    assert torch.autograd.gradcheck(call, tuple(values.values()), fast_mode=True)


def test_renumbering_the_nodes_permutes_the_output() -> None:
    module, order = model().eval(), torch.randperm(N)
    z = assignment()
    count = torch.tensor(20)
    renumbered = partition(z[order], edges(order), count, dtype=torch.float64)
    out, other = module(blocks(), parts()), module([block[order] for block in blocks()], renumbered)
    for one, two in zip(out[:4], other[:4], strict=True):
        torch.testing.assert_close(one[order], two)


def test_without_homophilous_representation_the_classifier_reads_only_the_other() -> None:
    whole, left = model().eval(), model(homophilous=False).eval()
    assert names(whole) - names(left) == {
        f"smp_hm.weigh.{i}.{part}" for i in (0, 1) for part in ("weight", "bias")
    }
    assert whole.classify.in_features == 12 and left.classify.in_features == 6
    out = left(blocks(), parts())
    assert torch.equal(out.h, out.h_ht)


def test_without_heterophilous_representation_the_classifier_reads_only_the_other() -> None:
    whole, left = model().eval(), model(heterophilous=False).eval()
    assert names(whole) - names(left) == {
        f"smp_ht.weigh.{i}.{part}" for i in (0, 1, 2) for part in ("weight", "bias")
    }
    out = left(blocks(), parts())
    assert torch.equal(out.h, out.h_hm)


def test_without_message_passing_nodes_keep_what_they_and_their_neighbors_are() -> None:
    left = model(layers_hm=0, layers_ht=0).eval()
    assert names(model()) - names(left) == {name for name in names(model()) if name.startswith("smp")}
    out = left(blocks(), parts())
    assert torch.equal(out.h_hm, out.h_ego)
    torch.testing.assert_close(out.h_ht, dense_mean(parts().a_ht) @ out.h_ego)


def test_without_structural_encoding_the_ego_representation_reads_x_alone() -> None:
    torch.manual_seed(3)
    left = HDP([5], K, hidden=7, dim=6).double()
    assert [tuple(w.shape) for w in left.ego.first.weights] == [(5, 7)]
    assert left(blocks()[:1], parts()).logits.shape == (N, K)


def test_in_evaluation_nothing_is_random_and_in_training_dropout_is() -> None:
    module = model(dropout=0.5, input_dropout=0.2)
    training = [module(blocks(), parts()).logits for _ in range(2)]
    assert not torch.equal(*training)
    module.eval()
    assert torch.equal(*[module(blocks(), parts()).logits for _ in range(2)])


@pytest.mark.parametrize("sparse", [False, True])
def test_anybody_s_training_loop_can_train_it(sparse: bool) -> None:
    y = torch.arange(N) % K
    known = torch.ones(N).bool()
    module = model(dropout=0.0)
    given: list[Any] = [SparseMatrix.from_torch(block) for block in blocks()] if sparse else blocks()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    trust = trust_set(assignment(), y, known)
    losses = []
    for _ in range(80):
        optimizer.zero_grad()
        out = module(given, parts())
        loss = F.cross_entropy(out.logits, y) + 0.1 * tpc_loss(out.h_ego, trust, K, 0.5)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
