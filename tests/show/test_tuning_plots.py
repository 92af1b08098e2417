"""The pictures and words of a study: readable with many settings, left out where there is little."""

from __future__ import annotations

import io

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from heterophily.bench.findings import Findings, edge
from heterophily.bench.tuning import Task, Tuning, searched_fields
from heterophily.config import Choice, Integer, Uniform
from heterophily.models import MODELS
from heterophily.show.tuning_plots import (
    history_figure,
    importance_figure,
    parallel_figure,
    slices_figure,
    study_plots,
)
from heterophily.show.tuning_words import best_words, edges_words, findings_markdown, mattered_words


def found(trials: int = 60, model: str = "hdp", defaults: float | None = 0.6) -> Findings:
    """A study in which the learning rate decides, some luck aside, and every third trial was dropped."""
    random = np.random.default_rng(0)
    space, config = searched_fields(MODELS[model]), MODELS[model].config()
    rows = []
    for number in range(trials):
        params = {}
        for name, searched in space.items():
            if isinstance(searched, Choice):
                params[name] = searched.options[random.integers(len(searched.options))]
            elif isinstance(searched, Integer):
                params[name] = int(random.integers(searched.low, searched.high + 1))
            else:
                params[name] = random.uniform(searched.low, searched.high)
        score = 0.7 + 5 * params["learning_rate"] - 0.05 * random.random() - 0.6 * (number % 20 == 7)
        dropped = number % 3 == 2
        rows.append({
            "number": number, "batch": number // 16, "state": "dropped" if dropped else "complete",
            "validation": score - 0.1 * dropped, "loss": 1.0, "splits": 4 if dropped else 10, "epochs": 100,
            "seconds": 1.0, **params,
        })  # fmt: skip
    table = pd.DataFrame(rows)
    task = Task(model, "texas", space, config, splits=tuple(range(10)))
    best = table[table["state"] == "complete"].sort_values("validation").iloc[-1]
    chosen = config.replace(**{name: best[name] for name in space})
    return Findings("texas-hdp", Tuning(task, table, chosen, best["validation"], 0.2), "accuracy", defaults)


def pixels(figure: Figure | bytes) -> np.ndarray:
    if isinstance(figure, bytes):
        return matplotlib.image.imread(io.BytesIO(figure), format="png")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=60)
    return matplotlib.image.imread(io.BytesIO(stream.getvalue()), format="png")


def texts(figure: Figure) -> str:
    said = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        said += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(t.get_text() for t in axes.texts)]
        said += [label.get_text() for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]]
        if legend := axes.get_legend():
            said += [text.get_text() for text in legend.get_texts()]
    return "\n".join(said)


def test_every_picture_is_a_png_of_fair_size_and_says_what_it_shows() -> None:
    files, left_out = study_plots(found())
    assert list(files) == ["history.png", "importance.png", "slices.png", "parallel.png"] and not left_out
    for content in files.values():
        assert content is not None
        image = pixels(content)
        assert image.shape[0] > 500 and image.shape[1] > 1200
        assert 0.01 < (image[..., :3].min(-1) < 0.99).mean() < 0.9  # neither blank nor black


def test_the_history_shows_what_was_dropped_the_best_so_far_and_the_defaults() -> None:
    said = texts(history_figure(found()))
    for words in ("dropped early (20)", "trained on all splits (40)", "best so far", "texas · HDP", "below"):
        assert words in said
    figure = history_figure(found(defaults=0.8))
    assert "defaults (80.0)" in texts(figure)
    (line,) = (line for line in figure.axes[0].lines if line.get_label() == "best so far")
    best = np.asarray(line.get_ydata())
    assert np.isfinite(best).all() and (np.diff(best) >= 0).all()


def test_every_setting_has_its_place_in_each_picture() -> None:
    study = found()
    mattered = study.importance
    assert mattered is not None and len(study.tuning.task.space) >= 10
    for figure in (
        importance_figure(study, mattered),
        slices_figure(study, mattered),
        parallel_figure(study, mattered),
    ):
        said = texts(figure)
        assert all(name in said for name in study.tuning.task.space)


def test_what_decides_is_what_mattered_most() -> None:
    mattered = found().importance
    assert mattered is not None
    assert next(iter(mattered.shares)) == "learning_rate" and mattered.explained > 0.2
    assert sum(mattered.shares.values()) == pytest.approx(1)


def test_too_few_trials_leave_pictures_out_and_say_so() -> None:
    files, (sentence,) = study_plots(found(3))
    assert [name for name, content in files.items() if content] == ["history.png"]
    assert "importance.png, slices.png, parallel.png" in sentence
    assert "cannot be said from 3 trials; it takes 20" in mattered_words(found(3))


def test_the_words_say_how_far_ahead_the_best_is() -> None:
    study = found()
    words = findings_markdown(study, "here/recipe.toml", {"num_nodes": 60})
    assert "20 of the 60 trials were dropped after the first 4 splits" in words
    assert "spared 20 % of the runs" in words and "points ahead of the defaults" in words
    assert "heterophily evaluate texas --recipe here/recipe.toml --graph num_nodes=60" in words
    behind = best_words(found(defaults=0.99))
    assert "points behind the defaults" in behind and "--trials" in behind


@pytest.mark.parametrize(
    "name, value, searched, wider",
    [
        ("patience", 400, Choice(100, 200, 400), "100,200,400,800"),
        ("learning_rate", 0.001, Choice(0.001, 0.01, 0.1), "0.0001,0.001,0.01,0.1"),
        ("dropout", 0.7, Choice(0.0, 0.2, 0.5, 0.7), "0,0.2,0.5,0.7,0.9"),
        ("rescale", 1.199, Uniform(0.8, 1.2), "0.8:1.4"),
        ("layers_hm", 8, Integer(0, 8), "0:12"),
        ("dropout", 0.0, Choice(0.0, 0.2, 0.5), None),  # nothing lies below 0
        ("dropout", 0.9, Choice(0.5, 0.7, 0.9), None),  # nor a dropout at 1
        ("layers_hm", 0, Integer(0, 8), None),
        ("layers_hm", 4, Integer(0, 8), None),
        ("order", 2, Choice(1, 2), None),
        ("normalization", "walk", Choice("symmetric", "walk"), None),
    ],
)
def test_a_value_at_an_edge_comes_with_a_wider_range(
    name: str, value: object, searched: Choice | Uniform | Integer, wider: str | None
) -> None:
    seen = edge(MODELS["hdp"].config().replace(**{name: value}), name, searched)
    assert (seen and seen.wider) == wider


def test_the_edges_are_said_with_a_study_of_another_name() -> None:
    study = found()
    at = {one.name for one in study.edges}
    if at:
        (words,) = edges_words(study)
        assert "--study texas-hdp-wider" in words and all(f"--space {name}=" in words for name in at)
