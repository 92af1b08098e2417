"""What an evaluation leaves on disk: result.json, predictions.csv, edges.csv; each whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heterophily.bench.protocol import Evaluation
from heterophily.graph import Graph
from heterophily.outcomes import edge_table, probabilities

FILES = ("predictions.csv", "edges.csv", "result.json")


class OutputError(ValueError):
    """A place where results cannot be written."""


def save(folder: str | os.PathLike[str], evaluation: Evaluation, graph: Graph) -> list[Path]:
    """Write an evaluation into a folder, over an earlier one as a whole; return the files written.

    ``result.json`` is what ``--json`` prints. ``predictions.csv`` has a row per run and node.
    ``edges.csv`` has a row per edge of E' with its verdict, for HDP and of the first run only (with
    ten splits it would often be the largest file by far).
    """
    results_folder(folder)
    files: dict[str, str | bytes | None] = dict.fromkeys(FILES)
    files["predictions.csv"] = predictions(evaluation, graph).to_csv(index=False, float_format="%.6g")
    if (edges := edge_table(evaluation.outcomes[0])) is not None:
        edges.insert(0, "split", evaluation.splits[0].split)
        edges.insert(1, "seed", evaluation.splits[0].seed)
        files["edges.csv"] = edges.to_csv(index=False, float_format="%.9g")
    files["result.json"] = to_text(evaluation.to_json())
    return write_files(folder, files)


def to_text(content: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return JSON as it is written to files and printed; NaN, which is no JSON, is refused."""
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def predictions(evaluation: Evaluation, graph: Graph) -> pd.DataFrame:
    """Return one row per split, seed and node: its part in the split, label, prediction and probabilities.

    ``part`` is train, validation, test or none; ``label`` is empty for an unlabelled node;
    ``probability`` is that of the predicted class, and ``p_...`` has one column for each class.
    """
    titles = np.asarray(graph.class_names or range(graph.num_classes))
    labels = graph.y.cpu().numpy()
    label = pd.Series(titles[labels]).where(labels >= 0)
    if graph.class_names is None:
        label = label.astype("Int64")
    tables = []
    for score, outcome in zip(evaluation.splits, evaluation.outcomes):
        p = probabilities(outcome.trained)
        masks = [mask.cpu().numpy() for _, mask in graph.splits[score.split].parts()]
        names = [name for name, _ in graph.splits[score.split].parts()]
        head = {
            "split": score.split,
            "seed": score.seed,
            "node": np.arange(graph.num_nodes),
            "part": np.select(masks, names, "none"),
            "label": label,
            "predicted": titles[p.argmax(1)],
            "probability": p.max(1),
        }
        tables.append(pd.DataFrame(head | {f"p_{title}": p[:, k] for k, title in enumerate(titles)}))
    return pd.concat(tables, ignore_index=True)


def results_folder(folder: str | os.PathLike[str]) -> Path:
    """Make the folder for a result; refuse one whose files of the same names are no result of ours."""
    path = make_folder(folder)
    if not (path / "result.json").exists():
        for name in FILES:
            if (path / name).exists():
                why = f"has a file {name} but no result.json, so that file may be yours"
                raise OutputError(f"{path} {why}; name another folder")
    return path


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make the folder and try to write there, so that a mistake shows before hours of training."""
    path = Path(folder).expanduser()
    trial = path / f".{os.getpid()}.trial"
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial.touch(exist_ok=True)
        trial.unlink()
    except OSError as error:
        raise OutputError(f"cannot write to the folder {path}: {_reason(error)}; name another") from None
    return path


def write_files(folder: str | os.PathLike[str], files: Mapping[str, str | bytes | None]) -> list[Path]:
    """Write files so that each is the old one or the new one at any moment; None removes an old one.

    All are written beside their places first, and moved when the last is complete: whatever stops the
    writing (a full disk, a signal) leaves an earlier result as it was.
    """
    path = make_folder(folder)
    waiting: dict[Path, Path] = {}
    try:
        for name, content in files.items():
            if content is not None:
                waiting[path / f".{name}.{os.getpid()}.new"] = path / name
                _write(path / f".{name}.{os.getpid()}.new", content)
        for new, place in waiting.items():
            new.replace(place)
        for name, content in files.items():
            if content is None:
                (path / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"could not write the results to {path}: {_reason(error)}") from None
    finally:
        for new in waiting:
            with suppress(OSError):
                new.unlink(missing_ok=True)
    return list(waiting.values())


def _write(file: Path, content: str | bytes) -> None:
    with file.open("wb") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
        stream.flush()
        os.fsync(stream.fileno())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
