"""What is left of a run: probabilities, as they are and calibrated, verdicts on edges, representations."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.hdp.model import Representations
from heterophily.hdp.prototypes import prototypes
from heterophily.stage import Outcome, Trained


def probabilities(trained: Trained) -> NDArray[Any]:
    """Return the class probabilities of every node, (N, K)."""
    found: NDArray[Any] = torch.softmax(trained.logits, -1).cpu().numpy()
    return found


def network(outcome: Outcome) -> nn.Module:
    """Return a copy of the module with the weights that were kept, ready to be called."""
    like = outcome.trained.logits
    module = copy.deepcopy(outcome.module).to(like.device, like.dtype).eval().requires_grad_(False)
    for name, part in [*module.named_parameters(), *module.named_buffers()]:
        part.data = outcome.trained.weights[name]
    return module


def temperature(logits: Tensor, labels: Tensor, mask: Tensor) -> float:
    """Return the T for which softmax(logits / T) has the lowest cross-entropy on the nodes of ``mask``.

    One number, so that no prediction changes (Guo et al., ICML 2017). It is kept between 1/20 and 20, where
    few or perfectly predicted nodes would drive it to 0.
    """
    from scipy.optimize import minimize_scalar  # slow to import

    chosen, wanted = logits[mask].double(), labels[mask]

    def loss(log_t: float) -> float:
        return float(F.cross_entropy(chosen / math.exp(log_t), wanted))

    ends = math.log(20)
    return math.exp(minimize_scalar(loss, bounds=(-ends, ends), method="bounded").x)


def prediction_table(
    ids: Sequence[Any], classes: NDArray[Any], p: NDArray[Any], calibrated: NDArray[Any]
) -> pd.DataFrame:
    """Return one row per node: the predicted class, its probability, calibrated too, margin, every class's.

    The margin is that between the two most probable classes, calibrated.
    """
    best = p.argmax(1)
    top = np.sort(calibrated, 1)
    rows = np.arange(len(p))
    head = {
        "id": list(ids),
        "predicted": classes[best],
        "probability": p[rows, best],
        "calibrated": calibrated[rows, best],
        "margin": top[:, -1] - (top[:, -2] if top.shape[1] > 1 else 0),
    }
    every = {f"p_{name}": p[:, k] for k, name in enumerate(classes)}
    every |= {f"calibrated_{name}": calibrated[:, k] for k, name in enumerate(classes)}
    return pd.DataFrame(head | every)


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
            "threshold": parts.threshold.expand(
                edges.size
            ).cpu(),  # one for all edges, unless some came later
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
