"""What a graph is, where it comes from, what is wrong with it."""

from heterophily.graph.graph import Graph, Split

__all__ = ["Graph", "Split"]
