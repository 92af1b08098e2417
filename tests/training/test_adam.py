"""Adam over stacked runs is torch's, run by run; on a GPU, in one pass over memory."""

from __future__ import annotations

import pytest
import torch

from heterophily.kernels import kernels
from heterophily.training import adam

RATES, DECAYS = [0.01, 0.1, 0.001], [0.0, 1e-2, 1e-3]
SHAPES = {"weight": (5, 700), "bias": (7,), "scale": ()}


def of_runs(decays: list[float], device: str = "cpu") -> tuple[torch.Tensor, ...]:
    """Rate and decay of each run side by side in memory, as the engine has them."""
    pairs = list(zip(RATES, decays, strict=True))
    return torch.tensor(pairs, dtype=torch.float64, device=device).unbind(1)


def stepped(
    device: str, decoupled: bool, decays: list[float], dtype: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    params = {
        name: torch.randn(3, *shape, generator=draw).to(device, dtype) for name, shape in SHAPES.items()
    }
    rate, decay = of_runs(decays, device)
    optimizer = adam.Adam(params, rate, decay, decoupled, spared=["bias"])
    for _ in range(5):
        grads = {name: torch.randn(p.shape, generator=draw).to(device, dtype) for name, p in params.items()}
        optimizer.step(params, grads)
    return params


def by_torch(decoupled: bool, decays: list[float]) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    params = {name: torch.randn(3, *shape, generator=draw) for name, shape in SHAPES.items()}
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    runs = []
    for run, (rate, decay) in enumerate(zip(RATES, decays)):
        groups = [
            {"params": [p[run]], "weight_decay": 0.0 if name == "bias" else decay}
            for name, p in params.items()
        ]
        runs.append(kind(groups, lr=rate))
    for _ in range(5):
        grads = [torch.randn(p.shape, generator=draw) for p in params.values()]
        for run, optimizer in enumerate(runs):
            for group, grad in zip(optimizer.param_groups, grads):
                group["params"][0].grad = grad[run]
            optimizer.step()
    return params


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("decays", [[0.0] * 3, DECAYS])
def test_every_run_moves_as_torchs_own_optimizer_moves_it(decoupled: bool, decays: list[float]) -> None:
    ours, theirs = stepped("cpu", decoupled, decays), by_torch(decoupled, decays)
    for name, p in ours.items():
        torch.testing.assert_close(p, theirs[name], rtol=1e-5, atol=1e-6)


def test_what_a_kernel_reads_run_by_run_lies_run_by_run() -> None:
    rate, decay = of_runs(DECAYS)
    optimizer = adam.Adam({"weight": torch.ones(3, 2, dtype=torch.float64)}, rate, decay)
    assert not decay.is_contiguous()
    assert optimizer.weight_decay.is_contiguous()
    assert optimizer.weight_decay.tolist() == DECAYS
    assert optimizer.learning_rate.is_contiguous()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("decays", [[0.0] * 3, DECAYS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_pass_over_memory_moves_them_as_many_passes_do(
    decoupled: bool, decays: list[float], dtype: torch.dtype
) -> None:
    if kernels(torch.device("cuda", 0)) is None:
        pytest.skip("no Triton")
    on_gpu, here = (stepped(device, decoupled, decays, dtype) for device in ("cuda:0", "cpu"))
    for name, p in on_gpu.items():
        torch.testing.assert_close(p.cpu(), here[name], rtol=1e-5, atol=1e-6)
