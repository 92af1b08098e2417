"""GloGNN (Li et al., ICML 2022): every node collects from all nodes, by coefficients in closed form.

With P = D⁻¹(A + I) and H₀ = Lin₂(drop(ReLU(δ Lin₁(X) + (1 - δ) Lin₃(P)))), one column per class, each of
the L layers takes the matrix Z (N × N, never built) with the smallest

    ‖H - (1-γ) Z H - γ H₀‖² + α ‖Z‖² + β ‖Z - Σ_k λ_k P^k‖²,   k = 1 … K

and sets H ← (1-γ) Z H + γ H₀. With G = HᵀH this is, in an order that is linear in the graph,

    Q = (1-γ) H [(1-γ)² G + (α+β) I]⁻¹,  T = HᵀQ,  V = Σ_k λ_k P^k Q
    H ← (1-γ) H T + β V - γ (1-γ) H₀ T + γ H₀

GloGNN++ learns a diagonal D, one weight per class: Q ← Q D, then T = D HᵀQ. λ and D are shared by the
layers. Time O(nnz(X) h + |E| h [δ < 1] + L (N C² + K |E| C)), memory O(N (h + L K C)); Lin₁ is there only
with δ > 0, Lin₃ with its N h weights only with δ < 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.adjacency import adjacency
from heterophily.config import Choice, ConfigError, Count, Integer, Share
from heterophily.graph import Graph, Split
from heterophily.layers import Dropout, FeatureLinear
from heterophily.sparse import Features, SparseMatrix, multiply
from heterophily.stage import Procedure, drawn, node_features
from heterophily.supervised import TrainingConfig, supervised


@dataclass(frozen=True, kw_only=True)
class GloGNNConfig(TrainingConfig):
    """Settings of GloGNN."""

    weight_decay: Annotated[float, Choice(0.0, 1e-5, 5e-5, 1e-4, 1e-3)] = 5e-5
    """Weight decay (L2, as in Adam)."""
    hidden_dim: Annotated[Count, Choice(32, 64, 128)] = 64
    """Hidden width."""
    dropout: Annotated[Share, Choice(0.0, 0.4, 0.5, 0.6, 0.8)] = 0.5
    """Dropout on the hidden layer."""
    alpha: Annotated[float, Choice(0.0, 0.5, 1.0, 10.0)] = 1.0
    """α: weight of ‖Z‖²."""
    beta: Annotated[float, Choice(0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)] = 1.0
    """β: weight of ‖Z - Σ_k λ_k P^k‖², which draws Z to the edges."""
    gamma: Annotated[Share, Choice(0.0, 0.1, 0.2, 0.4, 0.6, 0.8)] = 0.2
    """γ: share of H₀ in every layer."""
    delta: Annotated[float, Choice(0.0, 0.5, 0.9, 1.0)] = 1.0
    """δ: share of the features in H₀; the rest, if any, is of the edges."""
    layers: Annotated[Count, Integer(1, 3)] = 2
    """L: layers of propagation."""
    hops: Annotated[Count, Integer(1, 6)] = 2
    """K: the highest power of P."""
    diagonal: bool = False
    """Learn a weight for every column of H, as GloGNN++ does."""
    feature_norm: Annotated[Literal["none", "row"], Choice("none", "row")] = "row"
    """X as given, or every row divided by its sum of absolute values."""

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        if self.alpha + self.beta == 0:
            raise ConfigError(f"{owner}: alpha and beta are both 0, so Z is not unique; raise one of them")
        if self.delta > 1:
            raise ConfigError(f"{owner}: delta must be at most 1, not {self.delta}")


@dataclass(frozen=True, kw_only=True)
class GloGNNPlusConfig(GloGNNConfig):
    """Settings of GloGNN++."""

    diagonal: bool = True
    """Learn a weight for every column of H, as GloGNN++ does."""


class Propagation(nn.Module):
    """The layers of propagation: H from all nodes, starting at H₀.

    Computed in float64: there are only as many columns as classes, and HᵀH is ill-conditioned.
    """

    alpha: Tensor
    beta: Tensor
    gamma: Tensor

    def __init__(self, classes: int, config: GloGNNConfig):
        super().__init__()
        self.layers = config.layers
        self.powers = nn.Parameter(torch.full((config.hops,), 1 / config.hops))  # λ
        self.diagonal = nn.Parameter(torch.full((classes,), 1 / classes)) if config.diagonal else None  # D
        for name in ("alpha", "beta", "gamma"):
            self.register_buffer(name, torch.tensor(getattr(config, name)), persistent=False)

    def forward(self, h0: Tensor, p: SparseMatrix) -> Tensor:
        """Return (N, C)."""
        dtype = h0.dtype
        h = h0 = h0.double()
        p = p._replace(val=p.val.double())
        for _ in range(self.layers):
            h = self.layer(h, h0, p)
        return h.to(dtype)

    def layer(self, h: Tensor, h0: Tensor, p: SparseMatrix) -> Tensor:
        """Return (1-γ) Z H + γ H₀ of the best Z."""
        alpha, beta, gamma = self.alpha.double(), self.beta.double(), self.gamma.double()
        rest = 1 - gamma
        eye = torch.eye(h.shape[1], dtype=h.dtype, device=h.device)
        q = h @ (rest * inverse(rest**2 * (h.T @ h) + (alpha + beta) * eye))
        if self.diagonal is not None:
            q = q * self.diagonal
        t = h.T @ q
        if self.diagonal is not None:
            t = self.diagonal.unsqueeze(1) * t
        power, v = q, torch.zeros_like(q)
        for weight in self.powers:
            power = multiply(p, power)
            v = v + weight * power
        return (h - gamma * h0) @ (rest * t) + beta * v + gamma * h0

    def extra_repr(self) -> str:
        return f"layers={self.layers}"


class GloGNN(nn.Module):
    """A perceptron of features and edges, then propagation."""

    delta: Tensor

    def __init__(self, features: int, nodes: int, classes: int, config: GloGNNConfig):
        super().__init__()
        delta, hidden = config.delta, config.hidden_dim
        self.register_buffer("delta", torch.tensor(delta), persistent=False)
        self.of_features = FeatureLinear([features], hidden) if delta > 0 else None
        self.of_edges = FeatureLinear([nodes], hidden) if delta < 1 else None
        self.drop = Dropout(config.dropout)
        self.second = nn.Linear(hidden, classes)
        self.propagate = Propagation(classes, config)

    def forward(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return logits, (N, K)."""
        out: Tensor = self.propagate(self.second(self.drop(F.relu(self.hidden(x, p)))), p)
        return out

    def hidden(self, x: Features, p: SparseMatrix) -> Tensor:
        """Return δ Lin₁(X) + (1 - δ) Lin₃(P), (N, h)."""
        parts = []
        if self.of_features is not None:
            parts.append(self.delta * self.of_features([x]))
        if self.of_edges is not None:
            parts.append((1 - self.delta) * self.of_edges([p]))
        first, *others = parts
        return first + others[0] if others else first


def inverse(m: Tensor) -> Tensor:
    """Invert a symmetric positive definite matrix by plain operations, which a CUDA graph can replay.

    Such a matrix needs no pivoting. The elimination runs without gradients; one step of Newton's method,
    Y (2I - M Y), leaves the inverse where it is, up to rounding, and has its gradient, -Y dM Y.
    """
    size = m.shape[0]
    eye = torch.eye(size, dtype=m.dtype, device=m.device)
    both = torch.cat([m.detach(), eye], 1)
    for k in range(size):
        row = both[k] / both[k, k]
        both = torch.where(eye[k].bool().unsqueeze(1), row, both - both[:, k].unsqueeze(1) * row)
    y = both[:, size:]
    return y @ (2 * eye - m @ y)


def glognn(graph: Graph, split: Split, config: GloGNNConfig, seed: int) -> Procedure:
    """Train GloGNN or GloGNN++ with cross-entropy."""
    x = node_features(graph, config.feature_norm)
    module = drawn(seed, GloGNN, graph.num_features, graph.num_nodes, graph.num_classes, config)
    name = "GloGNN++" if config.diagonal else "GloGNN"
    return supervised(module, (x, adjacency(graph, "walk")), graph, split, config, name)
