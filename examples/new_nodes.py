"""Predict new nodes: they come after training, with their edges, and nothing is trained again."""

import torch

from heterophily import HDPClassifier, load

graph = load("synthetic", num_nodes=500, homophily=0.15, splits=1)
count = 400  # these are there today, the other 100 come later
today = graph.subgraph(torch.arange(count))
model = HDPClassifier(hidden_dim=64, patience=40).fit(today.x, today.y, edge_index=today.edge_index)

new = (graph.edge_index >= count).any(0)  # edges that a new node brings along; nodes are numbered from 400 on
later = model.extended(graph.x[count:], graph.edge_index[:, new])
nodes = torch.arange(count, graph.num_nodes)
table = later.predictions(nodes)
print(table[["id", "predicted", "calibrated", "margin"]].head().round(2).to_string(index=False))
print(f"accuracy on the new nodes: {later.score(nodes, graph.y[nodes]):.2f}")

# model.applied_to(graph) predicts another graph altogether, and model.save(folder) keeps the model for later.
