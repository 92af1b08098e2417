"""X, X^nb and X^str of own nodes (Eq. 7-8, 20-21), dense or sparse as they are on one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from heterophily.distributed.chunks import ROWS, Chunk, Places
from heterophily.distributed.halo import Halo, to_matrix
from heterophily.distributed.shard import Shard
from heterophily.distributed.world import World
from heterophily.hdp.config import HDPConfig
from heterophily.hdp.encoding import target_set
from heterophily.sparse import Features

Rows = Any
"""Rows of features: a NumPy array, or a CSR matrix of SciPy's."""


class Blocks:
    """Makes the feature blocks of own nodes."""

    def __init__(self, shard: Shard, halo: Halo, place: Tensor, config: HDPConfig, dtype: torch.dtype):
        self.shard, self.halo, self.config, self.dtype = shard, halo, config, dtype
        self.world: World = halo.world
        entries = (np.ones(len(place), np.float32), place.cpu().numpy(), shard.crow.cpu().numpy())
        self.edges = scipy.sparse.csr_array(entries, (halo.rows, halo.size))
        self.places = Places(shard.first)
        self.made: dict[str, Any] = {}

    def named(self, names: list[str], seed: int) -> list[Chunk]:
        """Return blocks of these names, x, nb and str, in chunks; they are joined where all are sparse."""
        rows = [self._rows(name, seed) for name in names]
        if len(rows) > 1 and all(scipy.sparse.issparse(block) for block in rows):
            rows = [scipy.sparse.hstack(rows, "csr")]
        return list(zip(*(self._chunks(block) for block in rows), strict=True))

    def two_steps(self) -> tuple[Tensor, Tensor]:
        """Return the pairs at most two steps apart as CSR, columns numbered as in the graph."""
        shape = (self.halo.rows, self.shard.num_nodes)
        col = self.shard.col.cpu().numpy()
        own = scipy.sparse.csr_array((np.ones(len(col), bool), col, self.edges.indptr), shape)
        far = self.edges.astype(bool) @ self.halo.extended_sparse(own)  # with loops: one step or two
        far.sort_indices()
        parts = (torch.from_numpy(part.astype(np.int64)) for part in (far.indptr, far.indices))
        crow, near = (part.to(self.world.device) for part in parts)
        return crow, near

    def forget(self) -> None:
        """Let go of what blocks are made from."""
        self.made.clear()
        del self.edges

    def _rows(self, name: str, seed: int) -> Rows:
        if name not in self.made:
            made = (
                self._structural(seed) if name == "str" else self._x() if name == "x" else self._neighbors()
            )
            self.made[name] = self._settled(made)
        return self.made[name]

    def _x(self) -> Rows:
        x = self.shard.x
        if self.config.feature_norm == "none":
            return x
        if isinstance(x, np.ndarray):
            return x / np.maximum(np.abs(x).sum(1, keepdims=True), 1e-12)
        return _scaled(x, 1 / np.maximum(abs(x).sum(1), 1e-12))

    def _neighbors(self) -> Rows:
        """Return X^nb = ÂX (Eq. 20)."""
        degree = np.diff(self.edges.indptr).astype(np.float32)
        if self.config.normalization == "walk":
            walk = _scaled(self.edges, 1 / degree)
        else:
            wide = self.halo.extended(torch.from_numpy(degree).to(self.world.device)).cpu().numpy()
            walk = _scaled(self.edges, 1 / np.sqrt(degree))
            walk.data /= np.sqrt(wide[walk.indices])
        x = self._rows("x", 0)
        if isinstance(x, np.ndarray):
            return walk @ self.halo.extended(torch.from_numpy(x).to(self.world.device)).cpu().numpy()
        return walk @ self.halo.extended_sparse(x)

    def _structural(self, seed: int) -> Rows:
        """Return X^str: where walks of κ steps from own nodes land, scaled (Eq. 7-8).

        Rows stay sparse until the last step. Column i is the i-th target, as on one process.
        """
        shard, dim = self.shard, self.config.structural_dim
        width = max(min(split["nodes"]["train"], dim) for split in shard.facts["splits"])
        own = shard.mask("train").nonzero().flatten()
        nodes = torch.cat(self.world.gathered(own + shard.first)).cpu()
        labels = torch.cat(self.world.gathered(shard.y[own])).cpu()
        targets = nodes[target_set(labels, torch.ones_like(nodes, dtype=torch.bool), dim, seed)].numpy()

        here = (targets >= shard.first) & (targets < shard.first + self.halo.rows)
        row, col = targets[here] - shard.first, here.nonzero()[0]
        shape = (self.halo.rows, width)
        x_str = scipy.sparse.csr_array((np.ones(len(row), np.float32), (row, col)), shape)  # Eq. 7
        walk = _scaled(self.edges, 1 / np.diff(self.edges.indptr).astype(np.float32))
        for _ in range(self.config.hops):
            x_str = walk @ self.halo.extended_sparse(x_str)  # Eq. 8
        length = self.config.structural_norm
        if length and width:
            lengths = np.sqrt(x_str.multiply(x_str).sum(1))
            mean = self._total(float(lengths.sum())) / shard.num_nodes
            x_str.data *= np.float32(length / max(mean, 1e-12))
        return x_str

    def _settled(self, rows: Rows) -> Rows:
        """Keep rows sparse where fewer than a fifth of the entries of all nodes are non-zero."""
        if not rows.shape[1]:
            return np.zeros(rows.shape, np.float32)
        sparse = scipy.sparse.issparse(rows)
        filled = self._total(rows.nnz if sparse else int(np.count_nonzero(rows)))
        if filled < 0.2 * self.shard.num_nodes * rows.shape[1]:
            return scipy.sparse.csr_array(rows)
        return rows.toarray() if sparse else rows

    def _chunks(self, rows: Rows) -> list[Features]:
        if isinstance(rows, np.ndarray):
            return list(torch.from_numpy(rows).to(self.world.device, self.dtype).split(ROWS))
        found: list[Features] = []
        start, _ = self.world.before(rows.nnz)
        for row in range(0, rows.shape[0], ROWS):
            matrix = to_matrix(rows[row : row + ROWS], self.world.device, self.dtype)
            self.places.starts[matrix.col.data_ptr()] = start
            start += len(matrix.col)
            found.append(matrix)
        return found

    def _total(self, number: float) -> float:
        value = torch.tensor(number, dtype=torch.float64, device=self.world.device)
        return float(self.world.total(value))


def _scaled(matrix: scipy.sparse.csr_array, factors: Any) -> scipy.sparse.csr_array:
    """Multiply every row by its factor."""
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
