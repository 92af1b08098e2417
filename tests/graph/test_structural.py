"""Structural similarity against plain loops and against values worked out by hand."""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heterophily.graph import Graph, load, structural, synthetic
from heterophily.graph.structural import Ring, Similarity, candidates, dtw, levels, rings, similarity

Sequence = list[tuple[int, int]]

sequences = st.dictionaries(st.integers(1, 40), st.integers(1, 30), min_size=1, max_size=9).map(
    lambda counts: sorted(counts.items())
)


def graph_of(edges: list[tuple[int, int]], num_nodes: int) -> Graph:
    index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Graph(None, [0] * num_nodes, index)


def between(found: Similarity, u: int, v: int) -> list[float]:
    """f_0, f_1, … of a pair, as far as it reaches."""
    (where,) = ((found.pairs == [[min(u, v)], [max(u, v)]]).all(0)).nonzero()[0]
    far: list[float] = found.distance[:, where].tolist()
    return [f for f in far if math.isfinite(f)]


def ring_of(some: list[Sequence]) -> Ring:
    parts = [(np.array([len(s)]), *np.array(s, float).reshape(-1, 2).T) for s in some]
    ring = Ring.join(parts)
    return ring._replace(degree=ring.degree + 0.5)


def plain_dtw(a: Sequence, b: Sequence) -> float:
    best = np.full((len(a) + 1, len(b) + 1), np.inf)
    best[0, 0] = 0
    for i, (d, n) in enumerate(a, 1):
        for j, (e, m) in enumerate(b, 1):
            cost = ((max(d, e) + 0.5) / (min(d, e) + 0.5) - 1) * max(n, m)
            best[i, j] = cost + min(best[i - 1, j], best[i, j - 1], best[i - 1, j - 1])
    return float(best[-1, -1])


def plain_rings(graph: Graph, node: int) -> list[Sequence]:
    edges = set(map(tuple, graph.undirected().edge_index.T.tolist()))
    near = {u: [v for v in range(graph.num_nodes) if (u, v) in edges] for u in range(graph.num_nodes)}
    seen, ring, found = {node}, {node}, []
    while ring:
        degrees = [len(near[u]) for u in ring]
        found.append(sorted((d, degrees.count(d)) for d in set(degrees)))
        ring = {v for u in ring for v in near[u]} - seen
        seen |= ring
    return found


# Values


def test_the_distances_on_a_path_are_those_worked_out_by_hand() -> None:
    found = similarity(graph_of([(0, 1), (1, 2), (2, 3)], 4), depth=5)
    assert between(found, 0, 3) == [0, 0, 0, 0]
    assert between(found, 0, 1) == pytest.approx([2 / 3, 4 / 3, 2])


def test_the_distances_between_hub_and_leaf_of_a_star_are_those_worked_out_by_hand() -> None:
    found = similarity(graph_of([(0, 1), (0, 2), (0, 3)], 4), depth=2)
    assert between(found, 0, 2) == pytest.approx([4 / 3, 16 / 3])
    assert between(found, 1, 3) == [0, 0, 0]


def test_texas_has_the_edges_that_were_counted_before(data_folder: Path) -> None:
    with pytest.warns(UserWarning, match="no training node"):
        graph = load("texas", data_folder)
    found = similarity(graph, depth=10)
    reached = np.isfinite(found.distance)
    assert reached.any(1).sum() == 9
    assert (2 * found.listed * reached).sum() + graph.undirected().num_edges == 36_736


@given(st.lists(st.tuples(sequences, sequences), min_size=1, max_size=8))
def test_all_pairs_at_once_are_matched_as_one_by_one_in_a_double_loop(
    pairs: list[tuple[Sequence, Sequence]],
) -> None:
    ring = ring_of([s for pair in pairs for s in pair])
    u = np.arange(0, 2 * len(pairs), 2)
    np.testing.assert_allclose(dtw(ring, u, u + 1), [plain_dtw(*pair) for pair in pairs], rtol=1e-12)
    np.testing.assert_array_equal(dtw(ring, u, u + 1), dtw(ring, u + 1, u))
    np.testing.assert_array_equal(dtw(ring, u, u), 0)


@given(st.integers(2, 14), st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=30))
def test_distances_are_those_of_plain_searches_from_every_node(n: int, edges: list[tuple[int, int]]) -> None:
    graph = graph_of([(u % n, v % n) for u, v in edges], n)  # loops and lonely nodes among them
    found = similarity(graph, depth=4)
    around = [plain_rings(graph, node) for node in range(n)]
    for u, v in found.pairs.T:
        both = list(zip(around[u], around[v], strict=False))[:5]
        expected = np.cumsum([plain_dtw(a, b) for a, b in both])
        assert between(found, u, v) == pytest.approx(expected)
        assert (np.diff([0, *between(found, u, v)]) >= 0).all()
    lonely = set(range(n)) - set(graph.edge_index.flatten().tolist())
    assert not lonely & set(found.pairs.flatten().tolist())


@given(st.sets(st.sampled_from([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]), min_size=1))
def test_nodes_that_an_automorphism_exchanges_are_at_no_distance(edges: set[tuple[int, int]]) -> None:
    twice = graph_of([*edges, *((u + 4, v + 4) for u, v in edges)], 8)
    found = similarity(twice, depth=3)
    for u in {u for edge in edges for u in edge}:
        assert set(between(found, u, u + 4)) == {0}


