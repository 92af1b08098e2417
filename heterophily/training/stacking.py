"""The states of many runs as one tree: what all runs share stands once, the rest is stacked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from heterophily import sparse
from heterophily.sparse import SparseMatrix
from heterophily.stage import Stage, State


def signature(stage: Stage) -> Hashable:
    """Say what must agree for stages to be trained in one batch: code and shapes, not values."""
    tensors = [*stage.module.named_parameters(), *stage.module.named_buffers()]
    weights = tuple((name, t.shape) for name, t in tensors)
    leaves, spec = pytree.tree_flatten(stage.state, is_leaf=_is_matrix)
    shapes = tuple((type(leaf), leaf.shape) for leaf in leaves)
    functions = (stage.loss, stage.logits, stage.refresh)
    schedule = stage.schedule
    how = (schedule.epochs > 0, schedule.decoupled, schedule.spared)
    return repr(stage.module), weights, str(spec), shapes, functions, stage.metric, how


class Stacked:
    """One tree of tensors for all runs. A tree of a single run is kept as it is, without a runs axis."""

    def __init__(self, leaves: list[Any], dims: list[int | None], spec: Any, alone: bool):
        self.leaves, self.dims, self.spec, self.alone = leaves, dims, spec, alone

    @classmethod
    def from_states(
        cls, states: Sequence[State], renewed: Sequence[str], device: torch.device, dtype: torch.dtype
    ) -> Stacked:
        """Stack states entry by entry; ``renewed`` entries are stacked even where all runs agree."""
        seen: dict[int, Tensor] = {}
        moved = [pytree.tree_map(lambda t: _moved(t, device, dtype, seen), state) for state in states]
        if len(states) == 1:
            own = {name: pytree.tree_map(lambda t: _map(torch.clone, t), moved[0][name]) for name in renewed}
            leaves, spec = pytree.tree_flatten(moved[0] | own)
            return cls(leaves, [None] * len(leaves), spec, True)
        tree, dims = {}, {}
        for name in states[0]:
            parts = [pytree.tree_flatten(state[name], is_leaf=_is_matrix) for state in moved]
            pairs = [_stack(each, name in renewed) for each in zip(*(p[0] for p in parts), strict=True)]
            tree[name] = pytree.tree_unflatten([pair[0] for pair in pairs], parts[0][1])
            dims[name] = pytree.tree_unflatten([pair[1] for pair in pairs], parts[0][1])
        leaves, spec = pytree.tree_flatten(tree)
        return cls(leaves, pytree.tree_flatten(dims)[0], spec, False)

    def tree(self) -> State:
        """Return the tree; its stacked tensors have the runs first."""
        state: State = pytree.tree_unflatten(self.leaves, self.spec)
        return state

    def each(self, function: Callable[..., Any], *stacked: Any) -> Any:
        """Call ``function(*of_a_run, state_of_a_run)`` for every run; results get a leading runs axis."""
        if self.alone:
            args = pytree.tree_map(lambda t: t.squeeze(0), stacked)
            return pytree.tree_map(_unsqueeze, function(*args, self.tree()))
        count = len(stacked)
        shape: list[Any] = []

        def one(*args: Any) -> list[Tensor]:
            out = function(*args[:count], pytree.tree_unflatten(list(args[count:]), self.spec))
            leaves, spec = pytree.tree_flatten(out)
            shape[:] = [part is None for part in leaves], spec
            return [part for part in leaves if part is not None]  # vmap returns tensors only

        tensors = iter(torch.vmap(one, (*[0] * count, *self.dims))(*stacked, *self.leaves))
        missing, spec = shape
        return pytree.tree_unflatten([None if gone else next(tensors) for gone in missing], spec)

    def take(self, rows: Tensor) -> Stacked:
        """Go on with some of the runs; parts that are one tensor stay one."""
        seen: dict[int, Tensor] = {}
        for leaf, dim in zip(self.leaves, self.dims, strict=True):
            if dim == 0 and leaf is not None and id(leaf) not in seen:
                seen[id(leaf)] = leaf[rows]
        leaves = [seen.get(id(leaf), leaf) for leaf in self.leaves]
        return Stacked(leaves, self.dims, self.spec, self.alone)

    def select(self, names: Sequence[str]) -> Stacked:
        """Return a copy of some entries."""
        tree = self.tree()
        leaves, spec = pytree.tree_flatten({name: tree[name] for name in names})
        dims: list[int | None] = [None if self.alone else 0] * len(leaves)
        kept = [_map(torch.clone, leaf) for leaf in leaves]
        return Stacked(kept, dims, spec, self.alone)

    def put(self, source: Stacked, ids: Tensor, rows: Tensor) -> None:
        """Overwrite the runs ``ids`` of this tree with the runs ``rows`` of another that has its entries."""
        tree = source.tree()
        given = pytree.tree_flatten({name: tree[name] for name in self.tree()})[0]
        if self.alone:
            self.leaves = [_map(torch.clone, part) for part in given]
        else:
            _assign(self.leaves, ids, [_map(lambda t: t[rows], part) for part in given])

    def renew(self, new: State, rows: Tensor) -> None:
        """Overwrite entries of the runs ``rows`` in place; ``new`` has them in that order."""
        tree = self.tree()
        old = pytree.tree_flatten({name: tree[name] for name in new})[0]
        if self.alone:
            old = [_map(lambda t: t.unsqueeze(0), part) for part in old]
        _assign(old, rows, pytree.tree_flatten(new)[0])

    def one(self, i: int) -> State:
        """Return the tree of run ``i``."""
        if self.alone:
            return self.tree()
        pairs = zip(self.leaves, self.dims, strict=True)
        leaves = [leaf if dim is None or leaf is None else leaf[i] for leaf, dim in pairs]
        state: State = pytree.tree_unflatten(leaves, self.spec)
        return state


def _stack(each: Sequence[Any], force: bool) -> tuple[Any, Any]:
    """Stack one part of all runs, or keep it once where all runs hold the same object."""
    first = each[0]
    if _is_matrix(first):
        shared = all(a is b for m in each for a, b in zip(m, first, strict=True)) and not force
        whole = first if shared else sparse.stack(each)
        return whole, SparseMatrix(*(None if shared or part is None else 0 for part in whole))  # type: ignore[arg-type]
    if all(part is first for part in each) and not force:
        return first, None
    return torch.stack(list(each)), 0


def _moved(part: Any, device: torch.device, dtype: torch.dtype, seen: dict[int, Tensor]) -> Any:
    if not isinstance(part, Tensor):
        return part
    if id(part) not in seen:
        kind = dtype if part.dtype == torch.float32 else part.dtype
        seen[id(part)] = part.to(device=device, dtype=kind)
    return seen[id(part)]


def _is_matrix(part: Any) -> bool:
    return isinstance(part, SparseMatrix)


def _map(function: Callable[[Tensor], Tensor], part: Tensor | None) -> Tensor | None:
    return None if part is None else function(part)


def _assign(leaves: Sequence[Tensor | None], rows: Tensor, values: Sequence[Tensor | None]) -> None:
    for leaf, value in zip(leaves, values, strict=True):
        if leaf is not None and value is not None:
            leaf[rows] = value


def _unsqueeze(part: Any) -> Any:
    return part.unsqueeze(0) if isinstance(part, Tensor) else part
