"""Runs that are done but still in the batch, as where an epoch is captured, change nothing."""

from __future__ import annotations

import pytest
import torch

from heterophily.models import MODELS
from heterophily.stage import Trained
from heterophily.training.engine import Batch
from heterophily.training.seal import seal
from tests.tiny import LEARNERS, tiny_config, tiny_graph


@pytest.mark.parametrize("model", LEARNERS)
def test_a_run_that_is_done_keeps_its_result_while_others_train_on(model: str) -> None:
    cpu = torch.device("cpu")

    def trained(leave: float) -> list[Trained]:
        graph, stages = tiny_graph(), []
        for i in range(8):
            split = graph.split(i % 3)
            config = tiny_config(model, patience=1 + i % 4, epoch=12)
            procedure = MODELS[model].procedure(seal(graph, split), split, config, i)
            stage = next(procedure)
            if MODELS[model].first:  # a model of two stages
                stage = procedure.send(*Batch([stage], cpu, torch.float64).run())
            stages.append(stage)
        return Batch(stages, cpu, torch.float64, leave=leave).run()

    at_once, late = trained(leave=0.0), trained(leave=1.0)
    assert len({one.epochs for one in at_once}) > 1
    for one, other in zip(at_once, late, strict=True):
        assert (one.epochs, one.best_epoch, one.validation) == (
            other.epochs, other.best_epoch, other.validation,
        )  # fmt: skip
        assert one.history.keys() == other.history.keys()
        torch.testing.assert_close(one.logits, other.logits, rtol=0, atol=1e-10)
        torch.testing.assert_close(one.last_logits, other.last_logits, rtol=0, atol=1e-10)
