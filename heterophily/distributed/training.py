"""One run on several processes: the loop of `heterophily.training`, where each has some of the nodes."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from typing import Any

import torch
from torch import Tensor

from heterophily.distributed.algorithm import Named, ShardedStage
from heterophily.distributed.checkpoint import Keeper, Saved
from heterophily.distributed.world import World
from heterophily.stage import DivergedError, Outcome, Trained
from heterophily.training import metrics
from heterophily.training.adam import Adam
from heterophily.training.allocation import keep_freed_memory
from heterophily.training.engine import Progress, Record, Watch

KEPT = ("epoch", "bar", "score", "loss", "best_epoch", "done")
"""What a record must not forget."""


def drive(
    procedure: Generator[ShardedStage, Trained, Outcome], world: World, keeper: Keeper, watch: Watch | None
) -> Outcome:
    """Train the stages of a procedure one after another."""
    stage = next(procedure)
    while True:
        trained = Training(stage, world).run(keeper, watch)
        if not math.isfinite(trained.validation_loss):
            raise DivergedError(
                f"no epoch of the stage {stage.name!r} gave a finite validation loss; lower the learning "
                "rate or check the scale of the features"
            )
        try:
            stage = procedure.send(trained)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome


class Training:
    """A stage in training. Weights are the same in every process, logits are those of own nodes."""

    def __init__(self, stage: ShardedStage, world: World):
        if world.device.type == "cpu":
            keep_freed_memory()
        self.stage, self.world, self.state = stage, world, dict(stage.state)
        self.module = stage.module.to(world.device)
        # Views of the weights, as one run of many has them.
        self.params = {name: p.detach().unsqueeze(0) for name, p in self.module.named_parameters()}
        rates = [stage.schedule.learning_rate, stage.schedule.weight_decay]
        self.adam = Adam(self.params, *torch.tensor(rates, dtype=torch.float64, device=world.device).split(1))
        self.record = Record([stage], world.device)
        masks = torch.stack([self.state["train"].sum(), self.state["validation"].sum()])
        self.training, self.validating = world.total(masks).tolist()
        self.kept: Named = self._weights()
        self.kept_logits: Tensor | None = None
        self.last_logits: Tensor | None = None
        self.figures: dict[str, float] = {}
        self.seconds = 0.0

    @property
    def epochs(self) -> int:
        """Epochs done."""
        return int(self.record.epoch)

    @property
    def done(self) -> bool:
        """Whether training has ended."""
        return bool(self.record.done)

    def run(self, keeper: Keeper, watch: Watch | None) -> Trained:
        """Train to the end, or from the last checkpoint to the end."""
        if (saved := keeper.saved(self.stage.name)) is not None:
            self._restore(saved)
        while not self.done:
            start = time.perf_counter()
            self.epoch()
            self.seconds += time.perf_counter() - start
            if watch and self.stage.schedule.epochs:
                watch(self._progress())
            if self.done or keeper.due(self.epochs):
                keeper.save(self.stage.name, self.epochs, self._replicated(), self._rows(), self._numbers())
        assert self.kept_logits is not None
        return Trained(
            weights=self.kept,
            state=self.state,
            logits=self.kept_logits,
            validation=float(self.record.score),
            validation_loss=float(self.record.loss),
            best_epoch=int(self.record.best_epoch),
            epochs=self.epochs,
            seconds=self.seconds,
            history={},
            last_logits=self.last_logits,
        )

    def epoch(self) -> None:
        """Take one step of Adam and judge it; without epochs to train, judge only."""
        shares: Named = {}
        if self.stage.schedule.epochs:
            self.module.train()
            shares = self.stage.loss(self.module, self.state)
            grads = torch.autograd.grad(shares["loss"], list(self.module.parameters()))
            with torch.no_grad():
                self.adam.step(self.params, dict(zip(self.params, self._added_up(grads), strict=True)))
            del grads
            self.record.epoch += 1
        with torch.no_grad():
            self._judge({name: share.detach() for name, share in shares.items()})

    def _added_up(self, grads: Sequence[Tensor]) -> list[Tensor]:
        """Add up the gradients of all processes, in one message; stacked as Adam wants them."""
        flat = self.world.total(torch.cat([grad.flatten() for grad in grads]))
        parts = flat.split([grad.numel() for grad in grads])
        return [part.view(1, *grad.shape) for part, grad in zip(parts, grads, strict=True)]

    def _judge(self, shares: Named) -> None:
        """Score the weights; keep the best, and refresh what depends on assignments that improved."""
        stage, state = self.stage, self.state
        self.module.eval()
        logits = stage.logits(self.module, state)
        labels, train, validation = state["labels"], state["train"], state["validation"]
        right = logits.argmax(-1) == labels
        figures = shares | {
            "train": (right & train).sum(),
            "validation": (right & validation).sum(),
            "validation_loss": _sum_of_losses(logits, labels, validation),
        }
        summed = self.world.total(torch.stack([figure.double() for figure in figures.values()]))
        # Counts are divided when they are complete: early stopping looks for equal scores.
        whole = summed / summed.new_tensor([1] * len(shares) + [self.training] + [self.validating] * 2)
        self.figures = dict(zip(figures, whole.tolist(), strict=True))
        if stage.metric != "accuracy":
            self.figures["validation"] = score(self.world, stage.metric, logits, labels, validation)
        news = [summed.new_tensor([self.figures[name]]) for name in ("validation", "validation_loss")]
        better, improved, _ = self.record.update(*news).flatten().tolist()
        self.last_logits = logits
        if better or self.kept_logits is None:
            self.kept, self.kept_logits = self._weights(), logits
        if improved and stage.refresh is not None:
            self.state |= stage.refresh(state, logits)[0]

    def _weights(self) -> Named:
        named = [*self.module.named_parameters(), *self.module.named_buffers()]
        return {name: tensor.detach().clone() for name, tensor in named}

    def _progress(self) -> Progress:
        epoch, last = self.epochs, self.stage.schedule.epochs
        best = float(self.record.score)
        return Progress(self.stage.name, 1, 1 - self.done, epoch, last, epoch, best, lambda: self.figures)

    def _replicated(self) -> Named:
        """What every process has, for a checkpoint."""
        found = {f"module.{name}": tensor for name, tensor in self._weights().items()}
        found |= {f"kept.{name}": tensor for name, tensor in self.kept.items()}
        found |= {f"record.{name}": getattr(self.record, name) for name in KEPT}
        for name in self.params:
            found |= {f"mean.{name}": self.adam.mean[name], f"square.{name}": self.adam.square[name]}
        return found | {"steps": self.adam.steps}

    def _rows(self) -> Named:
        """What is there for own nodes and edges only, for a checkpoint."""
        assert self.kept_logits is not None and self.last_logits is not None
        logits = {"kept_logits": self.kept_logits, "last_logits": self.last_logits}
        return logits | ({} if self.done else self.stage.pack(self.state))

    def _numbers(self) -> dict[str, Any]:
        return {"done": self.done, "seconds": self.seconds}

    def _restore(self, saved: Saved) -> None:
        """Go on where a checkpoint was made."""
        self.seconds = saved.numbers["seconds"]
        named = saved.replicated(self.world.device)
        with torch.no_grad():
            for name, tensor in [*self.module.named_parameters(), *self.module.named_buffers()]:
                tensor.copy_(named[f"module.{name}"])
        self.kept = {name: named[f"kept.{name}"] for name in self.kept}
        for name in KEPT:
            getattr(self.record, name).copy_(named[f"record.{name}"])
        self.adam.steps.copy_(named["steps"])
        self.adam.mean = {name: named[f"mean.{name}"] for name in self.params}
        self.adam.square = {name: named[f"square.{name}"] for name in self.params}
        own = len(self.state["labels"])
        rows = saved.rows(dict.fromkeys(("kept_logits", "last_logits"), own), self.world)
        self.kept_logits, self.last_logits = rows["kept_logits"], rows["last_logits"]
        if not self.done and self.stage.lengths:
            self.state |= self.stage.unpack(saved.rows(self.stage.lengths, self.world))


def score(world: World, metric: str, logits: Tensor, labels: Tensor, mask: Tensor) -> float:
    """Return accuracy or ROC AUC over the nodes of ``mask`` of all processes."""
    if metric == "accuracy":
        right = (logits.argmax(-1) == labels) & mask
        found, count = world.total(torch.stack([right.sum(), mask.sum()])).tolist()
        return found / count
    every = torch.cat(world.gathered(logits[mask])), torch.cat(world.gathered(labels[mask]))
    return float(metrics.score(metric, *every, torch.ones_like(every[1], dtype=torch.bool)))


def _sum_of_losses(logits: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    each = torch.nn.functional.cross_entropy(logits, labels.clamp(min=0), reduction="none")
    return (each * mask).sum()
