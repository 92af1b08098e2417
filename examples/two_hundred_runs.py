"""Train 200 runs at once: ten splits, ten seeds, two settings; each as if it were alone."""

import time

from heterophily import load
from heterophily.models import find_model
from heterophily.training.runs import Run, train_runs

graph = load("synthetic", num_nodes=200, homophily=0.2, splits=10)
config = find_model("gcn").config
settings = [config(learning_rate=rate, hidden_dim=16, epoch=50, patience=30) for rate in (0.01, 0.05)]
runs = [Run("gcn", each, split, seed) for each in settings for split in range(10) for seed in range(10)]

start = time.perf_counter()
outcomes = train_runs(graph, runs, device="cpu")  # "cuda" where there is one: there it gains most
seconds = time.perf_counter() - start
epochs = sum(outcome.trained.epochs for outcome in outcomes)
print(f"{len(runs)} runs, {epochs:,} epochs in {seconds:.1f} s: {epochs / seconds:,.0f} a second")

(alone,) = train_runs(graph, runs[7:8], device="cpu")
print("run 7 alone and in company:", alone.trained.validation, outcomes[7].trained.validation)
for each, part in zip(settings, (outcomes[:100], outcomes[100:])):
    mean = sum(outcome.trained.validation for outcome in part) / len(part)
    print(f"learning rate {each.learning_rate}: validation {mean:.3f}")
