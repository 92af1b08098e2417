"""The registry: every model by name, with its config, paper and cost."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from heterophily.baselines.gcn import GCNConfig, gcn
from heterophily.baselines.gcnii import GCNIIConfig, GCNIIStarConfig, gcnii
from heterophily.baselines.gpr_gnn import GPRGNNConfig, gpr_gnn
from heterophily.baselines.mixhop import MixHopConfig, mixhop
from heterophily.baselines.mlp import MLPConfig, mlp
from heterophily.config import Config, ConfigError
from heterophily.hdp import HDPConfig, hdp
from heterophily.stage import Procedure


@dataclass(frozen=True)
class Model:
    """A row of the registry."""

    name: str
    title: str
    procedure: Callable[..., Procedure]
    config: type[Config]
    paper: str
    year: int
    summary: str
    cost: str


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "mlp", "MLP", mlp, MLPConfig,
            "no single paper", 1986,
            "a perceptron on each node's own features", "O(nnz(X) h)",
        ),
        Model(
            "gcn", "GCN", gcn, GCNConfig,
            "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks", 2017,
            "two layers that average each neighborhood", "O((nnz(X) + |E|) h)",
        ),
        Model(
            "gcnii", "GCNII", gcnii, GCNIIConfig,
            "Chen et al., Simple and Deep Graph Convolutional Networks", 2020,
            "many layers, each mixed with the first and close to the identity",
            "O((nnz(X) + L |E|) h + L N h²)",
        ),
        Model(
            "gcnii-star", "GCNII*", gcnii, GCNIIStarConfig,
            "Chen et al., Simple and Deep Graph Convolutional Networks", 2020,
            "GCNII with a map each for the neighborhood and the first layer",
            "O((nnz(X) + L |E|) h + L N h²)",
        ),
        Model(
            "mixhop", "MixHop", mixhop, MixHopConfig,
            "Abu-El-Haija et al., MixHop: Higher-Order Graph Convolutional Architectures via Sparsified "
            "Neighborhood Mixing", 2019,
            "layers that set several powers of the propagation matrix side by side",
            "O((nnz(X) + L |E| K) K h + L N K² h²)",
        ),
        Model(
            "gpr-gnn", "GPR-GNN", gpr_gnn, GPRGNNConfig,
            "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network", 2021,
            "a perceptron's output, propagated with a learned weight for every step",
            "O(nnz(X) h + K |E| C)",
        ),
        Model(
            "hdp", "HDP", hdp, HDPConfig,
            "Zheng et al., Heterophilous Distribution Propagation for Graph Neural Networks", 2024,
            "splits each neighborhood by soft assignments and propagates both parts", "O(|E'| D l)",
        ),
    )
}  # fmt: skip
"""Models by name, in the order of Table 1."""


def find_model(name: str) -> Model:
    """Return the model of a name, in any case; an unknown one is refused with those there are."""
    wanted = name.strip().lower()
    if wanted not in MODELS:
        near = difflib.get_close_matches(wanted, MODELS, n=1)
        lead = f"did you mean {near[0]!r}? The" if near else "the"
        raise ConfigError(f"there is no model {name!r}; {lead} models are {', '.join(MODELS)}")
    return MODELS[wanted]
