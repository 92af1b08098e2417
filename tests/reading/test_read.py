"""A user's own graph is read as it is written, in every form of file; and every mistake is told in words."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from heterophily.graph import synthetic
from heterophily.reading import ReadingError, read, textfile

EDGES = pd.DataFrame({"source": ["a", "b", "c", "a"], "target": ["b", "c", "d", "d"]})
NODES = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "label": ["spam", "ham", "spam", None],
        "size": [1.5, 2.0, None, 4.0],
        "active": [True, False, True, True],
        "part": ["train", "Training", "val", "test"],
    }
)
Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: str | bytes) -> Path:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return written


def tsv(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, sep="\t", index=False)


def packed(frame: pd.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


FORMS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": tsv,
    "txt": tsv,
    "csv.gz": packed,
    "parquet": lambda frame, path: frame.to_parquet(path),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "jsonl.gz": lambda frame, path: frame.to_json(path, orient="records", lines=True, compression="gzip"),
    "json": lambda frame, path: frame.to_json(path, orient="records"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_file_gives_the_graph_of_the_frames(form: str, tmp_path: Path) -> None:
    for frame, name in ((EDGES, "edges"), (NODES, "nodes")):
        FORMS[form](frame, tmp_path / f"{name}.{form}")
    told = read(EDGES, NODES, label="label", split="part")
    found = read(tmp_path / f"edges.{form}", tmp_path / f"nodes.{form}", label="label", split="part")
    assert list(found.ids) == list(NODES["id"])
    assert found.encoding == told.encoding
    assert found.graph.class_names == ("ham", "spam") and found.graph.y.tolist() == [1, 0, 1, -1]
    assert found.graph.edge_index.tolist() == [[0, 1, 2, 0], [1, 2, 3, 3]]
    assert torch.equal(found.graph.x, told.graph.x)
    (split,) = found.graph.splits
    assert split.train.tolist() == [True, True, False, False] and not split.test.any()
    assert any("1 unlabelled test nodes" in note for note in found.notes)


def test_the_form_of_the_public_twitch_graphs_needs_nothing_but_the_label(write: Write) -> None:
    """`from,to`; {node: [feature ids]}; and a target table whose `new_id`, not its `id`, is in the edges."""
    target = pd.DataFrame(
        {
            "id": [73045350, 61573865, 171688491, 3685],
            "days": [1459, 1629, 411, 1800],
            "mature": [False, True, True, False],
            "views": [9528, 3615, 46546, 5863],
            "partner": [False, False, True, False],
            "new_id": [2, 0, 3, 1],
        }
    )
    nodes = write("target.csv", target.to_csv(index=False))
    edges = write("edges.csv", "from,to\n0,1\n1,2\n3,0\n")
    features = write("features.json", json.dumps({"0": [5, 7], "1": [7], "2": [], "3": [1999, 5, 7]}))
    reading = read(edges, nodes, features, label="mature")
    assert list(reading.ids) == [2, 0, 3, 1]
    assert reading.encoding.id == "new_id"
    assert dict(reading.encoding.dropped) == {"id": "every value is different, as in an id"}
    assert reading.graph.class_names == ("False", "True") and reading.graph.y.tolist() == [0, 1, 1, 0]
    bag = [reading.encoding.features.index(f"features has {item}") for item in (5, 7, 1999)]
    assert reading.graph.x[:, bag].tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0]]
    assert reading.graph.edge_index.tolist() == [[1, 3, 2], [3, 0, 1]]


def test_a_commented_edge_list_without_nodes_is_a_graph_of_its_ends(write: Write) -> None:
    edges = write("web.txt", "# Directed graph\n# FromNodeId\tToNodeId\n30\t4\n4\t11\n")
    reading = read(edges)
    assert list(reading.ids) == [4, 11, 30] and reading.graph.num_features == 0
    assert reading.graph.edge_index.tolist() == [[2, 0], [0, 1]]
    assert "1 comment line skipped" in reading.notes[0] and "FromNodeId" in reading.notes[0]


@pytest.mark.parametrize("late", ["12", "x", " 7", "007"])
def test_a_large_edge_list_is_read_block_by_block_as_a_small_one(
    late: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(str(i % 50), str(i * 7 % 50)) for i in range(999)] + [(late, "3")]
    edges = write("e.csv", "source,target,w\n" + "".join(f'{u},{v},"{u}"\n' for u, v in pairs))
    small = read(edges)
    monkeypatch.setattr(textfile, "LARGE", 0)
    monkeypatch.setattr(textfile, "BLOCK", 200)
    large = read(edges)
    assert list(large.ids) == list(small.ids) and torch.equal(large.graph.edge_index, small.graph.edge_index)
    found = large.ids.astype(str).to_numpy()[large.graph.edge_index.numpy()].T
    assert found.tolist() == [[u.strip(), v] for u, v in pairs]
    write("e.csv", edges.read_text() + "4,,5\n")
    with pytest.raises(ReadingError, match="e.csv line 1002 column `target`: the id is missing"):
        read(edges)
    write("e.csv", "source,target\n" + "1,2\n" * 500 + "1,2,3\n")
    with pytest.raises(ReadingError, match="e.csv line 502: 3 fields"):
        read(edges)
    write("e.csv", "source,target\n" + "1,2\n" * 500 + '1,"2')
    with pytest.raises(ReadingError, match="e.csv line 502: a quote opens and is never closed"):
        read(edges)
    write("e.csv", "source,target\n")
    with pytest.raises(ReadingError, match="e.csv has a header but no row"):
        read(edges)


def test_both_ends_may_have_one_name_and_vectors_commas(write: Write) -> None:
    """The form of the public WebKB graphs."""
    edges = write("edges.txt", "node_id\tnode_id\n0\t1\n2\t0\n")
    nodes = write("nodes.txt", "node_id\tfeature\tlabel\n0\t0,1,1\t4\n2\t1,0,1\t0\n1\t0,0,1\t4\n")
    reading = read(edges, nodes, label="label", columns={"feature": "vector"})
    assert reading.graph.edge_index.tolist() == [[0, 1], [2, 0]]
    assert reading.graph.x.tolist() == [[0, 1, 1], [1, 0, 1], [0, 0, 1]]
    assert reading.graph.class_names == ("0", "4")
    with pytest.raises(ReadingError, match="nodes.txt line 2.*has a comma.*columns="):
        read(edges, nodes, label="label")


def test_ids_are_not_numbers_where_a_zero_in_front_matters(write: Write) -> None:
    reading = read(write("e.csv", "source,target\n007,7\n"), write("n.csv", "id,v\n7,1\n007,2\n"))
    assert list(reading.ids) == ["7", "007"] and reading.graph.edge_index.tolist() == [[1], [0]]


def test_large_integer_ids_stay_exact(write: Write) -> None:
    big = 2**53
    nodes = write("n.csv", f"id,v\n{big},1\n{big + 1},2\n{2**63},3\n")
    reading = read(write("e.csv", f"source,target\n{big},{big + 1}\n"), nodes)
    assert list(reading.ids) == [str(big), str(big + 1), str(2**63)]
    assert reading.graph.edge_index.tolist() == [[0], [1]]


def test_edges_without_a_header_are_told_from_one_by_the_nodes(write: Write) -> None:
    nodes = write("n.csv", "id,v\nann,1\nbob,2\ncat,3\n")
    plain = read(write("e1.csv", "ann,bob\nbob,cat\n"), nodes)
    named = read(write("e2.csv", "who,whom\nann,bob\nbob,cat\n"), nodes)
    assert plain.graph.edge_index.tolist() == named.graph.edge_index.tolist() == [[0, 1], [1, 2]]


def test_delimiter_and_header_can_be_named(write: Write) -> None:
    edges = write("e.csv", "alice~bob\nbob~carl\n")
    assert read(edges, delimiter="~", header=False).graph.num_nodes == 3
    assert read(edges, delimiter={"edges": "~"}, header={"edges": True}).graph.num_nodes == 2


def test_quoted_cells_may_hold_delimiters_quotes_and_line_breaks(write: Write) -> None:
    nodes = write("n.csv", 'id,label\n"a,""1""",x\n"b\nc",y\n')
    reading = read(write("e.csv", 'source,target\n"a,""1""","b\nc"\n'), nodes, label="label")
    assert list(reading.ids) == ['a,"1"', "b\nc"]


