"""HDP's settings with one thing changed at a time."""

from __future__ import annotations

import torch

from benchmarks.levers import LEVERS, changed, renumbered
from heterophily.hdp import HDPConfig
from tests.tiny import tiny_graph


def test_every_lever_changes_a_recipe_whatever_it_says() -> None:
    for recipe in (HDPConfig(), HDPConfig(order=2, by_loss=True)):
        for change in LEVERS.values():
            now = changed(recipe, change)
            assert [name for name in recipe.to_dict() if now.to_dict()[name] != recipe.to_dict()[name]] == [
                name for name in recipe.to_dict() if name in change
            ]


def test_edges_between_other_nodes_keep_the_shape_of_the_graph_and_nothing_else() -> None:
    graph = tiny_graph()
    other = renumbered(graph, 3)
    degrees = [g.edge_index[0].bincount(minlength=g.num_nodes) for g in (graph, other)]
    assert torch.equal(degrees[0].sort().values, degrees[1].sort().values)
    assert not torch.equal(degrees[0], degrees[1])
    assert torch.equal(graph.y, other.y) and torch.equal(graph.x, other.x)
