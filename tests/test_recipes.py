"""Recipes: the packaged ones fit the models they are for; a user's file may be flat or by dataset."""

from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path

import pytest

from heterophily import HDPClassifier
from heterophily.config import ConfigError
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.recipes import HERE, chosen, note, recipe, recipes

ROOT = Path(__file__).parents[1]
PACKAGED = sorted(HERE.glob("*.toml"))


@pytest.mark.parametrize("file", PACKAGED, ids=lambda file: file.name)
def test_every_packaged_recipe_fits_its_model_and_names_a_dataset(file: Path) -> None:
    assert file.stem in MODELS, f"{file.name} is named after no model"
    found = recipes(file.stem)
    assert found and set(found) <= set(DATASETS)
    for settings in found.values():
        MODELS[file.stem].config.parse(settings)


# How they were chosen


@pytest.mark.parametrize("file", PACKAGED, ids=lambda file: file.name)
def test_every_packaged_table_says_how_its_settings_were_chosen(file: Path) -> None:
    for name, part in tomllib.loads(file.read_text(encoding="utf-8")).items():
        if isinstance(part, dict):
            assert part["chosen"]["by"] in {"searched", "published", "kindred", "guess"}, name
            assert "chosen" not in recipe(file.stem, name) and note(file.stem, name)


@pytest.mark.parametrize("file", PACKAGED, ids=lambda file: file.name)
def test_what_is_called_searched_is_what_was_searched(file: Path) -> None:
    place = ROOT / "results" / "tuning" / file.name.replace(".toml", ".json")
    rows = {row["dataset"]: row for row in json.loads(place.read_text())} if place.exists() else {}
    said = {name: chosen(file.stem, name) for name in recipes(file.stem)}
    assert {name for name, how in said.items() if how.by == "searched" or how.trials} == set(rows)
    for name, row in rows.items():
        assert said[name].validation == pytest.approx(row["validation"], abs=5e-5)
        assert (said[name].splits, said[name].trials) == (row["splits"], row["trials"])


@pytest.mark.parametrize("file", PACKAGED, ids=lambda file: file.name)
def test_the_recipes_are_those_that_their_writer_writes(file: Path) -> None:
    write = runpy.run_path(str(ROOT / "benchmarks" / "write_recipes.py"))
    place = write["TUNED"] / f"{file.stem}.json"
    if not place.exists():
        return  # nothing was tuned, so it is not written
    rows = json.loads(place.read_text())
    text = write["hdp"](rows) if file.stem == "hdp" else write["baseline"](file.stem, rows)
    assert text == file.read_text(encoding="utf-8"), "run: python benchmarks/write_recipes.py"


def test_settings_of_another_graph_or_guessed_ones_are_not_called_published() -> None:
    assert {name for name in recipes("ugcn") if chosen("ugcn", name).by == "published"} <= {"cornell"}
    for model, dataset in (("linkx", "actor"), ("h2gcn", "pubmed"), ("mixhop", "cornell")):
        assert chosen(model, dataset).by in {"searched", "kindred", "guess"}


def test_a_user_s_file_may_say_it_and_need_not(tmp_path: Path) -> None:
    file = write(tmp_path, '[texas]\nchosen = {by = "searched", splits = 3}\nhops = 1\n[cora]\nhops = 2\n')
    assert recipes("hdp", file) == {"texas": {"hops": 1}, "cora": {"hops": 2}}
    assert chosen("hdp", "texas", file).by == "searched" and chosen("hdp", "cora", file).by == "guess"


@pytest.mark.parametrize(
    "said, sentence",
    [
        ('"searched"', r"mine.toml \[texas\]: chosen must be a table such as"),
        ('{by = "luck"}', "by must be one of searched, published, kindred, guess, defaults, not 'luck'"),
        ('{by = "guess", trails = 3}', "has no field 'trails'; did you mean 'trials'"),
    ],
)
def test_a_word_that_says_nothing_of_it_is_refused(tmp_path: Path, said: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        chosen("hdp", "texas", write(tmp_path, f"[texas]\nchosen = {said}\n"))


def test_a_search_is_told_in_words(tmp_path: Path) -> None:
    said = "by = 'searched', validation = 0.8542, splits = 10, trials = 32, initial_trials = 128"
    more = "earlier_trials = 264, raced = 300, halves = true"
    file = write(tmp_path, f"[texas]\nchosen = {{{said}, {more}}}\n")
    assert note("hdp", "texas", file) == (
        "mean validation score 85.42 on 10 splits of nodes that had no say in the epoch that is kept, "
        "best of 32 settings after 128 of the initial assignment, 264 in a search before; a race ended "
        "300 of them early"
    )
    one = write(
        tmp_path, "[texas]\nchosen = {by = 'searched', validation = 0.5, splits = 1, seeds = 1, trials = 1}\n"
    )
    assert note("hdp", "texas", one) == "mean validation score 50.00 on 1 split and 1 seed, best of 1 setting"


# How they are read


def test_the_estimator_takes_a_recipe_and_changes() -> None:
    model = HDPClassifier.from_recipe("Cora", rescale=0.9, random_state=3)
    expected = MODELS["hdp"].config.parse(recipe("hdp", "cora") | {"rescale": 0.9})
    assert model.config == expected
    assert model.random_state == 3


def write(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_flat_file_holds_for_every_dataset(tmp_path: Path) -> None:
    file = write(tmp_path, "rescale = 0.9\norder = 2\n")
    assert recipe("hdp", "texas", file) == recipe("hdp", "cora", file) == {"rescale": 0.9, "order": 2}


def test_a_table_overrides_what_stands_at_the_top(tmp_path: Path) -> None:
    file = write(tmp_path, "order = 2\nhops = 3\n[texas]\nhops = 1\n")
    assert recipe("hdp", "texas", str(file)) == {"order": 2, "hops": 1}
    assert recipe("hdp", "cora", file) == {"order": 2, "hops": 3}
    assert recipes("hdp", file) == {"texas": {"order": 2, "hops": 1}}


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("lamda = 1", "mine.toml: HDPConfig has no field 'lamda'; did you mean 'rescale'"),
        ("[texas]\norder = 3", r"mine.toml \[texas\]: HDPConfig: order must be one of 1, 2"),
        ("[cora]\norder = 2", "has no recipe for texas; it has: cora"),
        ("", "has no recipe for texas; it has: none at all"),
        ("order = = 2", "mine.toml cannot be read as TOML: .*line 1"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        recipe("hdp", "texas", write(tmp_path, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read as TOML"):
        recipe("hdp", "texas", file)


@pytest.mark.parametrize(
    "model, dataset, source, sentence",
    [
        ("hdp", "atlantis", "paper", "recipes/hdp.toml has no recipe for atlantis; it has: .*squirrel"),
        ("hdp", "texas", "nowhere.toml", "no recipe 'nowhere.toml'; say 'paper'"),
        ("hpd", "texas", "paper", "no model 'hpd'; did you mean 'hdp'"),
    ],
)
def test_a_recipe_that_is_not_there_is_refused(model: str, dataset: str, source: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        recipe(model, dataset, source)


def test_a_model_without_packaged_recipes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heterophily.recipes.HERE", tmp_path)
    assert recipes("mlp") == {}
    with pytest.raises(ConfigError, match="no recipes for MLP are packaged"):
        recipe("mlp", "texas")


def test_a_rule_without_settings_has_the_empty_recipe_for_every_dataset() -> None:
    assert recipe("majority", "texas") == recipe("twin-copy", "pubmed") == {}