def test_a_later_file_is_read_with_the_stored_encoding() -> None:
    first = read(EDGES, NODES, label="label", drop=["part"])
    later = NODES.assign(
        id=["p", "q", "r", "s"], label=[None, "spam", None, None], size=[None, 1.5, 100.0, 4.0]
    )
    edges = EDGES.replace(dict(zip("abcd", "pqrs")))
    found = read(edges, later, encoding=first.encoding)
    assert found.graph.class_names == ("ham", "spam") and found.graph.y.tolist() == [-1, 1, -1, -1]
    assert found.encoding is first.encoding and found.graph.num_features == first.graph.num_features
    assert torch.equal(found.graph.x[1, :2], first.graph.x[0, :2])
    bare = read(edges, later.drop(columns="label"), encoding=first.encoding)
    assert torch.equal(bare.graph.x, found.graph.x) and bare.graph.num_classes == 2


def test_a_column_that_may_hold_the_answer_is_no_feature() -> None:
    reading = read(EDGES, NODES.drop(columns="part"))
    assert not any("label" in feature for feature in reading.encoding.features)
    assert any("may hold the answer" in note for note in reading.notes)


def test_random_splits_are_stratified_and_seeded() -> None:
    graph = synthetic(num_nodes=60, num_classes=3, seed=1)
    edges = pd.DataFrame(graph.edge_index.T.numpy(), columns=["source", "target"])
    nodes = pd.DataFrame({"id": range(60), "group": graph.y.numpy()})
    reading = read(edges, nodes, label="group").with_splits(3, train=0.48, validation=0.32, seed=5)
    again = read(edges, nodes, label="group").with_splits(3, train=0.48, validation=0.32, seed=5)
    assert [s.train.tolist() for s in reading.graph.splits] == [s.train.tolist() for s in again.graph.splits]
    for split in reading.graph.splits:
        assert set(reading.graph.y[split.train].tolist()) == {0, 1, 2}


