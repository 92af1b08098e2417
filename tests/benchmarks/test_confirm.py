"""A setting that a search found by luck does not become a recipe."""

from __future__ import annotations

import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from heterophily.recipes import recipe
from tests.tiny import tiny_config, tiny_graph

HERE = Path(__file__).parents[2] / "benchmarks"
TRACE = [
    [0.99, 0.1, 3, 1e-9, 8.0],
    [0.9, 0.2, 3, 0.05, 16.0],
    [0.95, 0.2, 1, 0.03, 16.0],
    [0.5, 1.0, 3, 0.02, 8.0],
]
SEARCHED: dict[str, Any] = {
    "model": "mlp", "dataset": "tiny", "splits": 3, "trials": 4, "sampler": "tpe", "validation": 0.99,
    "columns": ["validation", "loss", "splits", "learning_rate", "hidden_dim"], "trace": TRACE,
}  # fmt: skip


@pytest.fixture(scope="module")
def confirm() -> dict[str, Any]:
    return runpy.run_path(str(HERE / "confirm_cells.py"))


def test_the_best_are_judged_under_both_rules_from_seeds_the_search_has_not_seen(confirm: Any) -> None:
    graph, start = tiny_graph(), tiny_config("mlp", epoch=30)
    row = SEARCHED | {"config": start.changes() | {"learning_rate": 1e-9}}
    found = confirm["confirmed"](graph, row, [1, 2], 3, "cpu")
    tried = found["confirmed"]
    rates = [(one["config"]["learning_rate"], one["config"].get("select", "score")) for one in tried]
    assert rates == [(rate, rule) for rate in (1e-9, 0.05, 0.02) for rule in ("score", "loss")]
    assert all(len(one["judged"]) == len(one["chosen"]) == 2 for one in tried)
    assert found["config"]["learning_rate"] != 1e-9
    assert found["validation"] == max(fmean(one["judged"]) for one in tried) < found["searched"]


def test_a_search_of_the_rule_makes_no_two_candidates(confirm: Any) -> None:
    columns = ["validation", "loss", "splits", "by_loss", "order"]
    trace = [[0.9, 0.3, 3, True, 2.0], [0.8, 0.4, 3, False, 2.0]]
    row = {"model": "hdp", "config": {}, "splits": 3, "columns": columns, "trace": trace}
    first, second = confirm["candidates"](row, 5)
    assert (first.order, second.order) == (1, 2) and not second.by_loss


def test_candidates_are_the_best_of_each_search_in_turn_those_that_chose_no_epoch_first(confirm: Any) -> None:
    trace = [[0.6, 0.9, 3, 0.07, 32.0], [0.7, 0.9, 3, 0.06, 32.0]]
    config = {"dropout": 0.3, "learning_rate": 0.06, "hidden_dim": 32}
    less = SEARCHED | {"config": config, "halves": True, "trace": trace}
    row = SEARCHED | {"config": {"learning_rate": 1e-9, "hidden_dim": 8}, "before": less}
    found = [(one.learning_rate, one.hidden_dim, one.dropout) for one in confirm["candidates"](row, 4)]
    usual = tiny_config("mlp").__class__().dropout
    assert found == [(1e-9, 8, usual), (0.06, 32, 0.3), (0.07, 32, 0.3), (0.05, 16, usual)]


def test_what_a_setting_was_judged_beside_is_no_candidate_again(confirm: Any) -> None:
    won, lost = {"learning_rate": 1e-9, "hidden_dim": 8}, {"learning_rate": 0.05, "hidden_dim": 16}
    row = SEARCHED | {"config": won, "confirmed": [{"config": one} for one in (won, lost)]}
    assert [one.learning_rate for one in confirm["candidates"](row, 4)] == [1e-9, 0.02]


def test_a_race_is_open_until_what_it_found_is_judged_beside_the_recipe(confirm: Any) -> None:
    race = {"race": True, "config": {"dropout": 0.3}, "validation": 0.9, "validation_at_start": 0.8}
    row = SEARCHED | {"config": {"dropout": 0.1}}
    assert not confirm["is_open"](row)
    assert confirm["is_open"](row | {"before": race})
    assert not confirm["is_open"](row | {"before": race | {"validation_at_start": 0.9}})
    assert not confirm["is_open"](row | {"before": race, "confirmed": [{"config": race["config"]}]})
    assert not confirm["is_open"](row | {"before": race, "config": race["config"] | {"select": "loss"}})


def test_small_weight_decays_are_not_taken_for_one_another(confirm: Any) -> None:
    one, other = (tiny_config("mlp", weight_decay=decay) for decay in (5e-6, 1e-5))
    assert not confirm["alike"](one, other) and confirm["alike"](one, one.replace(select="loss"))


