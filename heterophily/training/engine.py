"""The engine: trains one stage or hundreds together, each as if it were alone.

Every tensor of a run gets a leading axis of runs. Plain modules are vectorized with ``torch.func``;
Adam, early stopping, the best weights and the refresh of Algorithm 1 are kept per run, and finished
runs leave the batch. On a GPU an epoch is captured once as a CUDA graph and replayed.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from heterophily.layers import Dropout
from heterophily.rows import in_slices
from heterophily.stage import Diverged, Network, Stage, State, Trained
from heterophily.training import metrics
from heterophily.training.adam import Adam
from heterophily.training.allocation import TIGHT, USUAL, keep_freed_memory
from heterophily.training.stacking import Stacked

Named = dict[str, Tensor]

JUDGES = ("labels", "train", "validation")
"""Entries of a state that say how good an epoch is."""
GONE = -1
"""Stands in the history for a run that was done before the epoch."""


@dataclass(frozen=True)
class Progress:
    """What a watcher of a training is told of its batch after each epoch; nothing waits for a device."""

    stage: str
    runs: int
    """Runs that the batch began with."""
    alive: int
    """Runs still in training."""
    epoch: int
    last: int
    """The epoch in which the last run ends at the latest; patience can only bring it nearer."""
    run_epochs: int
    """Epochs done so far, added up over the runs."""
    best: float
    """Best validation score of any run so far; -1 before there is one."""
    figures: Callable[[], dict[str, float]] = dict
    """Losses and scores of the epoch, means over its runs; to call it is to wait for the device."""


Watch = Callable[[Progress], None]


class Verdict(NamedTuple):
    """What an epoch computed, one row per run."""

    logits: Tensor  # (R, N, K)
    news: Tensor  # (4, R) for the host: better than all before, above the bar, done; the validation score
    figures: Tensor  # (F, R), named by `Batch.names`


class Record:
    """How far each run of the batch has come; updated in place, so that an epoch can be replayed."""

    def __init__(self, stages: Sequence[Stage], device: torch.device):
        def per_run(values: Sequence[float], kind: torch.dtype = torch.float64) -> Tensor:
            return torch.tensor(values, dtype=kind, device=device)

        runs = len(stages)
        self.epoch = per_run([0], torch.int64)
        self.last = per_run([s.schedule.epochs for s in stages], torch.int64)
        self.patience = per_run([s.schedule.patience for s in stages], torch.int64)
        self.by_loss = per_run([s.schedule.by_loss for s in stages], torch.bool)
        self.bar = per_run([s.bar for s in stages])
        self.score = per_run([-1.0] * runs)
        self.loss = per_run([torch.inf] * runs)
        self.best_epoch = per_run([0] * runs, torch.int64)
        self.done = per_run([False] * runs, torch.bool)

    def update(self, score: Tensor, loss: Tensor, trained: Tensor | None = None) -> Tensor:
        """Take in the validation score and loss of an epoch; return the flags of `Verdict.news`.

        A run whose loss, on the validation nodes or the one it was ``trained`` with, is not finite is done:
        its weights are lost.
        """
        sound = loss.isfinite() if trained is None else loss.isfinite() & trained.isfinite()
        counts = sound & ~self.done
        lower = loss < self.loss
        better = (
            torch.where(self.by_loss, lower, (score > self.score) | ((score == self.score) & lower)) & counts
        )
        improved = (score > self.bar) & counts
        self.score.copy_(torch.where(better, score, self.score))
        self.loss.copy_(torch.where(better, loss, self.loss))
        self.best_epoch.copy_(torch.where(better, self.epoch, self.best_epoch))
        self.bar.copy_(torch.where(improved, score, self.bar))
        self.done |= ~sound | (self.epoch - self.best_epoch >= self.patience) | (self.epoch >= self.last)
        return torch.stack([better, improved, self.done])

    def keep(self, rows: Tensor) -> None:
        """Go on with some of the runs."""
        for name in ("last", "patience", "by_loss", "bar", "score", "loss", "best_epoch", "done"):
            setattr(self, name, getattr(self, name)[rows])


class Batch:
    """Stages of one signature in training; the first axis of a stacked tensor is the runs still alive.

    Runs with one course are one training, which each of them judges: ``of`` then says which, and weights and
    states have a row per training. A batch of one training is the plain loop: the module is called as it is,
    without ``vmap``.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        capture: bool | None = None,
        leave: float | None = None,
        precision: str = "full",
    ):
        large = in_slices(stages[0].state)
        if device.type == "cpu":
            keep_freed_memory(TIGHT if large else USUAL)
        self.stages, self.stage, self.device, self.dtype = stages, stages[0], device, dtype
        self.mixed = precision == "mixed"
        self.skeleton = copy.deepcopy(self.stage.module).to(device=device, dtype=dtype)
        trained, of = _courses(stages)
        self.of = None if len(trained) == len(stages) else torch.tensor(of, device=device)
        for part, *parts in zip(self.skeleton.modules(), *(s.module.modules() for s in trained)):
            if isinstance(part, Dropout):  # where one run drops, the others drop with probability 0
                part.active = any(other.active for other in parts)
        self.params = _stack_named([dict(s.module.named_parameters()) for s in trained], device, dtype)
        self.buffers = _stack_named([dict(s.module.named_buffers()) for s in trained], device, dtype)
        self.state = Stacked.from_states([s.state for s in trained], self.stage.renewed, device, dtype)
        self.judges: Named = {}
        if self.of is not None:
            self.judges = {n: torch.stack([s.state[n] for s in stages]).to(device) for n in JUDGES}
        rates = [[s.schedule.learning_rate, s.schedule.weight_decay] for s in trained]
        rate, decay = torch.tensor(rates, dtype=torch.float64, device=device).unbind(1)
        schedule = self.stage.schedule
        self.adam = Adam(self.params, rate, decay, schedule.decoupled, schedule.spared)
        self.record = Record(stages, device)
        self.ids = list(range(len(stages)))  # which run each row is
        self.kept = {name: self._of_runs(t).clone() for name, t in (self.params | self.buffers).items()}
        self.kept_state = self.state.select(self.stage.renewed)
        self.kept_logits: Tensor | None = None
        self.last_logits: Tensor | None = None
        self.ended: dict[int, tuple[float, float, int]] = {}
        self.last, self.run_epochs, self.best = max(s.schedule.epochs for s in stages), 0, -1.0
        self.lingering: set[int] = set()  # rows of runs that are done but still in the batch
        self.names: list[str] = []
        self.terms: list[str] = []  # those of them that are losses
        self.history: list[tuple[list[int], Tensor, Named]] = []
        # A captured epoch keeps all its memory; that of a large graph is long enough without it.
        self.capture = (device.type == "cuda" and not large) if capture is None else capture
        # A captured epoch is made anew when runs leave, so they wait until a quarter of the batch is done.
        self.leave = leave if leave is not None else self.capture / 4
        self.captured: tuple[torch.cuda.CUDAGraph, Verdict] | None = None
        self.warm = False

    def run(self, watch: Watch | None = None) -> list[Trained]:
        """Train until every run has stopped; results in the order of the stages."""
        start = time.perf_counter()
        while self.ids:
            self.epoch()
            if watch and self.last:
                watch(self.progress())
        return self._results(time.perf_counter() - start)

    def progress(self) -> Progress:
        """Say how far the batch has come, from what the host knows already."""
        return Progress(
            stage=self.stage.name,
            runs=len(self.stages),
            alive=len(self.ids) - len(self.lingering),
            epoch=len(self.history),
            last=self.last,
            run_epochs=self.run_epochs,
            best=self.best,
            figures=self.figures,
        )

    def figures(self) -> dict[str, float]:
        """Return the losses and scores of the last epoch, means over the runs that were in training."""
        training, figures, _ = self.history[-1]
        rows = [row for row, i in enumerate(training) if i != GONE]
        return dict(zip(self.names, figures[:, rows].mean(1).tolist(), strict=True))

    def epoch(self) -> None:
        """Train and judge one epoch, then act on the verdict; without epochs to train, judge only."""
        if not self.last:
            self._act(self._judge({}))
            return
        if self.captured is None and self.capture and self.warm:
            torch.cuda.empty_cache()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.captured = graph, self._compute()
        if self.captured is not None:
            self.captured[0].replay()
            self._act(self.captured[1])
        else:
            verdict = self._compute()
            self.warm = True
            self._act(verdict)

    def _compute(self) -> Verdict:
        """Take one step of Adam and judge it; reads nothing back from the device."""
        parts = self._step()
        self.record.epoch += 1
        return self._judge(parts)

    def _step(self) -> Named:
        """Take one step of Adam; return the parts of the loss."""
        self.skeleton.train()
        params = {name: p.detach().requires_grad_() for name, p in self.params.items()}
        parts: Named = self._each(self.stage.loss, params)
        # Runs are independent: the gradient of the sum of their losses holds each run's own.
        grads = torch.autograd.grad(parts["loss"].sum(), list(params.values()))
        with torch.no_grad():
            self.adam.step(self.params, dict(zip(params, grads, strict=True)))
        return {name: part.detach() for name, part in parts.items()}

    @torch.no_grad()
    def _judge(self, parts: Named) -> Verdict:
        self.skeleton.eval()
        logits = self._of_runs(self._each(self.stage.logits, self.params).to(self.dtype))
        parts = {name: self._of_runs(part) for name, part in parts.items()}
        state = self.state.tree() | self.judges
        labels, train, validation = (state[name] for name in JUDGES)
        score = metrics.score(self.stage.metric, logits, labels, validation)
        loss = metrics.loss(logits, labels, validation).double()
        fitted = metrics.accuracy(logits, labels, train)
        figures = parts | {"train": fitted, "validation": score, "validation_loss": loss}
        self.names, self.terms = list(figures), [*parts, "validation_loss"]
        flags = self.record.update(score, loss, parts.get("loss"))
        news = torch.cat([flags.double(), score.double().unsqueeze(0)])
        return Verdict(logits, news, torch.stack([figure.double() for figure in figures.values()]))

    def _of_runs(self, trained: Tensor) -> Tensor:
        """Return the row of its training for each run."""
        return trained if self.of is None else trained[self.of]

    def _each(self, function: Callable[[Network, State], Any], params: Named) -> Any:
        """Call ``function(network, state)`` for every run; results get a leading axis of runs."""

        def one(p: Named, b: Named, state: State) -> Any:
            return function(lambda *args: functional_call(self.skeleton, (p, b), args), state)

        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed):
            return self.state.each(one, params, self.buffers)

    @torch.no_grad()
    def _act(self, verdict: Verdict) -> None:
        """Keep what is best, refresh what improved, let go what is done."""
        *flags, score = verdict.news.cpu()  # the one wait
        better, improved, done = (flag.nonzero().flatten() for flag in flags)
        if self.kept_logits is None:
            self.kept_logits, self.last_logits = verdict.logits.clone(), verdict.logits.clone()
        if len(better):
            self._keep(better, verdict.logits)
            self.best = max(self.best, *score[better].tolist())
        notes = self._refresh(improved, verdict.logits) if len(improved) and self.stage.refresh else {}
        training = [GONE if row in self.lingering else i for row, i in enumerate(self.ids)]
        self.history.append((training, verdict.figures.clone(), notes))
        self.run_epochs += len(training) - len(self.lingering)
        if ending := sorted(set(done.tolist()) - self.lingering):
            assert self.last_logits is not None
            self.last_logits[[self.ids[row] for row in ending]] = verdict.logits[ending]
        self.lingering = set(done.tolist())
        if len(done) and len(done) >= self.leave * len(self.ids):
            self._let_go()

    def _keep(self, rows: Tensor, logits: Tensor) -> None:
        ids = torch.tensor([self.ids[row] for row in rows.tolist()], device=self.device)
        rows = rows.to(self.device)
        assert self.kept_logits is not None
        self.kept_logits[ids] = logits[rows]
        every = self.of is None and len(rows) == len(self.ids)
        trained = rows if self.of is None else self.of[rows]
        for name, tensor in (self.params | self.buffers).items():
            self.kept[name].index_copy_(0, ids, tensor if every else tensor[trained])
        self.kept_state.put(self.state, ids, rows)

    def _refresh(self, rows: Tensor, logits: Tensor) -> Named:
        """Let improved runs recompute what depends on their assignments (Algorithm 1, lines 14-17)."""
        refresh = self.stage.refresh
        assert refresh is not None
        rows = rows.to(self.device)
        new, notes = self.state.take(rows).each(lambda z, state: refresh(state, z), logits[rows])
        self.state.renew(new, rows)
        blank = torch.full((len(self.ids),), torch.nan, dtype=torch.float64, device=self.device)
        return {name: blank.index_put((rows,), note.double()) for name, note in notes.items()}

    def _let_go(self) -> None:
        """Finished runs leave the batch; the captured epoch no longer fits."""
        gone, self.lingering = self.lingering, set()
        record = self.record
        score, loss, best = record.score.tolist(), record.loss.tolist(), record.best_epoch.tolist()
        for row in gone:
            self.ended[self.ids[row]] = score[row], loss[row], best[row]
        stay = [row for row in range(len(self.ids)) if row not in gone]
        self.ids = [self.ids[row] for row in stay]
        self.captured, self.warm = None, False
        rows = torch.tensor(stay, dtype=torch.int64, device=self.device)
        record.keep(rows)
        if self.of is not None:
            self.judges = {name: judge[rows] for name, judge in self.judges.items()}
            rows, self.of = self.of[rows].unique(return_inverse=True)
        self.params = {name: p[rows] for name, p in self.params.items()}
        self.buffers = {name: b[rows] for name, b in self.buffers.items()}
        self.state = self.state.take(rows)
        self.adam.keep(rows)

    def _results(self, seconds: float) -> list[Trained]:
        assert self.kept_logits is not None and self.last_logits is not None
        curves = _curves(self.names, self.history, self.stages)
        epochs = [len(c["validation"]) if s.schedule.epochs else 0 for c, s in zip(curves, self.stages)]
        return [
            Trained(
                weights={name: t[i] for name, t in self.kept.items()},
                state=stage.state | self.kept_state.one(i),
                logits=self.kept_logits[i],
                validation=self.ended[i][0],
                validation_loss=self.ended[i][1],
                best_epoch=self.ended[i][2],
                epochs=epochs[i],
                seconds=seconds * (epochs[i] / sum(epochs) if any(epochs) else 1 / len(epochs)),
                history=curves[i],
                last_logits=self.last_logits[i],
                diverged=_diverged(curves[i], epochs[i], self.terms),
            )
            for i, stage in enumerate(self.stages)
        ]


