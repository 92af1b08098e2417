"""PAPER.md is true: every equation is cited in the code, and what the ledger names exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from heterophily.config import types
from heterophily.hdp import HDPConfig

ROOT = Path(__file__).parents[1]
LEDGER = (ROOT / "PAPER.md").read_text(encoding="utf-8")
THEOREM = range(10, 14)  # the operator wished for, the lemma, and the two forms of the mean
METHOD = [n for n in range(1, 30) if n not in THEOREM]
NUMBERS = r"\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*"


def numbers(text: str) -> set[int]:
    """The numbers in "1, 3-5"."""
    found: set[int] = set()
    for part in text.split(", "):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def cited(text: str) -> set[int]:
    """All n that a text cites as "Eq. n", in a list or in a range."""
    return set().union(*(numbers(found) for found in re.findall(rf"\bEq\. ({NUMBERS})", text)))


def rows(heading: str) -> list[list[str]]:
    """The rows of the table whose first column has this heading; ``\\|`` is a bar within a cell."""
    lines = LEDGER.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def named(path: str) -> Any:
    """The object that a dotted path under heterophily.hdp leads to."""
    module, *names = path.split(".")
    found: Any = importlib.import_module(f"heterophily.hdp.{module}")
    for name in names:
        found = getattr(found, name)
    return found


@cache
def defined(file: Path) -> dict[str, bool]:
    """The functions of a file, and whether each is marked as one that fails."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        node.name: any("xfail" in ast.unparse(mark) for mark in node.decorator_list)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def equations() -> list[tuple[set[int], str, list[str]]]:
    return [(numbers(row[0]), row[2], quoted(row[3])) for row in rows("Eq.")]


def test_every_numbered_equation_of_the_method_is_cited_in_the_code() -> None:
    files = sorted((ROOT / "heterophily" / "hdp").glob("*.py"))
    by_file = {
        file.name: cited(file.read_text(encoding="utf-8")) for file in files if file.stem != "algorithm"
    }
    found = set().union(*by_file.values())
    # The whole algorithm cites "Eq. 1-29" in one breath; of it only single functions count.
    for path in ("loss", "initial_features", "structural_features", "initial_stage"):
        found |= cited(inspect.getsource(named(f"algorithm.{path}")))
    assert not set(METHOD) - found, f"no code cites Eq. {sorted(set(METHOD) - found)}"
    assert not found - set(range(1, 30)), f"there is no Eq. {sorted(found - set(range(1, 30)))}"


def test_theorem_1_is_cited_by_the_tests_that_prove_it() -> None:
    assert set(THEOREM) <= cited((ROOT / "tests/hdp/test_prototypes.py").read_text(encoding="utf-8"))


def test_the_ledger_has_each_equation_once_and_in_order() -> None:
    listed = [n for found, _, _ in equations() for n in sorted(found)]
    assert listed == list(range(1, 30))


@pytest.mark.parametrize("row", equations(), ids=lambda row: f"Eq. {min(row[0])}")
def test_the_function_of_an_equation_exists_and_cites_it(row: tuple[set[int], str, list[str]]) -> None:
    which, cell, _ = row
    if which == set(THEOREM):
        assert not quoted(cell)
        return
    (path,) = quoted(cell)
    assert which <= cited(inspect.getsource(named(path))), f"{path} does not cite Eq. {which}"


def test_what_the_table_of_algorithm_1_names_exists() -> None:
    for _, _, cell, _ in rows("Algorithm 1"):
        for path in quoted(cell):
            assert named(path)


def test_every_test_that_the_page_names_exists_and_is_not_expected_to_fail() -> None:
    mentions = re.findall(r"`((?:\.\./)?test_\w+\.py)::(\w+)`", LEDGER)
    assert len(mentions) > 40
    for file, name in mentions:
        tests = defined((ROOT / "tests" / "hdp" / file).resolve())
        assert name in tests, f"PAPER.md names {file}::{name}, which does not exist"
        assert not tests[name], f"PAPER.md names {file}::{name}, which fails"


def test_every_row_of_the_ledger_names_a_test() -> None:
    for row in [*rows("Eq."), *rows("Algorithm 1")]:
        assert quoted(row[3]), row[0]


def test_every_setting_that_a_silence_is_left_to_exists() -> None:
    fields = types(HDPConfig)
    silences = rows("where")
    assert len(silences) > 20
    for where, _, _, settings, evidence in silences:
        assert evidence, f"{where}: no evidence"
        for name in quoted(settings):
            assert name in fields, f"{where}: HDPConfig has no field {name}"


def test_every_choice_beyond_table_2_is_in_the_ledger() -> None:
    own = list(types(HDPConfig))[18:]  # Table 2 comes first
    named = {name for row in rows("where") for name in quoted(row[3])}
    by_ablation = {"homophilous", "heterophilous", "update"}
    assert set(own) - by_ablation <= named


def test_results_that_the_page_points_to_exist() -> None:
    for path in re.findall(r"\bresults/[\w./-]*\w", LEDGER):
        assert (ROOT / path).exists(), path
