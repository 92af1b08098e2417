"""Pictures of studies: a function for each panel, and figures that put the panels of a study together.

A panel takes a result of its study, or a fitted classifier where a study can be made of one, and draws on
the axes given or on new ones of a column's width.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from heterophily.estimator import GraphClassifier
from heterophily.models import MODELS
from heterophily.show.style import (
    COLUMN,
    FAINT,
    INK,
    OTHER,
    SAME,
    class_looks,
    model_looks,
    new_axes,
    styled,
)
from heterophily.show.tables import METRICS
from heterophily.show.venn import draw_circles, height_of
from heterophily.studies import FITTED, Result, StudyError, Trial
from heterophily.studies.ablation import Ablation
from heterophily.studies.calibration import Calibration
from heterophily.studies.confusion import Confusion
from heterophily.studies.edges import BINS, Edges
from heterophily.studies.homophily import Homophily
from heterophily.studies.information import Information
from heterophily.studies.local import Local
from heterophily.studies.partition import PartitionStudy, Tally, accuracy, one_class, precision, recall
from heterophily.studies.preference import Preference
from heterophily.studies.rescale import Rescale
from heterophily.studies.tsne import SPACES as REPRESENTATIONS
from heterophily.studies.tsne import Tsne

R = TypeVar("R", bound=Result)
P = ParamSpec("P")
BY_MODEL = ("local", "calibration", "confusion")
SPACES = {"h": "H", "h_hm": "H$^{hm}$", "h_ht": "H$^{ht}$"}
FEW = 10
"""Test nodes from which on a bin is drawn; of fewer, luck speaks."""
DIVERGING = "RdBu_r"
"""Red is positive, blue negative."""
Fitted = Callable[..., dict[str, Any]]


def result_of(kind: type[R], given: R | GraphClassifier, options: dict[str, Any] | None) -> R:
    """Return a result as it is; make one of a fitted classifier, unless the options for that are None."""
    if isinstance(given, kind):
        return given
    fitted = kind.study in FITTED and options is not None
    if isinstance(given, GraphClassifier) and fitted:
        check_is_fitted(given, "outcome_")
        if given.split_ is None:
            raise StudyError("this classifier was carried to another graph, of which no split is known")
        trials: Any = [Trial(given.split_, given.outcome_)]
        trials = {given.model: trials} if kind.study in BY_MODEL else trials
        made = FITTED[kind.study](given.graph_, trials, **(options or {}))
        assert isinstance(made, kind)
        return made
    wanted = " or a fitted classifier" if fitted else ""
    raise StudyError(
        f"this draws a result of the study {kind.study!r}{wanted}, not {type(given).__name__}; "
        f"make one with heterophily study {kind.study}"
    )


Panel = Callable[Concatenate[Axes, R, P], None]


def panel(
    kind: type[R], height: float | Callable[[R], float] = 2.3, fitted: Fitted | None = lambda *_, **__: {}
) -> Callable[[Panel[R, P]], Callable[..., Axes]]:
    """Make a drawing function public: it takes a result or classifier and optional axes, and returns axes.

    ``fitted`` tells of what the drawing is called with how the study is made of a fitted classifier; None
    if it cannot be.
    """

    def decorate(draw: Panel[R, P]) -> Callable[..., Axes]:
        @functools.wraps(draw)
        def drawn(result: Any, *args: Any, ax: Axes | None = None, **options: Any) -> Axes:
            found = result_of(kind, result, fitted(*args, **options) if fitted else None)
            with styled():
                tall = height(found) if callable(height) else height
                axes = new_axes(height=tall) if ax is None else ax
                draw(axes, found, *args, **options)
            return axes

        return drawn

    return decorate


@panel(Ablation, 2.7)
def ablation(axes: Axes, result: Ablation) -> None:
    """Draw the mean ± std of each row of Table 3, and the paper's beside it."""
    places = np.arange(len(result.rows))
    means = np.array([100 * result.mean(row) for row in result.rows])
    stds = np.array([100 * (result.std(row) or 0) for row in result.rows])
    axes.axvline(means[-1], color=SAME, linewidth=0.8, alpha=0.5, zorder=0)
    printed = [(k, 100 * cell[0], 100 * cell[1]) for k, cell in enumerate(result.printed) if cell]
    above = 0.13 if printed else 0.0
    axes.errorbar(means, places - above, xerr=stds, fmt="o", color=SAME, label="here", elinewidth=1)
    if printed:
        k, paper, spread = np.array(printed).T
        looks: dict[str, Any] = {"fmt": "s", "color": OTHER, "mfc": "white", "elinewidth": 0.8}
        axes.errorbar(paper, k + 0.17, xerr=spread, label="paper", **looks)
    names = [f"{row} (idle)" if idle else row for row, idle in zip(result.rows, result.idle)]
    axes.set_yticks(places, names)
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.grid(axis="x", alpha=0.25, linewidth=0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        f"test {_metric(result)} in %{_spread(result, len(result.test[0]))}\norange line: HDP here"
    )
    if printed:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    axes.set_title(result.dataset)


