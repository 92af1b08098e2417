"""Cells that were trained twice, compared in test nodes."""

from __future__ import annotations

from typing import Any

from benchmarks.two_trainings import compared, pairs


def cell(device: str, *tests: float) -> dict[str, Any]:
    """A cell of two splits with 50 and 40 test nodes."""
    rows = [{"test": test, "nodes": {"test": nodes}} for test, nodes in zip(tests, (50, 40))]
    return {"model": "hdp", "dataset": "texas", "device": device, "mean": sum(tests) / 2, "seconds": 1.0,
            "splits": rows, "config": {"epoch": 5}, "seed": 0, "seeds": 1,
            "test_opened": {"setting": "abc", "at": device}}  # fmt: skip


def test_differences_are_counted_in_nodes_of_each_split_and_do_not_cancel_out() -> None:
    found = compared(cell("cpu", 0.80, 0.80), cell("cuda", 0.76, 0.85))
    assert found["nodes"] == [2, -2]
    assert found["nodes_apart"] == 2 and found["nodes_on_average"] == 0


def test_a_setting_from_before_a_field_came_is_the_same_setting() -> None:
    old, new = cell("cuda", 0.8, 0.8), cell("cpu", 0.8, 0.8)
    new["config"] = {**new["config"], "directed_features": False}
    assert list(pairs([old], [new])) == [(old, new)]
    assert not list(pairs([old], [new | {"test_opened": {"setting": "def", "at": "cpu"}}]))


def test_a_cell_is_not_compared_with_itself_nor_with_one_of_another_precision() -> None:
    once, twice = cell("cuda", 0.8, 0.8), cell("cuda", 0.7, 0.8)
    twice["test_opened"] = once["test_opened"] | {"at": "later"}
    assert list(pairs([once], [twice])) == [(once, twice)]
    assert not list(pairs([once], [once]))
    assert not list(pairs([once], [twice | {"precision": "double"}]))
