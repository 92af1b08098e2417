"""What a graph is, where it comes from, what is wrong with it."""

from heterophily.graph.datasets import DATASETS, load
from heterophily.graph.graph import Graph, GraphError, MissingClassWarning, Split, random_splits
from heterophily.graph.homophily import Homophily, homophily, local_homophily
from heterophily.graph.synthetic import synthetic

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
