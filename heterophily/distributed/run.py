"""A whole run: own rows in, the evaluation that `heterophily train` prints out."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch

from heterophily.bench.protocol import Evaluation, SplitScore
from heterophily.distributed.algorithm import hdp
from heterophily.distributed.checkpoint import Keeper
from heterophily.distributed.shard import Shard
from heterophily.distributed.training import drive, score
from heterophily.distributed.world import World
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.graph.splits import PARTS
from heterophily.hdp.config import HDPConfig
from heterophily.stage import Trained
from heterophily.training.engine import Watch


def identity(shard: Shard, config: HDPConfig, seed: int) -> dict[str, Any]:
    """Say which run it is: a checkpoint of another one is not gone on from."""
    split = shard.facts["splits"][shard.split]
    graph = {name: shard.facts[name] for name in ("name", "nodes", "features", "classes", "metric")}
    return {"graph": graph, "split": split, "settings": config.to_dict(), "seed": seed}


def train(
    shard: Shard,
    world: World,
    config: HDPConfig,
    seed: int = 0,
    keeper: Keeper | None = None,
    watch: Watch | None = None,
    dtype: torch.dtype = torch.float32,
    recompute: bool = False,
) -> Evaluation:
    """Train HDP on a graph whose rows are shared out, and score it on the test nodes.

    All processes return the same scores; the outcome in the evaluation is that of own nodes.
    """
    start = time.perf_counter()
    split = shard.facts["splits"][shard.split]
    for part in PARTS:
        if not split["nodes"][part]:
            raise GraphError(f"split {split['name']!r} has no {part} node, so nothing can be scored on it")
    keeper = keeper or Keeper(None, 1, {}, world)
    outcome = drive(hdp(shard.sealed(), world, config, seed, dtype, recompute), world, keeper, watch)

    metric, test = shard.facts["metric"], shard.mask("test")

    def scored(trained: Trained, **more: Any) -> SplitScore:
        found = score(world, metric, trained.logits, shard.y, test)
        last = trained.last_logits
        finite = last is not None and not int(world.total((~last.isfinite()).sum()))
        end = score(world, metric, last, shard.y, test) if finite and last is not None else None
        more = {"seconds": trained.seconds, "seed": seed, "test_last": end} | more
        return SplitScore(shard.split, trained.validation, found, trained.epochs, **more)

    assert outcome.initial is not None
    row = scored(
        outcome.trained,
        initial=scored(outcome.initial),
        seconds=outcome.initial.seconds + outcome.trained.seconds,
        details=outcome.details,
        nodes=split["nodes"],
        mask=split["mask"],
    )
    return Evaluation(
        model="hdp",
        dataset=shard.facts["name"],
        metric=metric,
        splits=(row,),
        config=config,
        seed=seed,
        device=world.device.type,
        seconds=time.perf_counter() - start,
        outcomes=(outcome,),
    )


def gathered(evaluation: Evaluation, shard: Shard, world: World) -> tuple[Evaluation, Graph]:
    """Bring the predictions for all nodes together, with a graph of their labels and split but no edges."""
    (outcome,) = evaluation.outcomes
    logits = torch.cat(world.gathered(outcome.trained.logits)).cpu()
    whole = replace(outcome, trained=replace(outcome.trained, logits=logits, state={}))
    y, part = (torch.cat(world.gathered(own)).cpu() for own in (shard.y, shard.part))
    facts = shard.facts
    nowhere = torch.empty(2, 0, dtype=torch.int64)
    masks = part == 1, part == 2, part == 3
    splits = [Split(*masks, name=str(i)) for i in range(shard.split + 1)]  # it stands where it stood
    names = facts["class_names"]
    graph = Graph(None, y, nowhere, splits, facts["classes"], facts["name"], names, facts["metric"])
    return replace(evaluation, outcomes=(whole,)), graph
