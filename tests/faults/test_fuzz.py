"""Every reader against files that went bad or were made to: it reads them, or says what is wrong in words.

Tables and whole graphs have tests of their own in tests/reading/test_damage.py; with those, `make test` reads
ten thousand bad files and `make fuzz` a million.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heterophily import folder as folders
from heterophily.bench.cells import read_bundle, read_cell
from heterophily.bench.opening import opening
from heterophily.bench.results import save
from heterophily.bench.scores import read_scores
from heterophily.bench.storage import open_storage, open_study
from heterophily.bench.storage import opened as opened_storage
from heterophily.files import sealed, to_text
from heterophily.reading import Encoding, read
from heterophily.recipes import recipe
from heterophily.show.report.contents import read_contents
from heterophily.studies import read as read_study
from tests.reading.damage import damaged
from tests.reading.test_damage import MORE
from tests.studies.made import made
from tests.tiny import tiny_config, tiny_graph

CASES = 770
"""Bad files for each reader."""
ODD: list[Any] = [
    None, True, 0, -1, 7, 10**400, 1e308, "", "x", "../x", "<script>", "\0", "\ud800", [], [[]], {}, {"a": 1},
    ["x"] * 3, float("inf"),
]  # fmt: skip


class Reader(NamedTuple):
    """A reader, the name of its file, and a good one."""

    name: str
    good: bytes
    read: Callable[[Path], Any]
    slow: int = 1
    """How many times fewer files it gets, as each takes longer."""


@cache
def cell() -> bytes:
    """A cell of the table."""
    from dataclasses import replace

    from heterophily.bench import evaluate

    result = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [0, 1])
    opened = opening("nowhere.json", "mlp", "texas", result.config, {}, "mine")
    content = replace(result, opened=opened).to_json()
    content |= {"dataset": "texas", "chosen": {"by": "searched", "note": "x"}}
    return to_text(sealed(content)).encode()


@cache
def encoding() -> bytes:
    """How a small table becomes features."""
    import pandas as pd

    edges = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 0]})
    table = {"id": [0, 1, 2], "kind": ["a", "b", "a"], "size": [1.5, 2, 3], "town": ["x", "y", "x"]}
    return json.dumps(read(edges, pd.DataFrame(table), label="kind").encoding.to_json()).encode()


def opened(file: Path) -> Any:
    """Look who opened the test labels before, and open them again or not."""
    return opening(file, "mlp", "texas", tiny_config("mlp"), {}, "x", again=file.stat().st_size % 2 == 0)


def journal(file: Path) -> Any:
    """Look at the studies of a journal."""
    with opened_storage(file) as storage:
        return open_study(storage, "one").trials


def readers() -> dict[str, Reader]:
    """All of them."""
    bundle = to_text(sealed({"table": "table1", "cells": [json.loads(cell())]})).encode()
    csv = b"model,dataset,0,1,2\nnew,a,80,82,81\nold,a,70,71,70\n"
    toml = b'model = "mlp"\nhidden_dim = 8\n[texas]\n# mine\ndropout = 0.5\nlearning_rate = 1e-2\n'
    return {
        "a cell": Reader("texas/mlp.json", cell(), read_cell),
        "a bundle": Reader("b.json", bundle, lambda file: read_bundle(file, "table1")),
        "scores": Reader("r.json", cell(), read_scores),
        "scores in a table": Reader("r.csv", csv, read_scores, 3),
        "a record of an opening": Reader("result.json", cell(), opened),
        "a recipe": Reader("r.toml", toml, lambda file: recipe("mlp", "texas", file)),
        "a study": Reader("s.json", made("confusion").to_text().encode(), read_study),
        "an encoding": Reader(
            "e.json", encoding(), lambda file: Encoding.from_json(json.loads(file.read_bytes()))
        ),
        "a folder of results": Reader(
            "table1/texas/mlp.json", cell(), lambda f: read_contents(f.parents[2]), 3
        ),
    }


def told(reader: Reader, file: Path, content: bytes) -> bool:
    """Read a file; say whether it was refused, which must be in words of ours."""
    file.write_bytes(content)
    try:
        reader.read(file)
    except ValueError as error:
        ours = type(error).__module__.startswith("heterophily") and str(error)
        if not ours and not (
            reader.name == "e.json" and isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        ):
            raise AssertionError(f"no word of ours on {content!r}") from error
        return True
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} on {content!r}") from error
    return False


@pytest.mark.parametrize("name", readers())
def test_a_damaged_file_is_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    """Cut, flipped, doubled; or JSON with values that nobody expects, under a checksum that fits."""
    reader = readers()[name]
    file = tmp_path / reader.name
    file.parent.mkdir(parents=True, exist_ok=True)
    assert not told(reader, file, reader.good)
    (tmp_path / "result.json").unlink(missing_ok=True)
    refused = 0

    @settings(
        max_examples=CASES * MORE // reader.slow, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.integers(0, 2**32), st.booleans())
    def one(seed: int, crafted: bool) -> None:
        nonlocal refused
        dice = random.Random(seed)
        bad = (
            changed(reader.good, dice)
            if crafted and reader.good.startswith(b"{")
            else damaged(reader.good, dice)
        )
        refused += told(reader, file, bad)

    one()
    assert refused or name == "a folder of results"  # which leaves out what is bad


def changed(good: bytes, dice: random.Random) -> bytes:
    """JSON with one to three values that nobody expects, under a checksum that fits."""
    content = json.loads(good)
    for _ in range(dice.randint(1, 3)):
        places = list(leaves(content))
        where, key = dice.choice(places)
        if dice.random() < 0.2:
            del where[key]
        else:
            where[key] = dice.choice(ODD)
        if not content:
            break
    text = json.dumps(sealed(content) if isinstance(content, dict) and "checksum" in content else content)
    return text.encode()


def leaves(value: Any) -> Any:
    """Yield every place of a JSON value: its container and its key."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list) and value[key]:
            yield from leaves(value[key])


