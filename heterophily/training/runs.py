"""Runs: (model, config, split, seed) in any mixture; stages of one shape are trained together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from heterophily.config import Config, ConfigError
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.models import MODELS
from heterophily.stage import Outcome, Stage, Trained, digest
from heterophily.training.clusters import Clustered, pieces_for
from heterophily.training.engine import Watch
from heterophily.training.memory import runs_that_fit, train_within_memory
from heterophily.training.seal import seal
from heterophily.training.stacking import signature

Precision = Literal["full", "mixed", "double"]
STOPPING = {"epoch", "patience", "select", "epoch_init", "patience_init", "by_loss"}
"""Settings that say when a training ends and which epoch is kept, and move no weight."""


@dataclass(frozen=True)
class Run:
    """One training to be done: a model with its settings on a split, from a seed."""

    model: str
    config: Config
    split: int | str | Split = 0
    seed: int = 0


def train_runs(
    graph: Graph,
    runs: Sequence[Run],
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    watch: Watch | None = None,
    together: bool | None = None,
    observe: Callable[[Stage], Stage] | None = None,
    clusters: int = 0,
    precision: Precision = "full",
    known: dict[Any, Trained] | None = None,
) -> list[Outcome]:
    """Train all runs and return their outcomes in the order given.

    Each model is a generator of stages; in every round the stages that all live runs wait for are
    collected, equal ones merged, and those of one shape trained as one batch. ``observe`` may hand back a
    stage that notes more for the history than the model does.

    ``clusters`` trains each run in so many mini-batches an epoch, for graphs whose training does not fit;
    0 is the exact full batch. ``precision`` "mixed" computes in bfloat16 where float32 is not needed;
    "double" in float64, and what is left is float32 again: for graphs so small that a last digit can grow
    into another verdict.

    ``known`` keeps what the first stages came to, by their keys, from one call to the next.
    """
    if precision not in get_args(Precision):
        raise ConfigError(f"precision must be one of {', '.join(get_args(Precision))}, not {precision!r}")
    device = torch.device(device)
    dtype = torch.float64 if precision == "double" else dtype
    graph = graph.to(device)
    pieces = pieces_for(graph, clusters)
    procedures, course = [], []
    for run in runs:
        split = fit_for_training(graph, run.split)
        procedures.append(MODELS[run.model].procedure(seal(graph, split), split, run.config, run.seed))
        course.append(course_of(run, split))
    outcomes: list[Any] = [None] * len(runs)
    waiting = {i: next(procedure) for i, procedure in enumerate(procedures)}
    while waiting:
        stages = [observe(s) if observe else replace(s, course=course[i]) for i, s in waiting.items()]
        if clusters:
            given = pieces, clusters, device, dtype, precision
            trained = [Clustered(stage, *given).run(watch)[0] for stage in stages]
        else:
            trained = train_stages(stages, device, dtype, watch, together, precision, known)
        known = None
        if precision == "double":
            trained = [rounded(result, stage) for result, stage in zip(trained, stages, strict=True)]
        for i, result in zip(list(waiting), trained, strict=True):
            try:
                waiting[i] = procedures[i].send(result)
            except StopIteration as stop:
                outcomes[i] = stop.value
                del waiting[i]
    return outcomes


def course_of(run: Run, split: Split) -> Hashable:
    """Name all that the steps of a blind stage depend on; when to stop and what to keep is not among it."""
    settings = ((name, value) for name, value in run.config.to_dict().items() if name not in STOPPING)
    return run.model, run.seed, digest(split.train), tuple(settings)


def fit_for_training(graph: Graph, split: int | str | Split) -> Split:
    """Return a split on the graph's device, or say why nothing can be trained on it."""
    split = split if isinstance(split, Split) else graph.split(split)
    if len(split.train) != graph.num_nodes:
        raise GraphError(
            f"split {split.name!r} has masks of length {len(split.train)}, but the graph has "
            f"{graph.num_nodes} nodes; give one entry per node"
        )
    split = split.map(lambda mask: mask.to(graph.y.device))
    if not split.validation.any():
        raise GraphError(
            f"split {split.name!r} has no validation node, so nothing says when to stop; "
            "mark some in its validation mask"
        )
    for part, mask in (("training", split.train), ("validation", split.validation)):
        if (blank := mask & (graph.y < 0)).any():
            raise GraphError(
                f"split {split.name!r}: {int(blank.sum()):,} of its {part} nodes are unlabelled (y = -1), "
                f"the first is node {int(blank.nonzero()[0])}; take them out with mask & (y >= 0)"
            )
    return split


