"""A comparison in words: what may be concluded, what not, and the diagram of mean ranks."""

from __future__ import annotations

import io

import matplotlib.image
import numpy as np
import pytest

from heterophily.bench.compare import Comparison, compare
from heterophily.bench.scores import Scores
from heterophily.show import significance
from heterophily.show.ranks import KINDS, critical_difference_figure, figure_bytes
from heterophily.show.significance import caveats, grid, pair_words, points, probability, ranks_words

RNG = np.random.default_rng(0)
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
    made = grid(found(datasets=2))
    rows = dict(made.rows)
    assert list(rows) == ["MLP", "GCN"] and len(made.heads) == 2
    assert [piece.mark for piece in rows["MLP"]] == ["▲", "▲"]
    assert [piece.mark for piece in rows["GCN"]] == ["", ""]
    assert rows["MLP"][0].number.startswith("+") and "<0.001" in rows["MLP"][0].below
    (turned, _) = dict(grid(found(against="mlp")).rows).values()
    assert turned[0].mark == "▼" and turned[0].number.startswith("−")


def test_it_says_what_may_not_be_concluded() -> None:
    said = " ".join(caveats(found()))
    assert "anything about other graphs or other settings" in said
    assert "ratio of test to training nodes was taken as 0.42" in said
    assert "Wilcoxon" not in said
    few = " ".join(caveats(found(splits=5)))
    assert "With 5 splits Wilcoxon's test cannot give a p below 0.062" in few


def test_ranks_over_splits_are_called_surer_than_they_are() -> None:
    assert "overlap" in ranks_words(found())
    words = ranks_words(found(datasets=3))
    assert "Mean ranks over 3 datasets" in words and "overlap" not in words


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
    image = matplotlib.image.imread(io.BytesIO(figure_bytes(figure, "png")))
    assert image.shape[1] > 1000 and image[..., :3].std() > 0.02
