"""Read the partition: which edges HDP calls homophilous, how sure it is, and whether it is right."""

from heterophily import HDPClassifier, load, plot

graph = load("synthetic", num_nodes=400, homophily=0.25)
model = HDPClassifier(hidden_dim=64, epoch=150, patience=40).fit(graph, split=0)

edges = model.edges_
print(edges.sample(5, random_state=0).to_string(index=False))

# The true labels are here to judge with; training saw 48 % of them.
y = graph.y.numpy()
edges = edges[edges.source != edges.target]
same = y[edges.source] == y[edges.target]
called = edges.verdict == "homophilous"
print(f"called homophilous: {called.mean():.0%} of the edges; truly: {same.mean():.0%}")
print(
    f"precision {(same & called).sum() / called.sum():.2f}, recall {(same & called).sum() / same.sum():.2f}"
)

one = model.explain(0)
print(
    f"node {one.node} is called {one.predicted}; most was done for it by the {one.carrier} part. Neighbors:"
)
print(one.neighbors.head(4).to_string(index=False))
plot.partition(model).figure.savefig("partition.png")
