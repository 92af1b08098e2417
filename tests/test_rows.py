"""Row slices: a large graph computes, slice by slice, what a small one computes at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from heterophily import rows
from heterophily.layers import MLP
from heterophily.rows import Tall, cut, in_slices, inner, pick, row_slices
from heterophily.sparse import SparseMatrix
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config, tiny_graph


@pytest.fixture
def in_small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hidden layer is large, and a slice of it has eleven rows or so."""
    monkeypatch.setattr(rows, "MOST", 0)
    monkeypatch.setattr(rows, "SLICE", 90)


def sparse(rows: int, cols: int, seed: int = 0) -> SparseMatrix:
    random = torch.Generator().manual_seed(seed)
    dense = torch.rand(rows, cols, generator=random, dtype=torch.float64)
    return SparseMatrix.from_torch(dense * (torch.rand(rows, cols, generator=random) < 0.3))


def test_row_slices_one_under_another_are_the_matrix() -> None:
    x = sparse(17, 5)
    parts = row_slices(x, 4)
    assert [part.shape for part in parts] == [(4, 5)] * 4 + [(1, 5)]
    assert torch.equal(torch.cat([part.to_dense() for part in parts]), x.to_dense())


def test_picked_rows_are_those_of_the_dense_matrix_with_its_gradients() -> None:
    x, nodes = sparse(17, 5), torch.tensor([2, 3, 11, 16])
    some = pick(x, nodes)
    assert isinstance(some, SparseMatrix)
    assert torch.equal(some.to_dense(), x.to_dense()[nodes])
    assert torch.equal(pick(x.to_dense(), nodes), x.to_dense()[nodes])


def test_the_inner_part_of_a_matrix_has_the_entries_between_its_nodes_and_no_filling() -> None:
    dense = (sparse(17, 17).to_dense() > 0).double()
    dense = ((dense + dense.T) > 0).double()
    whole = SparseMatrix.from_torch(dense)
    nodes = torch.tensor([0, 5, 6, 12, 16])
    filled = whole._replace(
        crow=torch.cat([whole.crow[:-1], whole.crow[-1:] + 3]),
        col=torch.nn.functional.pad(whole.col, (0, 3)),
        val=torch.nn.functional.pad(whole.val, (0, 3)),
    )
    found = inner(filled, nodes)
    assert torch.equal(found.to_dense(), dense[nodes][:, nodes])
    assert found.val.all()


@pytest.mark.parametrize("kinds", ["dense", "sparse", "both"])
def test_a_perceptron_in_slices_has_the_output_and_the_gradients_of_the_whole_with_its_dropout(
    kinds: str, in_small_slices: None
) -> None:
    blocks = {"dense": [sparse(41, 6).to_dense()], "sparse": [sparse(41, 6)]}.get(kinds)
    blocks = blocks or [sparse(41, 6).to_dense(), sparse(41, 7, seed=1)]
    torch.manual_seed(0)
    mlp = MLP([block.shape[1] for block in blocks], 8, 3, dropout=0.5, input_dropout=0.3).double()
    start = {name: buffer.clone() for name, buffer in mlp.named_buffers()}

    def run(given: Any) -> tuple[Tensor, ...]:
        for name, buffer in mlp.named_buffers():
            buffer.copy_(start[name])
        outs = [mlp(given), mlp(given)]  # two steps: the second has masks of its own
        return *outs, *torch.autograd.grad(outs[1].square().sum(), list(mlp.parameters()))

    tall = cut(blocks, 8)
    assert all(isinstance(block, Tall) and len(block.slices) > 3 for block in tall)
    for mine, wanted in zip(run(tall), run(blocks), strict=True):
        torch.testing.assert_close(mine, wanted)


def test_hdp_in_slices_trains_as_it_does_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config("hdp", dropout=0.4, input_dropout=0.2, dropout_init=0.3, epoch=8, patience=8)

    def train() -> Any:
        return train_runs(tiny_graph(), [Run("hdp", config, 1, 3)], dtype=torch.float64)[0].trained

    at_once = train()
    monkeypatch.setattr(rows, "MOST", 0)
    monkeypatch.setattr(rows, "SLICE", 90)
    sliced = train()
    assert in_slices(sliced.state) and not in_slices(at_once.state)
    assert sliced.history["loss"] == pytest.approx(at_once.history["loss"], rel=1e-9)
    torch.testing.assert_close(sliced.logits, at_once.logits)  # inference in chunks, too


def test_runs_in_slices_are_trained_one_by_one_and_agree_with_runs_alone(in_small_slices: None) -> None:
    runs = [Run("hdp", tiny_config("hdp", epoch=3), split, 0) for split in (0, 1)]
    together = train_runs(tiny_graph(), runs, dtype=torch.float64, together=True)
    for run, found in zip(runs, together, strict=True):
        (alone,) = train_runs(tiny_graph(), [run], dtype=torch.float64)
        assert torch.equal(found.trained.logits, alone.trained.logits)
