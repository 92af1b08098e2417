"""No verdict on Table 1 depends on what is shown, and mean ranks do not vanish with a cell more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from heterophily.bench import statistics
from heterophily.bench.scores import CompareError
from heterophily.bench.significance import significance
from tests.bench.test_table1 import cell

MODELS = ("mlp", "gcn", "gat", "hdp")
PAPER = ("cornell", "texas", "wisconsin")


def cells(
    models: Sequence[str] = MODELS, datasets: Sequence[str] = PAPER, without: Sequence[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    scores = {(m, d): rng.uniform(0.5, 0.6, 5).tolist() for m in models for d in datasets}
    return [cell(*name, tests) for name, tests in scores.items() if name not in without]


def test_a_graph_that_only_hdp_has_does_not_take_the_ranks_away() -> None:
    whole = significance(cells())
    more = significance([*cells(), *cells(["hdp"], ["cornell-corrected"])])
    assert more.ranks == whole.ranks and whole.ranks is not None
    assert more.over == PAPER and more.models == MODELS and not more.left_out


def test_versions_of_a_graph_of_the_paper_are_no_further_blocks_unless_they_are_named() -> None:
    some = cells(datasets=("cornell", "texas", "cornell-corrected"))
    found = significance(some)
    assert found.over == ("cornell", "texas") and "cornell-corrected" in found.means
    named = significance(some, ranked=("cornell-corrected", "texas"))
    assert named.over == ("texas", "cornell-corrected")
    own = significance(cells(datasets=("minesweeper", "tolokers")))
    assert own.over == ("minesweeper", "tolokers")


@pytest.mark.parametrize(
    "without, over, left_out",
    [
        ([("gcn", "cornell")], PAPER, {"gcn": ("cornell",)}),  # 3 × 3 cells are more than 4 × 2
        ([("gcn", "texas"), ("gat", "texas")], ("cornell", "wisconsin"), {}),
        ([("gcn", "texas"), ("gcn", "cornell")], PAPER, {"gcn": ("cornell", "texas")}),
    ],
)
def test_models_are_ranked_in_the_largest_full_table(
    without: list[tuple[str, str]], over: tuple[str, ...], left_out: dict[str, tuple[str, ...]]
) -> None:
    found = significance(cells(without=without))
    assert found.over == over and found.left_out == left_out and found.ranks is not None
    assert found.to_json()["ranked_over"] == list(over)


def test_where_no_two_models_share_two_datasets_the_missing_cells_are_named() -> None:
    found = significance(cells(["mlp", "gcn", "hdp"], PAPER[:2], [("mlp", "texas"), ("gcn", "cornell")]))
    assert found.ranks is None and found.over == PAPER[:2]
    assert found.to_json()["not_ranked"] == {"mlp": ["texas"], "gcn": ["cornell"]}


def test_a_verdict_is_the_same_whatever_is_shown() -> None:
    some = cells((*MODELS, "gcnii-star", "glognn-plus"))
    whole = {(p.second, p.dataset): p for p in significance(some).pairs}
    assert {pair.adjusted_over for pair in whole.values()} == {3}
    (alone, *_) = significance(some, models=["gcn"]).pairs
    assert alone == whole["gcn", "cornell"]
    texas = [whole[m, "texas"] for m in MODELS[:3]]
    assert [pair.p_holm for pair in texas] == statistics.holm([pair.p for pair in texas])


def test_a_model_outside_the_paper_is_adjusted_as_one_more() -> None:
    some = cells((*MODELS, "gcnii-star", "glognn-plus"), ["texas"])
    found = {p.second: p for p in significance(some, models=[*MODELS, "gcnii-star", "glognn-plus"]).pairs}
    family = [found[name].p for name in (*MODELS[:3], "gcnii-star")]
    assert found["gcnii-star"].p_holm == statistics.holm(family)[-1]
    assert found["gcnii-star"].to_json()["adjusted_over"] == 4 and found["gcn"].adjusted_over == 3
    (against, *_) = significance(some, "gcnii-star", ["gcn"]).pairs
    assert (against.second, against.adjusted_over) == ("gcn", 4)


def test_without_a_cell_of_the_reference_there_is_nothing_to_say() -> None:
    with pytest.raises(CompareError, match="^HDP has no cell to compare others with$"):
        significance(cells(["mlp", "gcn"]))
