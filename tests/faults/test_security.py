"""Files of others can hurt nobody: nothing in them runs, no path leads out, nothing asks the network."""

from __future__ import annotations

import ast
import io
import json
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from heterophily.bench.cells import CellError, unbundle
from heterophily.bench.opening import fingerprint
from heterophily.files import sealed, to_text
from heterophily.graph import pickles
from heterophily.graph.datasets import load
from heterophily.graph.graph import GraphError
from heterophily.reading import ReadingError, read
from tests.bench.nursery import ROOT
from tests.faults.ledger import Ledger
from tests.faults.test_kills import cells
from tests.faults.warm import GRAPH, REPORT, REPRODUCE, SMALL, TRAIN, TUNE, Warm

PACKAGE = ROOT / "heterophily"
HIT = "hit"


class Trap:
    """What runs code when it is unpickled."""

    def __init__(self, place: Path):
        self.place = place

    def __reduce__(self) -> Any:
        return Path.touch, (self.place,)


# No pickle of a user's is loaded


@pytest.mark.parametrize("kind", ["a dict", "a tensor beside", "bare"])
def test_a_pt_file_runs_nothing(tmp_path: Path, kind: str) -> None:
    hit, trap = tmp_path / HIT, Trap(tmp_path / HIT)
    content: Any = {"edge_index": torch.tensor([[0, 1], [1, 0]]), "x": trap}
    if kind == "a tensor beside":
        content = {"edge_index": torch.tensor([[0, 1], [1, 0]]), "x": torch.ones(2, 1), "extra": [trap]}
    if kind == "bare":
        (tmp_path / "bad.pt").write_bytes(pickle.dumps(trap))
    else:
        torch.save(content, tmp_path / "bad.pt")
    with pytest.raises(ReadingError, match="cannot be loaded as tensors alone"):
        read(tmp_path / "bad.pt")
    assert not hit.exists()
    pickle.loads(pickle.dumps(trap))  # the trap is a real one
    assert hit.exists()


def test_an_npz_file_runs_nothing(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", edge_index=np.array([Trap(tmp_path / HIT)], dtype=object))
    with pytest.raises(ReadingError, match="pickled objects, which can run code"):
        read(tmp_path / "bad.npz")
    assert not (tmp_path / HIT).exists()


@pytest.mark.parametrize("name", ["ind.cora.graph", "ind.cora.allx", "ind.cora.y"])
def test_a_raw_file_of_a_benchmark_runs_nothing(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Planetoid's files are pickles, and PyG reads them as such; ours are looked through before."""
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path / "cache"))
    shutil.copytree(data_folder / "Cora", tmp_path / "Cora")
    (tmp_path / "Cora/geom-gcn/raw" / name).write_bytes(pickle.dumps(Trap(tmp_path / HIT)))
    with pytest.raises(GraphError, match=f"{name}: it names .*, which is no data and could run code"):
        load("cora", tmp_path)
    assert not (tmp_path / HIT).exists()


