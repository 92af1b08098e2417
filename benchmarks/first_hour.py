"""Walk through the first hour as a new user does, from an empty folder, and note how long each step takes.

    python benchmarks/first_hour.py --data ~/graphs

Clones this repository into a folder of its own, follows README and docs/getting-started.md, writes
benchmarks/first_hour.json, and the table of docs/getting-started.md between its markers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

from heterophily.files import write_file

ROOT = Path(__file__).parents[1]
FILE, PAGE = ROOT / "benchmarks" / "first_hour.json", ROOT / "docs" / "getting-started.md"
BEGIN = "<!-- first hour: written by benchmarks/first_hour.py -->"
END = "<!-- end of the first hour -->"

STEPS = [
    ("clone", "get the repository", "git clone --quiet {root} clone"),
    ("set up", "`make`: a virtual environment with everything in it", "cd clone && make .venv/.ready"),
    ("demo", "`make demo`: HDP beside an MLP, and a picture", "cd clone && make demo"),
    ("doctor", "`heterophily doctor`", "clone/.venv/bin/heterophily doctor"),
    ("synthetic", "HDP on the synthetic graph",
     "clone/.venv/bin/heterophily train synthetic --graph num_nodes=500 --graph homophily=0.1 "
     "--set hidden_dim=64 --set patience=30"),
    ("texas", "HDP on Texas, one split", "clone/.venv/bin/heterophily train texas --recipe paper"),
    ("texas, all", "a GCN on Texas, all ten splits",
     "clone/.venv/bin/heterophily train texas --model gcn --split all"),
    ("files", "an edge list and a node table of 300 accounts", "clone/.venv/bin/python make_files.py"),
    ("diagnose", "own CSV: which model suits it?",
     "clone/.venv/bin/heterophily diagnose --edges edges.csv --nodes nodes.csv --id account --label label"),
    ("fit", "own CSV: fit HDP",
     "clone/.venv/bin/heterophily fit --edges edges.csv --nodes nodes.csv --id account --label label "
     "--set hidden_dim=64 --out model"),
    ("predict", "own CSV: a class for every account",
     "clone/.venv/bin/heterophily predict model --out predictions.csv"),
    ("explain", "own CSV: why this class?", "clone/.venv/bin/heterophily explain model --node account5"),
]  # fmt: skip
"""Name, what the page calls it, and the command, run in an empty folder."""


def example() -> str:
    """Return the script in docs/own-graph.md that makes two files to try with."""
    text = (ROOT / "docs" / "own-graph.md").read_text(encoding="utf-8")
    return re.findall(r"python - <<'END'\n(.*?)^END$", text, re.MULTILINE | re.DOTALL)[0]


def walk(folder: Path, data: str | None) -> list[dict[str, Any]]:
    """Take all steps; one that fails ends the walk with what it said."""
    env = os.environ | ({"HETEROPHILY_DATA": str(Path(data).expanduser().absolute())} if data else {})
    env = {key: value for key, value in env.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env |= {"HETEROPHILY_CACHE": str(folder / "cache")}
    write_file(folder / "make_files.py", example())
    steps = []
    for name, words, command in STEPS:
        start = time.perf_counter()
        done = subprocess.run(
            command.format(root=ROOT),
            shell=True,
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        last = (done.stdout.strip().splitlines() or [""])[-1]
        print(f"{name}: {seconds:.1f} s  {last}", flush=True)
        steps.append({"step": name, "what": words, "seconds": round(seconds, 1), "last_line": last[:100]})
    return steps


def table(found: dict[str, Any]) -> str:
    """Return the steps as the page shows them."""
    rows = [f"| {step['what']} | {step['seconds']:.0f} s |" for step in found["steps"]]
    total = sum(step["seconds"] for step in found["steps"])
    lead = (
        f"Measured from an empty folder on {found['cores']} cores without a GPU, Python {found['python']}, "
        f"while the machine had other work as well (load {found['load']:.1f}). Packages were at hand, and "
        f"Texas {'lay on disk' if found['data_on_disk'] else 'was downloaded'}. All steps together: "
        f"{total / 60:.0f} minutes."
    )
    return "\n".join([*textwrap.wrap(lead, 118), "", "| step | time |", "| --- | --: |", *rows])


def page(text: str, found: dict[str, Any]) -> str:
    """Return the page with the part between the markers made anew."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{table(found)}\n\n{END}", text, flags=re.DOTALL)


def main() -> None:
    """Walk, and write down how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="a folder with Texas; else it is downloaded")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = walk(Path(folder), args.data)
    found = {
        "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "python": platform.python_version(),
        "data_on_disk": args.data is not None, "steps": steps,
    }  # fmt: skip
    write_file(FILE, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8"), found))


if __name__ == "__main__":
    main()
