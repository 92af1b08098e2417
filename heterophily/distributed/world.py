"""The processes of a job, and what they tell each other: sums, gathered pieces, exchanged rows."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from heterophily.config import ConfigError
from heterophily.training.device import choose_device

PATIENCE = timedelta(minutes=15)
"""How long a process waits for the others before it takes them for lost."""


class LostError(ValueError):
    """Another process of the job died, or does not answer."""


class World:
    """The processes of a job, each with its rank; one alone tells nobody anything.

    Every process must call the same methods in the same order.
    """

    def __init__(self, device: torch.device = torch.device("cpu")):
        self.device, self.rank, self.size = device, 0, 1
        self.group: Any = None

    def join(self, group: Any) -> None:
        """Belong to a group of processes from now on."""
        self.group, self.rank, self.size = group, group.rank(), group.size()

    def total(self, part: Tensor) -> Tensor:
        """Return the sum over all processes; gradients flow back to every process's part."""
        if self.size == 1:
            return part
        out: Tensor = _Total.apply(part, self)  # type: ignore[no-untyped-call]
        return out

    def gathered(self, part: Tensor) -> list[Tensor]:
        """Return the parts of all processes by rank; they may differ in length."""
        if self.size == 1:
            return [part]
        lengths = torch.zeros(self.size, dtype=torch.int64, device=self.device)
        lengths[self.rank] = len(part)
        counts = self.total(lengths).tolist()
        rooms = [part.new_empty(max(counts), *part.shape[1:]) for _ in counts]
        mine = part.new_zeros(max(counts), *part.shape[1:])  # all of one length, as NCCL wants it
        mine[: len(part)] = part
        with listening():
            dist.all_gather(rooms, mine, group=self.group)
        return [room[:count] for room, count in zip(rooms, counts, strict=True)]

    def before(self, count: int) -> tuple[int, int]:
        """Return the sum of the counts of the processes of lower rank, and that of all."""
        counts = [int(n) for n in self.gathered(torch.tensor([count], device=self.device))]
        return sum(counts[: self.rank]), sum(counts)

    def exchange(self, outgoing: Tensor, sent: Sequence[int], received: Sequence[int]) -> Tensor:
        """Send rows to every process, ``sent`` of them to each in turn; return those received, by rank."""
        incoming = outgoing.new_empty(sum(received), *outgoing.shape[1:])
        if self.size > 1:
            with listening():
                dist.all_to_all_single(
                    incoming, outgoing.contiguous(), list(received), list(sent), group=self.group
                )
        return incoming

    def wait(self) -> None:
        """Return when all processes have come here."""
        self.total(torch.zeros(1, device=self.device))

    def first(self, said: str | None) -> str | None:
        """Return what the process of the lowest rank that says anything says."""
        if self.size == 1:
            return said
        every: list[str | None] = [None] * self.size
        with listening():
            dist.all_gather_object(every, said, group=self.group)
        return next((each for each in every if each is not None), None)


@contextmanager
def world(device: str = "auto") -> Iterator[World]:
    """Join the job that torchrun started this process for; without torchrun, be alone.

    NCCL where each process has a GPU, the one of its local rank; else gloo.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield World(choose_device(device))
        return
    place = choose_device(device)
    if place.type == "cuda":
        place = choose_device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}")
        torch.cuda.set_device(place)
    before = signal.signal(signal.SIGTERM, _told_to_end)
    joined = World(place)
    try:
        with listening():
            dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=PATIENCE)
        joined.join(dist.group.WORLD)
        yield joined
        joined.wait()  # nobody hangs up while others may still speak
    finally:
        signal.signal(signal.SIGTERM, before)
        joined.group = None  # a group that outlives this makes the interpreter abort when it ends
        if dist.is_initialized():
            dist.destroy_process_group()


@contextmanager
def listening() -> Iterator[None]:
    """Turn what torch.distributed raises when a process is lost into an error that says so."""
    try:
        yield
    except RuntimeError as error:
        _listen_to_nothing()
        first = re.sub(r"^\[\S*\]\s*", "", str(error).strip()).splitlines()[0]  # not where in whose source
        reason = first.partition(". ")[0].rstrip(".")
        raise LostError(f"a process of the job died or does not answer, so the job ends ({reason})") from None


def _listen_to_nothing() -> None:
    """From here on a process says why it ends, and ends; torchrun's SIGTERM must not cut it short."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _told_to_end(number: int, frame: FrameType | None) -> None:
    _listen_to_nothing()
    raise LostError("the job was told to end (SIGTERM), as torchrun does when one of its processes died")


def checked(size: int, nodes: int) -> None:
    """Refuse more processes than nodes."""
    if size > nodes:
        raise ConfigError(
            f"{size} processes for {nodes} nodes; each needs a node at least, so start at most {nodes}"
        )


class _Total(torch.autograd.Function):
    """The sum over all processes. Each adds its share to the loss, so the gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, world: World) -> Tensor:
        ctx.world = world
        out = part.detach().clone(memory_format=torch.contiguous_format)
        with listening():
            dist.all_reduce(out, group=world.group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        out = grad.clone(memory_format=torch.contiguous_format)
        with listening():
            dist.all_reduce(out, group=ctx.world.group)
        return out, None
