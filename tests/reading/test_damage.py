"""Damaged files: every one is read as pandas reads it, or refused in words."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heterophily.reading import Reading, ReadingError, cells, read, textfile
from tests.reading.damage import damaged, graph_file, tables, written

MORE = int(os.environ.get("HETEROPHILY_FUZZ", "1"))
"""`make fuzz` takes a hundred times as many."""
ROUNDS = 130 * MORE
"""Rounds per form of file, each with several damaged inputs."""


def plainly(path: Path, **told: Any) -> pd.DataFrame:
    """The file as pandas reads it, every cell a text."""
    form = textfile.find_form(path, **told)
    return pd.read_csv(
        path,
        sep=form.delimiter,
        names=list(form.names),
        skiprows=form.skip,
        header=None,
        index_col=False,
        dtype=str,
        keep_default_na=False,
        compression="gzip" if textfile.is_gzip(path) else None,
    ).map(str.strip)


def equals_pandas(reading: Reading, edges: Path, nodes: Path) -> None:
    """The same edges, ids, labels and numbers as pandas finds."""
    table = plainly(nodes, expected={"id", "kind"})
    ids = list(table[reading.encoding.id])
    assert [str(each) for each in reading.ids] == ids
    found = reading.ids.astype(str).to_numpy()[reading.graph.edge_index.numpy()]
    pairs = plainly(edges, ids=set(ids), expected={"id", "kind"})
    ends = [name for word in ("source", "target") for name in pairs if textfile.plain(name) == word]
    ends = ends if len(ends) == 2 else list(pairs.columns[:2])
    assert found.tolist() == [list(pairs[name]) for name in ends]
    names = reading.graph.class_names or ()
    labels = ["" if y < 0 else names[y] for y in reading.graph.y.tolist()]
    assert labels == ["" if word in cells.MISSING else word for word in table["kind"]]
    kinds = {column.name: column.kind for column in reading.encoding.columns}
    if kinds.get("size") == "numeric":
        values = pd.to_numeric(table["size"].where(~table["size"].isin(cells.MISSING))).to_numpy(float)
        expected = np.nan_to_num((values - np.nanmean(values)) / (np.nanstd(values) or 1.0))
        place = reading.encoding.features.index("size")
        column = reading.graph.x.to_dense()[:, place].numpy()
        np.testing.assert_allclose(column, expected, atol=1e-5)


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "jsonl", "json", "parquet"])
def test_a_damaged_table_is_read_as_pandas_reads_it_or_refused_in_words(form: str, tmp_path: Path) -> None:
    draw = random.Random(form)
    refused: list[str] = []
    for number in range(ROUNDS):
        edge_frame, node_frame = tables(draw)
        good = {"edges": written(edge_frame, form, draw), "nodes": written(node_frame, form, draw)}
        for hit in ("edges", "nodes"):
            paths = {role: tmp_path / f"{role}.{form}" for role in good}
            for role, path in paths.items():
                path.write_bytes(damaged(good[role], draw) if role == hit else good[role])
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    reading = read(paths["edges"], paths["nodes"], label="kind")
            except ReadingError as error:
                refused.append(str(error))
            except Exception as error:
                raise AssertionError(f"round {number}, {hit}: {paths[hit].read_bytes()!r}") from error
            else:
                if "sv" in form:
                    try:
                        equals_pandas(reading, paths["edges"], paths["nodes"])
                    except Exception as error:
                        raise AssertionError(f"round {number}, {hit}: {paths[hit].read_bytes()!r}") from error
    # Each names the file; an error without a word to the user would be as bad as a traceback.
    assert refused and all("edges." in said or "nodes." in said for said in refused)


@pytest.mark.parametrize("form", ["gml", "graphml", "npz", "pt"])
def test_a_damaged_graph_file_is_read_or_refused_in_words(form: str, tmp_path: Path) -> None:
    draw = random.Random(form)
    path = tmp_path / f"bad.{form}"
    refused = 0
    for _ in range(ROUNDS):
        path.write_bytes(damaged(graph_file(form, tmp_path, draw), draw))
        try:
            reading = read(path, label="kind" if "ml" in form else None)
            assert reading.graph.num_nodes == len(reading.ids)
        except ReadingError:
            refused += 1
        except Exception as error:
            raise AssertionError(repr(path.read_bytes())) from error
    assert 0 < refused < ROUNDS
