"""Columns become features in a way that is stated, stored, and the same for later files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from heterophily.reading import Encoding, Reading, ReadingError, read


def reading(column: list[object], kind: str | None = None) -> Reading:
    """A graph of as many nodes as there are cells, with this one column."""
    nodes = pd.DataFrame({"id": range(len(column)), "c": column})
    edges = pd.DataFrame({"source": [0], "target": [1]})
    return read(edges, nodes, columns={"c": kind} if kind else None)


def features(column: list[object], kind: str | None = None) -> dict[str, list[float]]:
    """The features by their names."""
    found = reading(column, kind)
    return dict(zip(found.encoding.features, found.graph.x.to_dense().T.tolist()))


def test_numbers_are_standardized_and_a_missing_one_is_the_mean_and_a_flag() -> None:
    found = features([1.0, 3.0, None, 5.0])
    np.testing.assert_allclose(found["c"], [-(1.5**0.5), 0, 0, 1.5**0.5], rtol=1e-6)
    assert found["c is missing"] == [0, 0, 1, 0]


def test_truth_values_are_one_and_zero_however_they_are_written() -> None:
    for column in ([True, False, True], ["yes", "no", "Yes"], [1, 0, 1], ["T", "F", "t"], ["1", "0", "1"]):
        assert features(column) == {"c": [1, 0, 1]}


def test_a_category_has_a_feature_per_level_and_rare_levels_share_one() -> None:
    found = features(["red", "blue", "red", "blue", "green", None])
    assert found == {
        "c = blue": [0, 1, 0, 1, 0, 0],
        "c = red": [1, 0, 1, 0, 0, 0],
        "c = (other)": [0, 0, 0, 0, 1, 0],
    }


@pytest.mark.parametrize(
    "column",
    [["u|v", "v", None, "v|v"], [["u", "v"], ["v"], None, ["v", "v"]], ["['u', 'v']", '["v"]', "", "['v']"]],
)
def test_a_list_sets_its_items_however_often_it_has_them(column: list[object]) -> None:
    assert features(column) == {"c has u": [1, 0, 0, 0], "c has v": [1, 1, 0, 1]}


def test_lists_of_decimals_and_of_zeros_and_ones_are_vectors() -> None:
    assert list(features([[0.5, 1.0], [1.5, 1.0], [2.5, 2.0]])) == ["c[0]", "c[1]"]
    assert features([[0, 1, 1], [1, 0, 1]]) == {"c[0]": [0, 1], "c[1]": [1, 0], "c[2]": [1, 1]}


def test_lists_that_may_be_items_or_measurements_are_asked_about() -> None:
    column: list[object] = [[4, 4, 7], [1, 2, 3]]
    with pytest.raises(ReadingError, match="may be items or measurements; say columns="):
        features(column)
    assert len(features(column, "list")) == 5 and len(features(column, "vector")) == 3


def test_the_kind_of_a_column_can_be_named() -> None:
    assert set(features([89073, 10115, 89073, 10115], "category")) == {"c = 10115", "c = 89073"}
    assert set(features(["big red dog", "red dog", "dog"], "words")) == {
        "c has big",
        "c has dog",
        "c has red",
    }
    assert set(features(["01", "01", "1", "1"], "category")) == {"c = 01", "c = 1"}


@pytest.mark.parametrize(
    "column, why",
    [
        (["k1", "k2", "k3"], "every value is different, as in an id"),
        ([7, 7, 7], "every value is 7"),
        ([None, None, None], "it is empty"),
        (pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-02"]).tolist(), "dates and times"),
        ([{"a": 1}, {"a": 2}, {"a": 2}], "have no encoding"),
    ],
)
def test_a_column_that_tells_nothing_is_dropped_with_the_reason(column: list[object], why: str) -> None:
    found = reading(column)
    assert found.graph.num_features == 0 and why in dict(found.encoding.dropped)["c"]
    assert any("column `c`: dropped" in note and why in note for note in found.notes)


def test_an_integer_measurement_is_kept_though_all_its_values_differ() -> None:
    assert list(features([10, 20, 35])) == ["c"]


def test_later_files_meet_unknown_levels_items_and_missing_cells() -> None:
    nodes = pd.DataFrame(
        {
            "id": range(4),
            "town": ["Ulm", "Ulm", "Bonn", "Bonn"],
            "tags": ["a|b", "b", "a", "b"],
            "n": [1, 2, 3, 4],
        }
    )
    edges = pd.DataFrame({"source": [0], "target": [1]})
    encoding = read(edges, nodes).encoding
    later = pd.DataFrame(
        {"id": [0, 1], "town": ["Rom", "Ulm"], "tags": ["a|z", None], "n": [None, 2.5], "new": [1, 2]}
    )
    found = read(edges, later, encoding=encoding)
    named = dict(zip(encoding.features, found.graph.x.T.tolist()))
    assert named == {
        "town = Bonn": [0, 0],
        "town = Ulm": [0, 1],
        "tags has a": [1, 0],
        "tags has b": [0, 0],
        "n": [0, 0],
    }
    said = "\n".join(found.notes)
    for sentence in (
        "1 unknown levels, such as 'Rom'",
        "1 unknown items, such as 'z'",
        "1 missing cells become the mean",
        "`new` not used",
    ):
        assert sentence in said


def test_a_later_file_without_a_column_is_refused() -> None:
    encoding = reading([1.0, 2.0, 4.0]).encoding
    with pytest.raises(ReadingError, match="lacks `c`, which the encoding needs .*add the column"):
        encoding.encode(pd.DataFrame({"d": [1.0]}))


def test_text_where_the_encoding_has_numbers_is_refused_with_its_row() -> None:
    encoding = reading([1.0, 2.0, 4.0]).encoding
    with pytest.raises(ReadingError, match="row 2 column `c`: 'many' is not a number"):
        encoding.encode(pd.DataFrame({"c": ["1", "many"]}))


def test_many_items_give_a_sparse_matrix() -> None:
    bags = [[*range(3 * i, 3 * i + 5)] for i in range(100)]
    found = reading(list(bags))
    assert found.encoding.sparse and found.graph.x.is_sparse_csr
    frame = pd.DataFrame({"c": bags})
    encoded = found.encoding.encode(frame)
    assert isinstance(encoded, scipy.sparse.csr_array) and encoded.sum() == 500


def test_a_damaged_or_newer_encoding_says_so() -> None:
    stored = reading([1.0, 2.0, 4.0]).encoding.to_json()
    with pytest.raises(ReadingError, match="made by a newer version"):
        Encoding.from_json(stored | {"format": 99})
    with pytest.raises(ReadingError, match="the stored encoding is damaged"):
        Encoding.from_json({"format": 1})
    with pytest.raises(ReadingError, match="the stored encoding is damaged"):
        Encoding.from_json(stored | {"columns": [{"kind": "magic", "name": "c"}]})


def test_features_beside_the_node_table_are_joined_by_id() -> None:
    edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    nodes = pd.DataFrame({"id": ["a", "b", "c"], "label": ["x", "y", "x"]})
    more = pd.DataFrame({"id": ["c", "a", "z"], "n": [5.0, 1.0, 9.0]})
    found = read(edges, nodes, more, label="label")
    np.testing.assert_allclose(found.graph.x, [[-1, 0], [0, 1], [1, 0]])
    said = "\n".join(found.notes)
    assert "no row for 1 of 3 nodes" in said and "1 rows of other nodes not used" in said
    with pytest.raises(ReadingError, match="no id in `id` is one of"):
        read(edges, nodes, more.assign(id=["r", "s", "t"]), label="label")
    with pytest.raises(
        ReadingError, match="`label` is a column of the nodes frame and of the features frame"
    ):
        read(edges, nodes, more.assign(label="x"), label="label")
    with pytest.raises(ReadingError, match="row 2 column `n`: inf is infinite"):
        read(edges, nodes, more.assign(n=[1.0, np.inf, 2.0]), label="label")
