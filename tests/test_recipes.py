"""Recipes: the packaged ones fit the models they are for; a user's file may be flat or by dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from heterophily import HDPClassifier
from heterophily.config import ConfigError
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.recipes import HERE, recipe, recipes


@pytest.mark.parametrize("file", sorted(HERE.glob("*.toml")), ids=lambda file: file.name)
def test_every_packaged_recipe_fits_its_model_and_names_a_dataset(file: Path) -> None:
    assert file.stem in MODELS, f"{file.name} is named after no model"
    found = recipes(file.stem)
    assert found and set(found) <= set(DATASETS)
    for settings in found.values():
        MODELS[file.stem].config.parse(settings)


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
