"""How a partition is judged: by the true labels, without what is no feat."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from heterophily.bench.partition import judge_partition, with_truth

LABELS = np.array([0, 0, 0, 1, 1, -1])
TRAIN = np.array([True, True, False, False, False, False])


def table(*rows: tuple[int, int, str]) -> pd.DataFrame:
    verdicts = {"+": "homophilous", "-": "heterophilous"}
    edges = pd.DataFrame(rows, columns=["source", "target", "verdict"])
    return with_truth(edges.replace({"verdict": verdicts}), LABELS, TRAIN)


def test_precision_and_recall_count_edges_that_training_could_not_know() -> None:
    quality = judge_partition(
        table((0, 2, "+"), (1, 2, "-"), (3, 4, "+"), (2, 3, "+"), (0, 3, "-"), (0, 1, "+"), (3, 3, "+"))
    )
    assert quality.precision == 2 / 3  # 0-2 and 3-4 of these and 2-3
    assert quality.recall == 2 / 3  # 0-2 and 3-4 of these and 1-2
    assert quality.homophily == 4 / 6
    assert quality.with_loops == 5 / 7


def test_edges_of_unlabelled_nodes_are_left_out() -> None:
    assert len(table((0, 5, "+"), (5, 5, "+"), (0, 1, "+"))) == 1


def test_without_marked_edges_there_is_no_precision() -> None:
    quality = judge_partition(table((0, 2, "-")))
    assert math.isnan(quality.precision) and quality.recall == 0
