"""What an evaluation leaves on disk: result.json, predictions.csv, edges.csv; each whole or not at all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd

from heterophily.bench.protocol import Evaluation
from heterophily.files import OutputError, make_folder, sealed, to_text, write_files
from heterophily.graph import Graph
from heterophily.outcomes import edge_table, probabilities

FILES = ("result.json", "predictions.csv", "edges.csv")
"""In the order in which they are moved to their places: a folder with one of the others has the first."""


def save(folder: str | os.PathLike[str], evaluation: Evaluation, graph: Graph) -> list[Path]:
    """Write an evaluation into a folder, over an earlier one as a whole; return the files written.

    ``result.json`` is what ``--json`` prints, with checksums of all three. ``predictions.csv`` has a row
    per run and node. ``edges.csv`` has a row per edge of E' with its verdict, for HDP and of the first run
    only (with ten splits it would often be the largest file by far).
    """
    results_folder(folder)
    files: dict[str, str | bytes | None] = dict.fromkeys(FILES)
    files["predictions.csv"] = predictions(evaluation, graph).to_csv(index=False, float_format="%.6g")
    if (edges := edge_table(evaluation.outcomes[0])) is not None:
        edges.insert(0, "split", evaluation.splits[0].split)
        edges.insert(1, "seed", evaluation.splits[0].seed)
        files["edges.csv"] = edges.to_csv(index=False, float_format="%.9g")
    sums = {
        name: hashlib.sha256(text.encode()).hexdigest()
        for name, text in files.items()
        if isinstance(text, str)
    }
    files["result.json"] = to_text(sealed(evaluation.to_json() | {"files": sums}))
    return write_files(folder, files)


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
