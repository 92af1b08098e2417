"""Samplers: what they propose lies in the ranges, repeats with the seed, and heeds what was found before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.trial import FrozenTrial, TrialState, create_trial

from heterophily.bench.samplers import Proposer, derived, distribution, grid, grid_size
from heterophily.config import Choice, ConfigError, Integer, Range, Uniform

SPACE: dict[str, Range] = {"rate": Uniform(0.0, 1.0), "depth": Integer(0, 8), "kind": Choice("a", "b", "c")}
LEARNING = ["tpe", "anneal", "random"]


def trial(params: dict[str, Any], value: float | None = None, state: TrialState | None = None) -> FrozenTrial:
    state = state or (TrialState.RUNNING if value is None else TrialState.COMPLETE)
    ranges = {name: distribution(SPACE[name]) for name in params}
    return create_trial(state=state, value=value, params=params, distributions=ranges)


def history(count: int, seed: int = 7) -> list[FrozenTrial]:
    """Finished trials, best at rate 0.3, depth 4 and kind b; every fifth was dropped."""
    asked = Proposer([], SPACE, "random", seed)
    found = []
    for place in range(count):
        params = asked.propose(place, {})
        value = 1 - abs(params["rate"] - 0.3) - abs(params["depth"] - 4) / 8 - 0.2 * (params["kind"] != "b")
        dropped = place % 5 == 4
        found.append(trial(params, None if dropped else value, TrialState.PRUNED if dropped else None))
    return found


@st.composite
def spaces(draw: st.DrawFn) -> dict[str, Range]:
    numbers = st.floats(0, 1e3, allow_subnormal=False)
    wholes = st.integers(0, 50)
    ranges = st.one_of(
        st.tuples(numbers, numbers).map(lambda ends: Uniform(min(ends), max(ends))),
        st.tuples(wholes, wholes).map(lambda ends: Integer(min(ends), max(ends))),
        st.lists(st.one_of(wholes, st.text(max_size=3)), min_size=1, max_size=4, unique_by=repr).map(
            lambda values: Choice(*values)
        ),
    )
    return draw(st.dictionaries(st.sampled_from("abcde"), ranges, min_size=1))


def is_in(value: Any, searched: Range) -> bool:
    if isinstance(searched, Choice):
        return value in searched.options
    return isinstance(value, int | float) and searched.low <= value <= searched.high


@pytest.mark.parametrize("sampler", LEARNING)
@given(space=spaces(), seed=st.integers(0, 99))
def test_proposals_lie_in_their_ranges(sampler: str, space: dict[str, Range], seed: int) -> None:
    ranges = {name: distribution(searched) for name, searched in space.items()}
    done: list[FrozenTrial] = []
    for place in range(14):  # beyond the ten that TPE draws blindly
        params = Proposer(done, space, sampler, seed).propose(place, {})
        assert list(params) == list(space)
        assert all(is_in(value, space[name]) for name, value in params.items())
        done.append(create_trial(value=place % 3, params=params, distributions=ranges))


@pytest.mark.parametrize("sampler", LEARNING)
def test_a_proposal_depends_on_seed_place_and_what_was_before_alone(sampler: str) -> None:
    done = history(30)
    first = [Proposer(done, SPACE, sampler, 0).propose(place, {}) for place in range(30, 36)]
    failed = trial({"rate": 0.5, "depth": 2, "kind": "a"}, state=TrialState.FAIL)
    again = Proposer([failed, *done[:9], failed, *done[9:]], SPACE, sampler, 0)
    assert [again.propose(place, {}) for place in reversed(range(30, 36))] == first[::-1]
    assert len({tuple(params.values()) for params in first}) > 1
    assert Proposer(done, SPACE, sampler, 1).propose(30, {}) != first[0]
    assert again.propose(30, {}, attempt=1) != first[0]
    if sampler != "random":
        assert Proposer(done[:15], SPACE, sampler, 0).propose(30, {}) != first[0]


@pytest.mark.parametrize("sampler", LEARNING)
def test_to_go_on_in_a_batch_is_to_begin_anew_with_its_running_trials(sampler: str) -> None:
    done = history(20)
    through = Proposer(done, SPACE, sampler, 0)
    for place in range(20, 28):
        params = through.propose(place, {})
        assert Proposer(done, SPACE, sampler, 0).propose(place, {}) == params
        through.take(params)
        done.append(trial(params))


@pytest.mark.parametrize("sampler", LEARNING)
def test_fixed_fields_have_their_value_and_the_others_are_still_searched_well(sampler: str) -> None:
    done = history(60)
    proposer = Proposer(done, SPACE, sampler, 0)
    drawn = [proposer.propose(place, {"kind": "c"}) for place in range(60, 100)]
    assert {params["kind"] for params in drawn} == {"c"}
    far = sum(abs(params["rate"] - 0.3) for params in drawn) / len(drawn)
    assert (far > 0.2) == (sampler == "random")


@pytest.mark.parametrize("sampler", ["tpe", "anneal"])
def test_a_sampler_that_learns_comes_closer_to_the_best_than_chance(sampler: str) -> None:
    done = history(60)
    proposer = Proposer(done, SPACE, sampler, 3)
    drawn = [proposer.propose(place, {}) for place in range(60, 100)]
    assert sum(abs(params["rate"] - 0.3) for params in drawn) / 40 < 0.15
    assert sum(abs(params["depth"] - 4) for params in drawn) / 40 < 1.6
    assert sum(params["kind"] == "b" for params in drawn) > 25


@given(seed=st.integers(0, 10_000), count=st.integers(1, 60))
def test_annealing_stays_in_a_neighborhood_that_shrinks_with_the_trials_done(seed: int, count: int) -> None:
    best = trial({"rate": 0.4, "depth": 3, "kind": "a"}, 1.0)
    worse = trial({"rate": 0.4, "depth": 3, "kind": "a"}, 0.5)
    dropped = trial({"rate": 0.9, "depth": 8, "kind": "c"}, None, TrialState.PRUNED)
    done = [best, worse, *[dropped] * count]
    params = Proposer(done, SPACE, "anneal", seed).propose(0, {})
    temperature = 1 / (1 + 0.1 * len(done))
    assert abs(params["rate"] - 0.4) <= temperature / 2 + 1e-12
    assert abs(params["depth"] - 3) <= temperature * 8 / 2


def test_annealing_starts_from_the_best_half_of_the_time_from_the_next_a_quarter() -> None:
    done = [trial({"rate": k / 10, "depth": 0, "kind": "a"}, 1.0 - k / 10) for k in range(10)]
    done += [trial({"rate": 1.0, "depth": 0, "kind": "a"}, None, TrialState.PRUNED)] * 990
    proposer = Proposer(done, SPACE, "anneal", 0)
    nearest = [round(proposer.propose(place, {})["rate"] * 10) for place in range(400)]
    assert nearest.count(0) / 400 == pytest.approx(1 / 2, abs=0.07)
    assert nearest.count(1) / 400 == pytest.approx(1 / 4, abs=0.07)


def test_annealing_without_a_score_yet_draws_from_the_whole_range() -> None:
    proposer = Proposer([], SPACE, "anneal", 0)
    drawn = [proposer.propose(place, {}) for place in range(300)]
    assert {params["depth"] for params in drawn} == set(range(9))
    assert {params["kind"] for params in drawn} == {"a", "b", "c"}
    assert min(params["rate"] for params in drawn) < 0.05 and max(params["rate"] for params in drawn) > 0.95


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), low=st.integers(0, 5), high=st.integers(5, 8)
)
def test_a_grid_has_every_point_once_and_the_last_field_changes_fastest(
    sizes: list[int], low: int, high: int
) -> None:
    space: dict[str, Range] = {f"field {i}": Choice(*range(size)) for i, size in enumerate(sizes)}
    space["whole"] = Integer(low, high)
    points = [tuple(point.values()) for point in grid(space)]
    assert len(points) == len(set(points)) == grid_size(space)
    assert points == sorted(points)


def test_a_grid_refuses_a_range_without_an_end_of_values() -> None:
    with pytest.raises(
        ConfigError, match="a grid needs values, but rate is any number from 0 to 1; list some"
    ):
        grid_size(SPACE)


def test_seeds_of_proposals_differ_by_seed_place_and_attempt() -> None:
    drawn = {derived(seed, place, attempt) for seed in range(9) for place in range(99) for attempt in (0, 1)}
    assert len(drawn) == 9 * 99 * 2
