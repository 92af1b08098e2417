"""Write the golden losses anew: `make golden`. What changes in git is what the change of code changed."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from heterophily.training.runs import Run, train_runs
from tests.tiny import LEARNERS, tiny_config, tiny_graph

FILE = Path(__file__).parent / "losses.json"
EPOCHS = 20


def losses(model: str) -> dict[str, list[float]]:
    """Return the losses of a model's first epochs on the tiny graph, in double precision."""
    config = tiny_config(model, epoch=EPOCHS, patience=EPOCHS, dropout=0.3, input_dropout=0.2)
    (found,) = train_runs(tiny_graph(), [Run(model, config, 1, 3)], dtype=torch.float64, together=False)
    return {name: found.trained.history[name] for name in ("loss", "validation_loss")}


def rounded(curves: dict[str, list[float]]) -> dict[str, list[float]]:
    """Leave out the digits that differ from machine to machine."""
    return {name: [round(value, 12) for value in curve] for name, curve in curves.items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps({model: rounded(losses(model)) for model in LEARNERS}, indent=1) + "\n")
