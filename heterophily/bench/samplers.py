"""Who proposes settings: Optuna's TPE and random search, simulated annealing, and a walk through a grid.

A proposal depends on the seed, on its place in the study and on the trials before it, on nothing else: a
study that was killed and goes on proposes what it would have proposed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

from heterophily.config import Choice, ConfigError, Integer, Range

SamplerName = Literal["tpe", "anneal", "random", "grid"]
SAMPLERS: tuple[str, ...] = get_args(SamplerName)
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)


def distribution(searched: Range) -> BaseDistribution:
    """Return a search range as Optuna's distribution."""
    if isinstance(searched, Choice):
        return CategoricalDistribution(searched.options)
    if isinstance(searched, Integer):
        return IntDistribution(searched.low, searched.high)
    return FloatDistribution(searched.low, searched.high)


def within(searched: Range, value: Any) -> bool:
    """Say whether a value lies in a search range."""
    if isinstance(searched, Choice):
        return value in searched.options
    return bool(searched.low <= value <= searched.high)


def widened(searched: Range, value: Any) -> Range:
    """Return the range, made to hold a value."""
    if within(searched, value):
        return searched
    if isinstance(searched, Choice):
        return Choice(*searched.options, value)
    return type(searched)(min(searched.low, value), max(searched.high, value))


class Proposer:
    """Proposes settings one after the other, each in the light of the trials before and of those proposed."""

    def __init__(self, trials: Sequence[FrozenTrial], space: Mapping[str, Range], sampler: str, seed: int):
        self.ranges = {name: distribution(searched) for name, searched in space.items()}
        self.sampler, self.seed = sampler, seed
        self.study = optuna.create_study(direction="maximize")
        for trial in trials:  # add_trials would check each setting of each trial anew
            if trial.state in (*FINISHED, TrialState.RUNNING):
                self.study._storage.create_new_trial(self.study._study_id, template_trial=trial)

    def propose(self, place: int, fixed: Mapping[str, Any], attempt: int = 0) -> dict[str, Any]:
        """Return settings for a place of the study; fields in ``fixed`` have that value."""
        sampler = _sampler(self.sampler, derived(self.seed, place, attempt))
        self.study.sampler = Fixed(fixed, sampler) if fixed else sampler
        asked = self.study.ask(self.ranges)
        self.study.tell(asked, state=TrialState.FAIL)  # nobody has taken it yet
        return dict(asked.params)

    def take(self, params: Mapping[str, Any]) -> None:
        """Heed in what follows that these settings are being judged."""
        taken = create_trial(state=TrialState.RUNNING, params=dict(params), distributions=self.ranges)
        self.study.add_trial(taken)


def derived(seed: int, place: int, attempt: int = 0) -> int:
    """Return the seed of one proposal."""
    text = f"{seed} {place} {attempt}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def grid_size(space: Mapping[str, Range]) -> int:
    """Return how many points a grid has; a range of real numbers is refused."""
    return math.prod(len(_values(name, searched)) for name, searched in space.items())


def grid(space: Mapping[str, Range]) -> Iterator[dict[str, Any]]:
    """Yield the points of a grid; the last field changes fastest."""
    values = [_values(name, searched) for name, searched in space.items()]
    return (dict(zip(space, point)) for point in itertools.product(*values))


def _values(name: str, searched: Range) -> Sequence[Any]:
    if isinstance(searched, Choice):
        return searched.options
    if isinstance(searched, Integer):
        return range(searched.low, searched.high + 1)
    raise ConfigError(
        f"a grid needs values, but {name} is any number from {searched.low:g} to {searched.high:g}; "
        f"list some: --space {name}={searched.low:g},{searched.high:g}"
    )


def _sampler(name: str, seed: int) -> optuna.samplers.BaseSampler:
    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed)
    return optuna.samplers.RandomSampler(seed=seed) if name == "random" else Annealing(seed)


class Fixed(optuna.samplers.BaseSampler):
    """Gives some fields a value and asks another sampler for the rest."""

    def __init__(self, values: Mapping[str, Any], base: optuna.samplers.BaseSampler):
        self.values, self.base = values, base

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, Any]:
        """Return what the other sampler draws jointly, less the fixed fields."""
        joint = self.base.infer_relative_search_space(study, trial)
        return {name: searched for name, searched in joint.items() if name not in self.values}

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Any) -> dict[str, Any]:
        """Let the other sampler draw jointly."""
        return self.base.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the fixed value, or what the other sampler draws."""
        if param_name in self.values:
            return self.values[param_name]
        return self.base.sample_independent(study, trial, param_name, param_distribution)


class Annealing(optuna.samplers.BaseSampler):
    """Simulated annealing: near one of the best so far, in a neighborhood that shrinks as trials go by.

    With n finished trials the temperature is T = 1 / (1 + 0.1 n). The center is the k-th best trial, k
    geometric with mean 1. A number is drawn from the share T of its range around the center's; one of
    several values is drawn anew with probability T.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.center: FrozenTrial | None = None
        self.temperature = 1.0

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, Any]:
        """Nothing is drawn jointly, but all fields share one center."""
        done = study.get_trials(deepcopy=False, states=FINISHED)
        self.temperature = 1 / (1 + 0.1 * len(done))
        best = [t for t in done if t.state == TrialState.COMPLETE]
        best.sort(key=lambda t: (-(t.value or 0.0), t.number))
        place = next(k for k in itertools.count() if self.random.random() < 0.5)
        self.center = best[min(place, len(best) - 1)] if best else None
        return {}

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Any) -> dict[str, Any]:
        """Nothing is drawn jointly."""
        return {}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw a value near the center's."""
        near = self.center.params.get(param_name) if self.center else None
        if isinstance(param_distribution, CategoricalDistribution):
            stays = near in param_distribution.choices and self.random.random() >= self.temperature
            return near if stays else self.random.choice(param_distribution.choices)
        assert isinstance(param_distribution, FloatDistribution | IntDistribution)
        low, high = param_distribution.low, param_distribution.high
        if near is not None:
            half = self.temperature * (high - low) / 2
            low, high = max(low, near - half), min(high, near + half)
        if isinstance(param_distribution, IntDistribution):
            return self.random.randint(math.ceil(low), math.floor(high))
        return self.random.uniform(low, high)
