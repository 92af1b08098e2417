"""Train the best settings of a search once more, from fresh seeds, and choose among them by the mean.

    python benchmarks/confirm_cells.py hdp --datasets texas cornell --best 10 --seeds 5 --data DIR --out FILE

The highest of hundreds of validation scores, each over some eighty nodes and one seed, is high by luck in
part. Here the first few of a search (`tune_cells.py`, results/tuning or --searched) are judged on all splits
from seeds that the search has not seen; `write_recipes.py` lets what is confirmed go before what is not.
Test labels stay closed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from heterophily import MODELS, load
from heterophily.bench.protocol import versions
from heterophily.bench.tuning import blind
from heterophily.config import Config
from heterophily.files import write_file
from heterophily.graph import Graph
from heterophily.training.runs import Run, train_runs

TUNED = Path(__file__).parent.parent / "results" / "tuning"


def candidates(row: Mapping[str, Any], best: int) -> list[Config]:
    """Return the setting that was chosen, then the next best of those that were judged on all splits."""
    chosen = MODELS[row["model"]].config.parse(row["config"])
    score, loss, splits, *fields = row.get("columns", ["", "", ""])
    assert (score, loss, splits) in {("validation", "loss", "splits"), ("", "", "")}
    judged = [each for each in row.get("trace", []) if each[2] == row["splits"]]
    found = [chosen]
    for each in sorted(judged, key=lambda each: (-each[0], each[1])):
        now = {name: getattr(chosen, name) for name in fields}
        whole = {name: int(v) if isinstance(now[name], int) else v for name, v in zip(fields, each[3:])}
        setting = chosen.replace(**whole)
        if not any(alike(setting, other) for other in found):
            found.append(setting)
    return found[:best]


def alike(one: Config, other: Config) -> bool:
    """Say whether two settings are the same to the digits that a trace keeps."""
    a, b = one.to_dict(), other.to_dict()
    return all(a[k] == b[k] or (isinstance(a[k], float) and abs(a[k] - b[k]) < 1e-5) for k in a)


def confirmed(graph: Graph, row: Mapping[str, Any], seeds: Sequence[int], best: int, device: str) -> Any:
    """Judge the candidates of a cell and return its row, with the best of them."""
    begin = time.perf_counter()
    settings, splits = candidates(row, best), range(len(graph.splits))
    sealed = blind(graph, splits)
    runs = [Run(row["model"], s, split, seed) for s in settings for seed in seeds for split in splits]
    ended = iter(train_runs(sealed, runs, device))
    tried = []
    for setting in settings:
        each = [[next(ended).trained for _ in splits] for _ in seeds]
        tried.append(
            {
                "validation": [fmean(t.validation for t in some) for some in each],
                "loss": fmean(t.validation_loss for some in each for t in some),
                "config": setting.changes(),
            }
        )
    first = max(tried, key=lambda one: (fmean(one["validation"]), -one["loss"]))
    kept = {name: row[name] for name in ("columns", "trace", "initial", "trials", "sampler") if name in row}
    return kept | {
        "model": row["model"], "dataset": row["dataset"], "splits": len(splits), "config": first["config"],
        "validation": fmean(first["validation"]), "searched": row["validation"],
        "seeds": list(seeds), "confirmed": tried, "seconds": time.perf_counter() - begin,
        "versions": versions(), "device": torch.cuda.get_device_name() if "cuda" in device else "cpu",
    }  # fmt: skip


def main() -> None:
    """Go through the cells; what FILE already has is left as it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--best", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--searched", nargs="*", default=[], help="files of searches instead of results/tuning"
    )
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which to start none")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    out, start = Path(args.out), time.perf_counter()
    done: list[dict[str, Any]] = json.loads(out.read_text()) if out.exists() else []
    files = args.searched or [TUNED / f"{args.model}.json"]
    rows = [row for file in files for row in json.loads(Path(file).read_text())]
    for dataset in args.datasets:
        cells = [row for row in rows if (row["model"], row["dataset"]) == (args.model, dataset)]
        if not cells or any(row["dataset"] == dataset for row in done):
            continue
        if time.perf_counter() - start > args.limit:
            break
        graph, seeds = load(dataset, data=args.data), range(1, args.seeds + 1)
        row = confirmed(graph, max(cells, key=lambda r: r["validation"]), seeds, args.best, args.device)
        done.append(row)
        places = [100 * fmean(one["validation"]) for one in row["confirmed"]]
        said = f"val {100 * row['validation']:.2f}, searched {100 * row['searched']:.2f}"
        print(f"{dataset:18s} {said}, of {places[0]:.2f} {min(places):.2f}…{max(places):.2f}", flush=True)
        write_file(out, json.dumps(done) + "\n")
    print(f"{len(done)} cells, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
