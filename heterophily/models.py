"""The registry: every model by name, with its config, paper and cost."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from heterophily.baselines.gcn import GCNConfig, gcn
from heterophily.baselines.mlp import MLPConfig, mlp
from heterophily.baselines.wrgat import WRGATConfig, wrgat
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
            "wrgat", "WRGAT", wrgat, WRGATConfig,
            "Suresh et al., Breaking the Limit of Graph Neural Networks by Improving the Assortativity "
            "of Graphs with Local Mixing Patterns", 2021,
            "attention over relations that join nodes in alike places", "O(nnz(X) R h + R N log N h)",
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
