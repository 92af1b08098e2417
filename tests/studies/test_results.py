"""What studies have in common: plain numbers, settings from the recipes, all runs trained together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from heterophily.bench import evaluate
from heterophily.config import ConfigError
from heterophily.graph.graph import GraphError
from heterophily.hdp import HDPConfig
from heterophily.recipes import recipe
from heterophily.studies import (
    STUDIES,
    Plan,
    StudyError,
    ablation,
    from_json,
    partition,
    preference,
    read,
    unbundle,
)
from heterophily.studies.plan import scored
from heterophily.studies.result import by_split
from heterophily.training.engine import Progress
from tests.studies.made import made
from tests.tiny import SETTINGS, tiny_config, tiny_graph


@pytest.mark.parametrize("name", STUDIES)
def test_a_result_goes_to_json_and_comes_back_the_same(name: str, tmp_path: Path) -> None:
    result = made(name)
    file = tmp_path / "result.json"
    file.write_text(result.to_text())
    back = read(file)
    assert type(back) is type(result) and back.to_json() == result.to_json()
    assert json.loads(result.to_text())["study"] == name


@pytest.mark.parametrize("name", STUDIES)
def test_a_result_says_what_was_trained(name: str) -> None:
    about = made(name).about
    assert about["runs"] >= 1 and about["device"] == "cpu" and about["versions"]["torch"]
    assert any(settings["epoch"] == SETTINGS["epoch"] for settings in about["settings"].values())


def test_what_is_no_result_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(StudyError, match="cannot be read as a result"):
        read(tmp_path / "a.json")
    with pytest.raises(StudyError, match="it does not say of which"):
        from_json({"rows": []})
    with pytest.raises(StudyError, match="there is no study 'x'; the studies are ablation"):
        from_json({"study": "x"})
    with pytest.raises(StudyError, match="has no 'rows'; make it anew"):
        from_json({"study": "ablation", "dataset": "texas", "about": {}})
    with pytest.raises(StudyError, match="no bundle"):
        unbundle({"study": "ablation"})


def test_settings_are_the_recipe_s_or_else_the_defaults() -> None:
    assert Plan().config("hdp", "wisconsin") == HDPConfig.parse(recipe("hdp", "wisconsin"))
    assert Plan().config("hdp", "synthetic") == HDPConfig()
    changed = Plan(changes={"epoch": "7", "tpc_weight": 2.0})
    assert changed.config("hdp", "synthetic") == HDPConfig(epoch=7, tpc_weight=2.0)
    assert changed.config("mlp", "synthetic").to_dict()["epoch"] == 7  # which knows no tpc_weight


def test_a_setting_that_no_model_of_the_study_knows_is_refused() -> None:
    plan = Plan(changes={"lamda": 1})
    with pytest.raises(ConfigError, match="no field 'lamda'; did you mean 'rescale'"):
        plan.train(tiny_graph(), [("hdp", HDPConfig())])


def test_runs_together_score_as_an_evaluation_does() -> None:
    graph, config = tiny_graph(), tiny_config("hdp")
    plan = Plan(splits=[2, 0], seed=3, seeds=2)
    (first, second), about = plan.train(graph, [("hdp", config), ("mlp", tiny_config("mlp"))])
    expected = evaluate(graph, "hdp", config, [2, 0], seed=3, seeds=2)
    assert [scored(graph, trial) for trial in first] == [score.test for score in expected.splits]
    assert [trial.split.name for trial in second] == ["2", "2", "0", "0"]
    assert about["splits"] == ["2", "0"] and about["runs"] == 8


def test_equal_settings_are_trained_once() -> None:
    seen: list[Progress] = []
    expected: list[int] = []
    config = tiny_config("mlp")
    plan = Plan(splits=[0], watch=seen.append, expect=expected.append)
    (one, same), _ = plan.train(tiny_graph(), [("mlp", config), ("mlp", config)])
    assert expected == [1] and one[0].outcome is same[0].outcome
    assert sum(not progress.alive for progress in seen) == 1


def test_studies_that_share_their_runs_train_nothing_twice() -> None:
    graph, other = tiny_graph(), tiny_graph().with_splits(tiny_graph().splits)
    expected: list[int] = []
    plan = Plan(splits=[0, 1], changes=SETTINGS, expect=expected.append, kept={})
    watched = partition.study(graph, plan)
    assert preference.study(graph, replace(plan, splits=[1])).about["shared_runs"] == 1
    taken_apart = ablation.study(graph, plan)
    assert expected == [2, 0, 16]  # of nine rows the full one is there
    assert taken_apart.test == ablation.study(graph, replace(plan, kept=None)).test
    assert partition.study(graph, plan).about["shared_runs"] == 0  # watched while it trains, so trained
    assert preference.study(other, plan).about["shared_runs"] == 0
    assert watched.about["runs"] == 2


def test_seeds_are_averaged_within_a_split_unless_there_is_but_one() -> None:
    assert by_split([1.0, 3.0, 5.0, 7.0], 2) == [2.0, 6.0]
    assert by_split([1.0, 3.0], 2) == [1.0, 3.0]


def test_without_test_nodes_or_splits_there_is_nothing_to_study() -> None:
    graph = tiny_graph()
    with pytest.raises(GraphError, match="no splits"):
        Plan().places(graph.with_splits([]))
    blank = graph.splits[0]
    with pytest.raises(GraphError, match="no test node"):
        Plan().places(graph.with_splits([type(blank)(blank.train, blank.validation, blank.test & False)]))
    with pytest.raises(StudyError, match="seeds is 0"):
        Plan(seeds=0).places(graph)
