"""The registry: every model by name, with its config, paper and cost."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from heterophily.baselines.acm_gcn import (
    ACMGCNConfig,
    ACMGCNPlusConfig,
    ACMIIGCNConfig,
    ACMIIGCNPlusConfig,
    acm_gcn,
)
from heterophily.baselines.gcn import GCNConfig, gcn
from heterophily.baselines.glognn import GloGNNConfig, GloGNNPlusConfig, glognn
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
            "acm-gcn", "ACM-GCN", acm_gcn, ACMGCNConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "each node mixes what its neighbors share, how it differs from them, and itself",
            "O((nnz(X) + |E|) h)",
        ),
        Model(
            "acmii-gcn", "ACMII-GCN", acm_gcn, ACMIIGCNConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "ACM-GCN with the ReLU before the filters", "O((nnz(X) + |E|) h)",
        ),
        Model(
            "acm-gcn-plus", "ACM-GCN+", acm_gcn, ACMGCNPlusConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "ACM-GCN with a fourth channel of the edges alone", "O((nnz(X) + |E|) h), N h weights",
        ),
        Model(
            "acmii-gcn-plus", "ACMII-GCN+", acm_gcn, ACMIIGCNPlusConfig,
            "Luan et al., Revisiting Heterophily For Graph Neural Networks", 2022,
            "ACM-GCN+ with the ReLU before the filters", "O((nnz(X) + |E|) h), N h weights",
        ),
        Model(
            "glognn", "GloGNN", glognn, GloGNNConfig,
            "Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily", 2022,
            "collects from all nodes by coefficients in closed form", "O(nnz(X) h + L (N C² + K |E| C))",
        ),
        Model(
            "glognn-plus", "GloGNN++", glognn, GloGNNPlusConfig,
            "Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily", 2022,
            "GloGNN with a learned weight for every class", "O(nnz(X) h + L (N C² + K |E| C))",
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
