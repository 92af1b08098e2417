"""The site of the docs builds without a warning, and the check of it finds what is wrong with one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.check import complaints

ROOT = Path(__file__).parents[1]
PAGE = '<h1 id="top">A</h1><a href="b.html#there">b</a><a href="https://x.org/gone">x</a><script src="a.js">'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html">a</a><img src="p%20q.png">')
    for name in ("a.js", "p q.png"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_sound_site_is_let_pass(site: Path) -> None:
    assert list(complaints(site)) == []


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("b.html#there", "c.html", "a.html links to c.html, which is not there"),
        ("#there", "#elsewhere", "a.html links to b.html#elsewhere, which has no such anchor"),
        ('src="a.js"', 'src="https://cdn.org/a.js"', "a.html loads https://cdn.org/a.js from the network"),
        ('src="a.js"', 'src="//cdn.org/a.js"', "a.html loads //cdn.org/a.js from the network"),
        ('src="a.js"', 'src="b.js"', "a.html links to b.js, which is not there"),
    ],
)
def test_what_is_wrong_is_told(site: Path, old: str, new: str, said: str) -> None:
    (site / "a.html").write_text(PAGE.replace(old, new))
    assert list(complaints(site)) == [said]


def test_the_site_builds_without_a_warning_and_all_links_lead_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="make docs installs what builds the site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(complaints(tmp_path)) == []
    assert (tmp_path / "method.html").read_text(encoding="utf-8").count("<math") > 30