def rounded(trained: Trained, stage: Stage) -> Trained:
    """Return what a training left behind in the kinds of number that its stage has."""
    kinds = dict(stage.module.named_parameters()) | dict(stage.module.named_buffers())
    before = {name: stage.state[name] for name in stage.renewed}
    after = {name: trained.state[name] for name in stage.renewed}
    return replace(
        trained,
        weights={name: weight.to(kinds[name].dtype) for name, weight in trained.weights.items()},
        state=trained.state | pytree.tree_map(_as_before, after, before),
        logits=trained.logits.float(),
        last_logits=None if trained.last_logits is None else trained.last_logits.float(),
    )


def _as_before(new: Any, old: Any) -> Any:
    return new.to(old.dtype) if isinstance(new, Tensor) else new


def train_stages(
    stages: Sequence[Stage],
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    watch: Watch | None = None,
    together: bool | None = None,
    precision: str = "full",
    known: dict[Any, Trained] | None = None,
) -> list[Trained]:
    """Train stages grouped by shape; stages with one key are trained once and share the result."""
    results: dict[Any, Trained] = {} if known is None else known
    groups: dict[Any, dict[Any, Stage]] = defaultdict(dict)
    for stage in stages:
        if stage.key not in results:
            groups[signature(stage)].setdefault(stage.key, stage)
    for group in groups.values():
        tracks = courses(list(group.values()))
        first, widest = tracks[0][0], max(map(len, tracks))
        batched = worthwhile(first, len(tracks), device) if together is None else together
        most = max(1, runs_that_fit(first, device, dtype, precision) // widest) if batched else 1
        done = train_within_memory(tracks, min(len(tracks), most), device, dtype, watch, precision)
        results.update(zip((stage.key for some in tracks for stage in some), done, strict=True))
    return [results[stage.key] for stage in stages]


def courses(stages: Sequence[Stage]) -> list[list[Stage]]:
    """Put those together that take the same steps, and are trained once for all."""
    found: dict[Any, list[Stage]] = {}
    for stage in stages:
        course = stage.course if stage.blind else None
        if course is None or not same_steps(found.get(course, [stage])[0], stage):
            found[object()] = [replace(stage, course=None)]
        else:
            found.setdefault(course, []).append(stage)
    return list(found.values())


def same_steps(one: Stage, other: Stage) -> bool:
    """Say whether all that steps read is equal, as it should be on one course."""
    rates = [(stage.schedule.learning_rate, stage.schedule.weight_decay) for stage in (one, other)]
    names = [name for name in one.state if name not in ("labels", "validation")]
    leaves = [pytree.tree_leaves([stage.state[name] for name in names]) for stage in (one, other)]
    return rates[0] == rates[1] and all(_equal(*pair) for pair in zip(*leaves, strict=True))


def _equal(one: Any, other: Any) -> bool:
    return one is other or (torch.equal(one, other) if isinstance(one, Tensor) else bool(one == other))


def worthwhile(stage: Stage, runs: int, device: torch.device) -> bool:
    """Say whether a batch beats one run at a time: always on a GPU; on a CPU only for small graphs."""
    if device.type != "cpu":
        return True
    width = max((p.shape[-1] for p in stage.module.parameters() if p.dim()), default=1)
    return runs > 3 and runs * stage.state["labels"].shape[0] * width < 2_000_000
