"""A dataset of your own in one file: Zachary's karate club, which comes with PyTorch Geometric."""

from pathlib import Path

from torch_geometric.datasets import KarateClub

import heterophily
from heterophily import Graph, random_splits
from heterophily.graph.datasets import Facts, Source


def karate(folder: Path | None) -> Graph:
    """Read it; ``folder`` is what HETEROPHILY_DATA or --data names, for datasets that have files."""
    data = KarateClub()[0]
    splits = random_splits(data.y, 10, train=0.5, validation=0.25, seed=0, stratified=True)
    return Graph(data.x, data.y, data.edge_index, splits)


ZACHARY = Source(
    "Zachary, An Information Flow Model for Conflict and Fission in Small Groups",
    1977,
    "https://doi.org/10.1086/jar.33.4.3629752",
)
heterophily.register(
    Facts(
        "karate", "Karate club", karate, nodes=34, columns=156, edges=78, features=34, classes=4,
        homophily=0.756, source=ZACHARY, note="Classes are groups found by modularity, not Zachary's two.",
    )
)  # fmt: skip
