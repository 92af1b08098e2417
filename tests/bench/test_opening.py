"""The name of a setting, by which an opening of the test labels is known."""

from __future__ import annotations

import json
from pathlib import Path

from heterophily.bench.opening import LATER, fingerprint, opening
from heterophily.hdp import HDPConfig


def test_a_setting_that_came_later_changes_a_name_only_where_it_is_on() -> None:
    config = HDPConfig().to_dict()
    before = {name: value for name, value in config.items() if name not in LATER}
    name = fingerprint("hdp", "texas", before, {})
    assert fingerprint("hdp", "texas", config, {}) == name
    for later in LATER:
        assert fingerprint("hdp", "texas", config | {later: 32}, {}) != name


def test_other_seeds_are_another_opening_and_older_records_have_those_of_their_result(tmp_path: Path) -> None:
    file, config = tmp_path / "result.json", HDPConfig()
    first = opening(file, "hdp", "texas", config, {}, "paper")
    assert (first["seed"], first["seeds"]) == (0, 1)
    old = {name: value for name, value in first.items() if name not in ("seed", "seeds")}
    file.write_text(json.dumps({"test_opened": old, "seed": 0, "seeds": 1}))
    assert "earlier" not in opening(file, "hdp", "texas", config, {}, "paper")
    for other in ({"seed": 1}, {"seeds": 3}):
        record = opening(file, "hdp", "texas", config, {}, "paper", **other)
        assert record["earlier"] == [first] and "again" not in record


def test_a_cell_trained_once_more_keeps_the_word_that_its_setting_was_not_the_first(tmp_path: Path) -> None:
    file, first, second = tmp_path / "result.json", HDPConfig(), HDPConfig(dropout=0.2)
    for config, again in ((first, False), (second, True), (second, False)):
        record = opening(file, "hdp", "texas", config, {}, "paper", again=again)
        file.write_text(json.dumps({"test_opened": record}))
    assert record["again"] and len(record["earlier"]) == 1
