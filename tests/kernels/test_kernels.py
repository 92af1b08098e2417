"""What a GPU computes in one pass over memory is what plain torch computes."""

from __future__ import annotations

import os

import pytest
import torch

from heterophily import layers
from heterophily.layers import _ODD, Mask, _cut, _Dropped

GPU = torch.cuda.is_available()
if not GPU and "TRITON_INTERPRET" not in os.environ:
    pytest.skip("there is neither a GPU nor Triton's interpreter", allow_module_level=True)
passes = pytest.importorskip("heterophily.kernels.passes")
DEVICE = "cuda" if GPU else "cpu"


def sparse(rows: int, cols: int, share: float, spare: int = 0) -> tuple[torch.Tensor, ...]:
    """Return a CSR matrix, with so many zeros that only fill up in its last row."""
    draw = torch.Generator().manual_seed(rows)
    dense = torch.randn(rows, cols, generator=draw) * (torch.rand(rows, cols, generator=draw) < share)
    csr = dense.to_sparse_csr()
    crow = torch.cat([csr.crow_indices()[:-1], csr.crow_indices()[-1:] + spare]).int()
    parts = crow, torch.nn.functional.pad(csr.col_indices(), (0, spare)).int(), csr.values()
    return (
        dense,
        *(part.to(DEVICE) for part in parts[:2]),
        torch.nn.functional.pad(parts[2], (0, spare)).to(DEVICE),
    )


@pytest.mark.parametrize("width", [1, 5, 64, 200])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_sparse_product_is_the_dense_one(width: int, dtype: torch.dtype) -> None:
    dense, *csr = sparse(40, 30, 0.2, spare=5000)
    h = torch.randn(30, width).to(DEVICE, dtype)
    found = passes.product(*csr, h)
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(found.cpu(), (dense.double() @ h.double().cpu()).to(dtype), **close)


def test_entries_that_are_one_number_expanded_are_all_read() -> None:
    dense, crow, col, val = sparse(40, 30, 0.2)
    h = torch.randn(30, 8, device=DEVICE)
    found = passes.product(crow, col, torch.ones((), device=DEVICE).expand(len(val)), h)
    torch.testing.assert_close(found.cpu(), (dense != 0).float() @ h.cpu())


def test_long_rows_and_empty_ones_too() -> None:
    dense, *csr = sparse(6, 3000, 0.8)
    h = torch.randn(3000, 16, device=DEVICE)
    torch.testing.assert_close(passes.product(*csr, h).cpu(), dense @ h.cpu(), rtol=1e-4, atol=1e-3)
    dense, *csr = sparse(50, 20, 0.02)
    h = torch.randn(20, 16, device=DEVICE)
    torch.testing.assert_close(passes.product(*csr, h).cpu(), dense @ h.cpu())


@pytest.mark.parametrize("start", [0, 3, 2**33 + 1])
@pytest.mark.parametrize("shape", [(7, 11), (1030,)])
@pytest.mark.parametrize("relu", [False, True])
def test_dropout_takes_the_entries_of_the_mask(start: int, shape: tuple[int, ...], relu: bool) -> None:
    key, p = torch.tensor([5, 2**61 + 7]), torch.tensor([0.3, 0.8])
    h = torch.randn(2, *shape)
    gone = _Dropped.apply(key, p, torch.Size(shape), start)
    runs = key * _ODD[1], _cut(p), 1 / (1 - p)
    for given in (h, h[:1].expand(2, *shape)):
        found = passes.drop(*(part.to(DEVICE) for part in runs), given.to(DEVICE), start, _ODD, relu)
        whole = given.relu() if relu else given
        expected = whole.masked_fill(gone, 0) * runs[2].view(2, *[1] * len(shape))
        torch.testing.assert_close(found.cpu(), expected)


def test_the_gradient_of_relu_and_dropout_goes_where_something_came_out() -> None:
    out, grad, scale = torch.randn(3, 1500), torch.randn(3, 1500), torch.tensor([1.0, 2.0, 5.0])
    found = passes.gate(*(part.to(DEVICE) for part in (scale, out, grad)))
    torch.testing.assert_close(found.cpu(), grad * (out > 0) * scale[:, None])


