"""Figure 4: how the edges of E' are told apart, before training and after each update, against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from heterophily.graph import Graph
from heterophily.hdp.algorithm import assignments, refresh
from heterophily.hdp.partition import partition
from heterophily.stage import Outcome, Stage, State
from heterophily.studies.plan import Plan, Trial, splits_neighborhoods
from heterophily.studies.result import Result, mean, ratio

KINDS = ("hm_same", "hm_other", "ht_same", "ht_other")
"""Edges called homophilous that join one class or two, then edges called heterophilous."""
PARTS = {"whole": ("hm", "ht"), "homophilous": ("hm",), "heterophilous": ("ht",)}
Tally = dict[str, int]
"""Edges of each kind in E', loops included; with "hidden_" before it those that are no loops and
do not join two training nodes: to place the others is no feat."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PartitionStudy(Result):
    """The neighborhoods before and after HDP's partition; one entry per run in each list."""

    study = "partition"

    estimated: list[float]
    """ĥ = λh' of Eq. 2, the share of E' that is called homophilous."""
    initial: list[Tally]
    """Before training, by the initial assignment."""
    updates: list[list[Tally]]
    """After each update of Algorithm 1."""
    epochs: list[list[int]]
    """The epoch of each update."""
    kept: list[Tally]
    """The partition that the best weights were judged with."""

    @property
    def homophily(self) -> float | None:
        """The true share of homophilous edges in E'."""
        return self.shares()["whole"]

    def shares(self) -> dict[str, float | None]:
        """Return the truly homophilous share of the whole, the homophilous and the heterophilous part."""
        return {name: mean([one_class(tally, name) for tally in self.kept]) for name in PARTS}

    def steps(self) -> list[list[Tally]]:
        """Return, per run, the initial partition and that after each update."""
        return [[first, *later] for first, later in zip(self.initial, self.updates)]


def one_class(tally: Tally, part: str = "whole") -> float | None:
    """Return the share of edges that join one class, of the whole or of a part of the partition."""
    return _share(tally, [f"{each}_same" for each in PARTS[part]], PARTS[part])


def accuracy(tally: Tally, prefix: str = "") -> float | None:
    """Return the share of edges that are called what they are."""
    return _share(tally, ["hm_same", "ht_other"], ["hm", "ht"], prefix)


def precision(tally: Tally, prefix: str = "hidden_") -> float | None:
    """Return the share of truly homophilous edges among those called so; None if none is."""
    return _share(tally, ["hm_same"], ["hm"], prefix)


def recall(tally: Tally, prefix: str = "hidden_") -> float | None:
    """Return the share of edges called homophilous among those that are; None if none is."""
    same = tally[f"{prefix}hm_same"]
    return ratio(same, same + tally[f"{prefix}ht_same"])


def _share(tally: Tally, kinds: Sequence[str], parts: Sequence[str], prefix: str = "") -> float | None:
    whole = sum(tally[f"{prefix}{part}_{kind}"] for part in parts for kind in ("same", "other"))
    return ratio(sum(tally[f"{prefix}{kind}"] for kind in kinds), whole)


class Judge:
    """Notes for the history what each partition is worth by the true labels, which training does not see."""

    def __init__(self, labels: Tensor):
        self.labels = labels

    def __call__(self, stage: Stage) -> Stage:
        """Return a stage whose updates are judged; one without a partition is left alone."""
        if "parts" not in stage.state or stage.refresh is None:
            return stage
        notes = {name: float(count) for name, count in self.counts(stage.state).items()}
        return replace(stage, refresh=self.refresh, notes=stage.notes | notes)

    def refresh(self, state: State, new: Tensor) -> tuple[State, dict[str, Tensor]]:
        """Renew the partition as HDP does, and judge the new one."""
        renewed, notes = refresh(state, new)
        return renewed, notes | self.counts(state | renewed)

    def counts(self, state: State) -> dict[str, Tensor]:
        """Count the edges of each kind."""
        edges, marked = state["edges"], state["parts"].is_homophilous
        labels = self.labels.to(marked.device)
        ends = labels[edges.u], labels[edges.v]
        labelled = (ends[0] >= 0) & (ends[1] >= 0)
        same = ends[0] == ends[1]
        trained = state["train"][edges.u] & state["train"][edges.v]
        hidden = labelled & (edges.u != edges.v) & ~trained
        kinds = dict(zip(KINDS, (marked & same, marked & ~same, ~marked & same, ~marked & ~same)))
        return {
            prefix + name: (kind & counted).sum()
            for prefix, counted in (("", labelled), ("hidden_", hidden))
            for name, kind in kinds.items()
        }

    def tally(self, state: State) -> Tally:
        """Count the edges of each kind, as plain numbers."""
        return {name: int(count) for name, count in self.counts(state).items()}


def study(graph: Graph, plan: Plan | None = None) -> PartitionStudy:
    """Train HDP on all splits together and judge its partitions on the way."""
    plan = plan or Plan()
    (trials,), about = plan.train(graph, [("hdp", plan.config("hdp", graph.name))], Judge(graph.y))
    return replace(look(graph, trials), about=about)


def look(graph: Graph, trials: Sequence[Trial]) -> PartitionStudy:
    """Judge the partitions of trained runs; updates are known where they were judged in training."""
    splits_neighborhoods(trials)
    judge = Judge(graph.y)
    courses = [course(trial.outcome.trained.history) for trial in trials]
    return PartitionStudy(
        dataset=graph.name,
        about={"splits": [trial.split.name for trial in trials]},
        estimated=[float(trial.outcome.details["estimated_homophily"]) for trial in trials],
        initial=[judge.tally(before_training(trial.outcome)) for trial in trials],
        updates=[tallies for _, tallies in courses],
        epochs=[epochs for epochs, _ in courses],
        kept=[judge.tally(trial.outcome.trained.state) for trial in trials],
    )


def before_training(outcome: Outcome) -> State:
    """Return the state with the partition that the initial assignment makes."""
    state = outcome.trained.state
    assert outcome.initial is not None
    z = assignments(outcome.initial.logits, state["sharpness"])
    return state | {"parts": partition(z, state["edges"], state["count"])}


def course(history: Mapping[str, Sequence[float]]) -> tuple[list[int], list[Tally]]:
    """Return the epochs of the updates and the tally after each."""
    if KINDS[0] not in history:
        return [], []
    names = [prefix + kind for prefix in ("", "hidden_") for kind in KINDS]
    at = [i for i, renewed in enumerate(history["refreshed"]) if renewed]
    return [i + 1 for i in at], [{name: int(history[name][i]) for name in names} for i in at]
