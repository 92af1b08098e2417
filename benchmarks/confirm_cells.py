"""Judge the best settings of a search once more, by validation nodes that had no say in what is judged.

    python -m benchmarks.confirm_cells hdp --datasets texas cornell --best 10 --seeds 3 --data DIR --out FILE
    python -m benchmarks.confirm_cells gcn gat --datasets actor --open --best 2 --splits 5 --out FILE

The highest of hundreds of validation scores, each the best of hundreds of epochs on some sixty nodes, is
high by luck in part. Here the first few of a search (`tune_cells.py`, results/tuning or --searched) are
trained from seeds that the search has not seen, and the validation nodes of each split are halved: training
stops, and keeps an epoch, by one half, and the other half judges; then the other way round. Each setting is
tried under both rules of which epoch to keep, that of the best score and that of the lowest loss. The
present recipe is among them, so that a search on few splits replaces it only if it is better on all that are
asked for. `write_recipes.py` lets what is confirmed go before what is not. Test labels stay closed.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from benchmarks.cells import cell_by_cell, device_name, failed, graph_of
from benchmarks.write_recipes import TUNED, searches
from heterophily import MODELS
from heterophily.bench import reproduce
from heterophily.bench.protocol import versions
from heterophily.bench.tuning import blind
from heterophily.config import Config
from heterophily.files import write_file
from heterophily.graph import Graph, Split
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import open_score

RULES = ("by_loss", "select")
"""Fields that say which epoch is kept; of each setting both are tried, so a search of them says nothing."""


def candidates(row: Mapping[str, Any], best: int) -> list[Config]:
    """Return the setting that was chosen, then the next best of those that were judged on all splits.

    Of a model of one stage those of the searches before count as well, the best of each, then the next of
    each, as scores on different splits say nothing of each other; searches that were judged by nodes that
    chose no epoch come first. What the setting was judged beside already is left out.
    """
    kind = MODELS[row["model"]].config
    ranked = []
    two_stages = "initial" in row
    every = [row] if two_stages else searches(row)
    for search in sorted(every, key=lambda one: not one.get("halves", False)):
        base = kind.parse(search["config"])
        score, loss, splits, *fields = search.get("columns", ["", "", ""])
        assert (score, loss, splits) in {("validation", "loss", "splits"), ("", "", "")}
        whole = [each for each in search.get("trace", []) if each[2] == search["splits"]]
        whole.sort(key=lambda each: (-each[0], each[1]))
        ranked.append([base, *(base.replace(**read(base, fields, each[3:])) for each in whole)])
    beside = () if two_stages else row.get("confirmed", ())  # of two stages each is judged anew
    found, judged = [kind.parse(row["config"])], [kind.parse(one["config"]) for one in beside]
    for setting in (one for each in zip_longest(*ranked) for one in each if one is not None):
        if not any(alike(setting, other) for other in (*found, *judged)):
            found.append(setting)
    return found[:best]


def is_open(row: Mapping[str, Any]) -> bool:
    """Say whether a race found better than it began with and the setting was not judged since."""
    kind = MODELS[row["model"]].config
    judged = [kind.parse(one["config"]) for one in (row, *row.get("confirmed", ()))]
    races = (search for search in searches(row.get("before")) if search.get("race"))
    rose = (kind.parse(one["config"]) for one in races if one["validation"] > one["validation_at_start"])
    return any(not any(alike(setting, one) for one in judged) for setting in rose)


def with_recipe(found: Sequence[Config], model: str, dataset: str) -> list[Config]:
    """Return candidates and, unless it is one of them, the recipe that they are to replace.

    It is that of the kindred dataset where theirs has none.
    """
    now = reproduce.setting(model, dataset)
    known = now.chosen.by != "defaults" and not any(alike(now.config, other) for other in found)
    return [*found, *([now.config] if known else [])]


def read(base: Config, fields: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a trace's row as the setting has them; the rules are tried anyway."""
    return {name: type(getattr(base, name))(v) for name, v in zip(fields, values) if name not in RULES}


def alike(one: Config, other: Config) -> bool:
    """Say whether two settings are the same to the digits that a trace keeps, under whatever rule."""
    a, b = one.to_dict(), other.to_dict()
    return all(
        a[k] == b[k] or (isinstance(a[k], float) and math.isclose(a[k], b[k], rel_tol=1e-3))
        for k in a
        if k not in RULES
    )


def rules(setting: Config) -> list[Config]:
    """Return the setting with each rule of which epoch to keep: the best score's, the lowest loss's."""
    if hasattr(setting, "by_loss"):
        return [setting.replace(by_loss=by_loss) for by_loss in (False, True)]
    return [setting.replace(select=name) for name in ("score", "loss")]


def both(settings: Sequence[Config], before: Sequence[Mapping[str, Any]], model: str) -> list[Config]:
    """Return every setting under both rules, with what is best before it under the same rule."""
    found = [each for setting in settings for each in rules(setting)]
    if not before:
        return found
    first = MODELS[MODELS[model].first]
    best = [max(before[rule::2], key=lambda one: fmean(one["judged"]))["config"] for rule in (0, 1)]
    settled = [first.config.parse(config) for config in best]
    taken = [{n: getattr(c, n) for n in first.fields if n not in first.unread(c)} for c in settled]
    return [setting.replace(**taken[i % 2]) for i, setting in enumerate(found)]


