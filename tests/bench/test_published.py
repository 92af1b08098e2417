"""Table 1 as printed is all there, and its rows are models of the registry."""

from __future__ import annotations

import pytest

from heterophily.bench.published import table_1
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS


def test_every_cell_of_table_1_is_there_under_our_names() -> None:
    table = table_1()
    assert list(table) == [name for name in MODELS if name in table] and len(table) == 14
    for row in table.values():
        assert len(row) == 9 and set(row) <= set(DATASETS)
        assert all(0 < std < 0.1 < mean < 1 for mean, std in row.values())


def test_the_numbers_are_the_printed_ones_as_fractions() -> None:
    assert table_1()["hdp"]["texas"] == pytest.approx((0.8838, 0.042))
    assert table_1()["linkx"]["squirrel"] == pytest.approx((0.6181, 0.018))
