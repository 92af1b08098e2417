"""The per-node part of a model as a program of torch.export: dense rows of features in, no graph, no library.

A perceptron is all per node. Of HDP it is H^ego (Eq. 9), of its initialization the logits of Z (Eq. 22). What
collects from neighbors is a sparse product whose pattern is the graph itself; ONNX has no such operator, and
torch.export would make the graph a constant of the program. So models that are nothing but that have no part.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from heterophily.graph.graph import GraphError
from heterophily.hdp.initial import InitialAssignment
from heterophily.hdp.model import HDP
from heterophily.layers import MLP
from heterophily.outcomes import network
from heterophily.rows import rows_of, whole
from heterophily.sparse import Features
from heterophily.stage import Outcome

CHECKED = 64
"""Rows that the program is compared on."""


class PerNode(nn.Module):
    """One matrix of dense rows in, all feature blocks side by side; what the perceptron says of each out."""

    def __init__(self, mlp: MLP):
        super().__init__()
        self.mlp = mlp
        self.widths = [len(weight) for weight in mlp.first.weights]

    def forward(self, rows: Tensor) -> Tensor:
        """Map (n, features) to (n, out)."""
        out: Tensor = self.mlp(list(rows.split(self.widths, 1)))
        return out


def node_program(outcome: Outcome) -> torch.export.ExportedProgram:
    """Export the per-node part of a trained model, for any number of rows, and compare it with the model."""
    module = network(outcome).cpu()
    state = outcome.trained.state
    blocks: Sequence[Features]
    if isinstance(module, HDP):
        mlp, blocks = module.ego, state["blocks"]
    elif isinstance(module, InitialAssignment):
        mlp, blocks = module.mlp, state["blocks"]
    elif isinstance(module, MLP):
        mlp, blocks = module, state["inputs"][0]
    else:
        raise GraphError(
            f"{type(module).__name__} has no part that is per node: every layer collects from neighbors; "
            "MLP, HDP-Init and HDP have one"
        )
    some = [rows_of(whole(block), 0, CHECKED) for block in blocks if block.shape[1]]
    rows = torch.cat([block if isinstance(block, Tensor) else block.to_dense() for block in some], 1).cpu()
    part = PerNode(mlp).eval()
    example = rows[:2].repeat(2, 1)
    program = torch.export.export(part, (example,), dynamic_shapes=({0: torch.export.Dim("nodes")},))
    with torch.no_grad():
        torch.testing.assert_close(program.module()(rows), part(rows))
    return program
