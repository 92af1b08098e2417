"""One, two and four processes, started by torchrun, compute what the plain library computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from heterophily.adjacency import adjacency
from heterophily.hdp.partition import mark_homophilous
from heterophily.training.runs import Run, train_runs
from tests.distributed import job

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the processes of tests/distributed/job.py found."""
    out = tmp_path_factory.mktemp("job") / "found.json"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "-m", "tests.distributed.job", str(out)],
        cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


@pytest.mark.parametrize("size", job.SIZES)
def test_a_product_and_its_gradient_are_those_of_the_whole_matrix(size: int, found: dict[str, Any]) -> None:
    a = adjacency(job.a_graph()).to_dense().double()
    seen = found[str(size)]["product"]
    assert len(set(seen["rows"])) == size + 1
    torch.testing.assert_close(torch.tensor(seen["out"]).double(), a @ job.whole("factor"))
    torch.testing.assert_close(torch.tensor(seen["grad"]).double(), a.T @ job.whole("gradient"))


def test_a_product_has_the_same_bits_on_any_number_of_processes(found: dict[str, Any]) -> None:
    outs = [found[str(size)]["product"] for size in job.SIZES]
    assert outs[0]["out"] == outs[1]["out"] == outs[2]["out"]
    assert outs[0]["grad"] == outs[1]["grad"] == outs[2]["grad"]


@pytest.mark.parametrize("size", job.SIZES)
def test_the_k_largest_are_those_of_one_process_ties_included(size: int, found: dict[str, Any]) -> None:
    for count, chosen in zip((0, 1, 97, 301), found[str(size)]["selection"], strict=True):
        _, marked = mark_homophilous(job.whole("values"), torch.tensor(count))
        assert chosen == marked.nonzero().flatten().tolist()


@pytest.mark.parametrize("size", job.SIZES)
@pytest.mark.parametrize(
    "name, sparse, dtype, close",
    [("as it is", False, torch.float32, 1e-4), ("sparse, far, otherwise", True, torch.float64, 1e-5)],
)
def test_twenty_epochs_have_the_losses_of_the_plain_library(
    name: str, sparse: bool, dtype: torch.dtype, close: float, size: int, found: dict[str, Any]
) -> None:
    plain: list[dict[str, float]] = []
    run = Run("hdp", job.config(name), 1, 3)
    train_runs(job.a_graph(sparse), [run], dtype=dtype, watch=lambda p: plain.append(p.figures()))
    *seen, score = found[str(size)][name]
    assert len(seen) == len(plain) == 40
    assert plain[20]["validation"] != plain[-1]["validation"]  # it learns, and refines its partition
    for mine, theirs in zip(seen, plain, strict=True):
        assert mine == pytest.approx(theirs, abs=close)
    assert score == pytest.approx(found["1"][name][-1])


def test_a_broken_off_training_goes_on_with_another_number_of_processes(found: dict[str, Any]) -> None:
    """Two processes stop after epoch 8; four go on from the checkpoint of epoch 6."""
    *unbroken, _ = found["4"]["as it is"]
    assert len(found["resumed"]) == 14
    for mine, theirs in zip(found["resumed"], unbroken[26:], strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4)
