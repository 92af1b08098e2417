"""Node classification on graphs whose neighbors disagree."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from heterophily._version import __version__

if TYPE_CHECKING:
    from heterophily import plot, studies
    from heterophily.bench.compare import compare
    from heterophily.bench.diagnosis import diagnose
    from heterophily.bench.reproduce import reproduce
    from heterophily.bench.scores import read_scores
    from heterophily.bench.tuning import tune
    from heterophily.config import ConfigError
    from heterophily.estimator import HDPClassifier, load_model, make_classifier
    from heterophily.folder import FolderError
    from heterophily.graph import Graph, GraphError, MissingClassWarning, Split, random_splits
    from heterophily.graph.audit import audit
    from heterophily.graph.datasets import load
    from heterophily.graph.homophily import homophily
    from heterophily.models import MODELS
    from heterophily.plugins import register
    from heterophily.reading import read, read_later

__all__ = [
    "MODELS",
    "ConfigError",
    "FolderError",
    "Graph",
    "GraphError",
    "HDPClassifier",
    "MissingClassWarning",
    "Split",
    "__version__",
    "compare",
    "audit",
    "diagnose",
    "homophily",
    "load",
    "load_model",
    "make_classifier",
    "plot",
    "random_splits",
    "read",
    "read_later",
    "read_scores",
    "register",
    "reproduce",
    "studies",
    "tune",
]

# Torch, PyG and scikit-learn take seconds to import, `heterophily --help` should not: names are fetched
# when first asked for.
_HOMES = {
    "MODELS": "heterophily.models",
    "ConfigError": "heterophily.config",
    "FolderError": "heterophily.folder",
    "Graph": "heterophily.graph",
    "GraphError": "heterophily.graph",
    "HDPClassifier": "heterophily.estimator",
    "MissingClassWarning": "heterophily.graph",
    "Split": "heterophily.graph",
    "compare": "heterophily.bench.compare",
    "audit": "heterophily.graph.audit",
    "diagnose": "heterophily.bench.diagnosis",
    "homophily": "heterophily.graph.homophily",
    "load": "heterophily.graph.datasets",
    "load_model": "heterophily.estimator",
    "make_classifier": "heterophily.estimator",
    "plot": "heterophily.plot",
    "random_splits": "heterophily.graph",
    "read": "heterophily.reading",
    "read_later": "heterophily.reading",
    "read_scores": "heterophily.bench.scores",
    "register": "heterophily.plugins",
    "reproduce": "heterophily.bench.reproduce",
    "studies": "heterophily.studies",
    "tune": "heterophily.bench.tuning",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = globals()[name] = home if home.__name__ == f"{__name__}.{name}" else getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
