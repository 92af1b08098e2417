"""What a graph is, where it comes from, what is wrong with it."""

from typing import TYPE_CHECKING, Any

from heterophily.graph.graph import Graph, GraphError, MissingClassWarning, Split, random_splits
from heterophily.graph.homophily import Homophily, homophily, local_homophily
from heterophily.graph.synthetic import synthetic

if TYPE_CHECKING:
    from heterophily.graph.datasets import DATASETS, load

__all__ = [
    "Graph",
    "Split",
    "random_splits",
    "load",
    "DATASETS",
    "synthetic",
    "Homophily",
    "homophily",
    "local_homophily",
    "GraphError",
    "MissingClassWarning",
]


def __getattr__(name: str) -> Any:
    """Import PyG, which takes seconds and 100 MB, when a dataset is asked for and not before."""
    if name not in ("DATASETS", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from heterophily.graph import datasets

    return getattr(datasets, name)
