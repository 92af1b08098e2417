"""Rows of a graph, cut or read; and a whole run of one process that is alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from heterophily.bench.protocol import evaluate
from heterophily.config import ConfigError
from heterophily.distributed import shard
from heterophily.distributed.run import train
from heterophily.distributed.world import World, checked
from heterophily.graph import Graph, synthetic
from heterophily.graph.graph import GraphError
from heterophily.hdp.config import HDPConfig
from tests.distributed.job import a_graph
from tests.tiny import tiny_config, tiny_graph


def as_rank(rank: int, size: int) -> World:
    """A process of several that never speak to each other, as none has to when it reads."""
    here = World()
    here.rank, here.size = rank, size
    return here


@pytest.mark.parametrize("sparse", [False, True])
def test_a_folder_gives_each_process_the_rows_that_a_cut_gives(tmp_path: Path, sparse: bool) -> None:
    graph = a_graph(sparse)
    shard.write(graph, tmp_path)
    for rank in range(3):
        read, cut = (make(source, 1, as_rank(rank, 3)) for make, source in
                     ((shard.read, tmp_path), (shard.cut, graph)))  # fmt: skip
        assert read.facts == cut.facts | {"class_names": None} and read.bounds == cut.bounds
        for name in ("crow", "col", "y", "part"):
            assert torch.equal(getattr(read, name), getattr(cut, name))
        assert abs(read.x - cut.x).sum() == 0 and read.x.shape == (len(read.y), graph.num_features)
        assert len(read.y) < graph.num_nodes


def test_rows_are_shared_out_by_what_they_cost() -> None:
    even = shard.shares(np.arange(0, 101, 10), 4)
    assert even == [0, 3, 5, 8, 10]
    hub_first = np.concatenate([[0], 91 + np.arange(10)])
    assert shard.shares(hub_first, 2) == [0, 1, 10]  # the hub has nine tenths of the entries
    assert shard.shares(np.array([0, 90, 91, 92]), 3) == [0, 1, 2, 3]  # nobody goes empty


def test_more_processes_than_nodes_are_refused() -> None:
    with pytest.raises(ConfigError, match="5 processes for 4 nodes; each needs a node at least"):
        checked(5, 4)


def test_one_process_alone_scores_what_evaluate_scores() -> None:
    graph = tiny_graph()
    config = tiny_config("hdp")
    assert isinstance(config, HDPConfig)
    mine = train(shard.cut(graph, 2, World()), World(), config, 5).to_json()
    theirs = evaluate(graph, "hdp", config, [2], 5).to_json()
    for found in (mine, theirs):
        for row in (found, found["splits"][0], found["splits"][0]["initial"]):
            del row["seconds"]
    assert mine == theirs


def test_roc_auc_is_that_of_one_process() -> None:
    drawn = synthetic(60, num_classes=2, num_features=5, splits=1)
    graph = Graph(drawn.x, drawn.y, drawn.edge_index, drawn.splits, metric="roc_auc")
    config = tiny_config("hdp")
    assert isinstance(config, HDPConfig)
    mine = train(shard.cut(graph, 0, World()), World(), config).splits[0]
    theirs = evaluate(graph, "hdp", config, [0]).splits[0]
    assert (mine.validation, mine.test) == pytest.approx((theirs.validation, theirs.test))


def test_a_training_set_without_an_edge_is_refused_as_ever() -> None:
    graph = Graph(torch.ones(6, 1), [0, 1] * 3, [[0, 2, 4], [1, 3, 5]])
    masks = (torch.tensor([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]) > 0).unbind()
    graph = graph.with_splits(type(a_graph().splits[0])(*masks))
    with pytest.raises(GraphError, match="no edge of E' but self-loops joins two training nodes"):
        train(shard.cut(graph, 0, World()), World(), HDPConfig())


def test_directed_features_are_refused_where_rows_are_shared_out() -> None:
    with pytest.raises(ConfigError, match="directed_features is for one process"):
        train(shard.cut(a_graph(), 0, World()), World(), HDPConfig(directed_features=True))


def test_a_folder_that_is_not_whole_is_named(tmp_path: Path) -> None:
    shard.write(tiny_graph(), tmp_path)
    (tmp_path / "col.npy").unlink()
    with pytest.raises(GraphError, match=f"{re.escape(str(tmp_path))} is not whole"):
        shard.read(tmp_path, 0, World())
    with pytest.raises(GraphError, match="has no split 7; ask for one of its 3 splits, from 0"):
        shard.read(tmp_path, 7, World())
    with pytest.raises(GraphError, match="holds a graph already"):
        shard.write(tiny_graph(), tmp_path)
    with pytest.raises(GraphError, match="write a folder with `heterophily cut"):
        shard.read(tmp_path / "elsewhere", 0, World())