@panel(Rescale, 1.9)
def rescale(axes: Axes, result: Rescale, what: str = "test") -> None:
    """Draw "test", "partition" or "hidden" accuracy against λ: the mean, and a band of one std."""
    looks = {"test": (SAME, "o", f"test {_metric(result)}"), "partition": (OTHER, "s", "partition accuracy"),
             "hidden": (OTHER, "s", "partition accuracy,\nedges not known in training")}  # fmt: skip
    if what not in looks:
        raise StudyError(f"what is {what!r}; it is one of {', '.join(looks)}")
    color, marker, words = looks[what]
    means, stds = (100 * np.array(column) for column in result.line(what))
    axes.fill_between(result.rescale, means - stds, means + stds, color=color, alpha=0.2, linewidth=0)
    axes.plot(result.rescale, means, color=color, marker=marker)
    axes.axvline(result.chosen, color=FAINT, linestyle="--", linewidth=0.8, zorder=0)
    axes.set_xlabel(f"λ (Eq. 2); dashed: the chosen {result.chosen:.3g}")
    axes.set_ylabel(f"%{_spread(result, len(result.test[0]))}")
    axes.set_title(f"{result.dataset}: {words}")
    axes.grid(axis="y", alpha=0.25, linewidth=0.5)


@panel(PartitionStudy, 1.7)
def partition(axes: Axes, result: PartitionStudy) -> None:
    """Draw how much of each neighborhood joins one class, as Figure 4 does, and the estimated ratio."""
    shares = result.shares()
    names = {"whole": "whole", "homophilous": "called\nhomophilous", "heterophilous": "called\nheterophilous"}
    for place, share in enumerate(shares.values()):
        if share is None:
            axes.text(50, place, "no edges", ha="center", va="center")
            continue
        same = 100 * share
        for left, width, color in ((0, same, SAME), (same, 100 - same, OTHER)):
            axes.barh(place, width, left=left, color=color, height=0.62)
            if width >= 9:
                axes.text(left + width / 2, place, f"{width:.1f}", ha="center", va="center", color="white")
    estimated = 100 * float(np.mean(result.estimated))
    axes.plot([estimated] * 2, [-0.44, 0.44], color=INK, linewidth=1.4)
    side: Any = ("left", 2) if estimated < 60 else ("right", -2)
    axes.annotate(
        f"estimated {estimated:.1f}", (estimated, -0.44), xytext=(side[1], 0), textcoords="offset points",
        ha=side[0], va="bottom", fontsize=6.5,
    )  # fmt: skip
    axes.set_yticks(range(len(shares)), [names[name] for name in shares])
    axes.set_ylim(2.5, -0.85)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the edges, loops included")
    axes.tick_params(axis="y", length=0)
    axes.spines[["left"]].set_visible(False)
    for color, words in ((SAME, "one class"), (OTHER, "two classes")):
        axes.barh([0], [0], color=color, label=words)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    axes.set_title(result.dataset)


