"""Compute the fingerprints by which an audit recognizes the benchmark graphs.

    python benchmarks/write_fingerprints.py --data DIR

Datasets that are not on this machine keep the fingerprint they have, if any.
"""

from __future__ import annotations

import argparse
import json
import warnings

from heterophily.files import write_file
from heterophily.graph.audit.look import Look
from heterophily.graph.datasets import DATASETS, load, raw_files
from heterophily.graph.known import FILE, to_json


def main() -> None:
    """Compute and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    before = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    found = {}
    for name in DATASETS:
        if raw_files(name, args.data):
            found[name] = to_json(Look(load(name, args.data)).mark)
        elif name in before:
            found[name] = before[name]
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items())
    write_file(FILE, f"{{\n{lines}\n}}\n")
    print(f"{len(found)} fingerprints in {FILE.name}")


if __name__ == "__main__":
    main()
