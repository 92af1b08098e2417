"""Ten thousand tiny jobs in one sweep: memory stays flat, and nothing gets slower without end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.bench.nursery import ROOT
from tests.faults.ledger import FULL, Ledger

SWEEP = """
import json, sys
from pathlib import Path
import torch
from heterophily.bench import tuning
from heterophily.config import Uniform
from tests.tiny import tiny_graph

torch.set_num_threads(1)
jobs, storage = int(sys.argv[1]), sys.argv[2]
memory = []

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def tell(name, count):
    memory.append((count.done, resident()))

tuning.tune(
    tiny_graph(), "mlp", jobs, storage=storage, sampler="random", batch=50, splits=[0], tell=tell,
    config={"hidden_dim": 4, "epoch": 2, "patience": 2}, prune=False,
)
print(json.dumps(memory))
"""


def test_a_sweep_of_many_tiny_jobs_ends_with_flat_memory(tmp_path: Path, ledger: Ledger) -> None:
    """No growth over 5 % after the first hundred. The journal lies in memory, to count jobs and no disk."""
    jobs = 10_000 if FULL else 500
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, "-c", SWEEP, str(jobs), str(tmp_path / "sweep.db")],
        capture_output=True,
        text=True,
        env=env,
    )
    assert said.returncode == 0, said.stderr
    memory = dict(json.loads(said.stdout))
    start = next(size for done, size in memory.items() if done >= 100)
    growth = max(size for done, size in memory.items() if done >= 100) / start - 1
    with ledger.row(f"{jobs:,} jobs in one sweep", "tune") as row:
        row.note(
            max(memory) != jobs and f"{max(memory)} of {jobs} were done",
            growth > 0.05 and f"memory grew by {growth:.1%} after the first hundred",
        )
