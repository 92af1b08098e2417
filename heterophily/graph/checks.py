"""From whatever a user has to tensors that are right, or an error that says what is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor


class GraphError(ValueError):
    """A graph or a split that cannot be right; the message says what is wrong, where, and what to do."""


def read_tensor(values: Any, what: str, advice: str) -> Tensor:
    """A tensor as it is; a SciPy sparse array as COO; anything else by way of NumPy, copied."""
    if isinstance(values, Tensor):
        return values
    try:
        if hasattr(values, "tocoo"):
            matrix = values.tocoo()
            indices, entries = (
                torch.from_numpy(np.stack(matrix.coords)),
                read_tensor(matrix.data, what, advice),
            )
            return torch.sparse_coo_tensor(indices, entries, matrix.shape, check_invariants=True)
        array = np.asarray(values)
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), order="C"))
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what} cannot be made a tensor ({error}); {advice}") from None


def read_integers(values: Any, what: str, advice: str) -> Tensor:
    """An int64 tensor; only an empty one may have had another kind of number."""
    tensor = read_tensor(values, what, advice)
    if tensor.numel() and (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool):
        raise GraphError(f"{what}: {tensor.dtype} values where whole numbers are needed; {advice}")
    return tensor.to(torch.int64)


def read_mask(values: Any, what: str) -> Tensor:
    """A boolean mask (N,)."""
    advice = "pass a boolean mask of shape (N,); for lists of node ids use Split.from_indices"
    mask = read_tensor(values, what, advice)
    if mask.dtype != torch.bool or mask.dim() != 1:
        raise GraphError(f"{what} is {mask.dtype} of shape {tuple(mask.shape)}; {advice}")
    return mask


def read_labels(values: Any) -> Tensor:
    """Labels (N,), int64, of at least one node."""
    y = read_integers(values, "y", "number the classes 0, 1, ... and use -1 for unlabelled nodes")
    if y.dim() != 1:
        raise GraphError(
            f"y has shape {tuple(y.shape)}, it must be (N,): one class number per node, -1 if unlabelled; "
            "for one-hot rows pass y.argmax(1), for a single column y.flatten()"
        )
    if not len(y):
        raise GraphError("the graph is empty: y has no entries; a graph needs at least one node")
    return y


def check_labels(y: Tensor, num_classes: int) -> None:
    """Refuse labels that are neither -1 nor a class."""
    if (bad := (y < -1) | (y >= num_classes)).any():
        node = first(bad)
        raise GraphError(
            f"y: node {node} has label {int(y[node])}, but labels go from 0 to {num_classes - 1}, "
            f"or are -1 for unlabelled (such nodes: {int(bad.sum()):,}); "
            "correct the labels or pass a larger num_classes"
        )


def read_edges(values: Any, num_nodes: int) -> Tensor:
    """Edges (2, E), int64, between the nodes 0 to N - 1."""
    edges = read_integers(values, "edge_index", "pass node ids, 0 to N - 1")
    if not edges.numel():
        return edges.new_empty(2, 0)
    if edges.dim() != 2 or len(edges) != 2:
        transposed = edges.dim() == 2 and edges.shape[1] == 2
        advice = "transpose it" if transposed else "give sources and targets as its two rows"
        raise GraphError(f"edge_index has shape {tuple(edges.shape)}, it must be (2, E); {advice}")
    low, high = map(int, edges.aminmax())
    if low < 0 or high >= num_nodes:
        bad = (edges < 0) | (edges >= num_nodes)
        column = first(bad.any(0))
        u, v = edges[:, column].tolist()
        from_one = (low, high) == (1, num_nodes)
        raise GraphError(
            f"edge_index column {column} ({u} -> {v}): there is no node {u if bad[0, column] else v}, "
            f"the nodes are 0 to {num_nodes - 1} (N = {num_nodes}; such columns: {int(bad.any(0).sum()):,}); "
            + ("the ids seem to start at 1: subtract 1" if from_one else "drop these edges or add the nodes")
        )
    return edges


def read_features(values: Any, num_nodes: int) -> Tensor:
    """Features (N, F), float32 and finite, dense or sparse CSR; None gives (N, 0)."""
    if values is None:
        return torch.empty(num_nodes, 0)
    x = read_tensor(values, "x", "encode text and categories as numbers first")
    if x.dim() != 2 or len(x) != num_nodes:
        raise GraphError(
            f"x has shape {tuple(x.shape)}, but y has {num_nodes} labels; "
            f"x needs one row per node: ({num_nodes}, F)"
        )
    if x.is_complex():
        raise GraphError(
            "x has complex values; pass real ones, such as real and imaginary parts side by side"
        )
    x = x.to(torch.float32)
    if x.layout != torch.strided:
        x = _csr(x)
    stored = x if x.layout == torch.strided else x.values()
    # A sum is finite only if all its terms are, and unlike isfinite it needs no memory.
    if not stored.sum().isfinite() and (bad := ~stored.isfinite()).any():
        position = first(bad.flatten())
        if x.layout == torch.strided:
            row, column = divmod(position, x.shape[1])
        else:
            row = int(torch.searchsorted(x.crow_indices(), position, right=True)) - 1
            column = int(x.col_indices()[position])
        raise GraphError(
            f"x has values that are NaN or infinite in float32 (such values: {int(bad.sum()):,}, "
            f"the first in row {row}, column {column}: {float(stored.flatten()[position])}); "
            "replace them or drop the columns"
        )
    return x


def permute_rows(x: Tensor, order: Tensor) -> Tensor:
    """Rows of a dense or CSR matrix in another order."""
    return x[order] if x.layout == torch.strided else _csr(x.to_sparse_coo().index_select(0, order))


def stack_rows(x: Tensor, below: Tensor) -> Tensor:
    """One dense or CSR matrix under another; the result is of the first one's kind."""
    if x.layout == torch.strided:
        return torch.cat([x, below.to_dense() if below.layout != torch.strided else below])
    return _csr(torch.cat([x.to_sparse_coo(), below.to_sparse_coo()]))


def first(mask: Tensor) -> int:
    """Position of the first True in (N,)."""
    return int(mask.nonzero()[0, 0])


def _csr(x: Tensor) -> Tensor:
    """A sparse matrix of any layout as CSR, duplicates summed."""
    with warnings.catch_warnings():
        # Once per process torch calls its CSR tensors beta and unchecked: nothing a user of ours can act on.
        warnings.filterwarnings("ignore", "Sparse (CSR|invariant)")
        return x.to_sparse_csr()
