"""Graphs with any homophily and any connection preference: a contextual stochastic block model.

Every class ``i`` has a row of preferences ``H[i]`` that says to which classes its edges lead. Edges are
drawn from these preferences, features are noisy class means, and everything follows from one seed.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from heterophily.graph.graph import Graph, GraphError, random_splits

FAVOR = 10.0
"""How many times more a class likes its two favorite classes than the other foreign ones, by default."""

MOST = 2**31 - 1
"""The largest count: the square of it, a number for each pair of nodes, fits 64 bits."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def synthetic(
    num_nodes: int = 2000,
    num_classes: int = 5,
    homophily: float | None = None,
    compatibility: ArrayLike | None = None,
    average_degree: float = 10.0,
    degree_exponent: float | None = None,
    class_balance: Sequence[float] | None = None,
    num_features: int = 32,
    feature_noise: float = 0.7,
    splits: int = 10,
    train: float = 0.48,
    validation: float = 0.32,
    seed: int = 0,
) -> Graph:
    """Draw an undirected simple graph whose classes prefer one another as told.

    **Edges.** Let ``p`` be the shares of the classes among the nodes and ``H`` the compatibility with rows
    scaled to sum 1. Class ``i`` wishes for a flow ``p[i] H[i, j]`` to class ``j`` and gets the mean of this
    and of ``p[j] H[j, i]``, what ``j`` wishes: an undirected edge belongs to both. So

    - the expected edge homophily is exactly ``sum_i p[i] H[i, i]``, which is ``homophily`` itself where that
      is given, whatever the class balance;
    - where the two wishes agree (``H`` symmetric and classes of equal size, for instance), the neighbors of
      class ``i`` follow ``H[i]`` and all classes have the same mean degree; elsewhere classes that are liked
      more than they like get more edges, and neighbors follow the averaged flows.

    There are exactly ``round(num_nodes * average_degree / 2)`` edges, without loops and duplicates;
    ``edge_index`` holds both directions, sorted.

    **Features** are ``mean[class] + feature_noise * N(0, 1)`` with a random mean of length 1 per class.

    The same arguments give the same graph on any machine with the same NumPy.

    Args:
        num_nodes: Number of nodes.
        num_classes: Number of classes, at least 2; with ``compatibility`` its size counts.
        homophily: Expected share of edges that join nodes of one class (0.2 if neither this nor
            ``compatibility`` is given). The classes stand in a circle and most other edges lead to the two
            next ones, to each ten times as many as to a class further away: neighbors tell the class even
            where few share it.
        compatibility: (K, K), nonnegative; row ``i`` is how much class ``i`` likes neighbors of each class.
        average_degree: Mean number of neighbors of a node.
        degree_exponent: None gives all nodes the same expected degree (degrees are then Poisson). A number
            above 2 gives expected degrees with a power law's tail of that exponent, cut at
            ``sqrt(num_nodes * average_degree)``, above which a simple graph can't follow it.
        class_balance: K weights; the class sizes are proportional to them. None means equal classes.
        num_features: Number of features.
        feature_noise: Standard deviation of the noise in each feature. At the defaults features alone tell
            about three nodes in five.
        splits: Number of random splits, each with the classes in proportion.
        train: Share of nodes for training.
        validation: Share of nodes for validation; the rest is for testing.
        seed: Seed of everything random.
    """
    for name, count in {
        "num_nodes": num_nodes, "num_classes": num_classes, "num_features": num_features,
        "splits": splits, "seed": seed,
    }.items():  # fmt: skip
        _check_whole(name, count)
    for name, number in {
        "homophily": homophily, "average_degree": average_degree, "degree_exponent": degree_exponent,
        "feature_noise": feature_noise, "train": train, "validation": validation,
    }.items():  # fmt: skip
        _check_number(name, number, optional=name in ("homophily", "degree_exponent"))
    if compatibility is None and num_classes > num_nodes:
        raise GraphError(
            f"num_classes is {num_classes} for {num_nodes} nodes; use fewer classes or more nodes"
        )
    preference = _preferences(homophily, compatibility, num_classes)
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = _class_sizes(num_nodes, len(preference), class_balance)
    if not 0 < average_degree <= MOST:
        raise GraphError(f"average_degree is {average_degree}; it must be above 0 and fit the graph")
    if num_features < 1 or not 0 <= feature_noise < np.inf:
        raise GraphError(
            f"num_features is {num_features} and feature_noise {feature_noise}; "
            "use at least one feature and a noise of 0 or more"
        )
    y = np.repeat(np.arange(len(sizes)), sizes)[np.argsort(rng.random(num_nodes), kind="stable")]
    weights = _degree_weights(rng, num_nodes, average_degree, degree_exponent)
    edges = _draw_edges(rng, y, sizes, weights, preference, round(num_nodes * average_degree / 2))

    means = rng.standard_normal((len(sizes), num_features), dtype=np.float32)
    means /= np.sqrt((means * means).sum(1, keepdims=True))
    x = rng.standard_normal((num_nodes, num_features), dtype=np.float32)
    x *= np.float32(feature_noise)
    x += means[y]

    labels = torch.from_numpy(y)
    return Graph(
        x=torch.from_numpy(x),
        y=labels,
        edge_index=torch.from_numpy(edges),
        splits=random_splits(labels, splits, train, validation, seed, stratified=True) if splits else (),
        num_classes=len(sizes),
        name="synthetic",
    )


