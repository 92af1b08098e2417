"""First model: HDP beside an MLP on a graph in which one edge in ten joins nodes of one class."""

from heterophily import HDPClassifier, load, make_classifier

graph = load("synthetic", num_nodes=600, homophily=0.1)
print(graph)

for model in (make_classifier("mlp"), make_classifier("gcn"), HDPClassifier(hidden_dim=64, patience=30)):
    model.fit(graph, split=0)  # 48 % of the nodes to learn from, 32 % to know when to stop
    print(f"{type(model).__name__:15} test accuracy {model.score():.3f}")  # the other 20 %

print("classes of the first nodes:", model.predict()[:8])
print("how sure of them:", model.predict_proba(calibrated=True).max(1)[:4].round(2))
