"""What is left of a run: probabilities of the nodes, verdicts on the edges, representations, prototypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from heterophily.hdp.model import Representations
from heterophily.hdp.prototypes import prototypes
from heterophily.stage import Outcome, Trained


def probabilities(trained: Trained) -> NDArray[Any]:
    """Return the class probabilities of every node, (N, K)."""
    found: NDArray[Any] = torch.softmax(trained.logits, -1).cpu().numpy()
    return found


def edge_table(outcome: Outcome) -> pd.DataFrame | None:
    """Return one row per edge of E': probability (Eq. 3), threshold (Eq. 4) and verdict (Eq. 5-6).

    The partition is the one the kept weights were trained and judged with. A model that splits no
    neighborhoods has no such table: None.
    """
    state = outcome.trained.state
    if "parts" not in state:
        return None
    edges, parts = state["edges"], state["parts"]
    return pd.DataFrame(
        {
            "source": edges.u.cpu(),
            "target": edges.v.cpu(),
            "probability": parts.probability.cpu(),
            "threshold": float(parts.threshold),
            "verdict": np.where(parts.is_homophilous.cpu(), "homophilous", "heterophilous"),
        }
    )


def representations(outcome: Outcome) -> Representations:
    """Return what a trained HDP computes for every node with its best weights: H, H^ego, H^hm and H^ht."""
    trained = outcome.trained
    with torch.no_grad():
        module = outcome.module.eval()
        found: Representations = torch.func.functional_call(
            module, trained.weights, (trained.state["blocks"], trained.state["parts"])
        )
    return found


def class_prototypes(outcome: Outcome, h: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of the trusted nodes of each class, (K, D), and which classes have one (Eq. 26).

    With H^ego for ``h`` they are the prototypes of the paper; any other representation has its own.
    """
    return prototypes(h, outcome.trained.state["trust"], outcome.trained.logits.shape[-1])
