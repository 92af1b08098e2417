"""Where to train: a name is a device there is, or is refused."""

from __future__ import annotations

import pytest
import torch

from heterophily.config import ConfigError
from heterophily.training.device import choose_device


@pytest.mark.parametrize("name", ["meta", "mps", "abacus", "cpu:3", "cuda:", "cuda:x", "cuda:1000", ""])
def test_a_device_that_cannot_train_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown device '{name}'; use auto, cpu or cuda"):
        choose_device(name)


def test_a_gpu_is_taken_by_number_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match="there is no device 'cuda:2'; this machine has cuda:0 to cuda:1"):
        choose_device("cuda:2")


def test_without_a_gpu_auto_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match="no CUDA device was found"):
        choose_device("cuda:0")
