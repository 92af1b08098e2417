"""docs/tuning.md says of races what was measured."""

from __future__ import annotations

from benchmarks.write_race import BEGIN, END, PAGE, measured, page
from heterophily.bench.tuning import FIELD, RUNGS


def test_the_page_has_the_measured_numbers() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text and END in text
    assert page(text, measured()) == text, "docs/tuning.md lags behind; run: python -m benchmarks.write_race"


def test_the_race_that_was_measured_is_the_one_that_there_is() -> None:
    found = measured()
    assert (tuple(found["rungs"]), found["field"]) == (RUNGS, FIELD)
