"""Compare five models honestly: the same splits, settings fixed beforehand, tests that know of overlap."""

from heterophily import compare, load
from heterophily.bench import evaluate

graph = load("synthetic", num_nodes=300, homophily=0.15, splits=5)
short = {"epoch": 60, "hidden_dim": 32}
settings = {"majority": {}, "mlp": short, "gcn": short, "gpr-gnn": short, "hdp": short | {"epoch_init": 60}}
scores = {}
for model, chosen in settings.items():
    result = evaluate(graph, model, chosen)  # all splits, trained together; test labels opened at the end
    scores[model] = [split.test for split in result.splits]
    print(f"{model:9} {100 * result.mean:5.1f} ± {100 * result.std:.1f}")

# Splits of one graph share most of their nodes: a plain t-test would find too much.
found = compare(scores, against="hdp", ratio=0.2 / 0.48)
says = {
    "first": "is ahead of",
    "second": "is behind",
    "equal": "is as good as",
    "open": "may or may not beat",
}
for pair in found.pairs:
    points = f"{100 * pair.difference:+.1f} points, p {pair.p_holm:.3f}"
    print(f"{pair.first} {says[pair.verdict]} {pair.second}: {points}")
