"""In single precision a training may amplify the last digit by a node's verdict; in double it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from heterophily import HDPClassifier, load, load_model
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


@pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")
@pytest.mark.parametrize("model", ["mlp", "hdp"])
def test_in_double_precision_runs_together_and_alone_come_to_the_same_in_single(
    model: str, data_folder: Path
) -> None:
    graph = load("texas", data=data_folder)
    limits = {"epoch": 20, "patience": 10, "epoch_init": 40, "patience_init": 20}
    known = MODELS[model].config().to_dict()
    config = MODELS[model].config.parse({name: value for name, value in limits.items() if name in known})
    runs = [Run(model, config, split) for split in range(3)]
    for one, other in zip(
        train_runs(graph, runs, together=True, precision="double"),
        train_runs(graph, runs, together=False, precision="double"),
        strict=True,
    ):
        assert one.trained.logits.dtype == torch.float32
        torch.testing.assert_close(one.trained.logits, other.trained.logits, rtol=1e-5, atol=1e-5)
        for name, weight in one.trained.weights.items():
            torch.testing.assert_close(weight, other.trained.weights[name], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::heterophily.MissingClassWarning")
def test_a_model_trained_in_double_precision_is_saved_and_read_as_any_other(
    tmp_path: Path, data_folder: Path
) -> None:
    graph = load("texas", data=data_folder)
    fitted = HDPClassifier(epoch=8, epoch_init=8, precision="double", device="cpu").fit(graph, split=0)
    again = load_model(fitted.save(tmp_path / "model"))
    assert (again.predict() == fitted.predict()).all()
    x = graph.x.to_dense()[:2]
    more = again.extended(x, torch.tensor([[graph.num_nodes, graph.num_nodes + 1], [0, 3]]))
    assert len(more.predict()) == graph.num_nodes + 2
    assert fitted.explain(0) is not None and fitted.export() is not None
