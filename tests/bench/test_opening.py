"""The name of a setting, by which an opening of the test labels is known."""

from __future__ import annotations

from heterophily.bench.opening import LATER, fingerprint
from heterophily.hdp import HDPConfig


def test_a_setting_that_came_later_changes_a_name_only_where_it_is_on() -> None:
    config = HDPConfig().to_dict()
    before = {name: value for name, value in config.items() if name not in LATER}
    name = fingerprint("hdp", "texas", before, {})
    assert fingerprint("hdp", "texas", config, {}) == name
    for later in LATER:
        assert fingerprint("hdp", "texas", config | {later: 32}, {}) != name