def karate() -> networkx.Graph:
    g = networkx.karate_club_graph()
    for node in g:
        g.nodes[node]["age"] = float(node % 7)
    return g


@pytest.mark.parametrize("form", ["object", "gml", "graphml"])
def test_networkx_graphs_and_files_keep_their_attributes(form: str, tmp_path: Path) -> None:
    g = karate()
    given: Any = g if form == "object" else tmp_path / f"karate.{form}"
    if form != "object":
        getattr(networkx, f"write_{form}")(g, given)
    reading = read(given, label="club", drop=["label"] if form == "gml" else [])
    assert reading.graph.num_nodes == 34 and reading.graph.num_edges == 156 and reading.graph.is_undirected
    assert reading.graph.class_names == ("Mr. Hi", "Officer")
    assert "age" in reading.encoding.features


@pytest.mark.parametrize("form", ["pt", "npz", "sparse npz", "dict pt"])
def test_graph_files_keep_features_labels_and_splits_as_they_are(form: str, tmp_path: Path) -> None:
    graph = synthetic(num_nodes=30, num_classes=2, average_degree=4, num_features=4, splits=2, seed=0)
    arrays = {"edge_index": graph.edge_index, "x": graph.x, "y": graph.y}
    path = tmp_path / f"g.{form.split()[-1]}"
    if form == "pt":
        torch.save(graph.to_pyg(), path)
    elif form == "dict pt":
        torch.save(arrays, path)
    elif form == "npz":
        masks = {f"{p}_masks": [getattr(s, q).numpy() for s in graph.splits]
                 for p, q in (("train", "train"), ("val", "validation"), ("test", "test"))}  # fmt: skip
        plain = {"edges": graph.edge_index.T, "node_features": graph.x, "node_labels": graph.y}
        np.savez(path, **{name: value.numpy() for name, value in plain.items()}, **masks)
    else:
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(graph.to_scipy()))
    reading = read(path)
    assert sorted(zip(*reading.graph.edge_index.tolist())) == sorted(zip(*graph.edge_index.tolist()))
    if form != "sparse npz":
        assert torch.equal(reading.graph.x, graph.x) and torch.equal(reading.graph.y, graph.y)
        assert torch.equal(read(path, encoding=reading.encoding).graph.x, graph.x)
    assert len(reading.graph.splits) == (2 if form in ("pt", "npz") else 0)


