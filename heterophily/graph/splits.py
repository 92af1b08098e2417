"""Which nodes are for training, which for validation, which for the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from heterophily.graph.checks import GraphError, first, read_integers, read_labels, read_mask

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint training, validation and test nodes, each a boolean mask of shape (N,).

    A node may be in none of the three. Validation and test may be empty, training may not.
    """

    train: Tensor
    validation: Tensor
    test: Tensor
    name: str = "0"

    def __post_init__(self) -> None:
        masks = {
            part: read_mask(mask, f"the {part} mask of split {self.name!r}") for part, mask in self.parts()
        }
        if len({len(mask) for mask in masks.values()}) > 1:
            lengths = ", ".join(f"{part} {len(mask)}" for part, mask in masks.items())
            raise GraphError(
                f"the masks of split {self.name!r} differ in length ({lengths}); give one entry per node"
            )
        masks = {part: mask.to(masks["train"].device) for part, mask in masks.items()}
        for a, b in combinations(PARTS, 2):
            if (both := masks[a] & masks[b]).any():
                raise GraphError(
                    f"split {self.name!r}: its {a} and {b} masks overlap (nodes in both: "
                    f"{int(both.sum()):,}, the first is node {first(both)}); take them out of one of the two"
                )
        if not masks["train"].any():
            raise GraphError(f"split {self.name!r} has no training node; mark at least one in its train mask")
        self.__dict__.update(masks)

    @classmethod
    def from_indices(cls, num_nodes: int, train: Any, validation: Any, test: Any, name: str = "0") -> Self:
        """Build a split from node ids instead of masks."""

        def mask(part: str, given: Any) -> Tensor:
            what = f"the {part} nodes of split {name!r}"
            ids = read_integers(given, what, "pass node ids; for boolean masks use Split(...)").flatten()
            if (bad := (ids < 0) | (ids >= num_nodes)).any():
                raise GraphError(
                    f"{what}: entry {first(bad)} is {int(ids[first(bad)])}, but the nodes are 0 to "
                    f"{num_nodes - 1} (such entries: {int(bad.sum()):,}); remove them or correct num_nodes"
                )
            return torch.zeros(num_nodes, dtype=torch.bool, device=ids.device).index_fill_(0, ids, True)

        return cls(mask("train", train), mask("validation", validation), mask("test", test), name)

    def parts(self) -> list[tuple[str, Tensor]]:
        """The three masks with their names."""
        return [(part, getattr(self, part)) for part in PARTS]

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Apply one function, such as a permutation, to all three masks."""
        return type(self)(function(self.train), function(self.validation), function(self.test), self.name)

    def padded(self, num_nodes: int) -> Self:
        """The same split of a graph that has grown: its new nodes are in none of the parts."""
        return self.map(lambda mask: torch.nn.functional.pad(mask, (0, num_nodes - len(mask))))

    def halved(self, seed: int = 0) -> tuple[Self, Self]:
        """Two splits without the test nodes: one half of validation validates, the other is to judge it."""
        nodes = self.validation.nonzero().flatten()
        if len(nodes) < 2:
            raise GraphError(
                f"split {self.name!r} has fewer than two validation nodes, so no two halves of them"
            )
        nodes = nodes[
            torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed)).to(nodes.device)
        ]
        one, other = (torch.zeros_like(self.train).index_fill_(0, nodes[k::2], True) for k in (0, 1))
        return type(self)(self.train, one, other, self.name), type(self)(self.train, other, one, self.name)

    def __repr__(self) -> str:
        return (
            f"Split({self.name!r}: {', '.join(f'{int(mask.sum()):,} {part}' for part, mask in self.parts())})"
        )


def random_splits(
    y: Any,
    count: int = 10,
    train: float = 0.5,
    validation: float = 0.25,
    seed: int = 0,
    stratified: bool = False,
) -> tuple[Split, ...]:
    """Draw ``count`` random splits of the labelled nodes; those not in train or validation are the test.

    ``stratified`` keeps the fractions in each class, with at least one training node of each. Split i
    depends on ``seed`` and i alone: asking for more splits leaves the earlier ones as they are.
    """
    labels = read_labels(y).cpu().numpy()
    labelled = np.flatnonzero(labels >= 0)
    if not len(labelled):
        raise GraphError("no node is labelled, so there is nothing to split; y needs labels other than -1")
    if count < 1 or train <= 0 or validation < 0 or train + validation > 1 + 1e-9:
        raise GraphError(
            f"cannot draw count={count} splits with train={train}, validation={validation}; count must be "
            "at least 1, train positive, validation not negative, and the two at most 1 together"
        )
    groups = [np.flatnonzero(labels == c) for c in np.unique(labels[labelled])] if stratified else [labelled]
    splits = []
    for i in range(count):
        random = np.random.Generator(np.random.PCG64([seed, i]))
        drawn = []
        for group in groups:
            # Sorting uniform numbers, unlike a shuffle, gives one order on every machine and version.
            order = np.argsort(random.random(len(group)), kind="stable")
            end = max(1, round(train * len(group)))
            drawn.append(np.split(group[order], [end, max(end, round((train + validation) * len(group)))]))
        ours, theirs, rest = (np.concatenate(part) for part in zip(*drawn, strict=True))
        splits.append(Split.from_indices(len(labels), ours, theirs, rest, name=str(i)))
    return tuple(splits)
