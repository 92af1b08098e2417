"""WRGAT against the same layer written with PyG's softmax and scatter on edges listed one by one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.utils import scatter, softmax

from heterophily.adjacency import edges
from heterophily.baselines.wrgat import WRGAT, RelationalAttention, Relations, leaving, relations, stacked
from heterophily.graph import Graph, synthetic
from heterophily.graph.structural import similarity
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config

Listed = list[tuple[Tensor, Tensor, Tensor]]
"""The source, target and weight of every edge of each relation."""


def listed(graph: Graph, depth: int) -> Listed:
    """The relations as the paper lists them: an edge twice where each is in the other's list."""
    source, target = edges(graph, "given")
    found = [(source, target, torch.ones(len(source), dtype=torch.float64))]
    pairs, times, distance = map(torch.from_numpy, similarity(graph, depth))
    u, v = pairs.repeat_interleave(times, dim=1)
    for far in distance.repeat_interleave(times, dim=1):
        there = far.isfinite()
        source, target = torch.cat([u[there], v[there]]), torch.cat([v[there], u[there]])
        near = (-far[there]).exp().repeat(2)
        total = scatter(near, source, dim_size=graph.num_nodes)
        found.append((source, target, near / total[source]))
    return found


def plain_layer(layer: RelationalAttention, h: Tensor, given: Listed, reduce: str) -> Tensor:
    *weights, root = layer.weight.split(layer.bias.shape[0], dim=1)
    out = h @ root + layer.bias
    for (source, target, w), weight, a in zip(given, weights, layer.attention, strict=True):
        z = h @ weight
        e = F.leaky_relu((z[target] * a[:, 0] + z[source] * a[:, 1]).sum(1), 0.2)
        message = (w * softmax(e, target, num_nodes=len(h))).unsqueeze(1) * z[source]
        out = out + scatter(message, target, dim_size=len(h), reduce=reduce)
    return out


def doubled(given: Relations) -> Relations:
    return Relations(given.pattern, given.times.double(), given.weight.double())


def cycle(n: int) -> Graph:
    return Graph(None, [0] * n, [range(n), [(i + 1) % n for i in range(n)]])


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_it_is_the_layer_of_the_paper_on_edges_listed_one_by_one(reduce: str) -> None:
    graph = synthetic(num_nodes=40, num_classes=3, num_features=6, splits=1)
    given = listed(graph, depth=2)
    assert {len(set(zip(s.tolist(), t.tolist(), strict=True))) < len(s) for s, t, _ in given} == {True, False}
    model = WRGAT(6, 5, 3, relations=4, dropout=0.5).double().eval()
    x = graph.x.double()
    hidden = plain_layer(model.first, x, given, reduce).relu()
    expected = plain_layer(model.second, hidden, given, reduce)
    # 1e-6: the weights of edges are prepared in single precision
    found = model(x, doubled(relations(graph, 2, summed=reduce == "sum")))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("again", [False, True])
def test_with_one_relation_of_weight_one_and_no_attention_a_sum_is_the_mean_and_a_mean_divides_again(
    again: bool,
) -> None:
    graph = synthetic(num_nodes=30, num_classes=3, num_features=4, splits=1)
    own = edges(graph, "given")
    ones = torch.ones(own.shape[1])
    layer = RelationalAttention(4, 3, relations=1)
    torch.nn.init.zeros_(layer.attention)
    weight, root = layer.weight.split(3, dim=1)
    a = torch.zeros(30, 30).index_put(tuple(own), torch.ones(()))
    degree = a.sum(1, keepdim=True).clamp(min=1)
    neighbors = a @ graph.x @ weight / degree
    expected = (neighbors / degree if again else neighbors) + graph.x @ root + layer.bias
    found = layer(graph.x, stacked([(own, ones, ones)], 30, torch.device("cpu"), summed=not again))
    torch.testing.assert_close(found, expected)