@panel(PartitionStudy, 1.9, fitted=None)
def updates(axes: Axes, result: PartitionStudy, what: str = "hidden") -> None:
    """Draw the partition before training and after each update.

    "hidden" is precision and recall of the homophilous part, of edges that training could not know; "all" is
    accuracy, and how much of both parts joins one class, of all edges.
    """
    if what not in UPDATES:
        raise StudyError(f"what is {what!r}; it is one of {', '.join(UPDATES)}")
    steps = result.steps()
    longest = max(map(len, steps))
    looks = ((SAME, "o"), (OTHER, "s"), (INK, "^"))
    for (words, measure), (color, marker) in zip(UPDATES[what].items(), looks):
        # A run that has no more updates keeps its last partition.
        lines = [[measure(run[min(k, len(run) - 1)]) for k in range(longest)] for run in steps]
        table = 100 * np.array(lines, dtype=float)
        known = ~np.isnan(table).any(0)
        means = table[:, known].mean(0)
        stds = table[:, known].std(0, ddof=1) if len(table) > 1 else 0 * means
        at = np.arange(longest)[known]
        axes.fill_between(at, means - stds, means + stds, color=color, alpha=0.18, linewidth=0)
        axes.plot(at, means, color=color, marker=marker if longest <= 20 else None, label=words)
    axes.set_xlabel("updates of the partition; 0 is before training")
    axes.set_ylabel(f"%{_spread(result, len(steps))}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(-0.15, max(longest - 1, 1) + 0.15)
    axes.grid(axis="y", alpha=0.25, linewidth=0.5)
    kinds = {"hidden": "edges not known in training", "all": "all edges"}
    _key_above(axes, f"{result.dataset}: {kinds[what]}")


UPDATES: dict[str, dict[str, Callable[[Tally], float | None]]] = {
    "hidden": {"precision": precision, "recall": recall},
    "all": {
        "one class among those called homophilous": lambda tally: one_class(tally, "homophilous"),
        "one class among those called heterophilous": lambda tally: one_class(tally, "heterophilous"),
        "accuracy": accuracy,
    },
}


@panel(Information, height_of)
def information(axes: Axes, result: Information) -> None:
    """Draw the labels and both representations as circles that overlap by what they share at least."""
    draw_circles(axes, result)


@panel(Tsne, 3.3, lambda space="h", **_: {"spaces": [name for name in REPRESENTATIONS if name == space]})
def tsne(axes: Axes, result: Tsne, space: str = "h", alone: bool = True) -> None:
    """Draw the nodes in the plane by class, with the prototypes as stars; space is h, h_hm or h_ht.

    A panel that is ``alone`` has the dataset's name and a key of the classes.
    """
    if space not in result.points:
        raise StudyError(f"space is {space!r}; it is one of {', '.join(REPRESENTATIONS)}")
    points, labels = np.array(result.points[space]), np.array(result.labels)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(FAINT)
    axes.set_title(f"{result.dataset}: {SPACES[space]}" if alone else SPACES[space])
    if not np.ptp(points, axis=0).any():
        axes.text(0.5, 0.5, "all nodes alike", transform=axes.transAxes, ha="center", va="center")
        return
    looks = class_looks(len(result.classes))
    size = float(np.clip(4000 / len(points), 0.8, 9))
    raster = len(points) > 1500
    order = np.random.default_rng(0).permutation(len(points))  # so that no class lies on top of all others
    shade = np.array([to_rgba(looks[k][0], 0.75) if k >= 0 else (0.8, 0.8, 0.8, 0.5) for k in labels])
    marker = np.array([looks[k][1] if k >= 0 else "o" for k in labels])
    for kind in dict.fromkeys(marker.tolist()):
        some = order[marker[order] == kind]
        x, y = points[some].T
        axes.scatter(x, y, s=size, c=shade[some], marker=kind, linewidths=0, rasterized=raster)
    for (color, _), star in zip(looks, result.stars[space]):
        if star is not None:
            axes.scatter(
                star[0], star[1], s=55, marker="*", color=color, edgecolors="black", linewidths=0.7, zorder=3
            )
    if alone:
        handles, names = _class_key(_short(result.classes, 16))
        axes.legend(
            handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=_columns(axes, names)
        )


def _class_key(names: Sequence[str]) -> tuple[list[Line2D], list[str]]:
    looks = [(color, marker, color) for color, marker in class_looks(len(names))]
    looks.append(("white", "*", INK))
    handles = [
        Line2D(
            [], [], linestyle="", color=fill, marker=marker, mec=edge, markersize=7 if marker == "*" else 4
        )
        for fill, marker, edge in looks
    ]
    return handles, [*names, "prototype"]


@panel(Tsne, 2.6, lambda **_: {"spaces": ()})
def cosines(axes: Axes, result: Tsne, names: Sequence[str] | None = None) -> None:
    """Draw the cosines between the prototypes of H^ego; orthogonal ones have 0 off the diagonal."""
    matrix = np.array(result.cosines, dtype=float)
    mean, _ = result.orthogonality()
    of = "prototypes,\n" if names else f"{result.dataset}: prototypes, "
    axes.set_title(f"{of}mean |cos| {mean:.2f}")
    _matrix(axes, matrix, names or _short(result.classes), DIVERGING, (-1, 1), lambda value: f"{value:.2f}")


@panel(Preference, 2.9)
def preference(
    axes: Axes, result: Preference, neighborhood: str = "heterophilous", labels: str = "true"
) -> None:
    """Draw the average connection preference of each class in one neighborhood, by true or pseudo labels."""
    if labels not in result.shares or neighborhood not in result.shares[labels]:
        raise StudyError(
            f"there are the neighborhoods whole and heterophilous, and the labels true and pseudo; "
            f"not {neighborhood!r} and {labels!r}"
        )
    matrix = np.array(result.shares[labels][neighborhood])
    matrix[matrix.sum(1) == 0] = np.nan
    apart = result.apart(labels, neighborhood)
    words = f"{neighborhood}\n{labels} labels"
    axes.set_title(words if apart is None else f"{words}\nclasses differ by {apart:.2f}", fontsize=7)
    _matrix(axes, matrix, _short(result.classes), "Blues", (0, 1), lambda value: f"{100 * value:.0f}")
    axes.set_xlabel("class of neighbors")
    axes.set_ylabel("class of a node")


@panel(Local)
def local(axes: Axes, result: Local, by: str = "homophily") -> None:
    """Draw the accuracy by local "homophily" or by "degree"; bins of under ten nodes are left out."""
    if by not in result.bins:
        raise StudyError(f"by is {by!r}; it is one of {', '.join(result.bins)}")
    counts = np.array(result.total(by))
    shown = counts >= FEW if (counts >= FEW).any() else counts > 0
    at = np.arange(shown.sum())
    shift = np.linspace(-0.14, 0.14, len(result.models)) if len(result.models) > 1 else [0.0]
    for model, aside, look in zip(result.models, shift, model_looks(result.models).values()):
        means, stds = (100 * np.array(column, dtype=float)[shown] for column in result.line(by, model))
        axes.errorbar(
            at + aside, means, np.nan_to_num(stds), elinewidth=0.7, label=MODELS[model].title, **look
        )
    names = np.array(result.bins[by])[shown].tolist()
    nodes = [_thousands(count) for count in counts[shown]]
    if _crowded(axes, [*names, *nodes], len(at)):
        ticks, where = [f"{name} ({count})" for name, count in zip(names, nodes)], "in brackets"
        axes.set_xticks(at, ticks, rotation=45, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(at, [f"{name}\n{count}" for name, count in zip(names, nodes)])
        where = "second line"
    words = {"homophily": "share of neighbors of its own class", "degree": "number of neighbors"}
    axes.set_xlim(-0.5, len(at) - 0.5)
    axes.set_ylim(axes.get_ylim())
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= 100])
    fewer = "" if shown.all() else f"; bins of under {FEW} left out"
    axes.set_xlabel(f"{words[by]}\n({where}: test nodes{fewer})")
    axes.set_ylabel(f"accuracy in %{_spread(result, len(result.nodes[by]), newline=True)}")
    axes.grid(axis="y", alpha=0.25, linewidth=0.5)
    _key_above(axes, result.dataset)


