"""Every file is written in one place, which writes whole files or none."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heterophily import files
from heterophily.files import OutputError, sealed, set_aside, unsealed, write_file, write_files
from tests.bench.nursery import ROOT

WRITERS = {
    "heterophily/files.py": "the one place",
    "heterophily/distributed/shard.py": "arrays as large as memory; its head comes last",
    "heterophily/bench/journal.py": "a journal grows at its end, under a lock; half a line is taken out",
    "heterophily/training/trackers.py": "a log grows line by line while a training runs",
    "benchmarks/audit.py": "a graph for a second process, in a temporary folder",
    "benchmarks/growth.py": "a word to the kernel, which no disk keeps",
    "benchmarks/reading.py": "files to be read, in a temporary folder",
}
"""Who may open a file to write, and why."""
CALLS = {"write_text", "write_bytes", "savefig", "to_parquet", "to_csv", "to_excel", "to_json", "to_pickle"}
MODULES = {"torch.save", "np.save", "np.savez", "np.savez_compressed", "json.dump", "pickle.dump"}
STREAMS = {"stream", "buffer"}
"""What a file in memory is called."""


def plain_writes(file: Path) -> Iterator[str]:
    """Yield the calls by which a file writes to a path."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called, values = ast.unparse(node.func), [*node.args, *(k.value for k in node.keywords)]
        name, texts = called.rpartition(".")[2], [ast.unparse(value) for value in values]
        if STREAMS & {text.removesuffix(".name") for text in texts}:
            continue
        modes = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
        opens = name in ("open", "fdopen") and any(set("wax+") & set(m) and len(m) <= 3 for m in modes)
        by_pandas = name.startswith("to_") and not (
            node.args or {"path", "buf"} & {k.arg for k in node.keywords}
        )
        if opens or called in MODULES or (name in CALLS and not by_pandas and name != "to_json"):
            yield f"line {node.lineno}: {ast.unparse(node)[:80]}"


@pytest.mark.parametrize("folder", ["heterophily", "benchmarks"])
def test_nobody_writes_past_the_one_place(folder: str) -> None:
    said = [
        f"{where} {call}"
        for file in sorted((ROOT / folder).rglob("*.py"))
        if (where := file.relative_to(ROOT).as_posix()) not in WRITERS
        for call in plain_writes(file)
    ]
    assert not said, "\n".join(
        ["write with heterophily.files.write_file, so that no file is ever half:", *said]
    )


@pytest.mark.parametrize(
    "line, found",
    [
        ("path.write_text(text)", 1),
        ("open(path, 'w')", 1),
        ("path.open('r+b')", 1),
        ("torch.save(x, path)", 1),
        ("figure.savefig(path)", 1),
        ("table.to_csv(path, index=False)", 1),
        ("table.to_csv(index=False)", 0),
        ("torch.save(x, stream)", 0),
        ("path.open('rb')", 0),
        ("found.to_json()", 0),
    ],
)
def test_a_plain_write_is_known_when_it_is_seen(line: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(line)
    assert len(list(plain_writes(tmp_path / "some.py"))) == found


def test_a_file_is_on_the_disk_before_it_is_moved_and_the_move_before_anybody_is_told(tmp_path: Path) -> None:
    """The system's own record of what was done, in which order."""
    code = (
        "import sys\n"
        "from heterophily.files import write_file\n"
        "seen = []\n"
        "import os\n"
        "for name in ('fsync', 'replace', 'rename'):\n"
        "    real = getattr(os, name)\n"
        "    def call(*args, name=name, real=real):\n"
        "        kind = os.fstat(args[0]).st_mode & 0o170000 if name == 'fsync' else 0\n"
        "        seen.append('folder' if kind == 0o040000 else 'file' if kind else 'move')\n"
        "        return real(*args)\n"
        "    setattr(os, name, call)\n"
        f"write_file({str(tmp_path / 'a.txt')!r}, 'text')\n"
        "print(*seen)\n"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert said.stdout.split() == ["file", "move", "folder"]


def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    for name in ("../x", "a/b", "/etc/x"):
        with pytest.raises(OutputError, match="is no name of a file"):
            write_files(tmp_path / "inner", {name: "text"})
    assert not (tmp_path / "x").exists()


def test_what_a_killed_writer_left_goes_with_the_next_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    left = tmp_path / ".dead.new"
    left.mkdir()
    (left / "half").write_text("ha")
    with files._beside(tmp_path) as mine:
        assert not left.exists()
        write_file(tmp_path / "a.txt", "text")
        assert mine.is_dir()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_what_is_sealed_tells_any_change_apart(tmp_path: Path) -> None:
    content = sealed({"a": 1.5, "b": ["x", None], "c": {"d": True}})
    assert unsealed(content) == {"a": 1.5, "b": ["x", None], "c": {"d": True}}
    assert unsealed({"a": 1}) == {"a": 1}  # of before there were checksums
    for changed in ({"a": 1.25}, {"c": {}}, {"e": 0}, {"checksum": "sha256:0"}, {"checksum": None}):
        with pytest.raises(ValueError, match="checksum differs"):
            unsealed(content | changed)
    with pytest.raises(ValueError, match="checksum differs"):
        unsealed({"checksun" if name == "checksum" else name: value for name, value in content.items()})


def test_what_is_set_aside_replaces_nothing(tmp_path: Path) -> None:
    for text in ("first", "second", "third"):
        write_file(tmp_path / "a.json", text)
        set_aside(tmp_path / "a.json")
    names = ["a.json.damaged", "a.json.damaged.1", "a.json.damaged.2"]
    assert [(tmp_path / name).read_text() for name in names] == ["first", "second", "third"]
    assert not (tmp_path / "a.json").exists()
