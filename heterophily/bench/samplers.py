"""Who proposes settings: Optuna's TPE and random search, simulated annealing, and a walk through a grid.

A proposal depends on the seed, on its place in the study and on what was finished before, on nothing else:
a study that was killed and goes on proposes what it would have proposed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

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


def propose(
    trials: Sequence[FrozenTrial],
    space: Mapping[str, Range],
    fixed: Mapping[str, Any],
    sampler: str,
    seed: int,
    place: int,
) -> dict[str, Any]:
    """Return the settings of the ``place``-th proposal of a study, given all its trials, running ones too.

    Fields in ``fixed`` have that value; a grid has its own order and heeds no others.
    """
    if sampler == "grid":
        return grid_point(space, place)
    study = optuna.create_study(direction="maximize", sampler=_sampler(sampler, derived(seed, place)))
    study.add_trials([trial for trial in trials if trial.state != TrialState.FAIL])
    if fixed:
        study.sampler = Fixed(fixed, study.sampler)
    return dict(study.ask({name: distribution(searched) for name, searched in space.items()}).params)


def derived(seed: int, place: int) -> int:
    """Return the seed of one proposal."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {place}".encode(), digest_size=4).digest(), "big")


def grid_size(space: Mapping[str, Range]) -> int:
    """Return how many points a grid has; a range of real numbers is refused."""
    return math.prod(len(_values(name, searched)) for name, searched in space.items())


def grid_point(space: Mapping[str, Range], place: int) -> dict[str, Any]:
    """Return a point of the grid; the last field changes fastest."""
    found: dict[str, Any] = {}
    for name in reversed(list(space)):
        values = _values(name, space[name])
        place, at = divmod(place, len(values))
        found[name] = values[at]
    return {name: found[name] for name in space}


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
    """Gives some fields a value and asks another sampler for the rest, field by field."""

    def __init__(self, values: Mapping[str, Any], base: optuna.samplers.BaseSampler):
        self.values, self.base = values, base

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, Any]:
        """Nothing is drawn jointly."""
        return {}

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Any) -> dict[str, Any]:
        """Nothing is drawn jointly."""
        return {}

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

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, Any]:
        """Nothing is drawn jointly, but all fields share one center."""
        done = [t for t in study.get_trials(deepcopy=False) if t.state == TrialState.COMPLETE]
        done.sort(key=lambda t: (-(t.value or 0.0), t.number))
        self.temperature = 1 / (1 + 0.1 * len(done))
        place = next(k for k in itertools.count() if self.random.random() < 0.5)
        self.center = done[min(place, len(done) - 1)] if done else None
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
        drawn = self.random.uniform(low, high)
        return round(drawn) if isinstance(param_distribution, IntDistribution) else drawn