@panel(Calibration, 3.0)
def calibration(axes: Axes, result: Calibration, model: str | None = None) -> None:
    """Draw accuracy against confidence before and after temperature scaling; the diagonal is ideal."""
    model = _one_of(result.models, model)
    axes.plot([0, 100], [0, 100], color=FAINT, linestyle="--", linewidth=0.8, zorder=0)
    looks = (("before", OTHER, "s", "white"), ("after", SAME, "o", SAME))
    for time, color, marker, fill in looks:
        table = np.array(result.diagram(model, time))
        enough = table[:, 2] >= FEW
        sure, right, nodes = (table[enough] if enough.any() else table).T
        error, chance = result.pooled_ece(model, time), result.ece_by_chance(model, time)
        words = f"{time}: ECE {100 * error:.1f} %\n(chance: {100 * chance:.1f} %)"
        axes.plot(100 * sure, 100 * right, color=color, linewidth=0.8, alpha=0.6)
        axes.scatter(
            100 * sure, 100 * right, s=4 + 50 * nodes / nodes.max(), color=fill, marker=marker,
            edgecolors=color, zorder=3, linewidths=0.9, clip_on=False,
        )  # fmt: skip
        axes.plot([], [], " ", color=color, marker=marker, mfc=fill, label=words)
    axes.set(xlim=(0, 103), ylim=(-2, 103), aspect="equal", xticks=(0, 50, 100), yticks=(0, 50, 100))
    temperature = float(np.mean(result.temperature[model]))
    axes.set_xlabel("mean confidence in %")
    axes.set_ylabel("accuracy in %")
    _key_above(
        axes, f"{result.dataset}: {MODELS[model].title}\ntemperature {temperature:.2f}", handlelength=0.8
    )


