"""The time and memory of reading large files, each in its process: Parquet of 10 million edges, CSV of 1 GiB.

python benchmarks/reading.py --out benchmarks/reading.json
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import torch

from heterophily.files import to_text, write_file
from heterophily.reading import read

GIB = 1 << 30
CASES = ("parquet numbers", "parquet names", "csv edges", "csv edges short", "csv edges names", "csv nodes")


def node_table(count: int, names: bool, width: int = 4) -> pa.Table:
    """Nodes with ids, labels half of which are missing, a category and a few numbers."""
    rng = np.random.default_rng(0)
    ids = pa.array(np.arange(count))
    label = pa.array(np.array(["fraud", "fair"])[rng.integers(0, 2, count)], mask=rng.random(count) < 0.5)
    town = pa.array(np.array([f"town {i}" for i in range(30)])[rng.integers(0, 30, count)])
    numbers = {f"n{i}": pa.array(rng.normal(size=count)) for i in range(width)}
    return pa.table({"id": _named(ids) if names else ids, "label": label, "town": town, **numbers})


def edge_table(nodes: int, count: int, names: bool) -> pa.Table:
    """Random edges."""
    rng = np.random.default_rng(1)
    ends = [pa.array(rng.integers(0, nodes, count)) for _ in range(2)]
    return pa.table([_named(end) if names else end for end in ends], names=["source", "target"])


def _named(ids: pa.Array) -> pa.Array:
    """Ids as texts such as user-123."""
    return pa.compute.binary_join_element_wise("user", ids.cast(pa.string()), "-")


def write_parquet(folder: Path, names: bool) -> None:
    """10 million edges between a million nodes."""
    pa.parquet.write_table(edge_table(10**6, 10**7, names), folder / "edges.parquet")
    pa.parquet.write_table(node_table(10**6, names), folder / "nodes.parquet")


def write_csv(path: Path, table: pa.Table) -> None:
    """The table over and over, until the file has 1 GiB; a column `id` counts on."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        rows = 0
        while file.tell() < GIB:
            if "id" in table.column_names:
                table = table.set_column(0, "id", pa.array(np.arange(rows, rows + len(table))))
            pa.csv.write_csv(table, file, pa.csv.WriteOptions(include_header=not rows))
            rows += len(table)


def write(case: str, folder: Path) -> None:
    """Make the files of a case."""
    if case.startswith("parquet"):
        write_parquet(folder, case.endswith("names"))
    elif case == "csv edges":
        write_csv(folder / "edges.csv", edge_table(10**6, 10**6, False))
        pa.csv.write_csv(node_table(10**6, False), folder / "nodes.csv")
    elif case == "csv edges short":
        write_csv(folder / "edges.csv", edge_table(10**3, 10**6, False))
        pa.csv.write_csv(node_table(10**3, False), folder / "nodes.csv")
    elif case == "csv edges names":
        write_csv(folder / "edges.csv", edge_table(10**6, 10**6, True))
        pa.csv.write_csv(node_table(10**6, True), folder / "nodes.csv")
    else:
        write_csv(folder / "nodes.csv", node_table(10**5, False, width=20))
        pa.csv.write_csv(edge_table(10**5, 10**6, False), folder / "edges.csv")


def measure(folder: Path) -> None:
    """Read the files of a folder and print what it took."""
    torch.set_num_threads(2)
    files = {file.stem: file for file in folder.iterdir()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, started = time.perf_counter(), time.process_time()
    reading = read(files["edges"], files["nodes"], label="label")
    seconds, cpu = time.perf_counter() - start, time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graph = reading.graph
    row = {"nodes": graph.num_nodes, "edges": graph.num_edges, "features": graph.num_features}
    sizes = {f"{name}_file_GiB": file.stat().st_size / GIB for name, file in files.items()}
    took = {"seconds": seconds, "cpu_seconds": cpu}
    print(json.dumps(row | sizes | took | {"peak_GiB": peak / 2**20, "before_GiB": before / 2**20}))


def main() -> None:
    """Measure the cases one after another."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="benchmarks/reading.json")
    parser.add_argument("--folder", type=Path, help="read this one here and print it")
    parser.add_argument("--write", help="write the files of this case there instead")
    args = parser.parse_args()
    if args.folder and args.write:
        write(args.write, args.folder)
        return
    if args.folder:
        measure(args.folder)
        return
    rows = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--folder", folder]
            # Not here: a process starts with the peak of the one that starts it.
            subprocess.run([*command, "--write", case], check=True)
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = (done.stdout or done.stderr).strip().splitlines()[-1]
        rows.append({"case": case} | (json.loads(last) if done.returncode == 0 else {"error": last}))
        print(rows[-1], flush=True)
    # With others at work on the machine, the time on the clock is longer than it need be: see the load.
    content = {"cores": os.cpu_count(), "load": os.getloadavg()[1], "rows": rows}
    write_file(args.out, to_text(content))


if __name__ == "__main__":
    main()
