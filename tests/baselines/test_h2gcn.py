"""H2GCN: who is at distance two, and a network that never mixes a node with its neighbors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from heterophily.adjacency import adjacency
from heterophily.baselines.h2gcn import H2GCN, distance_two
from heterophily.graph import Graph


def a_graph(edges: list[list[int]], nodes: int) -> Graph:
    x = torch.randn(nodes, 4)
    return Graph(x, torch.arange(nodes) % 2, torch.tensor(edges).T.reshape(2, -1))


def random_graph(nodes: int = 20) -> Graph:
    """Directed, with a loop, an isolated node and a pair of edges that go back and forth."""
    edges = torch.randint(nodes - 1, (2, nodes)).T.tolist()
    return a_graph([*edges, [0, 0], [1, 2], [2, 1]], nodes)


def dense_neighborhoods(graph: Graph) -> list[Tensor]:
    """S(A₁) and S(A₂) as the paper writes them."""
    n = graph.num_nodes
    one = torch.zeros(n, n)
    one[graph.edge_index[0], graph.edge_index[1]] = 1
    one = (one + one.T).clamp(max=1) * (1 - torch.eye(n))
    reached = torch.eye(n) + one
    scaled = []
    for m in (one, (reached @ reached > 0).float() - reached):
        degree = m.sum(1).clamp(min=1)
        scaled.append(m / (degree[:, None] * degree).sqrt())
    return scaled


def test_the_ends_of_a_path_of_three_nodes_are_at_distance_two_and_nobody_else() -> None:
    far = distance_two(a_graph([[0, 1], [1, 2]], 3)).to_dense()
    assert far.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_in_a_triangle_nobody_is_at_distance_two() -> None:
    assert not distance_two(a_graph([[0, 1], [1, 2], [2, 0]], 3)).to_dense().any()


def test_the_leaves_of_a_star_are_neighbors_at_distance_two_and_the_hub_has_none() -> None:
    m = 5
    graph = a_graph([[0, leaf] for leaf in range(1, m + 1)], m + 1)
    near, far = adjacency(graph, "symmetric", loops="none").to_dense(), distance_two(graph).to_dense()
    torch.testing.assert_close(near[0, 1:], torch.full((m,), m**-0.5))
    torch.testing.assert_close(far[1:, 1:], (1 - torch.eye(m)) / (m - 1))
    assert not far[0].any() and not far[:, 0].any()


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("bends", [True, False])
def test_the_network_is_the_paper_s_formula_written_densely(rounds: int, bends: bool) -> None:
    graph = random_graph()
    module = H2GCN(4, 3, 2, rounds, bends, dropout=0.5).eval()
    r = graph.x @ module.embed
    every = [r.relu() if bends else r]
    for _ in range(rounds):
        every.append(torch.cat([m @ every[-1] for m in dense_neighborhoods(graph)], 1))
    wanted = torch.cat(every, 1) @ module.classify
    found = module(graph.x, adjacency(graph, "symmetric", loops="none"), distance_two(graph))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)
    assert torch.cat(every, 1).shape[1] == 3 * (2 ** (rounds + 1) - 1)


def test_the_features_of_a_node_reach_its_neighbors_in_a_round_and_never_itself() -> None:
    graph = random_graph()
    module = H2GCN(4, 3, 2, rounds=1, bends=False, dropout=0.0)
    near, far = adjacency(graph, "symmetric", loops="none"), distance_two(graph)
    moved = graph.x.clone()
    moved[0] += 1
    before, after = (module.representations(x, near, far)[1] for x in (graph.x, moved))
    reached = (before != after).any(1)
    assert torch.equal(reached, (near.to_dense()[0] + far.to_dense()[0]) > 0)
    assert not reached[0] and reached.any()


def test_a_node_without_neighbors_is_classified_by_its_own_features() -> None:
    graph = random_graph()
    module = H2GCN(4, 3, 2, rounds=2, bends=True, dropout=0.0)
    found = module(graph.x, adjacency(graph, "symmetric", loops="none"), distance_two(graph))
    wanted = (graph.x[-1] @ module.embed).relu() @ module.classify[:3]
    torch.testing.assert_close(found[-1], wanted)