@panel(Homophily, 2.5)
def homophily(axes: Axes, result: Homophily) -> None:
    """Draw the test score of each model against the homophily of the graph."""
    for model, look in model_looks(result.models).items():
        means, stds = (100 * np.array(column) for column in result.line(model))
        width = 1.7 if model == "hdp" else 1.1
        axes.errorbar(
            result.homophily, means, stds, elinewidth=0.6, label=MODELS[model].title, linewidth=width, **look
        )
    axes.set_xlabel("homophily: share of edges that join one class")
    runs = len(next(iter(result.test.values()))[0])
    axes.set_ylabel(f"test {_metric(result)} in %{_spread(result, runs, newline=True)}")
    axes.grid(axis="y", alpha=0.25, linewidth=0.5)
    _key_above(axes, f"{result.dataset}: which model wins at which homophily")


@panel(Confusion, 3.0)
def confusion(axes: Axes, result: Confusion, model: str | None = None) -> None:
    """Draw which share of the test nodes of each class is taken for which."""
    model = _one_of(result.models, model)
    shares = np.array(result.shares(model))
    shares[np.sum(result.total(model), axis=1) == 0] = np.nan
    axes.set_title(f"{result.dataset}: {MODELS[model].title}\n{100 * result.accuracy(model):.1f} % right")
    _matrix(axes, shares, _short(result.classes), "Blues", (0, 1), lambda value: f"{100 * value:.0f}")
    axes.set_xlabel("predicted class\n(% of the true class)")
    axes.set_ylabel("true class")