def _diverged(curve: dict[str, list[float]], epoch: int, terms: Sequence[str]) -> Diverged | None:
    """Say in which epoch and by which term a run broke off; of a sum and its parts the part is named."""
    broken = [name for name in terms if not math.isfinite(curve[name][-1])]
    broken.sort(key=lambda name: (name == "validation_loss", name == "loss"))
    return Diverged(epoch, broken[0]) if broken else None


def _courses(stages: Sequence[Stage]) -> tuple[list[Stage], list[int]]:
    """Return a stage for each training, and which training each stage is a judge of."""
    first: dict[Any, tuple[int, Stage]] = {}
    of = []
    for stage in stages:
        course = object() if stage.course is None else stage.course
        of.append(first.setdefault(course, (len(first), stage))[0])
    return [stage for _, stage in first.values()], of


def _stack_named(each: Sequence[Named], device: torch.device, dtype: torch.dtype) -> Named:
    stacked = {name: torch.stack([named[name].detach() for named in each]).to(device) for name in each[0]}
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in stacked.items()}


def _curves(
    names: Sequence[str], history: Sequence[tuple[list[int], Tensor, Named]], stages: Sequence[Stage]
) -> list[dict[str, list[float]]]:
    """Turn one table per epoch into one history per run; a note stays until the run is refreshed again."""
    run = np.concatenate([ids for ids, _, _ in history])
    order = run.argsort(kind="stable")[int((run == GONE).sum()) :]  # run by run, epoch by epoch
    end = np.bincount(run[order], minlength=len(stages)).cumsum()
    figures = torch.cat([figures for _, figures, _ in history], 1).cpu().numpy()[:, order]
    noted = {name: _noted(name, history)[order] for name in stages[0].notes}
    curves = []
    for stage, begin, past in zip(stages, [0, *end[:-1]], end, strict=True):
        curve: dict[str, list[float]] = dict(zip(names, figures[:, begin:past].tolist(), strict=True))
        new = {name: noted[name][begin:past] for name in stage.notes}
        for name, values in new.items():
            latest = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
            curve[name] = np.where(latest < 0, stage.notes[name], values[latest]).tolist()
        if new:
            curve["refreshed"] = (~np.isnan(list(new.values()))).any(0).astype(float).tolist()
        curves.append(curve)
    return curves


def _noted(name: str, history: Sequence[tuple[list[int], Tensor, Named]]) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a note of all epochs one after another; not a number where no run was refreshed."""
    each = [
        notes[name].cpu() if name in notes else torch.full((len(ids),), torch.nan)
        for ids, _, notes in history
    ]
    return torch.cat(each).double().numpy()
