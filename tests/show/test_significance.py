"""A comparison in words: what may be concluded, what not, and the diagram of mean ranks."""

from __future__ import annotations

import io

import matplotlib.image
import numpy as np
import pytest

from heterophily.bench.compare import Comparison, compare
from heterophily.bench.scores import Scores
from heterophily.bench.significance import significance as compare_cells
from heterophily.bench.table1 import Table1, table1
from heterophily.show import significance
from heterophily.show.ranks import KINDS, critical_difference_figure, figure_bytes
from heterophily.show.significance import caveats, grid, pair_words, points, probability, ranks_words
from tests.bench.test_table1 import cell

RNG = np.random.default_rng(0)
NONE = Table1(())
LEVELS = {"hdp": 0.8, "mlp": 0.6, "gcn": 0.8}


def found(datasets: int = 1, against: str | None = "hdp", splits: int = 10) -> Comparison:
    noise = 0.004 * RNG.standard_normal(splits)
    own = {"hdp": noise, "mlp": noise[::-1], "gcn": noise + 0.03 * (-1) ** np.arange(splits)}
    return compare(
        [
            Scores(model, f"graph {d}", {str(i): level + own[model][i] for i in range(splits)})
            for d in range(datasets)
            for model, level in LEVELS.items()
        ],
        against,
    )


def test_a_verdict_is_put_into_a_sentence() -> None:
    first, second = (pair_words(pair) for pair in found().pairs)
    assert first.startswith("On graph 0, HDP is better than MLP: by 20.") and "p < 0.001" in first
    assert second.startswith("On graph 0, it stays open whether HDP or GCN is better")
    assert second.endswith("That is no evidence that they are equal.")
    same = compare({"hdp": [0.5, 0.6, 0.7], "mlp": [0.5, 0.6, 0.7]})
    assert pair_words(same.pairs[0]).startswith("On these splits, HDP and MLP are equal in practice")


def test_every_model_against_the_reference_is_a_cell_with_a_mark() -> None:
    made = grid(found(datasets=2), NONE)
    rows = dict(made.rows)
    assert list(rows) == ["MLP", "GCN"] and len(made.heads) == 2
    assert [piece.mark for piece in rows["MLP"]] == ["▲", "▲"]
    assert [piece.mark for piece in rows["GCN"]] == ["", ""]
    assert rows["MLP"][0].number.startswith("+") and "<0.001" in rows["MLP"][0].below
    (turned, _) = dict(grid(found(against="mlp"), NONE).rows).values()
    assert turned[0].mark == "▼" and turned[0].number.startswith("−")
    assert "Holm-adjusted over 2 models: all of the paper" in made.legend


def test_settings_that_were_not_searched_keep_their_mark() -> None:
    said = {"hdp": "published", "mlp": "defaults", "gcn": "searched"}
    cells = [
        cell(model, "texas", [LEVELS[model], LEVELS[model] + 0.01], chosen={"by": by, "note": ""})
        for model, by in said.items()
    ]
    made = grid(compare_cells(cells), table1(cells))
    assert {name: pieces[0].mark for name, pieces in made.rows} == {"MLP": "▲ᵈ", "GCN": "≈"}
    assert "ᵈ: the model's default settings" in made.legend and made.legend.endswith("HDP itself: Texasᵖ.")


def test_it_says_what_may_not_be_concluded() -> None:
    said = " ".join(caveats(found()))
    assert "anything about other graphs or other settings" in said
    assert "ratio of test to training nodes was taken as 0.42" in said
    assert "Wilcoxon" not in said
    few = " ".join(caveats(found(splits=5)))
    assert "cannot give a p below 0.062, which is 0.125 once adjusted for 2 comparisons: it" in few
    single = " ".join(caveats(compare({"a": [0.5, 0.6], "b": [0.6, 0.5]})))
    assert "cannot give a p below 0.500: it could not" in single


def test_ranks_over_splits_are_called_surer_than_they_are() -> None:
    assert "overlap" in ranks_words(found())
    words = ranks_words(found(datasets=3))
    assert "Mean ranks over 3 datasets (graph 0, graph 1, graph 2)" in words and "overlap" not in words


def test_where_there_are_no_ranks_the_missing_cells_are_named() -> None:
    some = [Scores(m, d, {"0": 0.5, "1": 0.6}) for m, d in zip(("hdp", "hdp", "mlp", "gcn"), "ababa"[:4])]
    words = ranks_words(compare(some, "hdp"))
    assert (
        words
        == "There are no mean ranks, as no two models have all of a, b. Not ranked: MLP lacks b; GCN lacks a."
    )


def test_numbers_are_never_rounded_to_certainty() -> None:
    assert [probability(p) for p in (0.0001, 0.5, 0.9999)] == ["<1 %", "50 %", ">99 %"]
    assert significance.p_text(1e-9) == "<0.001"
    assert [points(f) for f in (0.01, 0.005, 0.02)] == ["1 point", "0.5 points", "2 points"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_diagram_is_a_picture_of_each_kind(kind: str) -> None:
    picture = figure_bytes(critical_difference_figure(found(datasets=3)), kind)
    assert picture.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])


def test_the_diagram_names_every_model_with_its_rank_and_joins_those_not_told_apart() -> None:
    comparison = found(datasets=3)
    assert comparison.ranks is not None
    figure = critical_difference_figure(comparison)
    texts = [text.get_text() for text in figure.axes[0].texts]
    for model, rank in zip(comparison.models, comparison.ranks.mean):
        assert f"{significance.name_of(model)}  {rank:.2f}" in texts
    assert any(f"critical difference {comparison.ranks.critical_difference:.2f}" in text for text in texts)
    assert figure.get_supxlabel().startswith(
        "Nemenyi's test, α = 0.05. Friedman's test that all are alike: p "
    )
    image = matplotlib.image.imread(io.BytesIO(figure_bytes(figure, "png")))
    assert image.shape[1] > 1000 and image[..., :3].std() > 0.02
