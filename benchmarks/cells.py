"""Cells of Table 1, one after the other or some at a time in processes of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import lru_cache
from multiprocessing import get_context
from typing import TypeVar

import torch

from heterophily import load
from heterophily.graph import Graph
from heterophily.training.device import take_part

Place = TypeVar("Place")
Result = TypeVar("Result")


def cell_by_cell(
    function: Callable[[Place], Result],
    places: Iterable[Place],
    device: str,
    jobs: int = 1,
    tf32: bool = False,
) -> Iterator[tuple[Place, Result]]:
    """Yield each place with what the function makes of it.

    Side by side, what is over first comes first, and a process has its part of the cores and of the device's
    memory.
    """
    if jobs == 1:
        prepare(device, jobs, tf32)
        yield from ((place, function(place)) for place in places)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), prepare, (device, jobs, tf32)) as pool:
        futures = {pool.submit(function, place): place for place in places}
        for future in as_completed(futures):
            yield futures[future], future.result()


def prepare(device: str, jobs: int, tf32: bool) -> None:
    """Make a process ready; ``tf32`` rounds the factors of dense products on a GPU."""
    warnings.simplefilter("ignore")
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    take_part(device, jobs)


def failed(error: Exception, device: str) -> str:
    """Say in a line what went wrong with a cell, and leave its memory to the next."""
    if device.startswith("cuda"):
        with suppress(RuntimeError):  # what broke the device breaks this, too
            torch.cuda.empty_cache()
    return f"{type(error).__name__}: {error}"[:300]


@lru_cache(1)
def graph_of(dataset: str, data: str | None) -> Graph:
    """Read a graph once for all its models."""
    return load(dataset, data=data)


def device_name(device: str) -> str:
    """Name the device in a result."""
    return torch.cuda.get_device_name() if device.startswith("cuda") else "cpu"