@panel(Edges, 2.2)
def edges(axes: Axes, result: Edges) -> None:
    """Draw how probable HDP finds edges that join one class and two classes, and the threshold between."""
    looks = {"other": (OTHER, "two classes"), "same": (SAME, "one class")}
    for truth, (color, words) in looks.items():
        counts = np.sum(list(result.histogram[truth].values()), axis=0)
        shares = 100 * counts / max(counts.sum(), 1)
        axes.stairs(
            shares, np.linspace(0, 1, BINS + 1), fill=True, color=color, alpha=0.55, linewidth=0,
            label=f"{words} ({_thousands(counts.sum())})",
        )  # fmt: skip
    if result.threshold is not None:
        axes.axvline(result.threshold, color=INK, linewidth=1, linestyle="--")
    axes.set_xlabel("probability that an edge joins one class (Eq. 3);\ndashed: the threshold (Eq. 4)")
    axes.set_ylabel("% of such edges")
    axes.set_xlim(0, 1)
    _key_above(axes, f"{result.dataset}: edges, not both ends trained on")


def study_figure(result: Result) -> Figure:
    """Draw all panels of a study in one figure, of a column's width where that is readable."""
    with styled():
        if isinstance(result, Rescale):
            return _stack([(rescale, {"what": "test"}), (rescale, {"what": "partition"})], result, 3.4)
        if isinstance(result, PartitionStudy):
            panels = [(partition, {}), (updates, {"what": "hidden"}), (updates, {"what": "all"})]
            return _stack(panels, result, 5.4)
        if isinstance(result, Local):
            return _stack([(local, {"by": "homophily"}), (local, {"by": "degree"})], result, 4.7)
        if isinstance(result, Tsne):
            return _tsne_figure(result)
        if isinstance(result, Preference):
            kinds = [(part, labels) for labels in ("true", "pseudo") for part in ("whole", "heterophilous")]
            panels = [(preference, {"neighborhood": part, "labels": labels}) for part, labels in kinds]
            figure = _grid(panels, result, 2, 4.3)
            for axes in figure.axes:
                axes.label_outer()
            figure.suptitle(f"{result.dataset}: average connection preference in %")
            return figure
        if isinstance(result, Calibration | Confusion):
            draw = calibration if isinstance(result, Calibration) else confusion
            panels = [(draw, {"model": model}) for model in result.models]
            columns = min(len(panels), 2)
            rows = -(-len(panels) // columns)
            return _grid(panels, result, columns, (3.3 if columns == 1 else 2.5) * rows)
        single = {Ablation: ablation, Information: information, Homophily: homophily, Edges: edges}
        for kind, draw in single.items():
            if isinstance(result, kind):
                whole = draw(result).figure
                assert isinstance(whole, Figure)
                return whole
    raise StudyError(f"there is no picture of {type(result).__name__}")


Drawings = Sequence[tuple[Callable[..., Axes], dict[str, Any]]]


def _tsne_figure(result: Tsne) -> Figure:
    """Draw the representations and the cosines, with one key; long names of classes are numbered."""
    keys, names = result.classes, result.classes
    if max(map(len, keys)) > 3:
        keys = [str(k + 1) for k in range(len(keys))]
        names = [f"{key} {name}" for key, name in zip(keys, _short(result.classes, 16))]
    handles, words = _class_key(names)
    columns = _columns(None, words)
    panels: Drawings = [
        *((tsne, {"space": space, "alone": False}) for space in SPACES), (cosines, {"names": keys})
    ]  # fmt: skip
    figure = _grid(panels, result, 2, 3.75 + 0.15 * -(-len(words) // columns))
    figure.legend(handles, words, loc="outside lower center", ncols=columns)
    figure.suptitle(result.dataset)
    return figure


def _stack(panels: Drawings, result: Result, height: float) -> Figure:
    return _grid(panels, result, 1, height)


def _grid(panels: Drawings, result: Result, columns: int, height: float) -> Figure:
    figure = Figure(figsize=(COLUMN, height), layout=ConstrainedLayoutEngine(h_pad=0.07))
    rows = -(-len(panels) // columns)
    places = figure.subplots(rows, columns, squeeze=False).flat
    for (draw, options), axes in zip(panels, places):
        draw(result, ax=axes, **options)
    for axes in places:
        axes.set_visible(False)
    return figure


def _matrix(
    axes: Axes,
    matrix: Any,
    names: Sequence[str],
    cmap: str,
    limits: tuple[float, float],
    words: Callable[[float], str],
) -> None:
    """Draw a matrix with its numbers, where they are not too many to be read."""
    size = len(matrix)
    edges = np.arange(size + 1) - 0.5
    # Not an image: in a PDF each cell is a shape, its edge drawn so that no gap is seen.
    axes.pcolormesh(
        edges, edges, matrix, cmap=cmap, vmin=limits[0], vmax=limits[1], edgecolors="face", linewidth=0.1
    )
    axes.set(aspect="equal", ylim=(size - 0.5, -0.5))
    axes.set_xticks(range(size), names, rotation=90 if max(map(len, names)) > 3 or size > 10 else 0)
    axes.set_yticks(range(size), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if size <= 10:
        wide = axes.get_position().width * axes.figure.get_figwidth() / size  # type: ignore[union-attr]
        fontsize = float(np.clip(22 * wide, 4.5, 7))
        for i, j in np.ndindex(size, size):
            value = float(matrix[i, j])
            dark = abs(value) > 0.6 * max(map(abs, limits))
            text = words(value) if np.isfinite(value) else "–"
            axes.text(j, i, text, ha="center", va="center", color="white" if dark else INK, fontsize=fontsize)


def _key_above(axes: Axes, title: str, handlelength: float = 1.6) -> None:
    """Put the key between the axes and their title, in as many columns as there is room for."""
    handles, names = axes.get_legend_handles_labels()
    columns = _columns(axes, names)
    rows = -(-len(names) // columns) * (1 + max(name.count("\n") for name in names))
    axes.legend(
        handles, names, loc="lower left", bbox_to_anchor=(-0.02, 1), ncols=columns, borderaxespad=0.1,
        handlelength=handlelength,
    )  # fmt: skip
    axes.set_title(title, pad=3 + 11 * rows)


def _columns(axes: Axes | None, names: Sequence[str]) -> int:
    """Return how many columns of a key are as wide as the axes, or as a figure."""
    width = COLUMN
    if axes is not None:
        width = axes.get_position().width * axes.figure.get_figwidth()  # type: ignore[union-attr]
    longest = max(len(line) for name in names for line in name.split("\n"))
    return max(1, min(len(names), int(72 * width / (3.5 * longest + 26))))


def _crowded(axes: Axes, names: Sequence[str], places: int) -> bool:
    """Tell whether names would touch, were they side by side below the axes."""
    width = axes.get_position().width * axes.figure.get_figwidth()  # type: ignore[union-attr]
    return 4.2 * max(map(len, names)) + 4 > 72 * width / places


def _spread(result: Result, runs: int, newline: bool = False) -> str:
    """Say what a bar or a band of one standard deviation is over; of a single run there is none."""
    if runs < 2:
        return ""
    over = "splits" if len(result.about.get("splits", [])) > 1 else "seeds"
    return f",{chr(10) if newline else ' '}± std over {over}"


def _metric(result: Result) -> str:
    return METRICS[result.about.get("metric", "accuracy")]


def _one_of(models: Sequence[str], model: str | None) -> str:
    if model is None:
        return models[0]
    if model not in models:
        raise StudyError(f"the study has no model {model!r}; it has {', '.join(models)}")
    return model


def _short(names: Sequence[str], most: int = 12) -> list[str]:
    return [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]


def _thousands(count: int) -> str:
    return f"{count / 1000:.1f}k" if count >= 10_000 else f"{count:,}"