@pytest.mark.parametrize("relu", [False, True])
def test_the_gradient_of_dropout_is_that_of_its_own_mask_though_the_key_moves_on(
    relu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = torch.randn(3, 100)

    def grads(device: str, together: bool, fused: bool = True) -> torch.Tensor:
        monkeypatch.setattr(layers, "kernels", lambda _: passes if fused else None)
        h = weights.to(device, copy=True).requires_grad_()
        key, p = torch.tensor([1, 2, 3], device=device), torch.tensor(0.5, device=device)

        def one(key: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
            first = Mask(key, p)
            out = first.of_relu(h) if relu else first(h)
            key.add_(1)
            return out + 3 * Mask(key, p)(h)

        total = torch.vmap(one)(key, h) if together else torch.stack([one(k, x) for k, x in zip(key, h)])
        key.add_(5)
        return torch.autograd.grad((total * total).sum(), h)[0].cpu()

    plain = grads("cpu", together=True, fused=False)
    torch.testing.assert_close(grads(DEVICE, together=True), plain)
    torch.testing.assert_close(grads(DEVICE, together=False), plain)


def partitioned(runs: int, nodes: int, spare: int) -> tuple[torch.Tensor, ...]:
    """Return symmetric adjacency matrices of several runs, some nodes without a neighbor, and 1 / degree."""
    draw = torch.Generator().manual_seed(nodes)
    a = torch.rand(runs, nodes, nodes, generator=draw) < 0.15
    a = (a | a.mT) & (torch.arange(nodes) > 0) & (torch.arange(nodes) > 0).unsqueeze(1)
    csr = [each.float().to_sparse_csr() for each in a]
    room = max(each._nnz() for each in csr) + spare
    col = torch.stack([torch.nn.functional.pad(c.col_indices(), (0, room - c._nnz())) for c in csr])
    crow = torch.stack([c.crow_indices() for c in csr])
    crow[:, -1] = room
    degree = a.sum(-1)
    inverse = (degree > 0) / degree.clamp(min=1)
    return a.float(), *(part.to(DEVICE) for part in (crow.int(), col.int(), inverse))


def passed_on(mean: torch.Tensor, h: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Eq. 15 for dense matrices D⁻¹A of several runs."""
    found = h
    for w, b in zip(weight.unbind(1), bias.unbind(1)):
        tilde = mean @ found
        alpha = torch.sigmoid(torch.cat([h, tilde], -1) @ w.unsqueeze(-1) + b[:, None, None])
        found = alpha * h + (1 - alpha) * tilde
    return found


@pytest.mark.parametrize("width", [3, 16, 100])
def test_means_over_neighbors_and_their_gradients_are_those_of_the_dense_matrix(width: int) -> None:
    a, *csr = partitioned(3, 20, spare=40)
    mean = a * csr[2].cpu().unsqueeze(-1)
    h, grad = torch.randn(2, 3, 20, width)
    torch.testing.assert_close(passes.neighbor_mean(*csr, h.to(DEVICE)).cpu(), mean @ h)
    back = passes.neighbor_mean(*csr, grad.to(DEVICE), back=True)
    torch.testing.assert_close(back.cpu(), mean.mT @ grad)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("width", [3, 16, 100])
def test_message_passing_and_its_gradients_are_those_of_the_formula(depth: int, width: int) -> None:
    a, *csr = partitioned(2, 20, spare=40)
    mean = a * csr[2].cpu().unsqueeze(-1)
    h = torch.randn(2, 20, width, requires_grad=True)
    weight, bias = torch.randn(2, depth, 2 * width, requires_grad=True), torch.randn(2, depth)
    bias.requires_grad_()
    expected, grad = passed_on(mean, h, weight, bias), torch.randn(2, 20, width)
    given = [part.detach().to(DEVICE) for part in (h, weight, bias)]
    out, means, alphas = passes.mix(*csr, *given, keep=True)
    torch.testing.assert_close(out.cpu(), expected.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(passes.mix(*csr, *given, keep=False)[0], out, rtol=0, atol=0)
    found = passes.unmix(*csr, *given[:2], means, alphas, grad.to(DEVICE))
    for one, other in zip(found, torch.autograd.grad((expected * grad).sum(), [h, weight, bias])):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)


def test_hdp_with_kernels_is_hdp_without_alone_and_among_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from heterophily.hdp import propagation
    from heterophily.hdp.partition import EdgeSet, partition
    from heterophily.hdp.propagation import SemanticMessagePassing, neighbor_distribution
    from heterophily.sparse import SparseMatrix

    a = (torch.rand(30, 30) < 0.2).float()
    edges = EdgeSet.from_adjacency(SparseMatrix.from_torch((a + a.T + torch.eye(30)).clamp(max=1).to(DEVICE)))
    smp = SemanticMessagePassing(16, 3).to(DEVICE)
    z, h = torch.rand(4, 30, 3).softmax(-1).to(DEVICE), torch.randn(4, 30, 16, device=DEVICE)

    def one(z: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        parts = partition(z, edges, torch.tensor(40, device=DEVICE), (80, 600))
        return smp(neighbor_distribution(parts, h), parts)

    def results(together: bool) -> list[torch.Tensor]:
        given = h.clone().requires_grad_()
        out = torch.vmap(one)(z, given) if together else torch.stack([one(*each) for each in zip(z, given)])
        return [out, *torch.autograd.grad((out * out).sum(), [given, *smp.parameters()])]

    monkeypatch.setattr(propagation, "kernels", lambda _: passes)
    alone, among = results(False), results(True)
    monkeypatch.setattr(propagation, "kernels", lambda _: None)
    for plain, *fused in zip(results(True), alone, among):
        for each in fused:
            torch.testing.assert_close(each, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("heads, width", [(1, 5), (3, 16), (2, 40)])
@pytest.mark.parametrize("p", [0.0, 0.6])
def test_attention_and_its_gradients_are_those_of_the_plain_layer(
    heads: int, width: int, p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heterophily.sparse import Pattern

    a = (torch.rand(25, 25) < 0.2).fill_diagonal_(True)
    pattern = Pattern.from_edges(a.nonzero().T.to(DEVICE), 25)
    layer = layers.GraphAttention(7, width, heads, p).to(DEVICE)
    x, weight = torch.randn(3, 25, 7, device=DEVICE), torch.randn(25, heads * width, device=DEVICE)
    key = layer.drop.key.clone()

    def results(fused: bool, together: bool) -> list[torch.Tensor]:
        monkeypatch.setattr(layers, "kernels", lambda _: passes if fused else None)
        layer.drop.key.copy_(key)
        given = x.clone().requires_grad_()
        if together:
            keys = {"drop.key": key.repeat(3)}

            def one(x: torch.Tensor, keys: dict[str, torch.Tensor]) -> torch.Tensor:
                return torch.func.functional_call(layer, keys, (x, pattern))

            out = torch.vmap(one)(given, keys)
        else:
            out = layer(given[0], pattern).unsqueeze(0)
        return [out, *torch.autograd.grad((out * weight).sin().sum(), [given, *layer.parameters()])]

    for together in (False, True):
        plain = results(False, together)
        for one, other in zip(results(True, together), plain):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
