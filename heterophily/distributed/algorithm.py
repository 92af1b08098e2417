"""Algorithm 1 on a graph whose rows are shared out (Eq. 1-29): the mathematics of `heterophily.hdp`.

What concerns one node, or one node and its neighbors, is computed by the process that has the node. Sums
over nodes or edges are added up over the processes, and the two thresholds (Eq. 4 and 25) are selected
together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.config import ConfigError
from heterophily.distributed.chunks import in_chunks
from heterophily.distributed.features import Blocks
from heterophily.distributed.halo import Halo, ShardedMatrix
from heterophily.distributed.selection import largest
from heterophily.distributed.shard import Shard
from heterophily.distributed.world import World
from heterophily.graph.graph import GraphError
from heterophily.hdp.algorithm import (
    assignments,
    initial_logits,
    initial_module,
    initial_schedule,
    logits,
    main_module,
    main_schedule,
)
from heterophily.hdp.config import HDPConfig
from heterophily.hdp.partition import Partition
from heterophily.hdp.prototypes import TrustSet, tpc_loss
from heterophily.sparse import SparseMatrix, inverse
from heterophily.stage import Network, Outcome, Stage, State, Trained

CHUNK = 2**18
"""Entries whose probabilities are computed at a time."""
Named = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class ShardedStage(Stage):
    """A stage of own nodes. ``loss`` returns own shares; those of all processes add up to the loss."""

    lengths: dict[str, int] = field(default_factory=dict)
    """How long the tensors are that ``pack`` returns; they have an entry for each own node or edge."""
    pack: Callable[[State], Named] = lambda state: {}
    """Return what a checkpoint must hold to make the renewed entries of the state again."""
    unpack: Callable[[Named], State] = lambda saved: {}


class Edges:
    """The entries of E' in the rows of own nodes; each edge of two nodes is there once for either."""

    def __init__(self, crow: Tensor, col: Tensor, shard: Shard, world: World):
        self.world = world
        self.halo, self.place = Halo.of(crow, col, shard.bounds, world)
        self.crow = crow
        row = shard.first + self.row()
        self.first_end = col >= row
        """Whether an edge is counted here: it is with the process that has its first node."""
        self.key = torch.minimum(row, col) * shard.num_nodes + torch.maximum(row, col)
        """Numbers the edges in the order in which ties are broken."""
        self.size = int(world.total(self.first_end.sum()))

    def row(self) -> Tensor:
        """Return the own node of every entry."""
        rows = torch.arange(len(self.crow) - 1, device=self.crow.device)
        return rows.repeat_interleave(self.crow.diff())

    def probabilities(self, z: Tensor) -> Tensor:
        """Return P_uv = z_u z_vᵀ of every entry, in float64 (Eq. 3)."""
        wide = self.halo.extended(z)
        pairs = zip(self.row().split(CHUNK), self.place.split(CHUNK), strict=True)
        return torch.cat([(z[u] * wide[v.long()]).sum(-1) for u, v in pairs])

    def partition(self, z: Tensor, count: int, dtype: torch.dtype) -> Partition:
        """Split E' into the ``count`` most probably homophilous edges and the rest (Eq. 3-6)."""
        p = self.probabilities(z)
        cut = largest(self.world, p[self.first_end], self.key[self.first_end], count)
        return self.divided(cut.chosen(p, self.key), cut.threshold, dtype)

    def divided(self, marked: Tensor, threshold: Tensor, dtype: torch.dtype) -> Partition:
        """Build A^hm of the marked entries and A^ht of the others (Eq. 5-6)."""
        (a_hm, inverse_hm), (a_ht, inverse_ht) = self._kept(marked, dtype), self._kept(~marked, dtype)
        none = threshold.new_empty(0)  # probabilities are not kept
        return Partition(none, threshold, marked, a_hm, a_ht, inverse_hm, inverse_ht)

    def _kept(self, kept: Tensor, dtype: torch.dtype) -> tuple[SparseMatrix, Tensor]:
        crow = F.pad(kept.cumsum(0), (1, 0))[self.crow]
        col = self.place[kept]
        matrix = ShardedMatrix(
            crow.int(), col, torch.ones(len(col), dtype=dtype, device=col.device), self.halo
        )
        return cast(SparseMatrix, matrix), inverse(crow.diff(), dtype)


