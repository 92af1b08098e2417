"""The gallery runs: every script in examples/, in an empty folder, without a warning."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
GALLERY = sorted(file for file in EXAMPLES.glob("*.py") if not file.name.startswith("own_"))
LEAVES = {
    "csv_to_predictions": {"nodes.csv", "edges.csv", "model", "predictions.csv"},
    "read_the_partition": {"partition.png"},
}
"""What a script leaves in the folder it is run in."""


@pytest.mark.parametrize("file", GALLERY, ids=lambda file: file.stem)
def test_a_script_of_the_gallery_runs_and_prints(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file))
    assert capsys.readouterr().out.strip()
    assert {path.name for path in tmp_path.iterdir()} == LEAVES.get(file.stem, set())


def test_the_gallery_has_its_eight_scripts_each_with_a_title() -> None:
    assert len(GALLERY) == 8
    for file in GALLERY:
        title = file.read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith('"""') and title.endswith('."""') and ": " in title
