"""Golden losses: a change of code that is not meant to alter results proves it here."""

from __future__ import annotations

import json

import pytest

from tests.golden.write import EPOCHS, FILE, losses
from tests.tiny import LEARNERS

GOLDEN = json.loads(FILE.read_text())


def test_every_model_that_learns_has_its_losses() -> None:
    assert list(GOLDEN) == LEARNERS


@pytest.mark.parametrize("model", LEARNERS)
def test_the_first_epochs_have_the_losses_they_always_had(model: str) -> None:
    for name, curve in losses(model).items():
        assert len(curve) == EPOCHS
        assert curve == pytest.approx(GOLDEN[model][name], rel=1e-6), (
            f"{model}'s {name} changed; if that was meant, run `make golden` and say so in CHANGELOG.md"
        )


@pytest.mark.parametrize("model", LEARNERS)
def test_the_same_seed_gives_the_same_losses_bit_for_bit(model: str) -> None:
    assert losses(model) == losses(model)
