"""All studies on their datasets in one process and one file, and back into results and pictures.

    python benchmarks/studies.py run --bundle FILE --data DIR
    python benchmarks/studies.py unpack FILE --out results/studies --format png,pdf

``run`` adds to FILE study by study, so a run that was stopped goes on; what it has already is left as it is.
``unpack`` writes what ``heterophily study`` would have written.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heterophily import load
from heterophily.files import write_files
from heterophily.graph import Graph
from heterophily.show.study_files import write_study
from heterophily.studies import STUDIES, Plan, unbundle
from heterophily.training.device import choose_device

OPTIONS: dict[tuple[str, str], dict[str, Any]] = {
    # "For Squirrel, λ needs to be smaller to show the other half of the curve."
    ("rescale", "squirrel"): {"grid": [k / 20 for k in range(4, 25, 2)]},
    ("calibration", "squirrel"): {"models": ("hdp", "mlp", "gcn")},
    ("calibration", "citeseer"): {"models": ("hdp", "mlp", "gcn")},
}
EVERY_SPLIT = ("information",)
"""Studies of one split by default that are made on all here, as a GPU has the time."""
FIRST = ("partition",)
"""Studies whose runs are watched while they train; what they leave serves the others as well."""


def planned(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield the datasets in the order of the registry, each with its studies, the watched ones first."""
    names = sorted(args.only or STUDIES, key=lambda name: name not in FIRST)
    for dataset in dict.fromkeys(d for study in STUDIES.values() for d in study.datasets):
        some = [name for name in names if dataset in STUDIES[name].datasets]
        if some and (not args.datasets or dataset in args.datasets):
            yield dataset, some


def make(name: str, graph: Graph | None, args: argparse.Namespace, kept: dict[Any, Any]) -> dict[str, Any]:
    """Make one study on one graph, with the runs that others have left."""
    study = STUDIES[name]
    plan = Plan(
        splits=args.splits if args.splits else None if name in EVERY_SPLIT else study.splits,
        device=choose_device(args.device),
        changes=dict(pair.split("=", 1) for pair in args.set),
        kept=kept,
    )
    if graph is None:  # it draws its own
        return study.make(plan=plan, **OPTIONS.get((name, "synthetic"), {})).to_json()
    return study.make(graph, plan, **OPTIONS.get((name, graph.name), {})).to_json()


def run(args: argparse.Namespace) -> None:
    """Make all studies; the file is whole after each of them."""
    file, start = Path(args.bundle), time.perf_counter()
    rows: list[dict[str, Any]] = json.loads(file.read_text())["results"] if file.exists() else []
    failed: list[str] = []
    for dataset, names in planned(args):
        graph = None if dataset == "synthetic" else load(dataset, data=args.data)
        kept: dict[Any, Any] = {}
        for name in names:
            if any((row["study"], row["dataset"]) == (name, dataset) for row in rows):
                continue
            if time.perf_counter() - start > args.limit:
                continue
            begun = time.perf_counter()
            try:
                rows.append(make(name, graph, args, kept))
            except Exception as error:  # one study that fails must not cost the others
                failed.append(f"{name} {dataset}: {type(error).__name__}: {error}"[:300])
                print(failed[-1], flush=True)
                continue
            write_files(file.parent, {file.name: json.dumps({"results": rows}, allow_nan=False) + "\n"})
            print(f"{name:12s} {dataset:10s} {time.perf_counter() - begun:6.1f} s", flush=True)
    print(f"{len(rows)} studies, {len(failed)} failed, {time.perf_counter() - start:.0f} s")
    raise SystemExit(bool(failed))


def unpack(args: argparse.Namespace) -> None:
    """Write the results of a bundle one by one, each with its picture."""
    for result in unbundle(json.loads(Path(args.bundle).read_text())):
        files = write_study(args.out, result, args.format.split(","))
        print(", ".join(file.name for file in files))


def main() -> None:
    """Parse and do."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--bundle", required=True)
    runner.add_argument("--only", nargs="*", choices=list(STUDIES))
    runner.add_argument("--datasets", nargs="*")
    runner.add_argument("--splits", nargs="*", type=int, help="by default what each study needs")
    runner.add_argument("--set", nargs="*", default=[], help="KEY=VALUE that differs from the recipes")
    runner.add_argument("--limit", type=float, default=float("inf"), help="seconds after which to start none")
    runner.add_argument("--data")
    runner.add_argument("--device", default="auto")
    runner.set_defaults(do=run)
    unpacker = commands.add_parser("unpack")
    unpacker.add_argument("bundle")
    unpacker.add_argument("--out", default="results/studies")
    unpacker.add_argument("--format", default="png")
    unpacker.set_defaults(do=unpack)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    args.do(args)


if __name__ == "__main__":
    main()
