"""The registry: every model by name, with its config, paper and cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heterophily.baselines.mlp import MLPConfig, mlp
from heterophily.config import Config
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
            "hdp", "HDP", hdp, HDPConfig,
            "Zheng et al., Heterophilous Distribution Propagation for Graph Neural Networks", 2024,
            "splits each neighborhood by soft assignments and propagates both parts", "O(|E'| D l)",
        ),
    )
}  # fmt: skip
"""Models by name, in the order of Table 1."""
