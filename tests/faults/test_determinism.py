"""Same seed, same machine, same bits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from heterophily.training.runs import Run, train_runs
from tests.faults.checks import content
from tests.faults.warm import TRAIN, TUNE, Warm
from tests.tiny import LEARNERS, tiny_config, tiny_graph


@pytest.mark.parametrize("model", LEARNERS)
def test_the_same_seed_gives_the_same_bits(model: str) -> None:
    """Weights and logits of runs trained together in single precision, with dropout."""
    config = tiny_config(model, dropout=0.3, input_dropout=0.2, epoch=4)
    runs = [Run(model, config, split, 7) for split in (0, 1)]
    first, second = (train_runs(tiny_graph(), runs, together=True) for _ in range(2))
    for a, b in zip(first, second):
        assert torch.equal(a.trained.logits, b.trained.logits)
        assert all(torch.equal(w, b.trained.weights[name]) for name, w in a.trained.weights.items())


@pytest.mark.parametrize("more", [[], ["--deterministic"]], ids=["as it is", "--deterministic"])
def test_two_processes_give_the_same_files(warm: Warm, tmp_path: Path, more: list[str]) -> None:
    for model in ("mlp", "hdp"):
        found = []
        for name in ("one", "two"):
            folder = tmp_path / f"{model} {name}"
            folder.mkdir()
            args = [model if part == "mlp" else part for part in TRAIN]
            sets = ["--set", "epoch_init=6"] if model == "hdp" else []
            end = warm.do([*args, *sets, "--out", "result", *more], folder)
            assert end.code == 0, end.err
            found.append(
                (content(folder / "result/result.json"), (folder / "result/predictions.csv").read_bytes())
            )
        assert found[0] == found[1]


def test_every_command_that_trains_can_be_deterministic(warm: Warm, tmp_path: Path) -> None:
    end = warm.do([*TUNE, "--deterministic", "--json"], tmp_path)
    assert end.code == 0, end.err
    assert json.loads(end.out)
    for command in ("train", "evaluate", "tune", "reproduce", "study"):
        assert "--deterministic" in warm.do([command, "--help"], tmp_path).out


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
@pytest.mark.parametrize("model", LEARNERS)
def test_a_gpu_gives_the_same_bits_when_asked_to(model: str) -> None:
    from heterophily.training.device import be_deterministic

    be_deterministic()
    try:
        config = tiny_config(model, dropout=0.3)
        runs = [Run(model, config, split, 0) for split in (0, 1, 2)]
        first, second = (train_runs(tiny_graph(), runs, "cuda") for _ in range(2))
        assert all(torch.equal(a.trained.logits, b.trained.logits) for a, b in zip(first, second))
    finally:
        torch.use_deterministic_algorithms(False)
