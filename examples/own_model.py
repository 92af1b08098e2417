"""A model of your own in one file: SGC, simplified graph convolution (Wu et al., ICML 2019).

logits = P^K X W + b with P = S(A + I): K steps of averaging and one linear map.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

import heterophily
from heterophily.adjacency import adjacency
from heterophily.config import Choice, Count
from heterophily.graph import Graph, Split
from heterophily.models import Model
from heterophily.sparse import Features, SparseMatrix, multiply
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class SGCConfig(TrainingConfig):
    """Settings of SGC: its own, and those of any training."""

    steps: Annotated[Count, Choice(1, 2, 3, 4)] = 2
    """K: over how many steps a node averages."""


class SGC(nn.Module):
    """The linear map and the steps; one run, plain PyTorch."""

    def __init__(self, features: int, classes: int, steps: int):
        super().__init__()
        bound = 1 / math.sqrt(classes)
        self.weight = nn.Parameter(torch.empty(features, classes).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(classes))
        self.steps = steps

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return logits, (N, C); W first, as C is smaller than the number of features."""
        h = multiply(x, self.weight)
        for _ in range(self.steps):
            h = multiply(p, h)
        return h + self.bias


def sgc(graph: Graph, split: Split, config: SGCConfig, seed: int) -> Procedure:
    """Prepare what stays as it is, and train with cross-entropy."""
    module = drawn(seed, SGC, graph.num_features, graph.num_classes, config.steps)
    return supervised(
        module, (node_features(graph), adjacency(graph, "symmetric")), graph, split, config, "SGC"
    )


heterophily.register(
    Model(
        "sgc", "SGC", sgc, SGCConfig,
        "Wu et al., Simplifying Graph Convolutional Networks", 2019,
        "averages over K steps, then one linear map", "O((nnz(X) + K |E|) C)", "O((N + F) C)",
    )
)  # fmt: skip
