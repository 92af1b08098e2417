"""Thousands of tiny jobs in one sweep: memory stays flat."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.nursery import ROOT
from tests.faults.ledger import Ledger, times

START = """
import json, random, sys
from pathlib import Path
import torch
from heterophily.bench import tuning
from heterophily.files import to_text, write_file
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config, tiny_graph

torch.set_num_threads(1)
jobs, folder, memory = int(sys.argv[1]), sys.argv[2], []

def told(done):
    memory.append((done, int(Path("/proc/self/statm").read_text().split()[1]) * 4096))

"""
SWEEP = """
graph, dice = tiny_graph(), random.Random(0)
for done in range(0, jobs, 50):
    rates = [dice.uniform(0.001, 0.1) for _ in range(50)]
    configs = [tiny_config("mlp", hidden_dim=4, epoch=2, learning_rate=rate) for rate in rates]
    runs = [Run("mlp", config, 0, dice.randrange(9)) for config in configs]
    scores = [found.trained.validation for found in train_runs(graph, runs)]
    write_file(f"{folder}/{done}.json", to_text(scores))
    told(done + 50)
print(json.dumps(memory))
"""
STUDY = """
tuning.tune(
    tiny_graph(), "mlp", jobs, storage=f"{folder}/sweep.journal", sampler="random", batch=50, splits=[0],
    config={"hidden_dim": 4, "epoch": 2, "patience": 2}, tell=lambda name, count: told(count.done),
)
print(json.dumps(memory))
"""


def swept(program: str, jobs: int) -> dict[int, int]:
    """Run a sweep in a process of its own, on a disk in memory; return its memory by jobs done."""
    env: Any = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    home = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=home) as folder:
        command = [sys.executable, "-c", START + program, str(jobs), folder]
        said = subprocess.run(command, capture_output=True, text=True, env=env)
        assert said.returncode == 0, said.stderr
    return dict(json.loads(said.stdout))


def grown(memory: dict[int, int]) -> tuple[float, float]:
    """By how much memory grew after the first hundred jobs: as a share, and in bytes a job."""
    sizes = {done: size for done, size in memory.items() if done >= 100}
    start, more = sizes[min(sizes)], max(sizes.values()) - sizes[min(sizes)]
    return more / start, more / (max(sizes) - min(sizes))


def test_a_sweep_of_tiny_jobs_ends_with_flat_memory(ledger: Ledger) -> None:
    jobs = times(1000, 10_000)
    with ledger.row(f"{jobs:,} jobs in one sweep", "training, results to disk") as row:
        memory = swept(SWEEP, jobs)
        share, _ = grown(memory)
        row.said = f"memory grew by {share:.1%} after the first hundred"
        row.note(max(memory) != jobs and "not all were done", share > 0.05 and row.said)


def test_a_study_of_tiny_trials_keeps_a_record_of_each_and_nothing_more(ledger: Ledger) -> None:
    """Optuna keeps every trial in memory, some kilobytes each."""
    jobs = times(200, 2000)
    with ledger.row(f"{jobs:,} trials in one study", "tune") as row:
        memory = swept(STUDY, jobs)
        share, each = grown(memory)
        row.said = f"memory grew by {share:.1%}, {each / 1024:.0f} KiB a trial"
        row.note(max(memory) != jobs and "not all were done", share > 0.05 and row.said)
