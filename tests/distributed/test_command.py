"""The commands ``cut`` and ``distribute``: what they print, refuse, and survive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import GRAPH, Ask

BRIEF = [
    text
    for setting in ("hidden_dim=8", "embedding_dim=4", "epoch_init=6", "epoch=90", "patience=90")
    for text in ("--set", setting)
]


def test_alone_it_prints_what_train_prints(ask: Ask) -> None:
    mine, theirs = (ask(name, "synthetic", "--split", "1", *GRAPH, *BRIEF, "--json") for name in
                    ("distribute", "train"))  # fmt: skip
    assert mine.code == theirs.code == 0
    one, other = json.loads(mine.out), json.loads(theirs.out)
    assert one.pop("processes") == 1
    for found in (one, other):
        for row in (found, found["splits"][0], found["splits"][0]["initial"]):
            del row["seconds"]
    assert one == other


def test_a_folder_of_arrays_gives_the_same_and_predictions_too(ask: Ask, tmp_path: Path) -> None:
    assert ask("cut", "synthetic", *GRAPH, "--out", "arrays").code == 0
    folder = ask("distribute", "arrays", "--split", "1", *BRIEF, "--out", "found", "--curves", "curves.csv")
    assert folder.code == 0 and "split 1 alone" in folder.out
    trained = ask("train", "synthetic", "--split", "1", *GRAPH, *BRIEF, "--out", "trained")
    assert trained.code == 0
    same = [Path(name, "predictions.csv").read_text() for name in ("found", "trained")]
    assert same[0] == same[1]
    assert len(Path("curves.csv").read_text().splitlines()) == 1 + 6 + 90


@pytest.mark.parametrize(
    "args, said",
    [
        (["synthetic", "--model", "gcn"], "only hdp is trained on several processes, not gcn"),
        (["synthetic", "--resume"], "say with --checkpoint DIR where it is"),
        (["nowhere"], "nowhere"),
        (["synthetic", *GRAPH, "--split", "3"], "no split 3"),
        (["synthetic", "--set", "epochs=3"], "HDPConfig has no field 'epochs'"),
        (["synthetic", *GRAPH, "--curves", "curves.txt"], "cannot log to 'curves.txt'"),
    ],
)
def test_a_mistake_is_told_in_a_line(ask: Ask, args: list[str], said: str) -> None:
    answer = ask("distribute", *args)
    assert answer.code == 2 and said in answer.err and "Traceback" not in answer.err
    assert answer.err.count("error:") == 1


def test_a_checkpoint_is_gone_on_from_only_where_asked_and_only_by_its_run(ask: Ask) -> None:
    run = ["distribute", "synthetic", *GRAPH, *BRIEF, "--checkpoint", "kept", "--json"]
    first = ask(*run)
    assert first.code == 0
    assert "holds a checkpoint; add --resume" in ask(*run).err
    other = ask(*run, "--resume", "--seed", "4")
    assert other.code == 2 and "is of another run: its seed differ" in other.err
    again = ask(*run, "--resume")
    assert "going on after epoch 90 of the stage 'HDP'" in again.err
    assert json.loads(again.out)["splits"] == json.loads(first.out)["splits"]
    next(Path("kept").glob("hdp-*-of-rank-0.safetensors")).write_bytes(b"half")
    broken = ask(*run, "--resume")
    assert broken.code == 2 and "the checkpoint in kept cannot be read" in broken.err


def test_a_rank_that_is_killed_ends_the_job_and_resume_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    run = ["distribute", "synthetic", *GRAPH, *BRIEF, "--checkpoint", kept, "--every", "10", "--json"]
    job = torchrun(*run)
    while job.poll() is None and checkpoint(kept).get("HDP", {}).get("epoch", 0) < 20:
        time.sleep(0.02)
    os.kill(process_of_rank(1, job.pid), signal.SIGKILL)
    out, err = job.communicate(timeout=120)
    assert job.returncode != 0 and not out
    (line,) = (line for line in err.splitlines() if line.startswith("error: rank 0: "))
    reached = checkpoint(kept)["HDP"]["epoch"]
    assert 20 <= reached < 90
    assert f"start it again with --resume to go on after epoch {reached} of the stage 'HDP'" in line

    job = torchrun(*run, "--resume", "--curves", tmp_path / "curves.jsonl")
    out, err = job.communicate(timeout=120)
    assert job.returncode == 0, err
    assert f"going on after epoch {reached}" in err
    rows = [json.loads(line) for line in (tmp_path / "curves.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == list(range(reached + 1, 91))
    result = json.loads(out)
    assert result["splits"][0]["epochs"] == 90 and result["processes"] == 2


def torchrun(*args: str | Path) -> subprocess.Popen[str]:
    """Start a command on two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.Popen(
        [*command, "-m", "heterophily", *map(str, args)],
        env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def checkpoint(folder: Path) -> dict[str, Any]:
    """Return the stages of the checkpoint in a folder, if there is one."""
    file = folder / "checkpoint.json"
    return json.loads(file.read_text())["stages"] if file.exists() else {}


def process_of_rank(rank: int, parent: int) -> int:
    """Return the process that torchrun started as a rank."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    if not children.exists():
        pytest.skip("this system does not say which processes torchrun started")
    for child in children.read_text().split():
        if f"RANK={rank}" in Path(f"/proc/{child}/environ").read_text().split("\0"):
            return int(child)
    raise AssertionError(f"torchrun has no process of rank {rank}")
