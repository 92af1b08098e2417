"""Mini-batches: a stage is trained on one cluster of nodes after another, and judged on the whole graph.

The graph is cut into more pieces than there are batches, and every epoch draws anew which pieces make up a
batch (Chiang et al., Cluster-GCN, KDD 2019): so the edges between two pieces are there in some epochs. What
is global stays global: the partition and the trust set are the whole graph's, renewed from its logits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from heterophily.config import ConfigError
from heterophily.graph import Graph
from heterophily.graph.clusters import clusters
from heterophily.stage import Stage
from heterophily.training.engine import Batch, Named, Verdict
from heterophily.training.stacking import Stacked

PIECES = 8
"""Pieces that make up a batch."""


def pieces_for(graph: Graph, batches: int) -> tuple[Tensor, ...]:
    """Cut a graph into the pieces of so many batches; 0 is no cut."""
    if not isinstance(batches, int) or not 0 <= batches <= graph.num_nodes:
        raise ConfigError(
            f"clusters is {batches!r}; it says how many mini-batches an epoch has: 1 to {graph.num_nodes:,}, "
            "or 0 for the full batch"
        )
    return clusters(graph, min(PIECES * batches, graph.num_nodes)) if batches else ()


class Clustered(Batch):
    """A stage in training by mini-batches. An epoch is a step of Adam for each of them."""

    def __init__(
        self,
        stage: Stage,
        pieces: Sequence[Tensor],
        batches: int,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
        precision: str = "full",
    ):
        if stage.part is None:
            raise ConfigError(f"{stage.name} cannot be trained in clusters; HDP and HDP-Init can")
        super().__init__([stage], device, dtype, capture=False, precision=precision)
        self.part, self.pieces, self.batches = stage.part, pieces, batches
        self.order = torch.Generator().manual_seed(0)

    def _compute(self) -> Verdict:
        whole, rows = self.state, []
        for drawn in torch.randperm(len(self.pieces), generator=self.order).chunk(self.batches):
            nodes = torch.cat([self.pieces[k] for k in drawn.tolist()]).sort().values
            state = self.part(whole.tree(), nodes)
            if not state["train"].any():
                continue  # nothing to learn from
            self.state = Stacked.from_states([state], (), self.device, self.dtype)
            rows.append((float(state["train"].sum()), self._step()))
            self.state = whole
        self.record.epoch += 1
        total = sum(count for count, _ in rows)
        means: Named = {
            name: sum(count / total * parts[name] for count, parts in rows)  # type: ignore[misc]
            for name in rows[0][1]
        }
        return self._judge(means)
