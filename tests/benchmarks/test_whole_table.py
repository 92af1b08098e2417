"""How long Table 1 takes by the clock, told call by call."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.whole_table import Clock
from heterophily.bench.reproduce import Step


def test_a_call_that_is_stopped_has_the_time_of_the_cells_it_trained(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "times.json", "hdp", ["texas", "cora"], 1, "cpu")
    clock(Step("majority", "texas", "trained"))  # a rule is no cell of the paper's
    clock(Step("hdp", "texas", "trained", seconds=3.0))
    clock(Step("hdp", "cora", "failed", error="out of memory"))
    (call,) = json.loads((tmp_path / "times.json").read_text())
    assert (call["cells"], call["failed"], call["seconds_of_cells"]) == (1, 1, 3.0)
    assert call["seconds"] < 3.0  # the clock's, not the sum of what the cells took


def test_the_same_cells_timed_again_replace_their_time_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "times.json"
    for models, seconds in (("hdp", 3.0), ("baselines", 7.0), ("hdp", 2.0)):
        Clock(file, models, ["texas"], 1, "cpu")(Step("hdp", "texas", "trained", seconds=seconds))
    assert {call["models"]: call["seconds_of_cells"] for call in json.loads(file.read_text())} == {
        "baselines": 7.0,
        "hdp": 2.0,
    }
