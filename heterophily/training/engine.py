"""The engine: trains one stage or hundreds together, each as if it were alone.

Every tensor of a run gets a leading axis of runs. Plain modules are vectorized with ``torch.func``;
Adam, early stopping, the best weights and the refresh of Algorithm 1 are kept per run, and finished
runs leave the batch.
"""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from heterophily.stage import Network, Stage, State, Trained
from heterophily.training import metrics
from heterophily.training.adam import Adam
from heterophily.training.stacking import Stacked

Named = dict[str, Tensor]


@dataclass(frozen=True)
class Progress:
    """What a watcher of a training is told after each epoch."""

    runs: int
    alive: int
    epoch: int
    best: float


Watch = Callable[[Progress], None]


class Batch:
    """Stages of one signature in training; the first axis of a stacked tensor is the runs still alive.

    A batch of one is the plain loop: the module is called as it is, without ``vmap``.
    """

    def __init__(self, stages: Sequence[Stage], device: torch.device, dtype: torch.dtype = torch.float32):
        self.stages, self.stage, self.device = stages, stages[0], device
        self.skeleton = copy.deepcopy(self.stage.module).to(device=device, dtype=dtype)
        self.params = _stack_named([dict(s.module.named_parameters()) for s in stages], device, dtype)
        self.buffers = _stack_named([dict(s.module.named_buffers()) for s in stages], device, dtype)
        self.state = Stacked.from_states([s.state for s in stages], self.stage.renewed, device, dtype)

        def per_run(values: Sequence[float], kind: torch.dtype = torch.float64) -> Tensor:
            return torch.tensor(values, dtype=kind, device=device)

        schedules = [s.schedule for s in stages]
        self.adam = Adam(
            self.params,
            per_run([s.learning_rate for s in schedules]),
            per_run([s.weight_decay for s in schedules]),
        )
        runs = len(stages)
        self.ids = torch.arange(runs, device=device)  # which run each row is
        self.last = per_run([s.epochs for s in schedules], torch.int64)
        self.patience = per_run([s.patience for s in schedules], torch.int64)
        self.bar = per_run([s.bar for s in stages])
        self.score = per_run([-1.0] * runs)
        self.loss = per_run([torch.inf] * runs)
        self.best_epoch = per_run([0] * runs, torch.int64)
        self.kept = {name: t.clone() for name, t in (self.params | self.buffers).items()}
        self.kept_state = self.state.select(self.stage.renewed)
        self.kept_logits: Tensor | None = None
        self.history: list[tuple[Tensor, Named]] = []

    def run(self, watch: Watch | None = None) -> list[Trained]:
        """Train until every run has stopped; results in the order of the stages."""
        start = time.perf_counter()
        last = int(self.last.max())
        for epoch in range(0 if last == 0 else 1, last + 1):
            parts = self._step() if epoch else {}
            self._judge(epoch, parts, self._logits())
            if watch:
                watch(Progress(len(self.stages), len(self.ids), epoch, float(self.score.max())))
            if not len(self.ids):
                break
        return self._results(time.perf_counter() - start)

    def _step(self) -> Named:
        """Take one step of Adam; runs are independent, so the sum of their losses has all gradients."""
        self.skeleton.train()
        params = {name: p.detach().requires_grad_() for name, p in self.params.items()}
        parts: Named = self._each(self.stage.loss, params)
        grads = torch.autograd.grad(parts["loss"].sum(), list(params.values()))
        with torch.no_grad():
            self.adam.step(self.params, dict(zip(params, grads, strict=True)))
        return {name: part.detach() for name, part in parts.items()}

    @torch.no_grad()
    def _logits(self) -> Tensor:
        self.skeleton.eval()
        out: Tensor = self._each(self.stage.logits, self.params)
        return out

    def _each(self, function: Callable[[Network, State], Any], params: Named) -> Any:
        """Call ``function(network, state)`` for every run; results get a leading axis of runs."""

        def one(p: Named, b: Named, state: State) -> Any:
            return function(lambda *args: functional_call(self.skeleton, (p, b), args), state)

        return self.state.each(one, params, self.buffers)

    @torch.no_grad()
    def _judge(self, epoch: int, parts: Named, logits: Tensor) -> None:
        """Score the epoch on validation, keep what is best, refresh what improved, let go what is done."""
        state = self.state.tree()
        labels, train, validation = state["labels"], state["train"], state["validation"]
        score = metrics.score(self.stage.metric, logits, labels, validation)
        loss = metrics.loss(logits, labels, validation).double()
        best, least = self.score[self.ids], self.loss[self.ids]
        better = ((score > best) | ((score == best) & (loss < least))) & loss.isfinite()
        improved = (score > self.bar[self.ids]) & loss.isfinite()
        since = torch.where(better, epoch, self.best_epoch[self.ids])
        done = (epoch - since >= self.patience[self.ids]) | (epoch >= self.last[self.ids])
        better, improved, done = torch.stack([better, improved, done]).cpu()  # the epoch's one wait

        self._keep(better, epoch, score, loss, logits)
        notes = self._refresh(improved, score, logits)
        scores = {
            "validation": score,
            "validation_loss": loss,
            "train": metrics.accuracy(logits, labels, train),
        }
        self.history.append((self.ids, parts | scores | notes))
        if done.any():
            self._compact((~done).nonzero().flatten().to(self.device))

    def _keep(self, better: Tensor, epoch: int, score: Tensor, loss: Tensor, logits: Tensor) -> None:
        if self.kept_logits is None:
            self.kept_logits = logits.clone()
        if not better.any():
            return
        rows = better.nonzero().flatten().to(self.device)
        ids = self.ids[rows]
        self.score[ids], self.loss[ids], self.best_epoch[ids] = score[rows], loss[rows], epoch
        self.kept_logits[ids] = logits[rows]
        for name, tensor in (self.params | self.buffers).items():
            self.kept[name][ids] = tensor[rows]
        self.kept_state.put(self.state, ids, rows)

    def _refresh(self, improved: Tensor, score: Tensor, logits: Tensor) -> Named:
        """Let improved runs recompute what depends on their assignments (Algorithm 1, lines 14-17)."""
        refresh = self.stage.refresh
        if refresh is None or not improved.any():
            return {}
        rows = improved.nonzero().flatten().to(self.device)
        self.bar[self.ids[rows]] = score[rows]
        new, notes = self.state.take(rows).each(lambda z, state: refresh(state, z), logits[rows])
        self.state.renew(new, rows)
        blank = torch.full((len(self.ids),), torch.nan, dtype=torch.float64, device=self.device)
        return {name: blank.index_put((rows,), note.double()) for name, note in notes.items()}

    def _compact(self, rows: Tensor) -> None:
        self.ids = self.ids[rows]
        self.params = {name: p[rows] for name, p in self.params.items()}
        self.buffers = {name: b[rows] for name, b in self.buffers.items()}
        self.state = self.state.take(rows)
        self.adam.keep(rows)

    def _results(self, seconds: float) -> list[Trained]:
        assert self.kept_logits is not None
        curves = _curves(self.history, len(self.stages))
        epochs = [len(curve["validation"]) for curve in curves]
        score, loss, best = self.score.tolist(), self.loss.tolist(), self.best_epoch.tolist()
        return [
            Trained(
                weights={name: t[i] for name, t in self.kept.items()},
                state=stage.state | self.kept_state.one(i),
                logits=self.kept_logits[i],
                validation=score[i],
                validation_loss=loss[i],
                best_epoch=best[i],
                epochs=epochs[i],
                seconds=seconds * epochs[i] / sum(epochs),
                history=curves[i],
            )
            for i, stage in enumerate(self.stages)
        ]


def _stack_named(each: Sequence[Named], device: torch.device, dtype: torch.dtype) -> Named:
    stacked = {name: torch.stack([named[name].detach() for named in each]).to(device) for name in each[0]}
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in stacked.items()}


def _curves(history: Sequence[tuple[Tensor, Named]], runs: int) -> list[dict[str, list[float]]]:
    """Turn one table per epoch into one history per run; a note not taken in an epoch is NaN there."""
    names = list(dict.fromkeys(name for _, figures in history for name in figures))
    curves: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(runs)]
    for ids, figures in history:
        rows = len(ids)
        columns = [figures.get(name, torch.full((rows,), torch.nan)).double().tolist() for name in names]
        for i, *values in zip(ids.tolist(), *columns, strict=True):
            for name, value in zip(names, values, strict=True):
                curves[i][name].append(value)
    return [dict(curve) for curve in curves]
