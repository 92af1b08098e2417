"""The per-node part leaves as a program, and says what the model says."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from heterophily.graph import GraphError
from heterophily.outcomes import network
from tests.test_replay import fitted
from tests.tiny import tiny_graph


def test_a_perceptron_leaves_whole_for_any_number_of_rows(tmp_path: Path) -> None:
    one = fitted("mlp")
    torch.export.save(one.export(), tmp_path / "mlp.pt2")
    program = torch.export.load(tmp_path / "mlp.pt2").module()
    for rows in (1, 7, 48):
        torch.testing.assert_close(program(tiny_graph().x[:rows]), one.outcome_.trained.logits[:rows])


def test_of_hdp_the_ego_representation_leaves_of_its_initialization_the_assignment() -> None:
    one = fitted("hdp")
    state = one.outcome_.trained.state
    rows = torch.cat([b if isinstance(b, torch.Tensor) else b.to_dense() for b in state["blocks"]], 1)
    h_ego = network(one.outcome_)(state["blocks"], state["parts"]).h_ego
    torch.testing.assert_close(one.export().module()(rows), h_ego)
    first = fitted("hdp-init")
    blocks = first.outcome_.trained.state["blocks"]
    rows = torch.cat([b if isinstance(b, torch.Tensor) else b.to_dense() for b in blocks], 1)
    torch.testing.assert_close(first.export().module()(rows), first.outcome_.trained.logits)


def test_a_model_that_is_all_neighbors_has_no_such_part() -> None:
    with pytest.raises(GraphError, match="collects from neighbors"):
        fitted("gcn").export()
