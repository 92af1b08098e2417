"""Is the advice of `heterophily diagnose` any good? Against what MLP, GCN and HDP reach on many graphs.

    nice python benchmarks/advice.py --data DIR --out benchmarks/advice.json

Synthetic graphs over homophily from 0 to 1, with several compatibility matrices and noises of the features,
and benchmark graphs. Each of the three models is trained on five splits with its starting settings. Advice is
asked for on each split, from its training labels alone; the advice for the graph is what most splits say. It
is good if the model advised scores within one standard error (over splits) of the best of the three.

Scores that the file has are kept, so that a run goes on where one was stopped; --again advises anew.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from heterophily import load
from heterophily.bench.diagnosis import MODELS, diagnose, starting_settings
from heterophily.bench.protocol import evaluate
from heterophily.files import write_file
from heterophily.graph import Graph, synthetic

SPLITS = 5
REAL = [
    "texas", "wisconsin", "cornell", "cornell-corrected", "chameleon-filtered", "reed98", "cora", "citeseer",
]  # fmt: skip
"""Larger ones, such as chameleon or actor, may be named with --real; on a CPU they take long."""


def even(homophily: float, classes: int = 5) -> list[list[float]]:
    """Other classes are all liked alike: the less homophily, the less a neighbor tells."""
    rest = (1 - homophily) / (classes - 1)
    return [[homophily if i == j else rest for j in range(classes)] for i in range(classes)]


def couples(homophily: float, classes: int = 6) -> list[list[float]]:
    """Every class has one other that it likes."""
    return [
        [homophily if i == j else (1 - homophily) * (j == i ^ 1) for j in range(classes)]
        for i in range(classes)
    ]


def random_matrix(seed: int, classes: int = 5) -> list[list[float]]:
    """Preferences drawn at random, symmetric."""
    drawn = np.random.default_rng(seed).exponential(size=(classes, classes)) ** 2
    return (drawn + drawn.T).round(3).tolist()


def cases(seed: int) -> dict[str, dict[str, Any]]:
    """The synthetic graphs by name: what they are drawn with."""
    found: dict[str, dict[str, Any]] = {}
    for tenth in range(11):
        found[f"circle {tenth / 10}"] = {"homophily": tenth / 10}
    for share in (0.0, 0.2, 0.4, 0.6, 0.8):
        found[f"even {share}"] = {"compatibility": even(share)}
    for share in (0.0, 0.3, 0.6):
        found[f"couples {share}"] = {"compatibility": couples(share)}
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        found[f"two classes {share}"] = {"num_classes": 2, "homophily": share, "feature_noise": 1.0}
    for draw in range(4):
        found[f"random {draw}"] = {"compatibility": random_matrix(10 * seed + draw)}
    for noise in (0.3, 1.5):
        for share in (0.1, 0.4, 0.7):
            found[f"circle {share}, noise {noise}"] = {"homophily": share, "feature_noise": noise}
    for share in (0.1, 0.5):
        found[f"circle {share}, degree 3"] = {"homophily": share, "average_degree": 3}
    shared = {"num_nodes": 600, "average_degree": 8, "splits": SPLITS, "seed": seed}
    return {name: shared | options for name, options in found.items()}


def scores_of(graph: Graph) -> dict[str, Any]:
    """Train the three models on the splits."""
    found: dict[str, Any] = {}
    for model in MODELS:
        start = time.perf_counter()
        result = evaluate(graph, model, starting_settings(graph, model), splits=range(SPLITS))
        found[model] = {"test": [run.test for run in result.splits], "seconds": time.perf_counter() - start}
    return found


def judge(row: dict[str, Any], graph: Graph) -> dict[str, Any]:
    """Ask for advice on each split, and compare it with the scores."""
    said = [diagnose(graph, split, resamples=0).advice for split in range(SPLITS)]
    advice = Counter(said).most_common(1)[0][0]
    mean = {model: float(np.mean(row["scores"][model]["test"])) for model in MODELS}
    best = max(mean, key=lambda model: mean[model])
    error = float(np.std(row["scores"][best]["test"], ddof=1)) / SPLITS**0.5
    return row | {
        "advice": advice, "said": said, "mean": mean, "best": best, "standard_error": error,
        "behind": mean[best] - mean[advice], "good": mean[best] - mean[advice] <= error,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the good advice, and what each fixed choice would have got."""
    if not rows:
        return {}

    def good(choice: str) -> float:
        return float(np.mean([r["mean"][r["best"]] - r["mean"][choice] <= r["standard_error"] for r in rows]))

    return {
        "cases": len(rows),
        "good": sum(r["good"] for r in rows),
        "share": float(np.mean([r["good"] for r in rows])),
        "mean_behind": float(np.mean([r["behind"] for r in rows])),
        "always": {model: good(model) for model in MODELS},
        "mean_behind_always": {
            model: float(np.mean([r["mean"][r["best"]] - r["mean"][model] for r in rows])) for model in MODELS
        },
    }


def main() -> None:
    """Train what is missing, advise, judge, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--out", default="benchmarks/advice.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", nargs="*", default=REAL)
    parser.add_argument("--again", action="store_true", help="advise anew on the graphs there are scores for")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    out = Path(args.out)
    before = {row["name"]: row for row in json.loads(out.read_text())["rows"]} if out.exists() else {}
    todo: dict[str, dict[str, Any] | None] = {**cases(args.seed), **dict.fromkeys(args.real)}
    rows: list[dict[str, Any]] = []
    for name, options in todo.items():
        row = before.get(name)
        if row is None or args.again:
            if row is None and args.again:
                continue
            graph = load(name, args.data) if options is None else synthetic(**options)
            scores = row["scores"] if row else scores_of(graph)
            row = judge({"name": name, "synthetic": options is not None, "scores": scores}, graph)
            means = ", ".join(f"{model} {row['mean'][model]:.3f}" for model in MODELS)
            print(f"{name}: {means}; advice {row['advice']} {'good' if row['good'] else 'BAD'}", flush=True)
        rows.append(row)
        kinds = {"all": rows, "synthetic": [r for r in rows if r["synthetic"]]}
        kinds["benchmark"] = [r for r in rows if not r["synthetic"]]
        found = {"seed": args.seed, "splits": SPLITS} | {kind: summary(part) for kind, part in kinds.items()}
        write_file(out, json.dumps(found | {"rows": rows}, indent=1) + "\n")
    print(json.dumps(found["all"], indent=1))


if __name__ == "__main__":
    main()
