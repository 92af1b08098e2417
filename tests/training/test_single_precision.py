"""In single precision a training may amplify the last digit, but not by more than a node's verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from heterophily import load
from heterophily.models import MODELS
from heterophily.training.runs import Run, train_runs
from heterophily.training.seal import open_score


@pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")
@pytest.mark.parametrize("model", ["mlp", "gcn", "hdp"])
def test_scores_of_runs_together_and_alone_differ_by_a_node_at_most(model: str, data_folder: Path) -> None:
    graph = load("texas", data=data_folder)
    limits = {"epoch": 30, "patience": 10, "epoch_init": 30, "patience_init": 10}
    known = MODELS[model].config().to_dict()
    config = MODELS[model].config.parse({name: value for name, value in limits.items() if name in known})
    runs = [Run(model, config, split) for split in range(4)]
    outcomes = zip(
        train_runs(graph, runs, together=True), train_runs(graph, runs, together=False), strict=True
    )
    for i, (one, other) in enumerate(outcomes):
        split = graph.split(i)
        scores = [open_score(graph, split, outcome.trained.logits) for outcome in (one, other)]
        assert abs(scores[0] - scores[1]) * int(split.test.sum()) < 1.5