def test_the_weights_that_leave_a_node_sum_to_one_in_every_structural_relation() -> None:
    graph = synthetic(num_nodes=50, num_classes=3, splits=1)
    given = relations(graph, 3, original_edges=False)
    source = given.pattern.col.long()
    out = given.weight * given.times.exp()
    total = torch.zeros(len(given.pattern.crow) - 1).scatter_add(0, source, out)[source.unique()]
    torch.testing.assert_close(total, torch.ones_like(total))


def test_on_a_cycle_every_weight_is_one_over_the_number_of_listed_neighbors() -> None:
    given = relations(cycle(20), 4, original_edges=False)
    source = given.pattern.col.long()
    out = torch.zeros(len(given.pattern.crow)).scatter_add(0, source, given.times.exp())
    torch.testing.assert_close(given.weight, 1 / out[source])


def test_the_own_edges_come_first_and_weigh_one() -> None:
    graph = synthetic(num_nodes=50, num_classes=3, splits=1)
    given, count = relations(graph, 1), edges(graph, "given").shape[1]
    own = torch.stack([given.pattern.row, given.pattern.col.long()])[:, :count]
    assert torch.equal(own, edges(graph, "given"))
    torch.testing.assert_close(given.weight[:count], torch.ones(count))
    bare = relations(graph, 1, original_edges=False)
    torch.testing.assert_close(given.weight[count:], bare.weight)


def test_depths_that_no_pair_reaches_make_no_relation() -> None:
    # In a cycle of six, rings 0 to 3 have nodes.
    assert len(relations(cycle(6), 10, original_edges=False).pattern.crow) - 1 == 6 * 4


def test_distances_that_underflow_still_give_weights() -> None:
    source = torch.tensor([0, 0, 1])
    found = leaving(source, torch.tensor([5000.0, 5001.0, 9e9]), torch.tensor([1.0, 2.0, 2.0]), 2)
    e = torch.tensor(-1.0).exp()
    torch.testing.assert_close(found, torch.stack([1 / (1 + 2 * e), e / (1 + 2 * e), torch.tensor(0.5)]))


def test_where_all_nodes_are_compared_renumbering_permutes_the_output() -> None:
    """Among more, those of equal degree are taken in their order, and that changes the relations."""
    graph = synthetic(num_nodes=8, num_classes=2, num_features=4, average_degree=3, splits=1)
    order = torch.randperm(8)
    run = Run("wrgat", tiny_config("wrgat", dropout=0.0))
    (one,), (other,) = (train_runs(g, [run], dtype=torch.float64) for g in (graph, graph.renumbered(order)))
    torch.testing.assert_close(one.trained.logits[order], other.trained.logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize("original_edges", [True, False])
@pytest.mark.parametrize("index", [[[0, 2], [1, 2]], [[], []]])
def test_lonely_nodes_get_finite_logits(index: list[list[int]], original_edges: bool) -> None:
    graph = Graph(torch.randn(5, 3), [0, 1, 0, 1, 0], torch.tensor(index, dtype=torch.long))
    given = relations(graph, 2, original_edges)
    count = (len(given.pattern.crow) - 1) // 5
    assert WRGAT(3, 4, 2, count, 0.5)(graph.x, given).isfinite().all()


def test_gradients_are_those_of_finite_differences() -> None:
    index = torch.tensor([[0, 1, 2, 3, 3], [1, 2, 3, 4, 3]])
    graph = Graph(torch.randn(6, 3), [0] * 6, index)
    given = doubled(relations(graph, 1))
    layer = RelationalAttention(3, 2, relations=3).double()
    x = graph.x.double().requires_grad_()
    names, values = zip(*layer.named_parameters(), strict=True)

    def run(x: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x, given))

    assert torch.autograd.gradcheck(run, (x, *values))


def test_runs_on_one_graph_share_their_relations() -> None:
    graph = synthetic(num_nodes=30, num_classes=3, splits=1)
    assert relations(graph, 1) is relations(graph, 1)
    assert relations(graph, 1) is not relations(graph, 2)
    assert relations(graph, 1) is not relations(graph, 1, summed=False)
