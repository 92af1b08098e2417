"""Where to train."""

from __future__ import annotations

import torch

from heterophily.config import ConfigError


def choose_device(name: str) -> torch.device:
    """Return the device of a name; "auto" is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"unknown device '{name}'; use auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("no CUDA device was found by this PyTorch; use --device cpu or auto")
    return device
