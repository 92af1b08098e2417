"""Memory that runs out: a sentence instead of a traceback, smaller batches where they help, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from heterophily.training.runs import Run, train_runs
from tests.faults.checks import damaged, left_beside, sums
from tests.faults.ledger import Ledger, Row, times
from tests.faults.warm import REPRODUCE, TRAIN, Warm
from tests.tiny import tiny_config, tiny_graph

LARGE = ["--graph", "num_nodes=20000", "--graph", "num_features=500", "--set", "hidden_dim=512"]


def test_ulimit_v(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    """The address space is capped while a large graph is trained on."""
    command = [*TRAIN, "--out", "result"]
    assert warm.do(command, tmp_path).code == 0
    kept = sums(tmp_path / "result")
    with ledger.row("ulimit -v", "train") as row:
        for room in [20, 60, 100, 140, 200, 260][:: times(3, 1)]:
            end = warm.do([*command, *LARGE], tmp_path, memory=room)
            row.note(
                end.code not in (0, 2) and f"with {room} MiB it ended with {end.code}: {end.err}",
                end.code == 2 and "not enough memory" not in end.err and f"no word of it: {end.err}",
                end.code == 2 and sums(tmp_path / "result") != kept and "the result of before has changed",
                *damaged(tmp_path),
                *left_beside(tmp_path),
            )
            if end.code == 0:
                assert warm.do(command, tmp_path).code == 0
                kept = sums(tmp_path / "result")
        end = warm.do(command, tmp_path)
        row.lost += [f"the next command ended: {end.err}"] if end.code else []


def test_a_cell_that_does_not_fit_fails_alone(warm: Warm, tmp_path: Path, ledger: Ledger) -> None:
    with ledger.row("ulimit -v", "reproduce, one cell too large") as row:
        for _ in range(times(1, 5)):
            end = warm.do(REPRODUCE, tmp_path, memory=400, hungry="gcn")
            row.note(
                end.code != 1 and f"it ended with {end.code}: {end.err}",
                end.err.count("out of memory") < 2 and f"no word of it: {end.err}",
                "6 trained" not in end.err and "6 kept" not in end.err and f"others failed too: {end.err}",
            )
        end = warm.do(REPRODUCE, tmp_path)
        row.lost += [] if end.code == 0 and "2 trained, 6 kept" in end.err else [f"then: {end.err}"]


def test_a_cap_on_the_memory_of_a_gpu(ledger: Ledger) -> None:
    """A batch that does not fit is halved until it does, and every run ends as it would have."""
    if not torch.cuda.is_available():
        ledger.rows.append(Row("CUDA out of memory", "train", said="not tried: there is no CUDA device here"))
        pytest.skip("there is no CUDA device here")
    graph, config = tiny_graph(2000), tiny_config("mlp", hidden_dim=256)
    runs = [Run("mlp", config, split, seed) for split in range(3) for seed in range(40)]
    whole = train_runs(graph, runs, "cuda")
    with ledger.row("CUDA out of memory", "train") as row:
        for share in (0.02, 0.01, 0.005):
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(share)
            try:
                found = train_runs(graph, runs, "cuda")
            finally:
                torch.cuda.set_per_process_memory_fraction(1.0)
            row.note(
                any(a.trained.validation != b.trained.validation for a, b in zip(whole, found))
                and "a run ended otherwise"
            )
