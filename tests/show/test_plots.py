"""The picture of a partition: a readable file whatever the edges are."""

from __future__ import annotations

import io

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from heterophily.bench.partition import with_truth
from heterophily.show.plots import partition_figure, to_png


def edges(threshold: float = 0.5, classes: int = 3, count: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(0)
    ends = random.integers(0, 40, (2, count))
    p = random.random(count)
    frame = pd.DataFrame(
        {
            "source": ends[0],
            "target": ends[1],
            "probability": p,
            "threshold": threshold,
            "verdict": np.where(p >= threshold, "homophilous", "heterophilous"),
        }
    )
    return with_truth(frame, np.arange(40) % classes, np.arange(40) < 20)


def texts(figure: Figure) -> str:
    parts = [figure, *figure.subfigs]
    said = [text.get_text() for part in parts for text in part.texts]
    for axes in figure.axes:
        said += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()] + [t.get_text() for t in axes.texts]
    return "\n".join(said + [part.get_suptitle() for part in parts])


@pytest.mark.parametrize("threshold", [0.02, 0.5, 0.98, np.inf])
@pytest.mark.parametrize("classes", [2, 10])
def test_the_picture_is_a_png_of_a_fair_size(threshold: float, classes: int) -> None:
    figure = partition_figure(edges(threshold, classes), [str(k) for k in range(classes)], "A title")
    image = matplotlib.image.imread(io.BytesIO(to_png(figure)), format="png")
    assert image.shape[0] > 1000 and image.shape[1] > 1400
    assert 0.05 < (image[..., :3].min(-1) < 0.99).mean() < 0.95  # neither blank nor black


def test_it_says_in_words_what_is_seen() -> None:
    said = texts(partition_figure(edges(), ["a", "b", "c"], "Three classes"))
    for words in (
        "Three classes",
        "Called homophilous",
        "join one class",
        "threshold 0.50",
        "number of edges",
    ):
        assert words in said


def test_a_part_without_edges_is_drawn_all_the_same() -> None:
    figure = partition_figure(edges(np.inf), ["a", "b", "c"], "No edge is called homophilous")
    assert "0 edges, none" in texts(figure)
    assert to_png(partition_figure(edges()[:0], ["a", "b", "c"], "No edges at all"), dpi=40)