def _check_whole(name: str, value: Any) -> None:
    try:
        whole = operator.index(value)
    except TypeError:
        whole = -1
    if whole < 0 or isinstance(value, bool):
        raise GraphError(f"{name} is {value!r}; it must be a whole number, zero or more")
    if whole > MOST and name != "seed":
        raise GraphError(f"{name} is {value}; that is more than the {MOST:,} there is room for")


def _check_number(name: str, value: Any, optional: bool) -> None:
    if value is None and optional:
        return
    if not isinstance(value, Real) or isinstance(value, bool) or value != value:
        raise GraphError(f"{name} is {value!r}; it must be a number{' or None' if optional else ''}")


def _numbers(name: str, values: Any, wanted: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GraphError(f"{name} is {values!r}; it must be {wanted}") from None


def _preferences(homophily: float | None, compatibility: ArrayLike | None, num_classes: int) -> Floats:
    """(K, K) matrix of preferences whose rows sum to 1, from a matrix or from a homophily."""
    if compatibility is None:
        return _circle(0.2 if homophily is None else homophily, num_classes)
    if homophily is not None:
        raise GraphError(
            "homophily and compatibility are both given; the diagonal of compatibility says it all"
        )
    matrix = _numbers("compatibility", compatibility, "rows of numbers, all of one length")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise GraphError(
            f"compatibility has shape {matrix.shape}; it must be square, a row and a column per class, "
            "for at least 2 classes"
        )
    bad = np.argwhere(~np.isfinite(matrix) | (matrix < 0))
    if len(bad):
        i, j = bad[0]
        raise GraphError(
            f"compatibility[{i}, {j}] is {matrix[i, j]}; every entry must be 0 (never) or a positive number"
        )
    total = matrix.sum(1, keepdims=True)
    if (total == 0).any():
        raise GraphError(
            f"row {int(total.argmin())} of compatibility is all 0; give the class a neighbor to like"
        )
    return matrix / total


def _circle(homophily: float, num_classes: int) -> Floats:
    """``homophily`` on the diagonal, the rest along a circle, FAVOR times more for the two next classes."""
    if num_classes < 2:
        raise GraphError(f"num_classes is {num_classes}; use at least 2")
    if not 0 <= homophily <= 1:
        raise GraphError(f"homophily is {homophily}; it is a share of the edges, so between 0 and 1")
    steps = np.arange(num_classes)
    liking = np.where((steps == 1) | (steps == num_classes - 1), FAVOR, 1.0)
    liking[0] = 0.0
    row = (1.0 - homophily) * liking / liking.sum()
    row[0] = homophily
    return row[(steps[None, :] - steps[:, None]) % num_classes]


def _class_sizes(num_nodes: int, num_classes: int, balance: Sequence[float] | None) -> Ints:
    """Class sizes as near to the weights as whole numbers get (largest remainders)."""
    weights = (
        np.ones(num_classes) if balance is None else _numbers("class_balance", balance, "a list of numbers")
    )
    if weights.shape != (num_classes,):
        raise GraphError(
            f"class_balance has shape {weights.shape}; give one weight for each of {num_classes} classes"
        )
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise GraphError(f"class_balance is {weights.tolist()}; every weight must be a positive number")
    exact = num_nodes * weights / weights.sum()
    sizes = np.floor(exact).astype(np.int64)
    sizes[np.argsort(sizes - exact, kind="stable")[: num_nodes - sizes.sum()]] += 1
    if sizes.min() < 3:
        raise GraphError(
            f"class {sizes.argmin()} gets {sizes.min()} of {num_nodes} nodes and needs 3 (training, "
            "validation, test); use more nodes, fewer classes or another class_balance"
        )
    return sizes


def _degree_weights(
    rng: np.random.Generator, num_nodes: int, average_degree: float, exponent: float | None
) -> Floats | None:
    """Relative expected degrees of the nodes: None where all are equal, else a Pareto tail with a cut."""
    if exponent is None:
        return None
    if not 2 < exponent <= MOST:
        raise GraphError(f"degree_exponent is {exponent}; above 2 the mean degree exists, 2.5 to 3 is usual")
    weights = (1.0 - rng.random(num_nodes)) ** (-1.0 / (exponent - 1.0))
    return np.minimum(weights, weights.mean() * max(np.sqrt(num_nodes / average_degree), 1.0))


def _draw_edges(
    rng: np.random.Generator, y: Ints, sizes: Ints, weights: Floats | None, preference: Floats, count: int
) -> Ints:
    """(2, 2 * count) sorted edge list, both directions: class pairs first, then two nodes for each edge."""
    num_nodes, num_classes = len(y), len(sizes)
    flow = preference * (sizes / num_nodes)[:, None]
    first, second = np.triu_indices(num_classes)
    chance = np.where(first == second, 1.0, 2.0) * (flow + flow.T)[first, second] / 2
    wanted: Ints = rng.multinomial(count, chance / chance.sum())
    room = np.where(first == second, sizes[first] * (sizes[first] - 1) // 2, sizes[first] * sizes[second])
    if (wanted > room / 2).any():
        k = int((wanted - room / 2).argmax())
        raise GraphError(
            f"classes {first[k]} and {second[k]} would get {wanted[k]:,} edges among {room[k]:,} pairs of "
            "nodes, and at most half the pairs can be joined; lower average_degree, add nodes or change the "
            "compatibility"
        )

    by_class = np.argsort(y, kind="stable")
    steps = np.ones(num_nodes) if weights is None else weights[by_class]
    # A ladder with the classes one above the other, where the step of a node is as high as its weight.
    ladder = np.concatenate([[0.0], np.cumsum(steps)])
    ends = np.concatenate([[0], np.cumsum(sizes)])

    def nodes_of(classes: Ints) -> Ints:
        low, high = ladder[ends[classes]], ladder[ends[classes + 1]]
        place = low + (high - low) * rng.random(len(classes))
        rung = place.astype(np.int64) if weights is None else np.searchsorted(ladder, place, side="right") - 1
        return by_class[np.clip(rung, ends[classes], ends[classes + 1] - 1)]

    def pair_of(classes: Ints, others: Ints) -> Ints:
        low, high = np.minimum(classes, others), np.maximum(classes, others)
        return low * num_classes - low * (low - 1) // 2 + high - low

    drawn = np.empty(0, dtype=np.int64)  # u * num_nodes + v for u < v, sorted
    for _ in range(200):  # loops and duplicates are drawn again; seldom more than five rounds
        u, v = nodes_of(np.repeat(first, wanted)), nodes_of(np.repeat(second, wanted))
        keys = np.minimum(u, v) * num_nodes + np.maximum(u, v)
        keys = np.sort(keys[u != v])
        keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique hashes, which takes far longer
        if len(drawn):
            at = np.searchsorted(drawn, keys).clip(max=len(drawn) - 1)
            keys = keys[drawn[at] != keys]
        new = pair_of(y[keys // num_nodes], y[keys % num_nodes])
        wanted = wanted - np.bincount(new, minlength=len(wanted))
        drawn = np.insert(drawn, np.searchsorted(drawn, keys), keys) if len(drawn) else keys
        if not wanted.any():
            break
    else:
        raise GraphError(
            f"{wanted.sum():,} of {count:,} edges found no free pair of nodes; "
            "raise degree_exponent, lower average_degree or use more nodes"
        )
    both = np.concatenate([drawn, drawn % num_nodes * num_nodes + drawn // num_nodes])
    both.sort()
    return np.stack(np.divmod(both, num_nodes))