def test_a_pickle_that_runs_code_is_refused_unrun(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    torch.save({"edge_index": Trap()}, tmp_path / "g.pt")
    np.savez(tmp_path / "g.npz", edge_index=np.array([Trap()], dtype=object))
    for name in ("g.pt", "g.npz"):
        with pytest.raises(ReadingError, match=name):
            read(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_a_polars_frame_is_read_as_a_pandas_one() -> None:
    polars = pytest.importorskip("polars")
    frames = [polars.DataFrame(frame.to_dict("list"), strict=False) for frame in (EDGES, NODES)]
    assert torch.equal(read(*frames, label="label").graph.x, read(EDGES, NODES, label="label").graph.x)


def test_an_arrow_table_is_read_as_a_pandas_frame() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    tables = [pyarrow.Table.from_pandas(frame, preserve_index=False) for frame in (EDGES, NODES)]
    assert torch.equal(read(*tables, label="label").graph.x, read(EDGES, NODES, label="label").graph.x)


GOOD = {"edges": "source,target\na,b\nb,c\n", "nodes": "id,label,size\na,x,1\nb,y,2\nc,x,3\n"}
MISTAKES: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "an unknown node in an edge": (
        {"edges": "source,target\na,b\nb,zoe\n"},
        {},
        r"edges.csv line 3: node 'zoe' is not in nodes.csv \(3 nodes.*add it there, or take the edge out",
    ),
    "a duplicate id": (
        {"nodes": "id,label,size\na,x,1\nb,y,2\nc,x,3\na,y,4\n"},
        {},
        r"nodes.csv line 5 column `id`: the id 'a' is there already \(nodes.csv line 2.*keep one row",
    ),
    "a label that is really an id": (
        {},
        {"label": "size"},
        "nodes.csv column `size`: 3 different values in 3 labelled rows.*name another",
    ),
    "the id column as label": ({}, {"label": "id"}, "`id` is the id column, not for label="),
    "a label column that is not there": ({}, {"label": "lable"}, "no column `lable`.*did you mean `label`"),
    "all labels missing": (
        {"nodes": "id,label,size\na,,1\nb,NA,2\nc,,3\n"},
        {},
        "column `label`: all 3 labels are missing; name",
    ),
    "one class": (
        {"nodes": "id,label,size\na,x,1\nb,x,2\nc,,3\n"},
        {},
        "all 2 labels are 'x'; there must be two classes",
    ),
    "an infinite number": (
        {"nodes": "id,label,size\na,x,1\nb,y,inf\nc,x,3\n"},
        {},
        "nodes.csv line 3 column `size`: inf is infinite",
    ),
    "text among numbers": (
        {"nodes": "id,label,size\na,x,1\nb,y,big\nc,x,3\n"},
        {},
        "nodes.csv line 3 column `size`: 'big' is not a number, 2 of 3 values are; correct it",
    ),
    "text where numbers are asked for": (
        {"nodes": "id,label,size\na,x,u\nb,y,v\nc,x,u\n"},
        {"columns": {"size": "numeric"}},
        "nodes.csv line 2 column `size`: 'u' is not a number",
    ),
    "decimal commas": (
        {"nodes": 'id,label,size\na,x,"1,5"\nb,y,"2,5"\nc,x,"3,5"\n'},
        {},
        "line 2.*'1,5' has a comma; write decimals",
    ),
    "an empty file": ({"nodes": ""}, {}, r"nodes.csv is empty \(0 bytes\)"),
    "nothing but a header": ({"nodes": "id,label,size\n"}, {}, "nodes.csv has a header but no row"),
    "nothing but blank lines": ({"edges": "\n \n\n"}, {}, "edges.csv is empty"),
    "a wrong delimiter": (
        {},
        {"delimiter": {"edges": ";"}},
        "edges.csv has one column, `source,target`.*delimiter=",
    ),
    "an unusual delimiter": ({"edges": "x~y\na~b\n"}, {}, "edges.csv has one column, `x~y`.*say delimiter="),
    "two possible delimiters": (
        {"edges": "a,b;c,d\nb,c;d,e\n"},
        {},
        "by comma into 3 columns or by semicolon into 2 columns; say which",
    ),
    "a row too short": (
        {"nodes": "id,label,size\na,x,1\nb,y\nc,x,3\n"},
        {},
        "nodes.csv line 3: 2 fields, but the first row has 3",
    ),
    "a row too long": ({"nodes": "id,label,size\na,x,1\nb,y,2,9\nc,x,3\n"}, {}, "nodes.csv line 3: 4 fields"),
    "a quote never closed": (
        {"nodes": 'id,label,size\na,x,1\nb,"y,2\nc,x,3\n'},
        {},
        "nodes.csv line 3.*a quote that is never closed",
    ),
    "two columns of one name": ({"nodes": "id,label,label\na,x,1\n"}, {}, "two columns are named `label`"),
    "the files swapped": (
        {"edges": GOOD["nodes"], "nodes": GOOD["edges"]},
        {},
        "edges and nodes seem to be swapped",
    ),
    "a node table of two columns for edges": (
        {"edges": "id,label\na,x\nb,y\n"},
        {},
        "edges.csv has the columns `id`, `label`, those of a node table",
    ),
    "a missing id": (
        {"nodes": "id,label,size\na,x,1\n,y,2\nc,x,3\n"},
        {},
        "nodes.csv line 3 column `id`: the id is missing",
    ),
    "a missing end": (
        {"edges": "source,target\na,b\nb,\n"},
        {},
        "edges.csv line 3 column `target`: the id is missing",
    ),
    "a header that may be a row": (
        {"edges": "ann,bob\nbob,cat\n", "nodes": "name,label\nann,x\nbob,y\n"},
        {"nodes": None},
        "edges.csv line 1 .ann, bob. may be a header or the first row; say header=",
    ),
    "no UTF-8": (
        {"nodes": "id,label,size\na,x,1\nb,\udce9,2\nc,x,3\n"},
        {},
        "nodes.csv line 3 is not UTF-8 text; save",
    ),
    "a kind that does not exist": (
        {},
        {"columns": {"size": "number"}},
        "cannot be 'number'; choose one of: numeric",
    ),
    "a split that is none": (
        {},
        {"split": "size"},
        "nodes.csv line 2 column `size`: '1' is no part of a split; write train, val, test",
    ),
    "two id columns": (
        {"nodes": "id,node_id,label\na,b,x\nb,c,y\nc,a,x\n"},
        {},
        "`id`, `node_id` could each be the ids; name",
    ),
    "no id column": ({"nodes": "colour,label\nred,x\nblue,y\n"}, {}, "no column has all nodes of the edges"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_place_and_its_mend(mistake: str, write: Write) -> None:
    changed, options, sentence = MISTAKES[mistake]
    given: dict[str, Any] = {"label": "label"}
    for role, text in (GOOD | changed).items():
        given[role] = write(f"{role}.csv", text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ReadingError, match=f"(?s){sentence}"):
        read(**given | options)


def test_a_mixed_column_of_json_lines_is_told_with_its_line(write: Write) -> None:
    nodes = write("n.jsonl", '{"id": "a", "size": 1}\n\n{"id": "b", "size": "big"}\n{"id": "c", "size": 2}\n')
    with pytest.raises(
        ReadingError, match="n.jsonl line 3 column `size`: 'big' is a text, most others are a number"
    ):
        read(write("e.csv", GOOD["edges"]), nodes)


def test_a_mixed_column_of_a_frame_is_refused() -> None:
    with pytest.raises(ReadingError, match="the nodes frame has a column of mixed types .*column size"):
        read(EDGES, NODES.assign(size=[1, "big", 2.0, None]))


def test_a_file_that_is_not_there_names_those_that_are(write: Write) -> None:
    there = write("edges.csv", GOOD["edges"])
    with pytest.raises(ReadingError, match="there is no file .*edge.csv; its folder has edges.csv"):
        read(there.with_name("edge.csv"))


def test_a_good_file_that_the_mistakes_are_made_from_is_read(write: Write) -> None:
    reading = read(*(write(f"{role}.csv", text) for role, text in GOOD.items()), label="label")
    assert reading.graph.y.tolist() == [0, 1, 0]


# Large files


def test_parquet_edges_are_read_block_by_block_as_they_are_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    for ids in (np.arange(30), np.array([f"u{i}" for i in range(30)])):
        ends = ids[rng.integers(0, 30, (2, 500))]
        pd.DataFrame({"source": ends[0], "target": ends[1]}).to_parquet(tmp_path / "edges.parquet")
        whole = read(tmp_path / "edges.parquet")
        monkeypatch.setattr("heterophily.reading.tables.BLOCK", 64)
        pieces = read(tmp_path / "edges.parquet")
        monkeypatch.undo()
        assert torch.equal(whole.graph.edge_index, pieces.graph.edge_index)
        assert whole.ids.equals(pieces.ids) and whole.notes == pieces.notes


def test_a_matrix_of_features_is_mapped_not_loaded(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,3\n")
    reading = read(tmp_path / "edges.csv", features=tmp_path / "x.npy")
    assert torch.equal(reading.graph.x, torch.from_numpy(x)) and reading.ids.tolist() == [0, 1, 2, 3]
    assert "read x.npy: 4 rows of 3 features, mapped" in reading.notes
    written = np.load(tmp_path / "x.npy", mmap_mode="r+")
    written[0, 0] = 99
    written.flush()
    assert reading.graph.x[0, 0] == 99  # the file's page, not a copy of it
    reading.graph.x[1, 1] = -1
    assert np.load(tmp_path / "x.npy")[1, 1] == 4  # and what is written to it stays out of the file

    (tmp_path / "nodes.csv").write_text("id,kind\n3,a\n0,b\n1,a\n2,b\n")
    beside = read(tmp_path / "edges.csv", tmp_path / "nodes.csv", tmp_path / "x.npy", label="kind")
    assert beside.graph.edge_index.tolist() == [[1, 2], [2, 0]] and beside.graph.num_features == 3


@pytest.mark.parametrize(
    "array, message",
    [
        (np.zeros((5, 3), np.float32), "5 rows for 4 nodes; give a row for each"),
        (np.zeros(4, np.float32), "features are a matrix of numbers"),
        (np.array([["a"] * 4]), "features are a matrix of numbers"),
        (np.array([[None]]), "cannot be read"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,3\n")
    (tmp_path / "nodes.csv").write_text("id,kind\n3,a\n0,b\n1,a\n2,b\n")
    with pytest.raises(ReadingError, match=message):
        read(tmp_path / "edges.csv", tmp_path / "nodes.csv", tmp_path / "x.npy", label="kind")
    with pytest.raises(ReadingError, match="a NumPy matrix, not a table; pass it to read as features="):
        read(tmp_path / "edges.csv", tmp_path / "x.npy")