def test_a_damaged_model_folder_is_refused_in_words(tmp_path: Path) -> None:
    """Every file of it; under a head that was made to fit, too."""
    from tests.faults.warm import save as save_model

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        save_model("mlp")
    folder = tmp_path / "model"
    good = {file.name: file.read_bytes() for file in folder.iterdir()}
    reader = Reader("", b"", lambda file: folders.read(folder))

    @settings(max_examples=CASES * MORE, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.sampled_from(sorted(good)))
    def one(seed: int, name: str) -> None:
        dice, contents = random.Random(seed), dict(good)
        if name == "model.json" and dice.random() < 0.5:
            head = json.loads(good[name])
            del head["checksum"]
            where, key = dice.choice(list(leaves(head)))
            where[key] = dice.choice(ODD)
            contents[name] = json.dumps(head | {"checksum": folders.digest(head)}).encode()
        else:
            contents[name] = damaged(good[name], dice)
            if dice.random() < 0.5 and name != "model.json":
                head = json.loads(good["model.json"])
                del head["checksum"]
                head["files"][name] = folders._digest(contents[name])
                contents["model.json"] = json.dumps(head | {"checksum": folders.digest(head)}).encode()
        for each, content in contents.items():
            (folder / each).write_bytes(content)
        told(reader, folder / name, contents[name])

    one()


def test_a_damaged_journal_is_read_or_refused_in_words(tmp_path: Path) -> None:
    from heterophily.bench.storage import enter

    file = tmp_path / "one.journal"
    study = open_study(open_storage(file), "one")
    for place in range(2):
        enter(study, "ada", place, 0, {}, {})
    good = file.read_bytes()
    reader = Reader("one.journal", good, journal)

    @settings(max_examples=CASES * MORE // 3, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def one(seed: int) -> None:
        told(reader, file, damaged(good, random.Random(seed)))

    one()


def test_save_writes_what_the_readers_read(tmp_path: Path) -> None:
    from heterophily.bench import evaluate

    found = evaluate(tiny_graph(), "mlp", tiny_config("mlp"), [0, 1])
    save(tmp_path, found, tiny_graph())
    (scores,) = read_scores(tmp_path / "result.json")
    assert list(scores.by_split.values()) == [row.test for row in found.splits]
