"""Tables and sentences: percentages for people, honest whichever way the numbers fall."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from rich.console import Console, RenderableType

from heterophily.bench.demo import Demo
from heterophily.bench.partition import PartitionQuality
from heterophily.bench.protocol import Evaluation, SplitScore
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.show import tables
from tests.tiny import tiny_graph


def evaluation(*tests: float, model: str = "hdp", metric: str = "accuracy") -> Evaluation:
    first = SplitScore(0, 0.5, 0.5, 3, 0.1) if model == "hdp" else None
    details = {"estimated_homophily": 0.3}
    scores = tuple(SplitScore(i, 0.7, test, 1234, 5.25, first, details) for i, test in enumerate(tests))
    return Evaluation(model, "texas", metric, scores, MODELS[model].config(), 0, "cpu", 1.0, ())


def over_seeds(*tests: list[float]) -> Evaluation:
    """One list of test scores per split."""
    first = SplitScore(0, 0.5, 0.5, 3, 0.1)
    scores = tuple(
        SplitScore(i, 0.7, test, 1000 + 100 * seed, 5.25, first, {}, seed)
        for i, split in enumerate(tests)
        for seed, test in enumerate(split)
    )
    return replace(evaluation(0.5), splits=scores, seeds=len(tests[0]))


def shown(what: RenderableType, width: int = 80) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


@pytest.mark.parametrize(
    "given, line",
    [
        (evaluation(0.8, 0.9), "texas · HDP · accuracy 85.0 ± 7.1 (mean ± std over 2 splits)"),
        (evaluation(0.8), "texas · HDP · accuracy 80.0 (split 0 alone)"),
        (evaluation(0.8, model="mlp", metric="roc_auc"), "texas · MLP · ROC AUC 80.0 (split 0 alone)"),
        (
            over_seeds([0.7, 0.9], [0.85, 0.95]),
            "texas · HDP · accuracy 85.0 ± 7.1 (mean ± std over 2 splits, each the mean of 2 seeds; "
            "± 11.2 over the seeds of a split)",
        ),
        (
            over_seeds([0.8, 0.9]),
            "texas · HDP · accuracy 85.0 ± 7.1 (mean ± std over 2 seeds, split 0 alone)",
        ),
    ],
)
def test_the_line_to_remember(given: Evaluation, line: str) -> None:
    assert tables.summary(given) == line


def test_a_table_of_splits_fits_80_columns_uncut() -> None:
    text = shown(tables.evaluation_table(evaluation(0.8, 0.912)))
    assert "91.2" in text and "1,234" in text and "5.2" in text
    assert "…" not in text and max(map(len, text.splitlines())) <= 80


def test_a_table_of_seeds_has_a_row_per_split_and_fits_too() -> None:
    text = shown(tables.evaluation_table(over_seeds([0.7, 0.9], [0.85, 0.95])))
    rows = [line.replace("│", " ").split() for line in text.splitlines() if line.startswith("│")]
    assert rows[0] == ["0", "50.0", "50.0", "70.0", "80.0", "14.1", "1,050", "10.5"]
    assert len(rows) == 2 and "means of 2 seeds" in text
    assert "…" not in text and max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_has_a_card_with_its_source(name: str) -> None:
    text = shown(tables.dataset_card(DATASETS[name]), width=200)
    assert DATASETS[name].source.url in text and f"{DATASETS[name].nodes:,}" in text


def test_a_share_that_does_not_exist_is_a_dash() -> None:
    assert tables.percent(float("nan")) == "–"
    assert tables.percent(0.1234) == "12.3"


@pytest.mark.parametrize("hdp, words", [(0.8, "20 points more"), (0.5, "10 points less")])
def test_the_demo_says_what_was_seen_even_if_hdp_is_worse(hdp: float, words: str) -> None:
    quality = PartitionQuality(homophily=0.2, with_loops=0.34, precision=0.72, recall=0.705)
    mlp = evaluation(0.6, model="mlp")
    seen = Demo(tiny_graph(), mlp, evaluation(hdp), pd.DataFrame(), quality)
    said = tables.demo_words(seen)
    for part in (
        words,
        "only 20.0 %",
        "at 30.0 %",
        "in truth 34.0 %",
        "72.0 % of the edges",
        "70.5 % of those",
    ):
        assert part in said
    assert "20.0 %" in tables.demo_title(seen)
    none = replace(seen, quality=replace(quality, precision=float("nan")))
    assert "nan" not in tables.demo_words(none)
