"""What is left of a run, as tables."""

from __future__ import annotations

import numpy as np

from heterophily.outcomes import edge_table, probabilities
from heterophily.training.runs import Run, train_runs
from tests.tiny import tiny_config, tiny_graph


def test_hdp_has_a_table_of_edges_and_a_model_that_splits_no_neighborhood_has_none() -> None:
    runs = [Run(name, tiny_config(name)) for name in ("hdp", "mlp")]
    hdp, mlp = train_runs(tiny_graph(), runs)
    table = edge_table(hdp)
    assert table is not None and edge_table(mlp) is None
    assert list(table.columns) == ["source", "target", "probability", "threshold", "verdict"]
    assert (table["source"] <= table["target"]).all() and not table.duplicated(["source", "target"]).any()
    assert np.allclose(probabilities(mlp.trained).sum(1), 1)
