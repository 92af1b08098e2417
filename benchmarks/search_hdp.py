"""Random search for HDP's settings, on validation only: the initial assignment first, then the rest.

    python benchmarks/search_hdp.py texas squirrel --seconds 120 --data DIR --out DIR
    python benchmarks/search_hdp.py squirrel --only initial ...; ... --only main --start DIR

For every dataset it draws proposals from the ranges of `HDPConfig`, judges them on the first splits,
then the better ones on all, and picks by mean validation accuracy (ties: validation loss). Test
labels are opened once, for the picked setting. Writes one JSON file per dataset.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from heterophily import load
from heterophily.config import Choice, Integer, space
from heterophily.graph import Graph
from heterophily.hdp import HDPConfig
from heterophily.hdp.algorithm import initial_stage
from heterophily.training.runs import Run, train_runs, train_stages
from heterophily.training.seal import open_score, seal

INITIAL_SHAPES = ("initial_features", "normalization", "feature_norm", "hops")
INITIAL_VALUES = (
    "learning_rate_init", "weight_decay_init", "dropout_init", "input_dropout_init", "structural_norm",
    "patience_init",
)  # fmt: skip
SHAPES = ("order", "layers_hm", "layers_ht")
VALUES = (
    "learning_rate", "weight_decay", "dropout", "input_dropout", "tpc_weight", "temperature", "rescale",
    "patience", "known_loops",
)  # fmt: skip
NARROWED = {
    "hops": Integer(1, 4),
    "layers_hm": Choice(0, 1, 2, 4),
    "layers_ht": Choice(0, 1, 2, 4),
    "learning_rate_init": Choice(0.001, 0.003, 0.01),
    "learning_rate": Choice(0.001, 0.003, 0.01),
    "patience_init": Choice(50, 100, 200),
    "patience": Choice(50, 100, 200),
    "known_loops": Choice(True, False),
}
WIKIPEDIA = {
    "hops": Choice(1), "initial_features": Choice("str"), "normalization": Choice("walk"),
    "feature_norm": Choice("none"), "structural_norm": Choice(2.0, 3.0, 5.0),
    "patience_init": Choice(50, 100),
    "learning_rate_init": Choice(0.003, 0.01, 0.03), "weight_decay_init": Choice(1e-4, 5e-4, 1e-3),
    "dropout_init": Choice(0.5, 0.7), "layers_hm": Choice(0, 1, 2), "layers_ht": Choice(0, 1, 2),
    "patience": Choice(50, 100),
}  # fmt: skip
WEBKB = {
    "hops": Choice(1, 2), "initial_features": Choice("x", "x+nb", "x+str", "x+nb+str"),
    "normalization": Choice("walk"), "feature_norm": Choice("none"),
}  # fmt: skip
"""Narrowed by what earlier searches saw on validation."""
OWN = {"squirrel": WIKIPEDIA, "chameleon": WIKIPEDIA, "texas": WEBKB, "wisconsin": WEBKB, "cornell": WEBKB}


def draw(rng: random.Random, names: tuple[str, ...], fixed: dict[str, Any]) -> dict[str, Any]:
    """Draw a value for each name from its range."""
    drawn = {}
    for name in names:
        range_ = ({**space(HDPConfig), **NARROWED, **fixed})[name]
        if isinstance(range_, Choice):
            drawn[name] = rng.choice(range_.options)
        elif isinstance(range_, Integer):
            drawn[name] = rng.randint(range_.low, range_.high)
        else:
            drawn[name] = rng.uniform(range_.low, range_.high)
    return drawn


def judge(
    graph: Graph,
    configs: list[HDPConfig],
    splits: list[int],
    seeds: list[int],
    device: torch.device,
    initial: bool,
) -> list[tuple[float, float]]:
    """Return (mean validation score, minus mean validation loss) of each setting."""
    pairs = [(config, i, seed) for config in configs for i in splits for seed in seeds]
    if initial:
        stages = [initial_stage(seal(graph, graph.split(i)), graph.split(i), c, seed) for c, i, seed in pairs]
        trained = train_stages(stages, device)
    else:
        runs = [Run("hdp", config, i, seed) for config, i, seed in pairs]
        trained = [outcome.trained for outcome in train_runs(graph, runs, device)]
    found = []
    for k in range(len(configs)):
        each = len(splits) * len(seeds)
        some = trained[k * each : (k + 1) * each]
        found.append(
            (sum(t.validation for t in some) / len(some), -sum(t.validation_loss for t in some) / len(some))
        )
    return found


def search(
    graph: Graph,
    base: HDPConfig,
    initial: bool,
    seconds: float,
    rng: random.Random,
    device: torch.device,
    fixed: dict[str, Any],
) -> tuple[HDPConfig, dict[str, Any]]:
    """Screen proposals until most of the time is gone, then judge the best with more splits or seeds."""
    shapes, values = (INITIAL_SHAPES, INITIAL_VALUES) if initial else (SHAPES, VALUES)
    start, screened = time.perf_counter(), []
    small = graph.num_nodes < 1000
    splits = list(range(10)) if small else [0, 1, 2]
    per_shape, finalists_wanted = (24, 16) if small else (8, 6)
    while time.perf_counter() - start < 0.6 * seconds:
        shape = draw(rng, shapes, fixed)
        configs = [base.replace(**shape, **draw(rng, values, fixed)) for _ in range(per_shape)]
        screened += list(zip(judge(graph, configs, splits, [0], device, initial), configs, strict=True))
    screened.sort(key=lambda pair: pair[0], reverse=True)
    finalists = [base] + [config for _, config in screened[:finalists_wanted]]
    judged = judge(graph, finalists, list(range(10)), list(range(5)) if small else [0], device, initial)
    final = sorted(zip(judged, finalists, strict=True), key=lambda pair: pair[0], reverse=True)
    trace = {
        "proposals": len(screened), "finalists": len(finalists), "seconds": time.perf_counter() - start,
        "validation": final[0][0][0],
        "top": [{"validation": score[0], "loss": -score[1], **{n: getattr(c, n) for n in (*shapes, *values)}}
                for score, c in final[:8]],
    }  # fmt: skip
    return final[0][1], trace


def choose(
    graph: Graph, given: list[HDPConfig], device: torch.device
) -> tuple[HDPConfig, list[dict[str, Any]]]:
    """Judge settings on all ten splits; the best on validation and how each did."""
    seeds = list(range(5)) if graph.num_nodes < 1000 else [0]
    judged = judge(graph, given, list(range(10)), seeds, device, False)
    trace = [
        {"validation": score, "loss": -loss, **config.changes()}
        for (score, loss), config in zip(judged, given, strict=True)
    ]
    return max(zip(judged, given, strict=True), key=lambda pair: pair[0])[1], trace


def write(folder: str, name: str, found: dict[str, Any]) -> None:
    """Keep what was found for a dataset."""
    Path(folder).mkdir(exist_ok=True, parents=True)
    Path(folder, f"search-{name}.json").write_text(json.dumps(found, indent=1))


def main() -> None:
    """Search every dataset named and write what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="+", help="NAME or NAME:SECONDS")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--data")
    parser.add_argument("--out", default="results")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], help="settings that are not searched")
    parser.add_argument("--only", choices=["initial", "main"])
    parser.add_argument("--candidates", help="JSON list of settings to judge instead of drawing any")
    parser.add_argument("--start", help="folder with earlier results to start from")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for spec in args.datasets:
        name, _, own = spec.partition(":")
        seconds = float(own or args.seconds)
        rng = random.Random(args.seed)
        device = torch.device(args.device)
        graph = load(name, data=args.data).to(device)
        fixed = OWN.get(name, {}) | ({"order": Choice(1)} if graph.num_nodes > 1000 else {})
        earlier = {}
        if args.start and Path(args.start, f"search-{name}.json").exists():
            earlier = json.loads(Path(args.start, f"search-{name}.json").read_text())
        best = HDPConfig.parse(earlier.get("config", {}) | dict(s.split("=", 1) for s in args.set))
        trace = earlier.get("search", {})
        if args.candidates:
            given = [best.replace(**settings) for settings in json.loads(Path(args.candidates).read_text())]
            best, trace["candidates"] = choose(graph, given, device) if len(given) > 1 else (given[0], [])
        elif args.only != "main":
            share = 1 if args.only else 0.35
            best, trace["initial"] = search(graph, best, True, share * seconds, rng, device, fixed)
        if args.only != "initial" and not args.candidates:
            share = 1 if args.only else 0.65
            best, trace["main"] = search(graph, best, False, share * seconds, rng, device, fixed)
        if args.only == "initial":  # the test set stays shut until the whole setting is chosen
            found = {"dataset": name, "config": best.to_dict(), "search": trace}
            write(args.out, name, found)
            print(name, trace["initial"]["validation"], best.changes(), flush=True)
            continue
        outcomes = train_runs(graph, [Run("hdp", best, i, 0) for i in range(10)], device)
        test = [open_score(graph, graph.split(i), o.trained.logits) for i, o in enumerate(outcomes)]
        others = train_runs(graph, [Run("hdp", best, i, s) for s in range(1, 5) for i in range(10)], device)
        test_seeds = [open_score(graph, graph.split(k % 10), o.trained.logits) for k, o in enumerate(others)]
        test_initial = [open_score(graph, graph.split(i), o.initial.logits) for i, o in enumerate(outcomes)]
        found = {
            "dataset": name,
            "chosen_by": "mean validation accuracy over ten splits",
            "config": best.to_dict(),
            "validation": [o.trained.validation for o in outcomes], "test": test,
            "mean_test_of_seeds_1_to_4": [sum(test_seeds[10 * k : 10 * k + 10]) / 10 for k in range(4)],
            "initial_validation": [o.initial.validation for o in outcomes], "initial_test": test_initial,
            "epochs": [o.trained.epochs for o in outcomes],
            "search": trace | {"seed": args.seed},
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        }  # fmt: skip
        write(args.out, name, found)
        mean = lambda v: 100 * sum(v) / len(v)  # noqa: E731
        rows.append(f"{name:12s} init val {mean(found['initial_validation']):.2f} "
                    f"test {mean(test_initial):.2f} HDP val {mean(found['validation']):.2f} "
                    f"test {mean(test):.2f} (seeds 1-4 {mean(test_seeds):.2f}) "
                    f"{best.changes()}")  # fmt: skip
        print(rows[-1], flush=True)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
