"""Where to train."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re

import torch

from heterophily.config import ConfigError


def be_deterministic() -> None:
    """Let torch use only operations that give the same bits each time; where it has none it says so.

    A CPU gives the same bits in any case. Must be called before the first CUDA operation of the process.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


def choose_device(name: str, deterministic: bool = False) -> torch.device:
    """Return the device of a name; "auto" is a GPU where there is one."""
    if deterministic:
        be_deterministic()
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:[0-9]{1,2})?", str(name)):
        raise ConfigError(
            f"unknown device '{name}'; use auto, cpu or cuda, or cuda:N for the N-th GPU from 0"
        )
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError("no CUDA device was found by this PyTorch; use --device cpu or auto")
        if (device.index or 0) >= (count := torch.cuda.device_count()):
            raise ConfigError(f"there is no device '{name}'; this machine has cuda:0 to cuda:{count - 1}")
    return device


def machine() -> list[str]:
    """Say in two lines what this runs on."""
    threads = torch.get_num_threads()
    where = f"cpu, {threads} thread{'s' if threads > 1 else ''}"
    if torch.cuda.is_available():
        facts = torch.cuda.get_device_properties(0)
        where = f"cuda, {facts.name}, {facts.total_memory / 2**30:.0f} GiB"
    geometric = importlib.metadata.version("torch-geometric")
    return [
        f"Python {platform.python_version()}, torch {torch.__version__}, torch-geometric {geometric}, "
        f"{platform.system()} {platform.machine()}",
        f"device: {where}",
    ]


def take_part(device: str | torch.device, jobs: int) -> None:
    """Leave so many processes side by side, this one among them, their parts of cores and GPU memory."""
    torch.set_num_threads(max(1, torch.get_num_threads() // jobs))
    if torch.device(device).type == "cuda":
        torch.cuda.set_per_process_memory_fraction(1 / jobs, torch.device(device).index)
