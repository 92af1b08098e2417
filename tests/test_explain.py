"""An explanation adds up, and says what the model did."""

from __future__ import annotations

import json

import numpy as np
import pytest

from heterophily.graph import GraphError
from heterophily.hdp.config import ABLATIONS
from tests.test_replay import fitted
from tests.tiny import tiny_graph


@pytest.mark.parametrize("ablation", [None, "Homo", "Hete", "SMP"])
def test_the_parts_add_up_to_the_logits(ablation: str | None) -> None:
    one = fitted("hdp", **(ABLATIONS[ablation] if ablation else {}))
    for node in range(0, 48, 7):
        found = one.explain(node)
        total = sum(np.array(list(part.values())) for part in found.contributions.values())
        np.testing.assert_allclose(total, one.outcome_.trained.logits[node], atol=1e-5)
        logits = np.sort(one.outcome_.trained.logits[node].numpy())
        assert sum(found.carried.values()) == pytest.approx(logits[-1] - logits[-2], abs=1e-5)
        assert found.carrier in {"ego", "homophilous", "heterophilous"}


def test_ego_is_what_the_node_itself_brings_along_homophilous_edges() -> None:
    """Without layers H^hm is H^ego, so all of it is the node's own and nothing comes from neighbors."""
    found = fitted("hdp", **ABLATIONS["SMP"]).explain(4)
    assert not any(found.contributions["homophilous"].values())
    assert any(found.contributions["ego"].values())


def test_the_neighbors_are_those_of_the_graph_with_the_verdicts_of_the_partition() -> None:
    one = fitted("hdp")
    found, edges = one.explain(4), one.edges_
    own = edges[((edges["source"] == 4) | (edges["target"] == 4)) & (edges["source"] != edges["target"])]
    verdicts = {int(r.source + r.target - 4): r.verdict for r in own.itertuples()}
    assert dict(zip(found.neighbors["id"], found.neighbors["verdict"], strict=True)) == verdicts
    assert found.neighbors["homophilous"].is_monotonic_decreasing
    mean = one.predict_proba(found.neighbors["id"].to_numpy()).mean(0)
    np.testing.assert_allclose(list(found.neighbor_mix.values()), mean, atol=1e-6)


def test_only_labels_of_the_training_and_validation_nodes_are_shown() -> None:
    split = tiny_graph().splits[0]
    for node in range(48):
        assert (fitted("hdp").explain(node).label is None) == bool(split.test[node])


def test_other_models_have_neighbors_and_mixes_but_no_verdicts_or_parts() -> None:
    found = fitted("gcn").explain(4)
    assert "verdict" not in found.neighbors and found.carrier is None and not found.contributions
    assert set(found.neighbors["id"]) == set(fitted("hdp").explain(4).neighbors["id"])


def test_a_new_node_is_explained_like_any_other_and_all_of_it_is_json() -> None:
    later = fitted("hdp").extended(np.ones((1, 5)), [[48, 48], [0, 1]])
    found = later.explain(48)
    assert set(found.neighbors["id"]) == {0, 1} and found.label is None
    back = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert back["predicted"] == found.predicted and len(back["neighbors"]) == 2
    with pytest.raises(GraphError, match="between 0 and 47"):
        fitted("hdp").explain(48)
