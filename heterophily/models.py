"""The registry: every model by name, with its config, paper and cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from heterophily.baselines.acm_gcn import (
    ACMGCNConfig,
    ACMGCNPlusConfig,
    ACMIIGCNConfig,
    ACMIIGCNPlusConfig,
    acm_gcn,
)
from heterophily.baselines.gat import GATConfig, gat
from heterophily.baselines.gcn import GCNConfig, gcn
from heterophily.baselines.gcnii import GCNIIConfig, GCNIIStarConfig, gcnii
from heterophily.baselines.ggcn import GGCNConfig, ggcn
from heterophily.baselines.glognn import GloGNNConfig, GloGNNPlusConfig, glognn
from heterophily.baselines.gpr_gnn import GPRGNNConfig, gpr_gnn
from heterophily.baselines.h2gcn import H2GCNConfig, h2gcn
from heterophily.baselines.linkx import LINKXConfig, linkx
from heterophily.baselines.majority import MajorityConfig, majority
from heterophily.baselines.mixhop import MixHopConfig, mixhop
from heterophily.baselines.mlp import MLPConfig, mlp
from heterophily.baselines.twin_copy import TwinCopyConfig, twin_copy
from heterophily.baselines.ugcn import UGCNConfig, ugcn
from heterophily.baselines.wrgat import WRGATConfig, wrgat
from heterophily.config import Config, ConfigError, no_such
from heterophily.hdp import HDPConfig, HDPDirectedConfig, hdp
from heterophily.hdp.algorithm import INITIAL_FIELDS, hdp_init, unread
from heterophily.hdp.replay import frozen_numbers, replay, replay_init
from heterophily.stage import Outcome, Procedure


@dataclass(frozen=True)
class Model:
    """A row of the registry."""

    name: str
    """What it is asked for by: lower case, words joined by hyphens."""
    title: str
    """What its paper calls it."""
    procedure: Callable[..., Procedure]
    """Trains it: takes graph, split, config and seed."""
    config: type[Config]
    paper: str
    """Authors, comma, title."""
    year: int | None
    summary: str
    """What it does, in a line."""
    cost: str
    """How the time of an epoch grows."""
    memory: str = ""
    """How the memory of a training grows, beside that of the graph itself."""
    learns: bool = True
    """Whether it has weights to train; a rule has none."""
    fields: tuple[str, ...] = ()
    """The settings it reads; none named are all."""
    first: str = ""
    """The model that is tuned before it, and whose settings it then takes over."""
    unread: Callable[..., tuple[str, ...]] = lambda config: ()
    """Names those of ``fields`` that change nothing under a config, and so are the next model's to choose."""
    rows: tuple[str, ...] = ()
    """Weights that have a row for every node of the graph."""
    numbers: Callable[..., dict[str, Tensor]] | None = None
    """Reads off the training graph what stays as it was on a later one."""
    replay: Callable[..., Outcome] | None = None
    """Says what the trained model makes of a later graph, where that is more than its stage does."""

    @property
    def reference(self) -> str:
        """The paper and its year."""
        return self.paper if self.year is None else f"{self.paper}, {self.year}"


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "majority", "Majority", majority, MajorityConfig,
            "no paper", None,
            "every node gets the most frequent training class", "O(N C)", "O(N C)", learns=False,
        ),
        Model(
            "twin-copy", "Twin-Copy", twin_copy, TwinCopyConfig,
            "no paper", None,
            "copies the class of training nodes that have exactly the same neighbors",
            "O(|E| log |E| + N C)", "O(N C)", learns=False,
        ),
        Model(
            "mlp", "MLP", mlp, MLPConfig,
            "no single paper", 1986,
            "a perceptron on each node's own features", "O(nnz(X) h)", "O((N + F) h)",
        ),
        Model(
            "gcn", "GCN", gcn, GCNConfig,
            "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks", 2017,
            "two layers that average each neighborhood", "O((nnz(X) + |E|) h)", "O((N + F) h)",
        ),
        Model(
            "gat", "GAT", gat, GATConfig,
            "Veličković et al., Graph Attention Networks", 2018,
            "two layers that weigh each neighbor by attention", "O((nnz(X) + |E|) H h)",
            "O((|E| + (N + F) h) H)",
        ),
        Model(
            "gcnii", "GCNII", gcnii, GCNIIConfig,
            "Chen et al., Simple and Deep Graph Convolutional Networks", 2020,
            "many layers, each mixed with the first and close to the identity",
            "O((nnz(X) + L |E|) h + L N h²)", "O(F h + L (N + h) h)",
        ),
        Model(
            "gcnii-star", "GCNII*", gcnii, GCNIIStarConfig,
            "Chen et al., Simple and Deep Graph Convolutional Networks", 2020,
            "GCNII with a map each for the neighborhood and the first layer",
            "O((nnz(X) + L |E|) h + L N h²)", "O(F h + L (N + h) h)",
        ),
        Model(
            "mixhop", "MixHop", mixhop, MixHopConfig,
            "Abu-El-Haija et al., MixHop: Higher-Order Graph Convolutional Architectures via Sparsified "
            "Neighborhood Mixing", 2019,
            "layers that set several powers of the propagation matrix side by side",
            "O((nnz(X) + L |E| K) K h + L N K² h²)", "O(K (L N + F) h)",
        ),
        Model(
            "h2gcn", "H2GCN", h2gcn, H2GCNConfig,
            "Zhu et al., Beyond Homophily in Graph Neural Networks: "
            "Current Limitations and Effective Designs", 2020,
            "keeps a node, its neighbors and those at distance two apart", "O((nnz(X) + |A₂| 2^K) h)",
            "O(|A₂| + 2^K N h + F h)",
        ),
        Model(
            "ugcn", "UGCN", ugcn, UGCNConfig,
            "Jin et al., Universal Graph Convolutional Networks", 2021,
            "attention over neighbors, nodes two steps away and nodes alike in features",
            "O((nnz(X) + Σ|E_m|) H h), once O(N nnz(X))", "O((Σ|E_m| + (N + F) h) H)",
        ),
        Model(
            "wrgat", "WRGAT", wrgat, WRGATConfig,
            "Suresh et al., Breaking the Limit of Graph Neural Networks by Improving the Assortativity "
            "of Graphs with Local Mixing Patterns", 2021,
            "attention over relations that join nodes in alike places", "O(nnz(X) R h + R N log N h)",
            "O(R (N log N + F h) + N h)",
        ),
        Model(
            "gpr-gnn", "GPR-GNN", gpr_gnn, GPRGNNConfig,
            "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network", 2021,
            "a perceptron's output, propagated with a learned weight for every step",
            "O(nnz(X) h + K |E| C)", "O((N + F) h + K N C)",
        ),
        Model(
            "linkx", "LINKX", linkx, LINKXConfig,
            "Lim et al., Large Scale Learning on Non-Homophilous Graphs: "
            "New Benchmarks and Strong Simple Methods", 2021,
            "perceptrons of the rows of A and of the features, joined", "O((nnz(X) + |E| + N h) h)",
            "O((N + F) h)", rows=("edges.maps.0.weights.0",),
        ),
        Model(
            "ggcn", "GGCN", ggcn, GGCNConfig,
            "Yan et al., Two Sides of the Same Coin: "
            "Heterophily and Oversmoothing in Graph Convolutional Neural Networks", 2022,
            "adds neighbors that resemble a node and subtracts those that oppose it", "O((nnz(X) + |E| L) h)",
            "O(L (|E| + N h) + F h)",
        ),
        Model(
            "acm-gcn", "ACM-GCN", acm_gcn, ACMGCNConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "mixes what neighbors share, how a node differs from them, and the node",
            "O((nnz(X) + |E|) h)", "O((N + F) h)",
        ),
        Model(
            "acmii-gcn", "ACMII-GCN", acm_gcn, ACMIIGCNConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "ACM-GCN with the ReLU before the filters", "O((nnz(X) + |E|) h)", "O((N + F) h)",
        ),
        Model(
            "acm-gcn-plus", "ACM-GCN+", acm_gcn, ACMGCNPlusConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "ACM-GCN with a fourth channel of the edges alone", "O((nnz(X) + |E|) h)", "O((N + F) h)",
            rows=("first.structure", "second.structure"),
        ),
        Model(
            "acmii-gcn-plus", "ACMII-GCN+", acm_gcn, ACMIIGCNPlusConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "ACM-GCN+ with the ReLU before the filters", "O((nnz(X) + |E|) h)", "O((N + F) h)",
            rows=("first.structure", "second.structure"),
        ),
        Model(
            "glognn", "GloGNN", glognn, GloGNNConfig,
            "Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily", 2022,
            "collects from all nodes by coefficients in closed form", "O(nnz(X) h + L (N C² + K |E| C))",
            "O((N + F) h + L K N C)", rows=("of_edges.weights.0",),
        ),
        Model(
            "glognn-plus", "GloGNN++", glognn, GloGNNPlusConfig,
            "Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily", 2022,
            "GloGNN with a learned weight for every class", "O(nnz(X) h + L (N C² + K |E| C))",
            "O((N + F) h + L K N C)", rows=("of_edges.weights.0",),
        ),
        Model(
            "hdp-init", "HDP-Init", hdp_init, HDPConfig,
            "Zheng et al., Heterophilous Distribution Propagation for Graph Neural Networks", 2024,
            "HDP's initial assignment alone: a perceptron of X, X^nb and X^str", "O(nnz(X) h + |E| K)",
            "O((N + F) h)", fields=INITIAL_FIELDS, unread=unread, numbers=frozen_numbers, replay=replay_init,
        ),
        Model(
            "hdp", "HDP", hdp, HDPConfig,
            "Zheng et al., Heterophilous Distribution Propagation for Graph Neural Networks", 2024,
            "splits each neighborhood by soft assignments and propagates both parts", "O(|E'| D L)",
            "O(|E'| + (N + F) h)", first="hdp-init", numbers=frozen_numbers, replay=replay,
        ),
        Model(
            "hdp-directed-init", "HDP-Init (directed)", hdp_init, HDPDirectedConfig,
            "no paper, after HDP-Init", None,
            "HDP-Init with X^nb and X^str of what a node links to", "O(nnz(X) h + |E| K)",
            "O((N + F) h)", fields=INITIAL_FIELDS, unread=unread, numbers=frozen_numbers, replay=replay_init,
        ),
        Model(
            "hdp-directed", "HDP (directed)", hdp, HDPDirectedConfig,
            "no paper, after HDP", None,
            "HDP with X^nb and X^str of what a node links to", "O(|E'| D L)",
            "O(|E'| + (N + F) h)", first="hdp-directed-init", numbers=frozen_numbers, replay=replay,
        ),
    )
}  # fmt: skip
"""Models by name: two rules that learn nothing, then the order of Table 1."""


def find_model(name: str) -> Model:
    """Return the model of a name or title, in any case; an unknown one is refused with those there are."""
    titles = {model.title.lower(): model.name for model in MODELS.values()}
    wanted = name.strip().lower()
    found = MODELS.get(wanted) or MODELS.get(titles.get(wanted, ""))
    if found is None:
        raise ConfigError(no_such("model", name, MODELS, also=titles))
    return found


def register(model: Model) -> None:
    """Add a model to the registry, from a file of your own; a name that is taken is refused."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", model.name):
        raise ConfigError(
            f"a model's name has lower-case letters, digits and hyphens; {model.name!r} is none, "
            f"{re.sub(r'[^a-z0-9]+', '-', model.name.lower()).strip('-')!r} would do"
        )
    if model.name in MODELS and MODELS[model.name] != model:
        raise ConfigError(f"there is a model {model.name!r} already; choose another name")
    MODELS[model.name] = model
