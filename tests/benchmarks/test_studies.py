"""All studies in one file, and back into results and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import studies
from heterophily.studies import read


def call(monkeypatch: pytest.MonkeyPatch, *args: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["studies.py", *map(str, args)])
    studies.main()


def test_what_was_run_in_one_place_is_unpacked_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(studies.OPTIONS, ("homophily", "synthetic"), {
        "grid": [0.5], "models": ["hdp"], "options": {"num_nodes": 60, "num_classes": 3, "splits": 2}
    })  # fmt: skip
    file = tmp_path / "bundle.json"
    quick = ["--set", "epoch=3", "epoch_init=3", "hidden_dim=8", "--device", "cpu", "--only", "homophily"]
    for _ in range(2):  # the second time there is nothing left to do
        with pytest.raises(SystemExit) as end:
            call(monkeypatch, "run", "--bundle", file, *quick)
        assert end.value.code == 0
    assert capsys.readouterr().out.count("homophily    synthetic") == 1
    assert len(json.loads(file.read_text())["results"]) == 1
    call(monkeypatch, "unpack", file, "--out", tmp_path / "out", "--format", "svg")
    assert read(tmp_path / "out" / "homophily-synthetic.json").about["graph"]["num_nodes"] == 60
    assert (tmp_path / "out" / "homophily-synthetic.svg").stat().st_size > 1000
