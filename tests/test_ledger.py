"""The paper's ledger accounts for every cell of Table 1 that disagrees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_every_cell_that_disagrees_is_in_the_ledger_with_what_is_believed_of_it() -> None:
    home = Path(__file__).parent.parent
    command = [sys.executable, "benchmarks/ledger.py", "--check"]
    answer = subprocess.run(command, cwd=home, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
