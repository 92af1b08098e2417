"""Is my graph heterophilous: and does that matter? Looked at with training labels alone."""

from heterophily import audit, diagnose, load

for homophily in (0.1, 0.8):
    graph = load("synthetic", num_nodes=600, homophily=homophily)
    found = diagnose(graph, split=0)
    low, high = found.measures.intervals["edge"]
    print(f"\n{found.measures.edge:.2f} of the edges join nodes of one class ({low:.2f} to {high:.2f})")
    for model, score in found.probes.items():
        print(f"  a quick stand-in for {model}: {score:.3f}")
    # Low homophily alone is no reason for HDP: it helps where the neighbors' classes tell one's own.
    print(f"  neighbors' classes alone: {100 * found.gain:.0f} points above the most frequent class")
    print(f"  advice: {found.advice}, to start from {dict(found.settings)}")

print("\nwhat could distort a result:", [finding.title for finding in audit(graph).findings] or "nothing")