def halved(graph: Graph) -> list[Split]:
    """Return two splits for each: one half of its validation nodes chooses, the other is the test set."""
    return [half for i, split in enumerate(graph.splits) for half in split.halved(seed=i + 1)]


def judged(
    graph: Graph, model: str, settings: Sequence[Config], seeds: Sequence[int], device: str
) -> list[dict[str, Any]]:
    """Train the settings; say of each and each seed what both halves make of it."""
    splits = halved(graph)
    runs = [Run(model, setting, split, seed) for setting in settings for seed in seeds for split in splits]
    ended, found = iter(train_runs(graph, runs, device)), []
    for setting in settings:
        one: dict[str, Any] = {"judged": [], "chosen": [], "config": setting.changes()}
        for _ in seeds:
            each = [(next(ended).trained, split) for split in splits]
            one["chosen"].append(fmean(trained.validation for trained, _ in each))
            one["judged"].append(fmean(open_score(graph, split, trained.logits) for trained, split in each))
        found.append(one)
    return found


def confirmed(
    graph: Graph,
    row: Mapping[str, Any],
    seeds: Sequence[int],
    best: int,
    device: str,
    splits: int | None = None,
) -> dict[str, Any]:
    """Judge the candidates of a cell, those of its first stage before, and return its row with the best."""
    begin, model, before = time.perf_counter(), row["model"], []
    graph = graph.with_splits(graph.splits[:splits])
    sealed = blind(graph, range(len(graph.splits)))
    if "initial" in row:
        first = row | row["initial"] | {"model": MODELS[model].first}
        before = judged(sealed, first["model"], both(candidates(first, best), (), model), seeds, device)
    rivals = candidates(row, best)
    rivals = rivals if before else with_recipe(rivals, model, row["dataset"])
    settings = both(rivals, before, model)
    if before:  # the recipe stands beside them as it is, with a first stage of its own
        own = both(with_recipe([], model, row["dataset"]), (), model)
        settings += own if any(setting not in settings for setting in own) else []
    tried = judged(sealed, model, settings, seeds, device)
    chosen = max(tried, key=lambda one: fmean(one["judged"]))
    kept = {
        name: row[name]
        for name in ("columns", "trace", "initial", "trials", "race", "sampler")
        if name in row
    }
    return kept | {
        "model": row["model"], "dataset": row["dataset"], "splits": len(graph.splits),
        "config": chosen["config"], "validation": fmean(chosen["judged"]), "searched": row["validation"],
        "seeds": list(seeds), "confirmed": tried, "confirmed_before": before,
        "seconds": time.perf_counter() - begin, "versions": versions(),
        "device": device_name(device),
    }  # fmt: skip


def main() -> None:
    """Go through the cells; what FILE already has is left as it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--best", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="the first of them")
    parser.add_argument(
        "--open", action="store_true", help="only where a race found better that was not judged since"
    )
    parser.add_argument("--splits", type=int, help="judge on the first splits only")
    parser.add_argument(
        "--searched", nargs="*", default=[], help="files of searches instead of results/tuning"
    )
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which to start none")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time, in processes of their own")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    out, start = Path(args.out), time.time()
    done: list[dict[str, Any]] = json.loads(out.read_text()) if out.exists() else []
    known = [(row["model"], row["dataset"]) for row in done]
    files = args.searched or [TUNED / f"{model}.json" for model in args.models]
    rows = [row for file in files for row in json.loads(Path(file).read_text())]
    rows = [row for row in rows if is_open(row) or not args.open]
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["validation"]):
        best[row["model"], row["dataset"]] = row
    cells = ((model, dataset) for dataset, model in product(args.datasets, args.models))
    places = [best[cell] for cell in cells if cell in best and cell not in known]
    task = partial(attempt, args=args, ends=start + args.limit)
    for place, row in cell_by_cell(task, places, args.device, args.jobs):
        if isinstance(row, str):
            print(f"{place['dataset']:18s} {place['model']:8s} {row}", flush=True)
            continue
        done.append(row)
        means = [100 * fmean(one["judged"]) for one in row["confirmed"]]
        said = f"{max(means):.2f} (searched {100 * row['searched']:.2f}), lowest {min(means):.2f}"
        rest = f"on average by score {fmean(means[::2]):.2f}, by loss {fmean(means[1::2]):.2f}"
        print(f"{row['dataset']:18s} {row['model']:8s} {said}, {rest}", flush=True)
        write_file(out, json.dumps(done) + "\n")
    print(f"{len(done)} cells, {time.time() - start:.0f} s")


def attempt(row: dict[str, Any], args: argparse.Namespace, ends: float) -> dict[str, Any] | str:
    """Judge a cell, or say why not."""
    if time.time() > ends:
        return "no time left"
    seeds = range(args.seed, args.seed + args.seeds)
    try:
        return confirmed(graph_of(row["dataset"], args.data), row, seeds, args.best, args.device, args.splits)
    except Exception as error:  # one cell that fails must not cost the others
        return failed(error, args.device)


if __name__ == "__main__":
    main()
