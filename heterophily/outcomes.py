"""What is left of a run, as tables: probabilities of the nodes, verdicts on the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

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
