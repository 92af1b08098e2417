"""The largest of many numbers, found bit by bit as a sort finds them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heterophily import selection
from heterophily.selection import _searched, _sorted, largest

NUMBERS = st.one_of(
    st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, 0.5, 0.5 + 2**-53, 1 - 2**-53, 5e-324, -1.0])
)


@given(values=st.lists(NUMBERS, min_size=1, max_size=30), share=st.floats(0, 1))
def test_the_search_marks_what_the_sort_marks_ties_included(values: list[float], share: float) -> None:
    numbers = torch.tensor(values, dtype=torch.float64) + 0.0  # one zero, not two
    count = torch.tensor(round(share * len(values)))
    found, wanted = _searched(numbers, count), _sorted(numbers, count)
    assert torch.equal(found[1], wanted[1]) and int(found[1].sum()) == count
    if count > 0:
        assert torch.equal(found[0], wanted[0])


def test_each_run_has_its_own_count_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    values, counts = torch.rand(3, 50, dtype=torch.float64), torch.tensor([0, 7, 50])
    wanted = torch.vmap(largest)(values, counts)
    monkeypatch.setitem(selection.SORTED, "cpu", 0)
    found = torch.vmap(largest)(values, counts)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert found[0][0] == torch.inf and found[1].sum(1).tolist() == [0, 7, 50]
