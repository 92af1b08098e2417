"""Algorithm 1 with nothing left to learn: a trained HDP on a graph that has grown, or on another one.

Walks land on the stored targets (Eq. 7-8), scaled as in training; the stored MLP^init assigns (Eq. 22); a
new edge is homophilous where P reaches the stored threshold ε of Eq. 4; the stored weights propagate (Eq. 9,
14-19). Then, as in lines 14-17, new edges are judged once more by the better assignments that this gave, with
the threshold that those had on the training graph. Edges of the training graph keep the verdicts that the
weights were trained with, so that a graph with nothing new is as it was fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from heterophily.adjacency import adjacency
from heterophily.graph import Graph, Split
from heterophily.hdp.algorithm import (
    assignments,
    chosen_blocks,
    edge_set,
    initial_logits,
    initial_loss,
    initial_module,
    logits,
    loss,
    main_module,
    structural_features,
    structural_width,
)
from heterophily.hdp.config import HDPConfig
from heterophily.hdp.encoding import mean_length, structural_encoding, target_set, times
from heterophily.hdp.partition import EdgeSet, Partition, divided, edge_probabilities, mark_homophilous
from heterophily.rows import cut
from heterophily.sparse import Features, SparseMatrix, side_by_side
from heterophily.stage import Frozen, Outcome, Schedule, Stage, Trained, node_features, visible

NOTHING = Schedule(learning_rate=0.0, weight_decay=0.0, epochs=0, patience=0)


def frozen_numbers(
    graph: Graph, split: Split, config: HDPConfig, seed: int, outcome: Outcome
) -> dict[str, Tensor]:
    """Return what HDP read off its training graph: targets, scale of X^str, thresholds and verdicts."""
    bare = structural_features(graph, split, config.replace(structural_norm=0.0), seed)
    norm, width = config.structural_norm, structural_width(graph, split, config.structural_dim)
    numbers = {
        "targets": target_set(graph.y, split.train, config.structural_dim, seed),
        "structural_width": torch.tensor(width),
        "structural_scale": norm / mean_length(bare) if norm and width else torch.tensor(1.0),
    }
    if outcome.initial is None:
        return numbers  # the initial assignment alone splits no neighborhoods
    state = outcome.trained.state
    edges, parts = state["edges"], state["parts"]

    def cut(trained: Trained) -> Tensor:
        probability = edge_probabilities(assignments(trained.logits, config.sharpness), edges)
        return mark_homophilous(probability, state["count"])[0]

    return numbers | {
        "initial_threshold": cut(outcome.initial),
        "final_threshold": cut(outcome.trained),
        "threshold": parts.threshold,
        "probability": parts.probability,
        "is_homophilous": parts.is_homophilous,
    }


def replay(
    graph: Graph, split: Split, config: HDPConfig, seed: int, frozen: Frozen, base: Graph | None
) -> Outcome:
    """Return HDP on a graph whose first nodes are those of ``base``, the graph it was trained on.

    Without a base no target is there, so that X^str is zero, and every edge is a new one.
    """
    initial = replay_init(graph, split, config, seed, frozen, base)
    x, numbers = node_features(graph, config.feature_norm), frozen.numbers
    given = [x, structural(graph, config, frozen, base)] if config.structural else [x]
    blocks = cut(as_trained(given, frozen.weights, "ego."), config.hidden_dim)
    edges = later_edges(graph, config, base)
    state = visible(graph, split) | {"blocks": blocks, "edges": edges}
    stage = Stage(
        main_module(blocks, graph.num_classes, config, seed), state, loss, logits, NOTHING, name="HDP"
    )
    trained = initial.trained
    for threshold in ("initial_threshold", "final_threshold")[: 1 + config.update]:
        z = assignments(trained.logits, config.sharpness)
        parts = by_threshold(z, edges, numbers, threshold, base, config)
        trained = Trained.told(replace(stage, state=state | {"parts": parts}), frozen.weights)
    return Outcome(stage.module, trained, initial.trained)


def replay_init(
    graph: Graph, split: Split, config: HDPConfig, seed: int, frozen: Frozen, base: Graph | None
) -> Outcome:
    """Return the initial assignment alone on such a graph."""
    weights = frozen.initial or frozen.weights
    blocks = as_trained(
        chosen_blocks(graph, config, lambda: structural(graph, config, frozen, base)), weights, "mlp."
    )
    blocks = cut(blocks, config.hidden_dim)
    module = initial_module(blocks, graph.num_classes, config, seed)
    state = visible(graph, split) | {"blocks": blocks}
    stage = Stage(module, state, initial_loss, initial_logits, NOTHING, name="initial assignment")
    return Outcome(module, Trained.told(stage, weights))


def structural(graph: Graph, config: HDPConfig, frozen: Frozen, base: Graph | None) -> Features:
    """Return X^str by walks to the stored targets, in the scale of the training (Eq. 7-8)."""
    width = int(frozen.numbers["structural_width"])
    nobody = torch.zeros(0, dtype=torch.int64, device=graph.y.device)
    targets = nobody if base is None else frozen.numbers["targets"]
    walk = adjacency(graph, directed=config.directed_features).normalized("walk")
    return times(
        structural_encoding(walk, targets, config.hops, width, config.structural_top),
        frozen.numbers["structural_scale"].float(),
    )


def later_edges(graph: Graph, config: HDPConfig, base: Graph | None) -> EdgeSet:
    """Return E' of a graph that has grown from ``base``; a sample of E² has all that was drawn there."""
    edges = edge_set(graph, config.order, config.two_hop_walks)
    if base is None or config.order == 1 or not config.two_hop_walks:
        return edges
    both = [edges, edge_set(base, config.order, config.two_hop_walks)]
    u, v = (torch.cat([getattr(each, end) for each in both]).long() for end in "uv")
    joined = graph._replace(edge_index=torch.stack([u, v])).undirected()
    return EdgeSet.from_adjacency(
        SparseMatrix.from_edges(joined.edge_index, graph.num_nodes, undirected=True)
    )


def by_threshold(
    z: Tensor, edges: EdgeSet, numbers: dict[str, Tensor], name: str, base: Graph | None, config: HDPConfig
) -> Partition:
    """Split E': new edges by a stored threshold of P (Eq. 3-6), edges of the training as they were."""
    probability = edge_probabilities(z, edges)
    threshold = numbers[name].expand_as(probability).clone()
    marked = probability >= threshold
    if base is not None:
        old = edge_set(base, config.order, config.two_hop_walks)
        size = edges.crow.shape[0] - 1
        place = torch.searchsorted(*(each.u.long() * size + each.v for each in (edges, old)))
        marked[place] = numbers["is_homophilous"]
        probability[place] = numbers["probability"]
        threshold[place] = numbers["threshold"]
    each = marked[edges.edge].sum().item()
    return divided(edges, probability, threshold, marked, (int(each), edges.col.shape[-1] - int(each)))


def as_trained(blocks: Sequence[Features], weights: dict[str, Tensor], mlp: str) -> tuple[Features, ...]:
    """Hand blocks over one by one, or joined, as the MLP with these weights was trained.

    Sparse blocks were joined, which are sparse and which are dense may be otherwise on another graph.
    """
    trained = sum(name.startswith(f"{mlp}first.weights.") for name in weights)
    if trained == sum(block.shape[1] > 0 for block in blocks):
        return tuple(blocks)
    sparse = [b if isinstance(b, SparseMatrix) else SparseMatrix.from_torch(b) for b in blocks]
    return (side_by_side(sparse),)
