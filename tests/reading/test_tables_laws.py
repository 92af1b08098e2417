"""Laws over generated tables: what is read is what pandas reads, and encodings keep what they are told."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heterophily.reading import Encoding, ReadingError, cells, read, textfile

WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(-1e9, 1e9).map(lambda x: x + 0.0)


@st.composite
def node_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of 2 to 12 nodes with ids of one type, labels with blanks, and columns of several kinds."""
    size = draw(st.integers(2, 12))
    name = WORD.map(str.strip).filter(lambda word: word != "")
    ids = draw(st.sampled_from([st.integers(-(2**63), 2**63 - 1), name]))
    each = lambda values: draw(st.lists(values, min_size=size, max_size=size))  # noqa: E731
    return pd.DataFrame(
        {
            "id": draw(st.lists(ids, min_size=size, max_size=size, unique=True)),
            "label": ["p", "q", *each(st.sampled_from(["p", "q", ""]))[2:]],
            "amount": each(NUMBERS | st.none()),
            "count": each(st.integers(0, 10**6)),
            "open": each(st.booleans()),
            "town": each(st.sampled_from(["Ulm", "Köln, am Rhein", 'the "X"', "line\nbreak"])),
        }
    )


@given(node_tables(), st.data())
def test_what_is_read_equals_the_table_that_was_written(table: pd.DataFrame, data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, len(table) - 1)] * 2), min_size=1, max_size=20))
    edges = pd.DataFrame([[table["id"][u], table["id"][v]] for u, v in ends], columns=["source", "target"])
    form = data.draw(st.sampled_from(["csv", "tsv", "csv.gz", "parquet", "jsonl"]))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{role}.{form}" for role in ("edges", "nodes")]
        for frame, path in zip((edges, table), paths):
            if form == "parquet":
                frame.to_parquet(path)
            elif form == "jsonl":
                records = frame.astype(object).where(frame.notna(), None).to_dict("records")
                path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
            else:
                delimiter = "\t" if form == "tsv" else data.draw(st.sampled_from(",;|"))
                frame.to_csv(path, index=False, sep=delimiter)
        reading = read(*paths, id="id", label="label")
    assert list(map(str, reading.ids)) == list(map(str, table["id"]))
    assert reading.graph.edge_index.T.tolist() == [list(pair) for pair in ends]
    assert reading.graph.y.tolist() == [{"p": 0, "q": 1, "": -1}[label] for label in table["label"]]
    for column in reading.encoding.columns:
        if column.kind == "numeric":
            values = table[column.name].to_numpy(float)
            mean, std = np.nanmean(values), np.nanstd(values)
            place = reading.encoding.features.index(column.name)
            back = reading.graph.x[:, place].double().numpy() * column.std + column.mean
            np.testing.assert_allclose(
                back, np.nan_to_num(values, nan=mean), atol=1e-5 * max(std, abs(mean), 1)
            )


CELL = st.sampled_from(["", " ", "a", "1", "2.5", '"', '""', '"x"', '"x,y"', "x\ty", "#", "NA", "é", "'"])


@settings(max_examples=300)
@given(
    st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_text_that_is_read_has_the_cells_that_pandas_finds(
    rows: list[list[str]], delimiter: str, end: str, header: bool
) -> None:
    assume([" "] not in rows)  # a blank line to pandas, a row without an id to us
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(end.join(delimiter.join(row) for row in rows).encode())
        try:
            form = textfile.find_form(path, delimiter, header)
            found = textfile.parse(path, form)
        except ReadingError:
            return  # refused, not read wrongly
        lines = list(io.StringIO(path.read_bytes().decode(), newline=""))[form.skip :]
        plain = pd.read_csv(
            io.StringIO("".join(lines), newline=""),
            sep=delimiter,
            header=None,
            names=list(form.names),
            index_col=False,
            dtype=str,
            keep_default_na=False,
        )
    assert found.to_pydict() == plain.to_dict("list")


@given(node_tables())
def test_an_encoding_goes_through_json_and_back_unchanged(table: pd.DataFrame) -> None:
    edges = pd.DataFrame({"source": table["id"][:1], "target": table["id"][1:2].to_numpy()})
    reading = read(edges, table, id="id", label="label")
    stored = json.dumps(reading.encoding.to_json())
    again = Encoding.from_json(json.loads(stored))
    assert again == reading.encoding and json.dumps(again.to_json()) == stored
    features = again.encode(table)
    assert np.array_equal(np.asarray(features), reading.graph.x.to_dense().numpy())
    # The order of the rows and of the columns is of no meaning.
    turned = again.encode(table.iloc[::-1, ::-1].reset_index(drop=True))
    assert np.array_equal(np.asarray(turned)[::-1], np.asarray(features))


@given(st.lists(st.sampled_from([*cells.MISSING, "x", "NAN", "na", "-"]), min_size=1))
def test_what_pandas_takes_for_missing_is_missing(words: list[str]) -> None:
    import pyarrow

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.csv"
        pd.DataFrame({"n": range(len(words)), "word": words}).to_csv(path, index=False)
        plain = pd.read_csv(path)["word"].isna().tolist()
    found: Any = cells.present(pyarrow.array(words))
    assert found.is_null().to_pylist() == plain
