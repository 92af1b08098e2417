"""What a graph is, where it comes from, what is wrong with it."""

from heterophily.graph.datasets import DATASETS, load
from heterophily.graph.graph import Graph, Split
from heterophily.graph.synthetic import synthetic

__all__ = ["Graph", "Split", "load", "DATASETS", "synthetic"]