@given(st.lists(st.integers(1, 9), min_size=1, max_size=25).map(sorted), st.integers(1, 7))
def test_each_node_is_compared_with_those_of_the_closest_degrees(degree: list[int], most: int) -> None:
    listed: dict[tuple[int, int], int] = {}
    for u, d in enumerate(degree):
        others = [v for v in range(len(degree)) if v != u]
        others.sort(key=lambda v: (abs(degree[v] - d), -degree[v], v))
        for v in others[:most]:
            pair = (min(u, v), max(u, v))
            listed[pair] = listed.get(pair, 0) + 1
    pairs, times = candidates(np.array(degree), most)
    found = dict(zip(map(tuple, pairs.T.tolist()), times.tolist(), strict=True))
    assert found == listed


def test_there_are_two_log_n_plus_one_candidates() -> None:
    found = similarity(graph_of([(i, (i + 1) % 20) for i in range(20)], 20), depth=0)
    assert found.listed.sum() == 20 * 9


# Blocks, bounds


def test_blocks_and_batches_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = synthetic(num_nodes=150, num_classes=3, splits=1)
    whole = similarity(graph, depth=3)
    monkeypatch.setattr(structural, "REACH", 1)  # 64 sources at a time
    monkeypatch.setattr(structural, "CELLS", 1)  # one pair at a time
    for one, other in zip(whole, similarity(graph, depth=3), strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60).map(sorted), st.integers(1, 20))
def test_too_many_degrees_are_rounded_within_the_bound(degree: list[int], most: int) -> None:
    size = np.array(degree) + 0.5
    value, starts = levels(np.array(degree), most)
    assert len(value) <= max(most, 1)
    rounded = value.repeat(np.diff([*starts, len(degree)]))
    if len(set(degree)) <= most:
        np.testing.assert_array_equal(rounded, size)
    else:
        factor = (size[-1] / size[0]) ** (1 / most) * (1 + 1e-9)
        assert (np.maximum(rounded / size, size / rounded) <= factor).all()


def test_rings_of_rounded_degrees_have_as_many_nodes() -> None:
    graph = synthetic(num_nodes=120, num_classes=3, average_degree=12, splits=1)
    found, rough = (similarity_rings(graph, most) for most in (1000, 4))
    for one, other in zip(found, rough, strict=True):
        assert other.length.max() <= 4 < one.length.max() or one.length.max() <= 4
        np.testing.assert_array_equal(sums(one), sums(other))


def similarity_rings(graph: Graph, most: int) -> list[Ring]:
    """The rings to depth 2, of nodes numbered by degree."""
    row, col = graph.undirected().edge_index.numpy()
    degree = np.bincount(row, minlength=graph.num_nodes)
    nodes = np.argsort(degree, kind="stable")
    place = np.argsort(nodes)
    assert degree.min() > 0
    return rings(degree[nodes], place[col][np.argsort(place[row], kind="stable")], 2, most)


def sums(ring: Ring) -> np.ndarray:
    return np.array([ring.number[s : s + n].sum() for s, n in zip(ring.start, ring.length, strict=True)])


def test_a_graph_without_edges_has_no_pairs() -> None:
    found = similarity(graph_of([], 5), depth=2)
    assert found.pairs.shape == (2, 0) and found.distance.shape == (3, 0)


# The cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path))
    monkeypatch.setattr(structural, "SLOW", -1.0)
    return tmp_path / "structural"


def test_what_was_kept_is_what_was_computed_and_is_not_computed_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = synthetic(num_nodes=60, num_classes=3, splits=1)
    first = similarity(graph, 2)
    assert len(list(cache.iterdir())) == 1  # and nothing half written
    monkeypatch.setattr(structural, "compute", None)
    for one, other in zip(first, similarity(graph, 2), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("harm", ["cut", "bits", "text", "other depth"])
def test_a_damaged_file_is_computed_anew(cache: Path, harm: str) -> None:
    graph = synthetic(num_nodes=60, num_classes=3, splits=1)
    first = similarity(graph, 2)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    middle = len(whole) // 2
    if harm == "other depth":
        np.savez(file, **first._replace(distance=first.distance[:1])._asdict())
    else:
        bits = whole[:middle] + bytes(b ^ 255 for b in whole[middle : middle + 8]) + whole[middle + 8 :]
        file.write_bytes({"cut": whole[:middle], "bits": bits, "text": b"hello"}[harm])
    for one, other in zip(first, similarity(graph, 2), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.load(file)["distance"].shape == first.distance.shape


def test_a_file_is_found_by_the_content_of_the_graph(cache: Path) -> None:
    path = [(0, 1), (1, 2), (2, 3)]
    similarity(graph_of(path, 4), 1)
    similarity(graph_of([(3, 2), (1, 0), (2, 1), (1, 2)], 4), 1)  # the same graph, listed otherwise
    assert len(list(cache.iterdir())) == 1
    for graph, depth in ((graph_of([*path, (3, 3)], 4), 1), (graph_of(path, 5), 1), (graph_of(path, 4), 2)):
        before = len(list(cache.iterdir()))
        similarity(graph, depth)
        assert len(list(cache.iterdir())) == before + 1


def test_a_cache_folder_that_cannot_be_written_is_no_error(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HETEROPHILY_CACHE", str(tmp_path / "file"))
    assert between(similarity(graph_of([(0, 1)], 2), 0), 0, 1) == [0]


def test_what_took_no_time_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural, "SLOW", 1.0)
    similarity(graph_of([(0, 1)], 2), 0)
    assert not cache.exists()


# What is shown


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Proxied(Screen):
    rich_proxied_file = None


@pytest.mark.parametrize("stream, shown", [(Screen, True), (Proxied, False), (io.StringIO, False)])
def test_a_bar_is_drawn_in_a_terminal_without_a_live_line(
    stream: Any, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = stream()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    similarity(graph_of([(0, 1)], 2), 0)
    assert ("structural similarity" in screen.getvalue()) == shown
