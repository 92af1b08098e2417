"""Node classification on graphs whose neighbors disagree."""

from heterophily._version import __version__
from heterophily.estimator import HDPClassifier
from heterophily.graph import Graph, Split
from heterophily.graph.datasets import load
from heterophily.models import MODELS

__all__ = ["MODELS", "Graph", "HDPClassifier", "Split", "__version__", "load"]
