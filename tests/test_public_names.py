"""The public names: few, fetched when first asked for, and the same objects as in their homes."""

from __future__ import annotations

import importlib

import pytest

import heterophily


def test_every_public_name_is_there_and_listed() -> None:
    for name in heterophily.__all__:
        assert name in dir(heterophily)
        assert getattr(heterophily, name) is not None
    assert heterophily.load is importlib.import_module("heterophily.graph.datasets").load


def test_what_a_user_catches_or_draws_is_public() -> None:
    for name in ("random_splits", "GraphError", "ConfigError", "MissingClassWarning"):
        assert name in heterophily.__all__
    graph = importlib.import_module("heterophily.graph")
    for name in ("random_splits", "GraphError", "MissingClassWarning"):
        assert name in graph.__all__ and getattr(graph, name) is getattr(heterophily, name)


def test_every_public_name_has_a_home() -> None:
    assert set(heterophily._HOMES) | {"__version__"} == set(heterophily.__all__)


def test_a_name_that_is_not_there_is_refused_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'heterophily' has no attribute 'lode'"):
        _ = heterophily.lode
