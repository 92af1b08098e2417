"""Which epoch HDP should keep: chosen on one half of the validation nodes, judged on the other half.

    python -m benchmarks.epoch_choice --datasets texas cornell wisconsin --best 5 --data DIR --out FILE

The best of hundreds of epochs on some sixty validation nodes is best by luck in part; the epoch of the
lowest validation loss less so, but loss is not what is scored. Each split's validation nodes are halved:
training stops, and keeps an epoch, by one half, and the other half, which has had no say, is the judge; then
the other way round. The settings are the best of the search (results/tuning). Test labels stay closed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch

from benchmarks.confirm_cells import TUNED, candidates
from heterophily import load
from heterophily.bench.tuning import blind
from heterophily.files import write_file
from heterophily.graph import Graph, Split
from heterophily.training.runs import Run, train_runs

RULES = {"score": False, "loss": True}
"""What is best in the epoch that is kept, and the setting ``by_loss`` of it."""


def halved(graph: Graph) -> list[Split]:
    """Return two splits for each: one half of its validation nodes chooses, the other is the test set."""
    found = []
    for i, split in enumerate(graph.splits):
        nodes = split.validation.nonzero().flatten()
        nodes = nodes[torch.randperm(len(nodes), generator=torch.Generator().manual_seed(i))]
        for choosing, judging in ((nodes[::2], nodes[1::2]), (nodes[1::2], nodes[::2])):
            masks = [torch.zeros_like(split.train).index_fill(0, half, True) for half in (choosing, judging)]
            found.append(Split(split.train, *masks, name=split.name))
    return found


def judged(graph: Graph, settings: list[Any], device: str) -> list[dict[str, Any]]:
    """Train every setting under both rules; return what each half says of what the other chose."""
    splits, rows = halved(graph), []
    sealed = blind(graph, range(len(graph.splits))).to(device)
    runs = [
        Run("hdp", setting.replace(by_loss=by_loss), split)
        for setting in settings
        for by_loss in RULES.values()
        for split in splits
    ]
    outcomes = iter(train_runs(sealed, runs, device))
    for setting in settings:
        for rule in RULES:
            each = [next(outcomes) for _ in splits]
            right = lambda logits: (logits.argmax(-1) == sealed.y).cpu()  # noqa: E731
            ours = [right(o.trained.logits)[s.test].double().mean().item() for o, s in zip(each, splits)]
            start = [right(o.initial.logits)[s.test].double().mean().item() for o, s in zip(each, splits)]  # type: ignore[union-attr]
            rows.append(
                {
                    "dataset": graph.name, "rule": rule, "config": setting.changes(),
                    "chosen": fmean(o.trained.validation for o in each), "judged": fmean(ours),
                    "std": stdev(ours), "initial": fmean(start), "halves": len(splits),
                }
            )  # fmt: skip
    return rows


def main() -> None:
    """Go through the datasets and tell of each rule what the best settings come to under it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["texas", "cornell", "wisconsin"])
    parser.add_argument("--best", type=int, default=5, help="settings of each search")
    parser.add_argument("--searched", nargs="*", default=[TUNED / "hdp.json"], help="files of searches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    searched = [row for file in args.searched for row in json.loads(Path(file).read_text())]
    done: list[dict[str, Any]] = []
    for dataset in args.datasets:
        cells = [row for row in searched if row["dataset"] == dataset]
        best = max(cells, key=lambda row: row["validation"])
        rows = judged(load(dataset, data=args.data), candidates(best, args.best), args.device)
        done += rows
        for rule in RULES:
            some = [row for row in rows if row["rule"] == rule]
            means = {name: 100 * fmean(row[name] for row in some) for name in ("chosen", "judged", "initial")}
            said = ", ".join(f"{name} {value:.2f}" for name, value in means.items())
            print(f"{dataset:12s} by {rule:5s} {said} ({len(some)} settings)", flush=True)
        write_file(args.out, json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
