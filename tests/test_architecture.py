"""The tree reads like the data flows: imports point one way, from the command down to the graph."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "heterophily"

# Bottom up. A room imports rooms of the layers below its own; rooms of one layer do not know each other.
LAYERS = (
    {"_version", "config", "files", "kernels"},
    {"room", "selection", "sparse"},
    {"rows"},  # of large graphs, a slice at a time
    {"graph", "layers"},
    {"reading"},  # users' own files
    {"stage"},  # what a model promises
    {"adjacency", "supervised"},  # what most models read and are
    {"hdp", "baselines"},
    {"models", "outcomes"},
    {"explain", "export", "folder", "plugins", "recipes", "replay", "training"},
    {"fitted"},  # what a fitted model says, of nodes that come later too
    {"estimator", "bench"},
    {"studies", "distributed"},
    {"show"},
    {"plot"},
    {"cli"},
    {"__main__"},
)
HEIGHT = {room: height for height, layer in enumerate(LAYERS) for room in layer}

# The order of Algorithm 1: within hdp/ a file imports only files that come before it.
ALGORITHM_1 = (
    "config",
    "encoding",
    "initial",
    "partition",
    "propagation",
    "prototypes",
    "model",
    "algorithm",
    "replay",
)

COMPILED = {"dgl", "pyg_lib", "torch_cluster", "torch_scatter", "torch_sparse", "torch_spline_conv"}


def files(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def imports(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full dotted name of all that a file imports, in functions and for types alone too."""
    folder = file.relative_to(package.parent).parts[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else ()
            source = [*above, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield node.lineno, ".".join([*source, alias.name])


def module(name: str, package: Path) -> tuple[str, ...] | None:
    """Return the parts of the module of ours that an imported name lies in: () is heterophily/__init__.py."""
    first, *parts = name.split(".")
    if first != package.name:
        return None
    while parts:
        path = package.joinpath(*parts)
        if path.is_dir() or path.with_suffix(".py").is_file():
            break
        parts.pop()  # a function or class in the module
    return tuple(parts)


def complaint(own: tuple[str, ...], other: tuple[str, ...]) -> str | None:
    """Say why the module ``own`` must not import the module ``other``, if so."""
    if own == other:
        return "imports itself"
    if other == own[: len(other)]:
        whole = ".".join(("heterophily", *other))
        return f"imports {whole}, the package it is a part of; import from the file that defines the name"
    mine, theirs = own[0], other[0]
    if theirs not in HEIGHT:
        return f"imports {theirs}, which has no layer; give it one in tests/test_architecture.py"
    if mine != theirs:
        if HEIGHT[theirs] < HEIGHT[mine]:
            return None
        if HEIGHT[theirs] == HEIGHT[mine]:
            return f"imports {theirs}, but {mine} and {theirs} are of one layer and do not know each other"
        return f"points back: {mine} lies below {theirs}, so {theirs} may import {mine} but not the reverse"
    if mine == "baselines":
        return f"imports {other[1]}, but no baseline imports another; what two share belongs in a layer below"
    if mine == "hdp" and other[1] in ALGORITHM_1[ALGORITHM_1.index(own[1]) :]:
        return f"points back: {own[1]} comes before {other[1]} in Algorithm 1"
    return None


def complaints(package: Path) -> list[str]:
    """One sentence for each import that points the wrong way, and each file without a place."""
    said: dict[str, None] = {}  # in order, each once
    for file in files(package):
        where = file.relative_to(package.parent).as_posix()
        own = file.relative_to(package).with_suffix("").parts
        if own[-1] == "__init__":
            own = own[:-1]
            if not own:
                continue  # heterophily/__init__.py hands on any name
        if own[0] not in HEIGHT:
            said[f"{where} has no layer; give {own[0]} one in tests/test_architecture.py"] = None
            continue
        if own[0] == "hdp" and own[1:] and own[1] not in ALGORITHM_1:
            said[f"{where} has no place in Algorithm 1; give it one in tests/test_architecture.py"] = None
            continue
        for line, name in imports(file, package):
            other = module(name, package)
            if other is None:
                continue
            if file.name == "__init__.py" and other[: len(own)] == own:
                continue  # a package's __init__ hands on the names of its own files
            if reason := complaint(own, other):
                said[f"{where} line {line} {reason}"] = None
    return list(said)


def test_imports_point_one_way() -> None:
    said = complaints(PACKAGE)
    assert not said, "\n".join(["imports must point down the layers (LAYERS above):", *said])


def test_every_layer_exists() -> None:
    there = {file.relative_to(PACKAGE).with_suffix("").parts[0] for file in files(PACKAGE)}
    assert set(HEIGHT) == there - {"__init__"}


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["networkx"], *extras["large"]]
    known = {re.split(r"[^\w-]", line)[0].lower().replace("-", "_") for line in declared}
    known |= {
        "sklearn",
        "triton",
        PACKAGE.name,
        "__future__",
        *sys.stdlib_module_names,
    }  # torch brings Triton
    for file in files(PACKAGE):
        for line, name in imports(file, PACKAGE):
            where = f"{file.relative_to(PACKAGE.parent)} line {line}"
            assert name.startswith(".") or name.split(".")[0] in known, f"{where} imports {name}, undeclared"


def test_no_file_needs_a_compiled_extension() -> None:
    for file in files(PACKAGE):
        for line, name in imports(file, PACKAGE):
            assert name.split(".")[0] not in COMPILED, (
                f"{file.relative_to(PACKAGE.parent)} line {line} imports {name}, "
                "a compiled extension that many machines cannot install"
            )


@pytest.mark.parametrize("file", files(PACKAGE), ids=lambda f: f.relative_to(PACKAGE).as_posix())
def test_every_module_says_what_it_is_for(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), f"{file} has no docstring"


@pytest.mark.parametrize(
    "path, line, sentence",
    [
        ("graph/graph.py", "from heterophily.stage import Stage", "graph lies below stage"),
        ("graph/graph.py", "import heterophily.hdp.model", "graph lies below hdp"),
        ("graph/graph.py", "from . import Graph", "imports heterophily.graph, the package it is a part of"),
        ("hdp/model.py", "from ..baselines.mlp import MLP", "do not know each other"),
        ("hdp/initial.py", "def f():\n    from .partition import x", "initial comes before partition"),
        ("hdp/extra.py", "", "has no place in Algorithm 1"),
        ("hdp/__init__.py", "from heterophily.training import fit", "hdp lies below training"),
        ("baselines/gcn.py", "from heterophily.baselines.mlp import MLP", "no baseline imports another"),
        ("training/engine.py", "from heterophily import load", "imports heterophily, the package"),
        ("bench/tuning.py", "from heterophily.estimator import x", "do not know each other"),
        ("show/plots.py", "import heterophily.cli as c", "show lies below cli"),
        ("helpers.py", "", "helpers.py has no layer"),
    ],
)  # fmt: skip
def test_a_back_pointing_import_is_named(tmp_path: Path, path: str, line: str, sentence: str) -> None:
    package = a_house(tmp_path)
    (package / path).write_text(line + "\n")
    (said,) = complaints(package)
    assert f"heterophily/{path}" in said and sentence in said


@pytest.mark.parametrize(
    "path, line",
    [
        ("graph/graph.py", "from heterophily.sparse import SparseMatrix\nimport torch, numpy.linalg"),
        ("graph/__init__.py", "from heterophily.graph.graph import Graph"),
        ("__init__.py", "from heterophily.cli import main"),
        (
            "hdp/partition.py",
            "from .initial import x\nfrom ..graph import Graph\nfrom heterophily import sparse",
        ),
        ("stage.py", "from heterophily.graph import Graph"),
        ("cli.py", "from heterophily.show import plots"),
    ],
)
def test_an_import_that_points_down_is_let_pass(tmp_path: Path, path: str, line: str) -> None:
    package = a_house(tmp_path)
    (package / path).write_text(line + "\n")
    assert complaints(package) == []


def a_house(folder: Path) -> Path:
    """Build all rooms, empty."""
    rooms = "graph/graph hdp/model hdp/initial hdp/partition baselines/mlp baselines/gcn training/engine"
    rooms += " bench/tuning show/plots sparse stage estimator cli"
    for room in rooms.split():
        file = (folder / "heterophily" / room).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return folder / "heterophily"
