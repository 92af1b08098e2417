"""HDP inside your own PyG loop: Algorithm 1 from plain modules, a `Data` and an ordinary loop."""

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.utils import add_remaining_self_loops, to_undirected

from heterophily import load
from heterophily.hdp import HDP
from heterophily.hdp.encoding import scaled, structural_encoding, target_set
from heterophily.hdp.initial import InitialAssignment
from heterophily.hdp.partition import EdgeSet, estimate_homophily, homophilous_count, partition
from heterophily.hdp.prototypes import tpc_loss, trust_set
from heterophily.sparse import SparseMatrix

data = load("synthetic", num_nodes=500, splits=1).to_pyg()
train, validation, classes = data.train_mask, data.val_mask, int(data.y.max()) + 1
edge_index, _ = add_remaining_self_loops(to_undirected(data.edge_index), num_nodes=data.num_nodes)
adjacency = SparseMatrix.from_edges(edge_index, data.num_nodes, undirected=True)

# Lines 1-2: structural encoding and initial assignment
targets = target_set(data.y, train, size=4096)
x_str = scaled(structural_encoding(adjacency.normalized("walk"), targets, hops=1), length=1.0)
blocks = [data.x, x_str]  # [X ‖ X^str]; a block may be dense or sparse
widths = [block.shape[1] for block in blocks]
first = InitialAssignment(widths, hidden=64, classes=classes, dropout=0.5, input_dropout=0.0)
optimizer = torch.optim.Adam(first.parameters(), lr=0.01, weight_decay=1e-3)
for _ in range(50):
    optimizer.zero_grad()
    cross_entropy(first(blocks)[train], data.y[train]).backward()
    optimizer.step()
z = first.eval()(blocks).detach().softmax(-1)

# Lines 3-5: homophily ratio, partition, trust set
edges = EdgeSet.from_adjacency(adjacency)
ratio = estimate_homophily(edges, data.y, train, known_loops=True)
count = torch.tensor(homophilous_count(ratio, rescale=1.0, edges=edges))
parts = partition(z, edges, count)
trust = trust_set(z, data.y, train | validation)

# Lines 6-18: train, and renew both when validation improves
model = HDP(widths, classes, hidden=64, dim=32)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-3)
best = 0.0
for _ in range(50):
    model.train()
    optimizer.zero_grad()
    out = model(blocks, parts)
    loss = cross_entropy(out.logits[train], data.y[train])
    loss = loss + tpc_loss(out.h_ego, trust, classes, temperature=0.5)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        z = model.eval()(blocks, parts).logits.softmax(-1)
    accuracy = (z.argmax(-1) == data.y)[validation].float().mean().item()
    if accuracy > best:
        best = accuracy
        parts = partition(z, edges, count)
        trust = trust_set(z, data.y, train | validation)

print(f"validation {best:.2f}, homophilous edges {int(count)} of {edges.size}")
