"""Run every script of examples/ and keep what it printed and how long it took, for the gallery of the docs.

python benchmarks/write_gallery.py
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from heterophily.files import write_file

ROOT = Path(__file__).parents[1]
FILE = ROOT / "examples" / "printed.json"


def main() -> None:
    """Run and write."""
    scripts = {}
    for file in sorted((ROOT / "examples").glob("*.py")):
        if file.name.startswith("own_"):
            continue
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, file], cwd=folder, env=env, capture_output=True, text=True, check=True
            )
            scripts[file.stem] = {"seconds": round(time.perf_counter() - start, 1), "out": done.stdout}
        print(f"{file.stem}: {scripts[file.stem]['seconds']} s")
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, no GPU"
    write_file(
        FILE, json.dumps({"machine": machine, "scripts": scripts}, indent=1, ensure_ascii=False) + "\n"
    )


if __name__ == "__main__":
    main()