def test_a_pickle_of_data_is_read_and_an_array_of_objects_is_looked_through(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(pickle.dumps({1: [2, 3]}, protocol=2))
    assert pickles.load(tmp_path / "good") == {1: [2, 3]}
    splits = np.array([{"train": np.arange(3)}], dtype=object)
    np.save(tmp_path / "splits.npy", splits, allow_pickle=True)
    np.save(tmp_path / "plain.npy", np.arange(3))
    pickles.check(tmp_path.glob("*.npy"))
    np.save(tmp_path / "evil.npy", np.array([Trap(tmp_path / HIT)], dtype=object), allow_pickle=True)
    with pytest.raises(pickle.UnpicklingError, match="evil.npy"):
        pickles.check([tmp_path / "evil.npy"])
    assert not (tmp_path / HIT).exists()


def calls(file: Path) -> list[tuple[int, str, str]]:
    """Line, name and whole text of every call in a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(node.lineno, ast.unparse(node.func), ast.unparse(node)) for node in found]


def test_nowhere_is_a_pickle_loaded_or_an_archive_unpacked() -> None:
    """What torch and NumPy load has the switch that forbids pickles; nothing is extracted to disk."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for line, name, text in calls(file):
            where = f"{file.relative_to(ROOT)} line {line}: {text[:80]}"
            assert name not in ("pickle.load", "pickle.loads", "eval", "exec", "os.system"), where
            assert name.rpartition(".")[2] not in ("extractall", "unpack_archive", "read_pickle"), where
            if name == "torch.load":
                assert "weights_only=True" in text, where
            if name == "np.load":
                assert "allow_pickle=False" in text, where


# No path leads out


@pytest.fixture(scope="module")
def table(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    assert warm.do(REPRODUCE, folder).code == 0
    return folder


@pytest.mark.parametrize("key", ["dataset", "model"])
@pytest.mark.parametrize("name", ["../../out", "/tmp/out", "a/b", "..", ".hidden", "a\\..\\b", "", "x\0y", 7])
def test_a_bundle_writes_nowhere_but_below_its_folder(
    table: Path, tmp_path: Path, key: str, name: Any
) -> None:
    cell = json.loads((table / "results/table1/texas/mlp.json").read_text())
    cell[key] = name
    cell["test_opened"]["setting"] = fingerprint(
        cell["model"], cell["dataset"], cell["config"], cell["graph"]
    )
    del cell["checksum"]
    (tmp_path / "evil.json").write_text(to_text(sealed({"table": "table1", "cells": [cell]})))
    with pytest.raises(CellError, match="is no plain name"):
        unbundle(tmp_path / "evil.json", "table1", tmp_path / "deep" / "results")
    assert [file.name for file in tmp_path.iterdir()] == ["evil.json"]


def test_a_member_of_an_archive_writes_nothing_whatever_it_is_called(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([[0, 1], [1, 0]]))
    file = tmp_path / "deep" / "evil.npz"
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("../escaped.npy", "/tmp/escaped.npy", "edge_index.npy"):
            archive.writestr(name, stream.getvalue())
    assert read(file).graph.num_nodes == 2
    assert [each.name for each in tmp_path.rglob("*")] == ["deep", "evil.npz"]


def test_a_model_folder_names_no_file_but_its_own(tmp_path: Path) -> None:
    from heterophily import FolderError, load_model
    from heterophily.files import digest
    from tests.test_replay import fitted

    folder = fitted("mlp").save(tmp_path / "model")
    head = json.loads((folder / "model.json").read_text())
    del head["checksum"]
    head["files"]["../../../etc/passwd"] = "0"
    (folder / "model.json").write_text(json.dumps(head | {"checksum": digest(head)}))
    with pytest.raises(FolderError, match="that no model has"):
        load_model(folder)


# No network unless asked


def test_no_command_asks_the_network(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """A hook of the interpreter ends the process at the first connection or look for an address."""
    (tmp_path / "mine.toml").write_text("hidden_dim = 8\nepoch = 6\n")
    known = [*GRAPH, "--device", "cpu"]
    commands = [
        ["--version"],
        ["datasets"],
        ["models", "hdp"],
        [*TRAIN, "--out", "result"],
        ["evaluate", "synthetic", "--model", "mlp", "--recipe", "mine.toml", *known],
        TUNE,
        REPRODUCE,
        ["table"],
        ["table", "significance", "--against", "mlp", "--models", "mlp,gcn"],
        REPORT,
        ["compare", "results/table1/texas/mlp.json", "results/table1/texas/gcn.json"],
        ["study", "preference", "synthetic", *GRAPH, *SMALL],
    ]
    with ledger.row("no network", "every command") as row:
        for command in commands:
            end = warm.do(command, tmp_path, deaf=True)
            row.note(end.code != 0 and f"{command[0]} ended with {end.code}: {end.err[-300:]}")
    assert cells(tmp_path)
    asked = warm.do(["train", "texas", "--data", str(tmp_path)], tmp_path, deaf=True)
    assert asked.code == 99 or "texas" in asked.err  # who names a graph that is not here asks for it
