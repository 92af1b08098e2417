"""Assignment initialization: an MLP on chosen features gives the first soft assignments (Eq. 20-22)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from heterophily.layers import MLP
from heterophily.sparse import Features, SparseMatrix, smooth


def neighbor_features(adjacency: SparseMatrix, x: Features, normalization: str) -> Features:
    """Return X^nb = ÂX with the symmetric or the random-walk normalization of A (Eq. 20)."""
    return smooth(adjacency.normalized(normalization), x)


class InitialAssignment(nn.Module):
    """MLP^init of Eq. 22; a softmax over its logits is the first soft assignment Z."""

    def __init__(
        self, widths: Sequence[int], hidden: int, classes: int, dropout: float, input_dropout: float
    ):
        super().__init__()
        self.mlp = MLP(widths, hidden, classes, dropout, input_dropout)

    def forward(self, x_all: Sequence[Features]) -> Tensor:
        """Return logits, (N, K)."""
        logits: Tensor = self.mlp(x_all)
        return logits
