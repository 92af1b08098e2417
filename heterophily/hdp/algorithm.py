"""Algorithm 1: encode, initialize, estimate, partition, then train and refine (Eq. 1-29)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor

from heterophily.adjacency import adjacency
from heterophily.graph import Graph, Split
from heterophily.graph.graph import GraphError
from heterophily.hdp.config import HDPConfig
from heterophily.hdp.encoding import scaled, structural_encoding, target_set
from heterophily.hdp.initial import InitialAssignment, neighbor_features
from heterophily.hdp.model import HDP
from heterophily.hdp.partition import EdgeSet, Partition, estimate_homophily, homophilous_count, partition
from heterophily.hdp.prototypes import TrustSet, tpc_loss, trust_set
from heterophily.rows import cut, inner, pick, whole
from heterophily.sparse import Features, SparseMatrix, inverse, side_by_side
from heterophily.stage import (
    Network,
    Outcome,
    Procedure,
    Schedule,
    Stage,
    State,
    cross_entropy,
    digest,
    drawn,
    node_features,
    remember,
    visible,
)

INITIAL_FIELDS = (
    "structural_dim", "structural_top", "hops", "structural_norm", "initial_features", "normalization",
    "feature_norm", "directed_features", "hidden_dim", "initialization", "learning_rate_init",
    "weight_decay_init", "epoch_init", "patience_init", "dropout_init", "input_dropout_init", "by_loss",
)  # fmt: skip
"""What the assignment initialization depends on."""
STRUCTURAL_FIELDS = ("structural_dim", "structural_top", "hops", "structural_norm")
"""What X^str depends on, beside the split and the seed."""


def hdp(graph: Graph, split: Split, config: HDPConfig, seed: int) -> Procedure:
    """Run HDP on one split of a graph: lines 1-17 of Algorithm 1, top to bottom."""
    labels = visible(graph, split)
    x = node_features(graph, config.feature_norm)
    x_str = structural_features(graph, split, config, seed)  # line 1

    edges = edge_set(graph, config.order, config.two_hop_walks)
    try:
        ratio = estimate_homophily(edges, labels["labels"], split.train, config.known_loops)  # line 3
    except GraphError as error:
        raise GraphError(f"split {split.name!r}: {error}") from None

    initial = yield initial_stage(graph, split, config, seed)  # line 2
    z = assignments(initial.logits, config.sharpness)

    count = torch.tensor(homophilous_count(ratio, config.rescale, edges), device=z.device)
    parts = partition(z, edges, count)  # line 4
    known = split.train | split.validation
    trust = trust_set(assignments(initial.logits), labels["labels"], known)  # line 5

    blocks = cut(joined((x, x_str) if config.structural else (x,)), config.hidden_dim)
    module = main_module(blocks, graph.num_classes, config, seed)
    settings = {
        "tpc_weight": torch.tensor(config.tpc_weight, device=z.device),
        "tpc_sum": torch.tensor(float(config.tpc_sum), device=z.device),
        "temperature": torch.tensor(config.temperature, device=z.device),
        "sharpness": torch.tensor(config.sharpness, device=z.device),
    }
    state = (
        labels | settings | {"blocks": blocks, "edges": edges, "count": count, "parts": parts, "trust": trust}
    )
    trained = yield Stage(  # lines 6-18
        module=module,
        state=state,
        loss=loss,
        logits=logits,
        schedule=main_schedule(config),
        refresh=refresh if config.update else None,
        renewed=("parts", "trust"),
        part=part,
        notes={name: float(note) for name, note in notes(parts, trust, parts).items()},
        bar=initial.validation,
        metric=graph.metric,
        name="HDP",
    )
    details = {"training_homophily": ratio, "estimated_homophily": min(config.rescale * ratio, 1.0)}
    return Outcome(module, trained, initial, details)


def main_module(blocks: Sequence[Features], classes: int, config: HDPConfig, seed: int) -> HDP:
    """Draw the weights of HDP proper."""
    return drawn(
        seed,
        HDP,
        tuple(block.shape[1] for block in blocks),
        classes,
        config.hidden_dim,
        config.embedding_dim,
        config.layers_hm,
        config.layers_ht,
        config.dropout,
        config.input_dropout,
        config.homophilous,
        config.heterophilous,
    )


def main_schedule(config: HDPConfig) -> Schedule:
    """Say how HDP proper is optimized."""
    rate, decay = config.learning_rate, config.weight_decay
    return Schedule(rate, decay, config.epoch, config.patience, config.by_loss)


def loss(network: Network, state: State) -> dict[str, Tensor]:
    """Cross-entropy plus β times the TPC loss (Eq. 23, 29)."""
    out = network(state["blocks"], state["parts"])
    classes = out.logits.shape[-1]
    ce = cross_entropy(out.logits, state["labels"], state["train"])
    tpc = tpc_loss(out.h_ego, state["trust"], classes, state["temperature"])
    terms = 1 + state["tpc_sum"] * (state["trust"].trusted.sum() - 1)  # |S^tru| for a sum, 1 for a mean
    return {"loss": ce + state["tpc_weight"] * terms * tpc, "cross_entropy": ce, "tpc": tpc}


def logits(network: Network, state: State) -> Tensor:
    """Return the logits whose softmax is Z (Eq. 19)."""
    out: Tensor = network(state["blocks"], state["parts"]).logits
    return out


def refresh(state: State, new: Tensor) -> tuple[State, dict[str, Tensor]]:
    """Renew the partition and the trust set with better assignments (Algorithm 1, lines 14-17)."""
    old = state["parts"]
    z = assignments(new, state["sharpness"])
    room = old.a_hm.col.shape[-1], old.a_ht.col.shape[-1]
    parts = partition(z, state["edges"], state["count"], room, old.a_hm.val.dtype)
    trust = trust_set(assignments(new), state["labels"], state["train"] | state["validation"])
    return {"parts": parts, "trust": trust}, notes(parts, trust, old)


def part(state: State, nodes: Tensor) -> State:
    """Return the state of some nodes; verdicts on their edges, and trust, are those of the whole graph."""
    found = initial_part(state, nodes)
    whole_graph, trust = state["parts"], state["trust"]
    a_hm, a_ht = inner(whole_graph.a_hm, nodes), inner(whole_graph.a_ht, nodes)
    degrees = (inverse(a.crow.diff(), a.val.dtype) for a in (a_hm, a_ht))
    among = whole_graph._replace(a_hm=a_hm, a_ht=a_ht, **dict(zip(("inverse_hm", "inverse_ht"), degrees)))
    return found | {"parts": among, "trust": TrustSet(trust.trusted[nodes], trust.predicted[nodes])}


def initial_part(state: State, nodes: Tensor) -> State:
    """Return the state of some nodes for MLP^init: their rows."""
    blocks = tuple(pick(whole(block), nodes) for block in state["blocks"])
    return (
        state | {name: state[name][nodes] for name in ("labels", "train", "validation")} | {"blocks": blocks}
    )


def notes(parts: Partition, trust: TrustSet, old: Partition) -> dict[str, Tensor]:
    """Say for the history what a partition and a trust set look like."""
    return {
        "changed_edges": (parts.is_homophilous != old.is_homophilous).sum(),
        "trusted": trust.trusted.sum(),
        "threshold": parts.threshold,
        "estimated_homophily": parts.is_homophilous.double().mean(),  # ĥ, which sets the partition
        "expected_homophily": parts.probability.mean(),  # what Z believes
    }


def assignments(new: Tensor, sharpness: Tensor | float = 1.0) -> Tensor:
    """Return Z in float64; for the partition alone the paper asks to rescale it against lost precision."""
    return torch.softmax(new.double() * sharpness, -1)


def hdp_init(graph: Graph, split: Split, config: HDPConfig, seed: int) -> Procedure:
    """Run the assignment initialization alone (Table 3, "Init."): lines 1-2 of Algorithm 1."""
    stage = initial_stage(graph, split, config, seed)
    trained = yield stage
    return Outcome(stage.module, trained)


def initial_stage(graph: Graph, split: Split, config: HDPConfig, seed: int) -> Stage:
    """Set up the assignment initialization, which is tuned and trained apart (Eq. 20-22)."""
    chosen = cut(initial_features(graph, split, config, seed), config.hidden_dim)
    module = initial_module(chosen, graph.num_classes, config, seed)
    return Stage(
        module=module,
        state=visible(graph, split) | {"blocks": chosen},
        loss=initial_loss,
        logits=initial_logits,
        part=initial_part,
        schedule=initial_schedule(config),
        metric=graph.metric,
        key=initial_key(graph, split, config, seed),
        blind=True,
        name="initial assignment",
    )


def initial_schedule(config: HDPConfig) -> Schedule:
    """Say how MLP^init is optimized; one that is not trained has no epochs."""
    epochs = config.epoch_init if config.initialization == "trained" else 0
    rate, decay = config.learning_rate_init, config.weight_decay_init
    return Schedule(rate, decay, epochs, config.patience_init, config.by_loss)


def initial_module(
    blocks: Sequence[Features], classes: int, config: HDPConfig, seed: int
) -> InitialAssignment:
    """Draw the weights of MLP^init."""
    return drawn(
        seed,
        InitialAssignment,
        tuple(block.shape[1] for block in blocks),
        config.hidden_dim,
        classes,
        config.dropout_init,
        config.input_dropout_init,
    )


def initial_loss(network: Network, state: State) -> dict[str, Tensor]:
    """Cross-entropy of MLP^init (Eq. 22-23)."""
    return {"loss": cross_entropy(network(state["blocks"]), state["labels"], state["train"])}


def initial_logits(network: Network, state: State) -> Tensor:
    """Return the logits of MLP^init."""
    out: Tensor = network(state["blocks"])
    return out


def initial_key(graph: Graph, split: Split, config: HDPConfig, seed: int) -> Hashable:
    """Name the initial assignment by all it depends on: runs that agree in these train it once."""
    nodes = digest(split.train), digest(split.validation)
    read = (getattr(config, name) for name in INITIAL_FIELDS if name not in unread(config))
    return ("initial", id(graph.x), *nodes, seed, *read)


def unread(config: HDPConfig) -> tuple[str, ...]:
    """Name the settings that only the main training reads, as X^all leaves out what they shape."""
    blocks = config.initial_features.split("+")
    if "str" not in blocks:
        return STRUCTURAL_FIELDS if "nb" in blocks else (*STRUCTURAL_FIELDS, "directed_features")
    return ("feature_norm",) if blocks == ["str"] else ()


def initial_features(graph: Graph, split: Split, config: HDPConfig, seed: int) -> tuple[Features, ...]:
    """Return the blocks of X^all = [X ‖ X^nb ‖ X^str] that the config names (Eq. 20-21)."""
    return joined(chosen_blocks(graph, config, lambda: structural_features(graph, split, config, seed)))


def chosen_blocks(graph: Graph, config: HDPConfig, encode: Callable[[], Features]) -> list[Features]:
    """Return X, X^nb and X^str, which ``encode`` makes, as far as the config names them."""
    x, directed = node_features(graph, config.feature_norm), config.directed_features
    blocks: list[Features] = []
    for name in config.initial_features.split("+"):
        if name == "x":
            blocks.append(x)
        elif name == "str":
            blocks.append(encode())
        else:
            key = ("x_nb", config.normalization, config.feature_norm, directed)
            make = lambda: neighbor_features(  # noqa: E731
                adjacency(graph, directed=directed), x, config.normalization
            )
            blocks.append(remember([graph.x, graph.edge_index], key, make))
    return blocks


def joined(blocks: Sequence[Features]) -> tuple[Features, ...]:
    """Make one matrix of sparse blocks, to be multiplied at once; runs that hand over the same share it."""
    sparse = [block for block in blocks if isinstance(block, SparseMatrix)]
    if not len(sparse) == len(blocks) > 1:
        return tuple(blocks)
    return (remember([block.val for block in sparse], "joined", lambda: side_by_side(sparse)),)


def structural_features(graph: Graph, split: Split, config: HDPConfig, seed: int) -> Features:
    """Return X^str of a split, as wide as the largest split needs (Eq. 7-8)."""
    dim, hops, norm = config.structural_dim, config.hops, config.structural_norm
    width = structural_width(graph, split, dim)
    sampled = dim < int(split.train.sum())
    sample = (seed, digest(graph.y[split.train])) if sampled else None
    top = config.structural_top
    directed = config.directed_features
    key = ("x_str", digest(split.train), dim, hops, width, sample, top, directed)

    def encode() -> Features:
        targets = target_set(graph.y, split.train, dim, seed)
        walk = adjacency(graph, directed=directed).normalized("walk")
        return structural_encoding(walk, targets, hops, width, top)

    bare: Features = remember([graph.edge_index], key, encode)
    found: Features = remember([graph.edge_index], (*key, norm), lambda: scaled(bare, norm))
    return found


def structural_width(graph: Graph, split: Split, dim: int) -> int:
    """Return the columns of X^str: the targets of the largest split, at most ``dim``."""
    return max(min(int(s.train.sum()), dim) for s in (split, *graph.splits))


def edge_set(graph: Graph, order: int, walks: int = 0) -> EdgeSet:
    """Return E' of order 1 or 2, on the undirected graph with self-loops; of E² all, or where walks lead."""

    def build() -> EdgeSet:
        if order == 1:
            return EdgeSet.from_adjacency(adjacency(graph))
        far = graph.undirected().with_self_loops()
        far = far.two_hop_walks(walks) if walks else far.two_hop()
        return EdgeSet.from_adjacency(
            SparseMatrix.from_edges(far.edge_index, graph.num_nodes, undirected=True)
        )

    found: EdgeSet = remember([graph.edge_index], ("edges", order, walks, graph.num_nodes), build)
    return found
