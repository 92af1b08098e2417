"""Equal rows are found by hashing, and only equal rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from heterophily.graph import twins
from heterophily.graph.twins import Rows, both, number_rows, row_hashes


def plain_numbers(matrix: np.ndarray) -> list[int]:
    """Numbers by comparing whole rows, the slow way."""
    known: dict[bytes, int] = {}
    return [known.setdefault(row.tobytes(), len(known) + 1) if row.any() else 0 for row in matrix]


def same_groups(one: np.ndarray, other: list[int]) -> bool:
    pairs = set(zip(one.tolist(), other))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) and ((0, 0) in pairs) == (
        0 in other
    )


def random_matrix(seed: int) -> np.ndarray:
    """Few columns and few values: many equal rows, some empty, some equal but for a value."""
    random = np.random.default_rng(seed)
    return (random.integers(0, 3, (200, 4)) * random.integers(0, 2, (200, 4))).astype(np.float32)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("block", [3, 1 << 22])
@pytest.mark.parametrize("seed", range(3))
def test_equal_rows_have_equal_numbers(seed: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "BLOCK", block)
    matrix = random_matrix(seed)
    wanted = plain_numbers(matrix)
    dense = Rows.of(torch.from_numpy(matrix))
    sparse = Rows.of(torch.from_numpy(matrix).to_sparse_csr())
    assert same_groups(number_rows(dense), wanted) and same_groups(number_rows(sparse), wanted)
    assert (row_hashes(dense) == row_hashes(sparse)).all()
    lists = scipy.sparse.csr_array(matrix)
    pattern = Rows(lists.indptr.astype(np.int64), lists.indices, None)
    assert same_groups(number_rows(pattern), plain_numbers(matrix != 0))


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_collision_makes_no_twins() -> None:
    matrix = random_matrix(0)
    for rows in (Rows.of(torch.from_numpy(matrix)), Rows.of(torch.from_numpy(matrix).to_sparse_csr())):
        worst = np.ones((200, 2), np.uint64)  # every row has the same hash
        assert same_groups(number_rows(rows, worst), plain_numbers(matrix))


@pytest.mark.filterwarnings("ignore:Sparse")
def test_stored_zeros_are_no_entries() -> None:
    x = torch.sparse_csr_tensor(
        torch.tensor([0, 2, 3, 4]), torch.tensor([0, 1, 1, 0]), torch.tensor([0.0, 5, 5, 0])
    )
    assert number_rows(Rows.of(x)).tolist() == [1, 1, 0]


def test_hashes_are_the_same_on_every_machine() -> None:
    rows = Rows.of(torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]))
    assert [f"{h:016x}" for h in row_hashes(rows)[:, 0]] == [
        "068eda9208898534",
        "af968f9fbcf9eaad",
        "0000000000000000",
    ]


def test_pairs_of_numbers_are_numbered() -> None:
    found = both(np.array([1, 1, 2, 2, 0, 1]), np.array([1, 1, 1, 2, 1, 0]))
    assert same_groups(found, [1, 1, 2, 3, 0, 0])
