"""Table 3: what is left of HDP's accuracy when one of its parts is taken away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterophily.bench.published import table_3
from heterophily.graph import Graph
from heterophily.hdp import ABLATIONS, HDPConfig
from heterophily.studies.plan import Entry, Plan, scored
from heterophily.studies.result import Result, by_split, std

FULL = "HDP"
INITIAL = "Init."
ROWS: dict[str, dict[str, object]] = (
    {INITIAL: {}} | {f"w/o {part}.": change for part, change in ABLATIONS.items()} | {FULL: {}}
)
"""Table 3's rows, with what each changes; the first is the initial assignment alone."""
PRINTED_SPLITS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Ablation(Result):
    """Test scores of Table 3's rows."""

    study = "ablation"

    rows: list[str]
    test: list[list[float]]
    """By row, one score per split (of a single split: per seed)."""
    idle: list[bool]
    """Rows that change nothing, as the settings do without that part anyway."""
    printed: list[list[float] | None]
    """Mean and standard deviation in the paper, where it has the dataset."""

    def mean(self, row: str) -> float:
        """Return the mean test score of a row."""
        return float(np.mean(self.test[self.rows.index(row)]))

    def std(self, row: str) -> float | None:
        """Return the standard deviation of a row's test scores."""
        return std(self.test[self.rows.index(row)])

    def loss(self, row: str) -> tuple[float, float | None]:
        """Return how far a row lies below the full model, and the standard error of that, paired by split."""
        behind = np.subtract(self.test[self.rows.index(FULL)], self.test[self.rows.index(row)])
        spread = std(behind.tolist())
        return float(behind.mean()), None if spread is None else spread / len(behind) ** 0.5

    def printed_loss(self, row: str) -> tuple[float, float] | None:
        """Return the same of the paper's numbers, whose rows are not paired."""
        own, full = self.printed[self.rows.index(row)], self.printed[self.rows.index(FULL)]
        if own is None or full is None:
            return None
        return full[0] - own[0], float(np.hypot(own[1], full[1]) / PRINTED_SPLITS**0.5)

    def agrees(self, row: str) -> bool | None:
        """Say whether a row lies below the full model here too; None where the paper's is within an error."""
        printed = self.printed_loss(row)
        if row == FULL or printed is None or printed[0] <= printed[1]:
            return None
        return self.loss(row)[0] > 0


def study(graph: Graph, plan: Plan | None = None) -> Ablation:
    """Train all rows on all splits together and score them on the test nodes."""
    plan = plan or Plan()
    config = plan.config("hdp", graph.name)
    assert isinstance(config, HDPConfig)
    entries: list[Entry] = [("hdp-init", config)]
    entries += [("hdp", config.replace(**change)) for row, change in ROWS.items() if row != INITIAL]
    trials, about = plan.train(graph, entries)
    printed = [table_3()[row].get(graph.name) for row in ROWS]
    about["settings"] = {"hdp": config.changes()}
    return Ablation(
        dataset=graph.name,
        about=about,
        rows=list(ROWS),
        test=[by_split([scored(graph, trial) for trial in row], plan.seeds) for row in trials],
        idle=[_idle(row, config) for row in ROWS],
        printed=[cell and list(cell) for cell in printed],
    )


def _idle(row: str, config: HDPConfig) -> bool:
    if row in (INITIAL, FULL):
        return False
    return config.replace(**ROWS[row]) == config or (row == "w/o SSE." and config.structural_dim == 0)
