"""How good a partition of the edges is, judged by the true labels once training is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class PartitionQuality:
    """The verdicts on the edges against the truth.

    Precision and recall leave out what is no feat: self-loops, and edges between two training nodes.
    """

    homophily: float
    """True share of homophilous edges, self-loops aside."""
    with_loops: float
    """The same with self-loops, which E' contains and the estimate of Eq. 1 refers to."""
    precision: float
    """Share of truly homophilous edges among those marked homophilous; NaN if none is marked."""
    recall: float
    """Share of edges marked homophilous among the truly homophilous ones; NaN if there are none."""


def with_truth(edges: pd.DataFrame, labels: NDArray[Any], train: NDArray[Any]) -> pd.DataFrame:
    """Add to an edge table the classes of both ends, whether they agree and whether training knew both.

    ``labels`` (N,) are the true ones, -1 where unknown: edges of such nodes are left out. ``train`` (N,)
    marks the training nodes.
    """
    u, v = edges["source"].to_numpy(), edges["target"].to_numpy()
    table = edges.assign(
        source_class=labels[u],
        target_class=labels[v],
        same_class=labels[u] == labels[v],
        known=train[u] & train[v],
    )
    return table[(labels[u] >= 0) & (labels[v] >= 0)]


def judge_partition(edges: pd.DataFrame) -> PartitionQuality:
    """Compare the verdicts of an edge table with the truth that ``with_truth`` has added."""
    proper = edges[edges["source"] != edges["target"]]
    judged = proper[~proper["known"]]
    marked, same = judged["verdict"] == "homophilous", judged["same_class"]
    return PartitionQuality(
        homophily=_share(proper["same_class"]),
        with_loops=_share(edges["same_class"]),
        precision=_share(same[marked]),
        recall=_share(marked[same]),
    )


def _share(column: pd.Series) -> float:
    return float(column.mean()) if len(column) else float("nan")
