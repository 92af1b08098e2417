"""What a model promises: stages of training, each a plain module and what it reads.

A model is a generator. It yields a `Stage`, gets back the `Trained` result, and may go on with
another; what it returns is the `Outcome`. So a method of several stages reads top to bottom as in
its paper, while whoever drives the generators is free to train one stage or hundreds together.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.weak import WeakTensorKeyDictionary

from heterophily.graph import Graph, Split
from heterophily.sparse import Features, features, row_normalized

M = TypeVar("M", bound=nn.Module)


class DivergedError(ValueError):
    """A training in which no epoch gave a finite loss."""


class Diverged(NamedTuple):
    """Where a training broke off: its loss was no longer a finite number, and never is again."""

    epoch: int
    term: str
    """The part of the loss, or the loss on the validation nodes."""

    def __str__(self) -> str:
        return f"its {self.term.replace('_', ' ')} was not finite in epoch {self.epoch}"


State = dict[str, Any]
"""Tensors, possibly nested, that a step reads; ``labels``, ``train`` and ``validation`` among them."""

Network = Callable[..., Any]
"""A module with its weights bound."""


@dataclass(frozen=True)
class Schedule:
    """How a stage is optimized: Adam, and when it ends."""

    learning_rate: float
    weight_decay: float
    epochs: int
    patience: int
    by_loss: bool = False
    """Keep the epoch of the lowest validation loss, instead of the best score (ties: the lower loss)."""
    decoupled: bool = False
    """Decay weights apart from the gradient (AdamW)."""
    spared: tuple[str, ...] = ()
    """Parameters that are not decayed."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One training. Its functions are pure and free of boolean indexing and host reads, so that
    many runs can be vectorized; none of them knows of more than one run."""

    module: nn.Module
    state: State
    loss: Callable[[Network, State], dict[str, Tensor]]
    """Return the named parts of the loss; the one called ``loss`` is minimized."""
    logits: Callable[[Network, State], Tensor]
    schedule: Schedule
    refresh: Callable[[State, Tensor], tuple[State, dict[str, Tensor]]] | None = None
    """When the validation score passes ``bar`` and all before: the ``renewed`` entries, and notes on them."""
    renewed: tuple[str, ...] = ()
    notes: dict[str, float] = field(default_factory=dict)
    """What ``refresh`` will note, as it stands before the first time; each note stays until the next."""
    part: Callable[[State, Tensor], State] | None = None
    """The state of some nodes alone, in ascending order, for mini-batches."""
    bar: float = 0.0
    metric: str = "accuracy"
    key: Hashable = field(default_factory=object)
    """Stages with equal keys are one training."""
    blind: bool = False
    """Whether its loss reads nothing of the validation nodes: they say which epoch is kept, and no more."""
    course: Hashable = None
    """Blind stages with equal courses take the same steps and differ in what is kept; None is its own."""
    name: str = "training"
    """What a watcher is told that it is watching."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What is left of a stage: the weights, state and logits of its best validation epoch."""

    weights: dict[str, Tensor]
    state: State
    logits: Tensor
    validation: float
    validation_loss: float
    best_epoch: int
    epochs: int
    seconds: float
    """This run's share of the time its batch took, by epochs."""
    history: dict[str, list[float]]
    last_logits: Tensor | None = None
    """The logits of the epoch in which training ended, for whoever reads a paper so."""
    diverged: Diverged | None = None
    """Why training ended early; what is left is then of the best epoch before, if there was one."""

    @classmethod
    def told(cls, stage: Stage, weights: dict[str, Tensor]) -> Trained:
        """Return what a stage computes with given weights: nothing is trained, and no label is read."""
        module = stage.module.to(stage.state["labels"].device).eval()
        with torch.no_grad():
            logits = stage.logits(
                lambda *args: torch.func.functional_call(module, weights, args), stage.state
            )
        nothing = float("nan")
        return cls(weights, stage.state, logits, nothing, nothing, 0, 0, 0.0, {})


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a run: the trained module and everything a reader of the result may ask for."""

    module: nn.Module
    trained: Trained
    initial: Trained | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Frozen:
    """A trained model without its graph: all that it takes along to nodes that come later."""

    weights: dict[str, Tensor]
    initial: dict[str, Tensor] = field(default_factory=dict)
    """Weights of the stage before, if there was one."""
    numbers: dict[str, Tensor] = field(default_factory=dict)
    """What was read off the training graph and stays as it was, such as a threshold."""


Procedure = Generator[Stage, Trained, Outcome]


def visible(graph: Graph, split: Split) -> State:
    """Return the labels and masks of a split that training may read; test labels are not among them."""
    known = split.train | split.validation
    labels = torch.where(known, graph.y, -1)
    return {"labels": labels, "train": split.train, "validation": split.validation}


def node_features(graph: Graph, norm: str = "none") -> Features:
    """Return X, sparse where it is mostly zero; "row" divides each row by its sum of absolute values."""

    def build() -> Features:
        x = features(graph.x)
        return row_normalized(x) if norm == "row" else x

    found: Features = remember([graph.x], ("x", norm), build)
    return found


def cross_entropy(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Mean cross-entropy over the nodes of ``mask`` (Eq. 23)."""
    each = F.cross_entropy(logits, labels.clamp(min=0), reduction="none")
    return (each * mask).sum() / mask.sum()


def remember(anchors: Sequence[Tensor], key: Hashable, compute: Callable[[], Any]) -> Any:
    """Compute once for as long as the anchors live: runs on one graph share what they prepare.

    The anchors are the tensors, told apart by identity, and ``key`` the settings a result depends on.
    """
    memory = _PREPARED
    for anchor in anchors:
        memory = memory.below.setdefault(anchor, _Memory())
        key = (key, 0 if anchor.is_inference() else anchor._version)  # changed in place: computed anew
    if key not in memory.kept:
        value = compute()
        if any(value is anchor for anchor in anchors):
            return value  # what holds its own anchor would never be forgotten
        memory.kept[key] = value
    return memory.kept[key]


class _Memory:
    """What is remembered for some anchors, and for these and one more."""

    def __init__(self) -> None:
        self.kept: dict[Hashable, Any] = {}
        self.below = WeakTensorKeyDictionary()


def digest(mask: Tensor) -> bytes:
    """Name a mask or labels by their content."""
    return hashlib.blake2b(mask.cpu().numpy().tobytes(), digest_size=16).digest()


def drawn(seed: int, make: Callable[..., M], *args: Any, **more: Any) -> M:
    """Return ``make(...)``, drawn from ``seed``, and leave torch's own generator as it was.

    The runs of a setting on several splits begin with equal modules: of equal calls in a row only the first
    draws, and the others copy.
    """
    return copy.deepcopy(_drawn(seed, make, args, tuple(more.items())))


@lru_cache(maxsize=1)
def _drawn(seed: int, make: Callable[..., M], args: tuple[Any, ...], more: tuple[Any, ...]) -> M:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(*args, **dict(more))


_PREPARED = _Memory()