def test_what_was_found_is_judged_beside_the_recipe_that_it_is_to_replace(confirm: Any) -> None:
    found, own = tiny_config("gcn"), recipe("gcn", "texas")
    beside = confirm["with_recipe"]([found], "gcn", "texas")
    assert beside == [found, found.parse(own)]
    assert confirm["with_recipe"](beside, "gcn", "texas") == beside
    assert confirm["with_recipe"]([found], "gcn", "tiny") == [found]


def test_where_a_dataset_has_no_recipe_it_is_the_kindred_one_s_that_is_to_be_replaced(confirm: Any) -> None:
    name = "gcnii-star"  # searched for no kindred of Chameleon's
    found, kindred = tiny_config(name), recipe(name, "chameleon")
    beside = confirm["with_recipe"]([found], name, "chameleon-filtered")
    assert beside == [found, found.parse(kindred)]


def test_on_a_large_graph_the_first_splits_are_enough(confirm: Any) -> None:
    row = SEARCHED | {"config": tiny_config("mlp", epoch=5).changes()}
    assert confirm["confirmed"](tiny_graph(), row, [1], 1, "cpu", splits=2)["splits"] == 2


def test_the_half_that_judges_has_had_no_say(confirm: Any) -> None:
    graph = tiny_graph()
    for number, split in enumerate(confirm["halved"](graph)):
        whole = graph.splits[number // 2]
        assert torch.equal(split.validation | split.test, whole.validation)
        assert not (split.validation & split.test).any() and split.validation.any() and split.test.any()
        assert torch.equal(split.train, whole.train)


def test_of_hdp_the_initial_assignment_is_judged_first_and_taken_over_by_rule(
    confirm: Any,
) -> None:
    start = tiny_config("hdp", epoch=6, epoch_init=6)
    trace = [[0.9, 0.3, 3, 0.01], [0.8, 0.4, 3, 0.03]]
    row = SEARCHED | {
        "model": "hdp", "config": start.changes(), "trace": trace,
        "columns": ["validation", "loss", "splits", "learning_rate"],
        "initial": {"columns": ["validation", "loss", "splits", "learning_rate_init"], "trace": trace},
    }  # fmt: skip
    found = confirm["confirmed"](tiny_graph(), row, [1], 2, "cpu")
    for rule, by_loss in enumerate((False, True)):
        best = max(found["confirmed_before"][rule::2], key=lambda one: one["judged"])["config"]
        for one in found["confirmed"][rule::2]:
            assert one["config"].get("by_loss", False) == by_loss
            assert one["config"].get("learning_rate_init") == best.get("learning_rate_init")


def test_of_hdp_the_recipe_is_judged_beside_them_with_its_own_initial_assignment(confirm: Any) -> None:
    start, own = tiny_config("hdp", epoch=6, epoch_init=6), recipe("hdp", "texas")
    bare = {"columns": ["validation", "loss", "splits"], "trace": []}
    row = SEARCHED | bare | {"model": "hdp", "dataset": "texas", "config": start.changes(), "initial": bare}
    tried = confirm["confirmed"](tiny_graph(), row, [1], 1, "cpu", splits=1)["confirmed"]
    assert [one["config"] | {"by_loss": False} for one in tried[2:]] == [own | {"by_loss": False}] * 2


def test_what_is_confirmed_goes_before_what_is_only_higher() -> None:
    standing = runpy.run_path(str(HERE / "write_recipes.py"))["standing"]
    assert standing({"validation": 0.9, "confirmed": []}) > standing({"validation": 0.95, "halves": True})
    assert standing({"validation": 0.9, "halves": True}) > standing({"validation": 0.99})
    assert standing({"validation": 0.9, "confirmed": []}) > standing({"validation": 0.99})
    assert standing({"validation": 0.9}) < standing({"validation": 0.91})


def test_a_cell_keeps_the_searches_before_it_and_counts_each_setting_once() -> None:
    write = runpy.run_path(str(HERE / "write_recipes.py"))
    first = {
        "validation": 0.9,
        "trials": 2,
        "trace": [[0.9], [0.8]],
        "initial": {"trials": 1, "trace": [[0.7]]},
    }
    more = write["after"](first, first | {"trials": 3, "trace": [[0.9], [0.8], [0.91]]})
    assert write["proposals"](more) == 4  # the same study, gone on
    other = {"validation": 0.8, "trials": 1, "trace": [[0.85]], "halves": True}
    halves = write["after"](more, other)
    assert write["proposals"](halves) == 5 and halves["before"] == more
    confirmed = write["after"](halves, other | {"confirmed": []})
    assert write["proposals"](confirmed) == 5 and confirmed["before"] == more
    waiting = write["beneath"](more, other)  # until it is confirmed
    assert write["after"](waiting, other | {"confirmed": []}) == confirmed
    again = write["after"](confirmed, other | {"confirmed": [], "seeds": [5]})  # what was said first stays
    assert again["before"] == {"validation": 0.8, "halves": True, "confirmed": [], "before": more}
    assert write["proposals"](again) == 5
    assert write["is_same"](
        other | {"confirmed": []}, again["before"]
    )  # taken in once more it changes nothing
    assert not write["is_same"](other | {"confirmed": []}, again) and not write["is_same"](
        other, again["before"]
    )


def test_what_was_confirmed_beside_a_recipe_replaces_it_whatever_it_had_come_to_from_other_seeds() -> None:
    surpasses = runpy.run_path(str(HERE / "write_recipes.py"))["surpasses"]
    facts = {"model": "mlp", "splits": 5}
    held = facts | {"config": {"dropout": 0.1}, "validation": 0.9, "confirmed": []}
    judged = [{"config": {"dropout": dropout}} for dropout in (0.1, 0.2)]
    better = facts | {"config": {"dropout": 0.2}, "validation": 0.8, "confirmed": judged}
    assert surpasses(better, held)
    assert not surpasses(better | {"confirmed": judged[1:]}, held)  # not beside it


def test_a_confirmed_search_without_a_trace_is_counted_once() -> None:
    write = runpy.run_path(str(HERE / "write_recipes.py"))
    bare = {"validation": 0.8, "trials": 56}
    confirmed = bare | {"validation": 0.7, "searched": 0.8, "confirmed": []}
    assert write["proposals"](write["after"](bare, confirmed)) == 56
    assert write["proposals"](write["after"](bare, confirmed | {"searched": 0.81})) == 112


def test_a_recipe_says_how_many_settings_a_race_ended_in_all_searches() -> None:
    write = runpy.run_path(str(HERE / "write_recipes.py"))
    facts = {"model": "mlp", "config": {}, "validation": 0.9, "splits": 2}
    before = facts | {"trials": 2, "trace": [[0.9, 1, 2], [0.8, 1, 0]]}  # no race: 0 is of something else
    first = facts | {"trials": 3, "race": True, "trace": [[0.9, 1, 2], [0.8, 1, 0], [0.7, 1, 0]]}
    found = first | {"initial": first, "before": first | {"before": before}}
    assert write["searched"](found).raced == 2 + 2 + 2


def test_a_search_that_found_less_counts_all_the_same() -> None:
    write = runpy.run_path(str(HERE / "write_recipes.py"))
    best = {"validation": 0.9, "trials": 1, "trace": [[0.9]]}
    less = {"validation": 0.8, "trials": 1, "trace": [[0.8]]}
    both = write["beneath"](best, less)
    assert both["validation"] == 0.9 and write["proposals"](both) == 2
    assert write["beneath"](both, less) == both  # it is there already


def test_a_search_that_ended_where_it_began_leaves_the_cell_as_it_was_judged() -> None:
    surpasses = runpy.run_path(str(HERE / "write_recipes.py"))["surpasses"]
    facts = {"model": "mlp", "config": {"dropout": 0.1}, "halves": True, "splits": 10}
    held = facts | {"validation": 0.8, "trace": [[0.8]]}
    same = facts | {"validation": 0.9, "trace": [[0.9]]}
    assert not surpasses(same, held)
    assert not surpasses(same | {"config": {"dropout": 0.1 + 1e-12}}, held)  # as a recipe has it
    assert surpasses(same | {"config": {"dropout": 0.2}}, held) and surpasses(same | {"confirmed": []}, held)
    assert surpasses(same | {"trace": [[0.8], [0.9]]}, held)  # the same study, gone on


def test_what_a_race_found_or_fewer_splits_showed_becomes_a_recipe_only_when_it_is_confirmed() -> None:
    surpasses = runpy.run_path(str(HERE / "write_recipes.py"))["surpasses"]
    facts = {"model": "mlp", "halves": True, "splits": 3}
    held = facts | {"config": {"dropout": 0.1}, "validation": 0.8, "trace": [[0.8]]}
    found = facts | {"config": {"dropout": 0.2}, "validation": 0.9, "trace": [[0.9]]}
    assert surpasses(found, held)
    for less in ({"race": True}, {"splits": 2}):
        assert not surpasses(found | less, held)
        assert surpasses(found | less | {"confirmed": []}, held)


def test_a_cell_of_an_earlier_recipe_is_told_of_the_search_that_led_to_it() -> None:
    origin = runpy.run_path(str(HERE / "write_recipes.py"))["origin"]
    before = {"model": "mlp", "config": {"dropout": 0.11}, "validation": 0.91234, "splits": 3, "trials": 8}
    row = before | {"config": {"dropout": 0.22}, "validation": 0.92, "before": before}
    cell = {"model": "mlp", "dataset": "texas", "test_opened": {"setting": "another"}}
    said = origin(cell | {"config": {"dropout": 0.11}}, row)
    assert (said["by"], said["validation"], said["splits"], said["trials"]) == ("searched", 0.9123, 3, 8)
    assert said["note"] == "mean validation score 91.23 on 3 splits, best of 8 settings"
    unknown = {"config": {"dropout": 0.33}, "chosen": {"by": "published", "note": "x"}}
    assert origin(cell | unknown, row) == unknown["chosen"]  # nothing is made up