def hdp(
    shard: Shard,
    world: World,
    config: HDPConfig,
    seed: int,
    dtype: torch.dtype = torch.float32,
    recompute: bool = False,
) -> Generator[ShardedStage, Trained, Outcome]:
    """Run HDP on own rows of a graph, test labels sealed: lines 1-17 of Algorithm 1.

    ``recompute`` keeps no hidden layers for the gradient: less memory, more time, the same result.
    """
    if config.directed_features:
        raise ConfigError("directed_features is for one process: shared-out rows keep undirected edges only")
    near = Edges(shard.crow, shard.col, shard, world)
    blocks = Blocks(shard, near.halo, near.place, config, dtype)
    names = config.initial_features.split("+")
    x_all = blocks.named(names, seed)
    x_ego = blocks.named(["x", "str"] if config.structural else ["x"], seed)  # line 1
    edges = near if config.order == 1 else two_steps(blocks, near, shard)
    places = blocks.places
    blocks.forget()
    del blocks, near

    labels = {"labels": shard.y, "train": shard.mask("train"), "validation": shard.mask("validation")}
    ratio = estimate_homophily(edges, labels, shard, config)  # line 3
    classes, metric = shard.facts["classes"], shard.facts["metric"]
    counts = world.total(torch.stack([labels["train"].sum(), (labels["train"] | labels["validation"]).sum()]))
    training, known = counts.unbind()

    def cross_entropy(out: Tensor, state: State) -> Tensor:
        each = F.cross_entropy(out, state["labels"].clamp(min=0), reduction="none")
        return (each * state["train"]).sum() / training

    def initial_loss(network: Network, state: State) -> Named:
        return {"loss": cross_entropy(network(state["blocks"]), state)}

    module: nn.Module = initial_module(x_all[0], classes, config, seed).to(dtype)
    in_chunks(module, places, recompute)
    initial = yield ShardedStage(  # line 2
        module=module,
        state=labels | {"blocks": x_all},
        loss=initial_loss,
        logits=initial_logits,
        schedule=initial_schedule(config),
        metric=metric,
        name="initial assignment",
    )
    del x_all

    count = min(round(config.rescale * ratio * edges.size), edges.size)  # Eq. 2

    def trust_set(z: Tensor) -> TrustSet:
        """Trust the ρ|V| nodes with the surest assignments (Eq. 24-25)."""
        surest, predicted = z.max(-1)
        sure = (predicted == labels["labels"]) & (labels["train"] | labels["validation"])
        rho = world.total(sure.sum()) / known
        nodes = shard.first + torch.arange(len(z), device=z.device)
        cut = largest(world, surest, nodes, int((rho * shard.num_nodes).round()))
        return TrustSet(cut.chosen(surest, nodes), predicted)

    def refresh(state: State, new: Tensor) -> tuple[State, Named]:
        parts = edges.partition(assignments(new, config.sharpness), count, dtype)
        return {"parts": parts, "trust": trust_set(assignments(new))}, {}

    def loss(network: Network, state: State) -> Named:
        out, trust = network(state["blocks"], state["parts"]), state["trust"]
        ce = cross_entropy(out.logits, state)
        tpc = tpc_loss(out.h_ego, trust, classes, config.temperature, world.total)
        terms = world.total(trust.trusted.sum()) if config.tpc_sum else 1
        return {"loss": ce + config.tpc_weight * terms * tpc, "cross_entropy": ce, "tpc": tpc}

    def pack(state: State) -> Named:
        return {"marked": state["parts"].is_homophilous} | state["trust"]._asdict()

    def unpack(saved: Named) -> State:
        parts = edges.divided(saved["marked"], torch.tensor(torch.nan), dtype)
        return {"parts": parts, "trust": TrustSet(saved["trusted"], saved["predicted"])}

    first, _ = refresh({}, initial.logits)  # lines 4-5
    module = main_module(x_ego[0], classes, config, seed).to(dtype)
    in_chunks(module, places, recompute)
    trained = yield ShardedStage(  # lines 6-18
        module=module,
        state=labels | {"blocks": x_ego} | first,
        loss=loss,
        logits=logits,
        schedule=main_schedule(config),
        refresh=refresh if config.update else None,
        bar=initial.validation,
        metric=metric,
        name="HDP",
        lengths={"marked": len(edges.place), "trusted": edges.halo.rows, "predicted": edges.halo.rows},
        pack=pack,
        unpack=unpack,
    )
    details = {"training_homophily": ratio, "estimated_homophily": min(config.rescale * ratio, 1.0)}
    return Outcome(module, trained, initial, details)


def estimate_homophily(edges: Edges, labels: dict[str, Any], shard: Shard, config: HDPConfig) -> float:
    """Return h', the share of homophilous edges among those that join two training nodes (Eq. 1)."""
    own = torch.where(labels["train"], labels["labels"], -1)
    u, v = own[edges.row()], edges.halo.extended(own)[edges.place.long()]
    inside = (u >= 0) & (v >= 0) & edges.first_end
    loop = edges.key % (shard.num_nodes + 1) == 0  # u N + u
    counts = [inside & ~loop, inside & ~loop & (u == v), inside & loop, loop & edges.first_end]
    found = edges.world.total(torch.stack([mask.sum() for mask in counts])).tolist()
    joined, same, known, loops = found
    if not joined:
        raise GraphError(
            f"split {shard.facts['splits'][shard.split]['name']!r}: no edge of E' but self-loops joins two "
            "training nodes, so the homophily ratio of Eq. 1 says nothing; use order=2 if it is 1, or a "
            "larger training set"
        )
    if not config.known_loops:
        return (same + known) / (joined + known)
    return (loops + same / joined * (edges.size - loops)) / edges.size


def two_steps(blocks: Blocks, near: Edges, shard: Shard) -> Edges:
    """Return E²: the pairs at most two steps apart."""
    crow, col = blocks.two_steps()
    return Edges(crow, col, shard, near.world)
