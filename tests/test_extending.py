"""A model or a dataset of one's own is one file: once registered, everything knows it (docs/extending.md)."""

from __future__ import annotations

import inspect
import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import heterophily
from heterophily import ConfigError, GraphError, estimator, load, make_classifier
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.plugins import load_files
from tests import test_laws
from tests.command import GRAPH, Ask

EXAMPLES = Path(__file__).parents[1] / "examples"
MODEL, DATASET = EXAMPLES / "own_model.py", EXAMPLES / "own_dataset.py"


def laws() -> Iterator[Any]:
    """Every law that is stated for any model, with what else it is asked with."""
    for name, law in vars(test_laws).items():
        if name.startswith("test_") and "model" in inspect.signature(law).parameters:
            others = [mark for mark in law.pytestmark if mark.args[0] != "model"]
            for values in itertools.product(*(mark.args[1] for mark in others)):
                given = {mark.args[0]: value for mark, value in zip(others, values, strict=True)}
                yield pytest.param(law, given, id="-".join([name, *map(str, values)]))


@pytest.fixture
def registries() -> Iterator[None]:
    """Leave the registries as they were."""
    tables: list[dict[str, Any]] = [MODELS, DATASETS, estimator.CLASSIFIERS]
    before = [dict(table) for table in tables]
    yield
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)
    for name in [name for name in sys.modules if name.startswith("heterophily_with_")]:
        del sys.modules[name]


@pytest.fixture
def registered(registries: None) -> None:
    load_files([MODEL, DATASET])


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("law, given", list(laws()))
def test_the_worked_example_obeys_every_law(law: Callable[..., None], given: dict[str, Any]) -> None:
    law("sgc", **given)


@pytest.mark.usefixtures("registered")
def test_the_worked_example_is_an_estimator_that_can_be_saved_and_pickled(tmp_path: Path) -> None:
    model = make_classifier("SGC", steps=1, epoch=20).fit(load("karate"), split=0)
    assert type(model).__name__ == "SGCClassifier" and 0 <= model.score() <= 1
    assert (pickle.loads(pickle.dumps(model)).predict() == model.predict()).all()
    model.save(tmp_path / "model")
    assert (heterophily.load_model(tmp_path / "model").predict() == model.predict()).all()


@pytest.mark.usefixtures("registries")
def test_the_command_knows_model_and_dataset_with_their_file(ask: Ask) -> None:
    quick = ["--set", "epoch=3", "--device", "cpu"]
    assert "no model 'sgc'" in ask("train", "synthetic", *GRAPH, "--model", "sgc").err
    answer = ask("--with", MODEL, "--with", DATASET, "train", "karate", "--model", "sgc", *quick)
    assert answer.code == 0 and answer.out.splitlines()[-1].startswith("karate · SGC · accuracy ")
    assert "over how many steps" in " ".join(ask("--with", MODEL, "models", "sgc").out.split())
    assert "Zachary" in ask("--with", DATASET, "datasets", "karate").out


@pytest.mark.usefixtures("registries")
def test_tuning_searches_the_ranges_on_its_fields(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HETEROPHILY_WITH", str(MODEL))
    task = ["synthetic", *GRAPH, "--model", "sgc", "--set", "epoch=3", "--trials", "4", "--batch", "4"]
    answer = ask("tune", *task, "--device", "cpu", "--quiet")
    assert answer.code == 0 and "SGC" in answer.out
    assert "steps" in Path("tuning/synthetic-sgc/trials.csv").read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.usefixtures("registered")
def test_table_and_report_show_it_beside_the_others(ask: Ask) -> None:
    row = MODELS["sgc"]

    @dataclass(frozen=True, kw_only=True)
    class Short(row.config):  # type: ignore[name-defined,misc]
        epoch: int = 5

    MODELS["sgc"] = replace(row, config=Short)
    made = ask("reproduce", "table1", "--datasets", "karate", "--models", "sgc", "--device", "cpu", "-q")
    assert made.code == 0
    table = ask("table", "table1", "--format", "markdown").out
    assert "| SGC |" in table and "| Majority |" in table
    assert ask("report").code == 0
    assert "SGC" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("registered")
def test_a_name_that_is_taken_or_misspelled_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is a model 'gcn' already"):
        heterophily.register(replace(MODELS["sgc"], name="gcn"))
    with pytest.raises(ConfigError, match="'My SGC' is none, 'my-sgc' would do"):
        heterophily.register(replace(MODELS["sgc"], name="My SGC"))
    with pytest.raises(GraphError, match="there is a dataset 'texas' already"):
        heterophily.register(replace(DATASETS["karate"], name="texas"))
    with pytest.raises(GraphError, match="is written 'my-club-2'"):
        heterophily.register(replace(DATASETS["karate"], name="My Club: 2"))
    with pytest.raises(ConfigError, match="only a Model or the Facts"):
        heterophily.register("sgc")  # type: ignore[arg-type]


@pytest.mark.usefixtures("registered")
def test_a_dataset_that_is_not_what_its_facts_say_is_refused() -> None:
    heterophily.register(replace(DATASETS["karate"], name="club", edges=79))
    with pytest.raises(GraphError, match="club: edges should be 79 but is 78; mend its row of facts"):
        load("club")


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(
    "name, text, said",
    [
        ("own.py", "import heterophily\nheterophily.registre()", "own.py line 2: AttributeError"),
        ("own.py", "def (", "SyntaxError"),
        ("own.txt", "", "this is no Python file"),
        ("nothing.py", None, "there is no such file"),
    ],
)
def test_a_faulty_file_is_told_with_its_line(ask: Ask, name: str, text: str | None, said: str) -> None:
    if text is not None:
        Path(name).write_text(text)
    answer = ask("--with", name, "models")
    assert answer.code == 2 and said in answer.err and "Traceback" not in answer.err
