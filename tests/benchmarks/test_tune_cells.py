"""Where the search of a cell of Table 1 begins."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from benchmarks.tune_cells import first_proposals, wanted
from heterophily.baselines.gcnii import GCNIIStarConfig
from heterophily.recipes import chosen, recipe, recipes


def test_a_study_begins_with_the_recipe_of_the_graph_or_of_a_kindred_one(tmp_path: Path) -> None:
    assert first_proposals("gcn", "texas", tmp_path / "own", "") == (recipe("gcn", "texas"), [])
    name = "gcnii-star"  # which has been searched for no graph without twins
    start, others = first_proposals(name, "chameleon-filtered", tmp_path / "kindred", "unknown")
    assert start == GCNIIStarConfig.parse(recipe(name, "chameleon")).changes()
    assert others == list(recipes(name).values())


def test_a_study_that_is_kept_goes_on_from_where_it_began(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text(json.dumps([{"dropout": 0.1}, [{"dropout": 0.2}]]))
    assert first_proposals("gcn", "texas", tmp_path / "kept", "") == ({"dropout": 0.1}, [{"dropout": 0.2}])


def test_a_cell_is_given_what_it_lacks_of_a_common_budget() -> None:
    had = chosen("gcn", "texas").tried
    assert had > 1
    more, none, other = (Namespace(total=had + 5), Namespace(total=had - 1), Namespace(total=None, trials=9))
    assert [wanted("gcn", "texas", args) for args in (more, none, other)] == [5, 0, 9]
    assert wanted("gcn", "a graph nobody has searched", more) == had + 5
