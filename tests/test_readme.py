"""The README and the pages in docs keep their word: their blocks run, what they name exists."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import heterophily
from heterophily.recipes import recipes

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
BLOCKS = [
    (page.name, *block)
    for page, text in TEXTS.items()
    for block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
]
SET_UP = ("make", "pip")  # changes the machine, so it is not run here


def blocks(language: str, page: str | None = None) -> list[str]:
    return [text for name, kind, text in BLOCKS if kind == language and page in (None, name)]


def run(command: list[str], folder: Path, *before: Path) -> str:
    """Run a command as a newcomer would: in an empty folder, with this environment's commands."""
    path = os.pathsep.join([*map(str, before), str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": path, "HETEROPHILY_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | own, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(language: str) -> list[Any]:
    """Each block of a language with its page."""
    found = [(page, text) for page, kind, text in BLOCKS if kind == language and not text.startswith(SET_UP)]
    return [pytest.param(*each, id=f"{each[0]}-{number}") for number, each in enumerate(found)]


@pytest.fixture
def first(page: str, request: pytest.FixtureRequest) -> list[Path]:
    """Where a page's commands come from: the README's from the environment itself, others from forks."""
    return [] if page == "README.md" else [request.getfixturevalue("forks").commands]


@pytest.mark.parametrize("page, block", commands("python"))
def test_a_python_block_runs(page: str, block: str, first: list[Path], tmp_path: Path) -> None:
    assert run(["python", "-W", "error::UserWarning", "-c", block], tmp_path, *first)


@pytest.mark.parametrize("page, block", commands("bash"))
def test_a_bash_block_runs(page: str, block: str, first: list[Path], tmp_path: Path) -> None:
    assert run(["bash", "-euo", "pipefail", "-c", block], tmp_path, *first)


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {target for text in blocks("bash") for target in re.findall(r"^make (\w+)", text, re.MULTILINE)}
    assert {"demo", "test"} <= named <= targets


def test_the_results_of_the_readme_are_those_in_results() -> None:
    write = runpy.run_path(str(ROOT / "benchmarks" / "write_readme.py"))
    text = TEXTS[ROOT / "README.md"]
    assert write["BEGIN"] in text and write["END"] in text
    assert write["page"](text) == text, "the README lags behind; run: python benchmarks/write_readme.py"


def test_the_times_of_the_first_hour_are_those_that_were_measured() -> None:
    walk = runpy.run_path(str(ROOT / "benchmarks" / "first_hour.py"))
    text, found = TEXTS[walk["PAGE"]], json.loads(walk["FILE"].read_text(encoding="utf-8"))
    assert walk["BEGIN"] in text and walk["page"](text, found) == text
    assert len(found["steps"]) == len(walk["STEPS"])


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "site" / "hooks.py").read_text(encoding="utf-8")
    for name, home in heterophily._HOMES.items():
        assert re.search(rf'"heterophily(\.\w+)*\.{name}"', text), f"{name} ({home}) is missing in API"


def test_the_picture_of_the_readme_is_drawn_by_our_code() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "site" / "explain.py"))
    assert len(drawn["figure"]().axes) == 1
    assert (ROOT / "docs" / "explain.svg").read_text(encoding="utf-8").count("<path") > 20


def test_the_recipes_it_names_are_those_there_are() -> None:
    words = " ".join(TEXTS[ROOT / "README.md"].split())
    *most, last = recipes("hdp")
    assert f"some for HDP on {', '.join(most)} and {last}." in words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_it_links_to_exist(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", TEXTS[page]):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_every_page_has_its_place_on_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n  - ")[2]
    for page in PAGES[1:]:
        assert f": {page.name}\n" in nav, f"docs/{page.name} is not in the nav of mkdocs.yml"


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    assert {language for _, language, _ in BLOCKS} <= {"python", "bash", "console"}
    assert blocks("python", "README.md") and blocks("bash", "README.md")
