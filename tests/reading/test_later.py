"""What came after the first files is read as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heterophily.reading import Later, ReadingError, read, read_later

NODES = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "age": [1.0, 2.0, 3.0, 4.0],
        "kind": ["x", "y", "x", "y"],
        "y": [0, 1, 1, 0],
    }
)
EDGES = pd.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"]})


def later(edges: Any = None, nodes: Any = None, **more: Any) -> Later:
    first = read(EDGES, NODES, label="y", id="name")
    return read_later(first.ids.tolist(), first.encoding, edges, nodes, **more)


def test_new_rows_are_encoded_with_the_statistics_of_the_first_files() -> None:
    first = read(EDGES, NODES, label="y", id="name")
    new = pd.DataFrame(
        {"kind": ["x", "z"], "name": ["e", "f"], "age": [4.0, None]}
    )  # another order, no label
    found = later(pd.DataFrame({"from": ["e", "a"], "to": ["a", "f"]}), new)
    np.testing.assert_array_equal(found.x, first.encoding.encode(new))
    assert found.x[0, 0] == first.graph.x[3, 0]  # age 4 is what it was
    assert found.ids == ["e", "f"] and found.edge_index.tolist() == [[4, 0], [0, 5]]


def test_known_nodes_are_not_read_again_and_edges_between_them_may_come() -> None:
    more = pd.concat([NODES, pd.DataFrame({"name": ["e"], "age": [9.0], "kind": ["x"]})])
    found = later(pd.DataFrame({"from": ["e", "a"], "to": ["d", "c"]}), more)
    assert found.ids == ["e"] and found.edge_index.tolist() == [[4, 0], [3, 2]]
    assert any("4 rows of nodes that the model knows" in note for note in found.notes)
    only = later(pd.DataFrame({"from": ["a"], "to": ["c"]}))
    assert only.ids == [] and only.x.shape == (0, found.x.shape[1]) and only.edge_index.tolist() == [[0], [2]]
    alone = later(None, more)
    assert alone.ids == ["e"] and alone.edge_index.shape == (2, 0)


def test_numbers_as_ids_stay_numbers(tmp_path: Path) -> None:
    first = read(pd.DataFrame({"u": [1, 2], "v": [2, 3]}), pd.DataFrame({"id": [1, 2, 3], "w": [1.5, 2, 3]}))
    (tmp_path / "nodes.csv").write_text("id,w\n7,1\n")
    (tmp_path / "edges.csv").write_text("u,v\n7,1\n")
    found = read_later(first.ids.tolist(), first.encoding, tmp_path / "edges.csv", tmp_path / "nodes.csv")
    assert found.ids == [7] and found.edge_index.tolist() == [[3], [0]]


def test_without_features_new_ends_are_new_nodes() -> None:
    first = read(pd.DataFrame({"u": [1, 2], "v": [2, 3]}))
    found = read_later(first.ids.tolist(), first.encoding, pd.DataFrame({"u": [3, 9], "v": [8, 1]}))
    assert sorted(found.ids) == [8, 9] and found.x.shape == (2, 0)


def test_mistakes_say_where_and_what(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("from,to\na,b\ne,zz\n")
    with pytest.raises(ReadingError, match=r"edges.csv line 3: node 'e' is not in"):
        later(tmp_path / "edges.csv")
    with pytest.raises(ReadingError, match="lacks `kind`"):
        later(None, pd.DataFrame({"name": ["e"], "age": [1.0]}))
    (tmp_path / "nodes.csv").write_text("name,age,kind\na,1,x\ne,old,x\n")
    with pytest.raises(ReadingError, match=r"nodes.csv line 3 column `age`: 'old'"):
        later(None, tmp_path / "nodes.csv")
    with pytest.raises(ReadingError, match="as another graph"):
        later(tmp_path / "graph.npz")
