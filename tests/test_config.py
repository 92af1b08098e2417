"""Settings are strict about names and values, say what they mean, and carry the ranges of Table 2."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from heterophily.baselines.mlp import MLPConfig
from heterophily.config import Choice, Config, ConfigError, Integer, Range, Uniform, meanings, space, types
from heterophily.hdp import ABLATIONS, HDPConfig
from heterophily.models import MODELS

POWERS = tuple(2**k for k in range(6, 14))
# Table 2, row by row: the paper's name, ours, its range. A single value is a default, not a search.
TABLE_2: list[tuple[str, str, Range | int]] = [
    ("learning_rate_init", "learning_rate_init", Choice(0.001, 0.003, 0.01, 0.03)),
    ("weight_decay_init", "weight_decay_init", Choice(0, 1e-5, 5e-5, 1e-4, 5e-4, 0.001, 0.005)),
    ("epoch_init", "epoch_init", Choice(500, 1000)),
    ("patience_init", "patience_init", Choice(50, 100, 200, 400)),
    ("structural_dim", "structural_dim", Choice(0, *POWERS)),
    ("hidden_dim", "hidden_dim", 512),
    ("embedding_dim", "embedding_dim", 128),
    ("learning_rate", "learning_rate", Choice(0.0003, 0.001, 0.003, 0.01, 0.03)),
    ("weight_decay", "weight_decay", Choice(0, 5e-6, 5e-5, 5e-4, 0.001, 0.005, 0.01)),
    ("epoch", "epoch", 2000),
    ("patience", "patience", Choice(50, 100, 200, 400)),
    ("order", "order", Choice(1, 2)),
    ("β", "tpc_weight", Choice(0.1, 1, 10)),
    ("τ", "temperature", Choice(0.1, 0.2, 0.5)),
    ("λ", "rescale", Uniform(0.8, 1.2)),
    ("κ", "hops", Integer(0, 8)),
    ("l^hm", "layers_hm", Integer(0, 8)),
    ("l^ht", "layers_ht", Integer(0, 8)),
]
every_config = pytest.mark.parametrize("kind", [model.config for model in MODELS.values()])


@pytest.mark.parametrize("symbol, name, wanted", TABLE_2, ids=[row[0] for row in TABLE_2])
def test_the_range_is_the_one_of_table_2(symbol: str, name: str, wanted: Range | int) -> None:
    if isinstance(wanted, int):
        assert getattr(HDPConfig(), name) == wanted and name not in space(HDPConfig)
    else:
        assert space(HDPConfig)[name] == wanted
    if symbol != name:
        assert meanings(HDPConfig)[name].startswith(symbol)


def test_the_fields_of_table_2_come_first_and_in_its_order() -> None:
    assert list(types(HDPConfig))[: len(TABLE_2)] == [name for _, name, _ in TABLE_2]


def test_the_initial_features_are_searched_over_all_seven_subsets() -> None:
    found = space(HDPConfig)["initial_features"]
    assert isinstance(found, Choice)
    subsets = [frozenset(option.split("+")) for option in found.options]
    assert len(set(subsets)) == len(subsets) == 7
    assert all(subset <= {"x", "nb", "str"} for subset in subsets)


@every_config
def test_every_field_says_what_it_means(kind: type[Config]) -> None:
    said = meanings(kind)
    assert list(said) == list(types(kind))
    for name, sentence in said.items():
        assert re.fullmatch(r"[^.].{5,}[.]", sentence), f"{name}: {sentence!r} is not a sentence"


@every_config
def test_every_default_is_a_value_the_search_may_find(kind: type[Config]) -> None:
    for name, found in space(kind).items():
        default = getattr(kind(), name)
        if isinstance(found, Choice):
            assert default in found.options, name
        else:
            assert found.low <= default <= found.high, name


@every_config
def test_every_value_of_a_range_is_accepted(kind: type[Config]) -> None:
    for name, found in space(kind).items():
        options = found.options if isinstance(found, Choice) else (found.low, found.high)
        for option in options:
            assert getattr(kind.parse({name: option}), name) == option
            assert getattr(kind.parse({name: str(option)}), name) == option


@every_config
def test_a_config_goes_through_json_and_back(kind: type[Config]) -> None:
    assert kind.parse(json.loads(json.dumps(kind().to_dict()))) == kind()


def test_values_may_be_text_as_on_a_command_line() -> None:
    given = {"rescale": "0.9", "hidden_dim": "64", "update": "no", "order": "2", "epoch": "1e3"}
    config = HDPConfig.parse(given | {"initial_features": "x+str", "known_loops": "TRUE"})
    assert (config.rescale, config.hidden_dim, config.update, config.order) == (0.9, 64, False, 2)
    assert (config.epoch, config.initial_features, config.known_loops) == (1000, "x+str", True)
    assert isinstance(config.order, int) and isinstance(config.epoch, int)


@pytest.mark.parametrize(
    "name, hint",
    [
        ("lamda", "did you mean 'rescale' (λ)?"),
        ("lambda", "did you mean 'rescale' (λ)?"),
        ("beta", "did you mean 'tpc_weight' (β)?"),
        ("tau", "did you mean 'temperature' (τ)?"),
        ("kappa", "did you mean 'hops' (κ)?"),
        ("droput", "did you mean 'dropout'?"),
        ("lr_init", ""),
        ("zzz", ""),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HDPConfig.parse({name: 1})
    said = str(caught.value)
    assert said.startswith(f"HDPConfig has no field '{name}'")
    assert hint in said
    assert re.match(r"HDPConfig has no field '\w+'(\.|; did you mean '\w+'( \(.\))?\?) Fields: ", said)
    assert said.endswith(f"Fields: {', '.join(types(HDPConfig))}")


@pytest.mark.parametrize(
    "name, value, complaint",
    [
        ("rescale", "much", "rescale must be a number, zero or more, not 'much'"),
        ("rescale", -1, "rescale must be a number, zero or more, not -1"),
        ("rescale", "nan", "rescale must be a number"),
        ("rescale", float("inf"), "rescale must be a number"),
        ("rescale", 0, "rescale must be above 0"),
        ("learning_rate", 0, "learning_rate must be above 0"),
        ("hops", "1.5", "hops must be a whole number"),
        ("hops", "inf", "hops must be a whole number"),
        ("hops", True, "hops must be a whole number"),
        ("hops", -2, "hops must be a whole number"),
        ("hidden_dim", 0, "hidden_dim must be above 0"),
        ("epoch", 0, "epoch must be above 0"),
        ("update", "maybe", "update must be true or false, not 'maybe'"),
        ("update", 1, "update must be true or false"),
        ("order", 3, "order must be one of 1, 2, not 3"),
        ("initial_features", "y", "initial_features must be one of x, nb, str"),
        ("dropout", 1.0, "dropout must be below 1"),
        ("rescale", None, "rescale must be a number"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(name: str, value: object, complaint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        HDPConfig.parse({name: value})
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        HDPConfig().replace(**{name: value})


def test_settings_that_leave_nothing_to_learn_from_are_refused() -> None:
    with pytest.raises(ConfigError, match="nothing is left"):
        HDPConfig(homophilous=False, heterophilous=False)
    with pytest.raises(ConfigError, match="needs a structural_dim above 0"):
        HDPConfig(initial_features="str", structural_dim=0)


def test_a_config_cannot_be_changed_only_replaced() -> None:
    config = HDPConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.rescale = 0.9  # type: ignore[misc]
    assert config.replace(rescale=0.9).rescale == 0.9
    assert config.replace() == config == HDPConfig() and hash(config) == hash(HDPConfig())


def test_the_ablations_are_the_seven_of_table_3_and_each_changes_something() -> None:
    assert list(ABLATIONS) == ["Init", "Homo", "Hete", "SSE", "SMP", "TPC", "Upd"]
    for name, changes in ABLATIONS.items():
        config = HDPConfig()
        left_out = config.replace(**changes)
        differ = {f for f in types(HDPConfig) if getattr(config, f) != getattr(left_out, f)}
        assert differ == set(changes), name


# Edges of the input


def test_numbers_of_numpy_are_numbers() -> None:
    config = HDPConfig(hidden_dim=np.int64(64), rescale=np.float32(1), update=np.bool_(False))
    assert config == HDPConfig(hidden_dim=64, rescale=1.0, update=False)


@pytest.mark.parametrize("name, value", [("dropout", 1.0), ("epoch", 0), ("hidden_dim", 0)])
def test_the_perceptron_too_refuses_values_that_make_no_sense(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        MLPConfig.parse({name: value})
