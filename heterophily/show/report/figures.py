"""The figures of the report: a list of charts for Table 1, for the ranks, and for each study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from heterophily.bench.compare import Comparison
from heterophily.bench.table1 import Table1
from heterophily.models import MODELS
from heterophily.show.report.charts import (
    HERE,
    LETTER,
    ONE,
    PAPER,
    TEXT,
    TWO,
    Axis,
    Chart,
    Look,
    names,
    numbers,
    short,
)
from heterophily.show.significance import name_of
from heterophily.show.style import OTHER, SAME, class_looks, model_looks
from heterophily.show.table1 import ours, paper, title
from heterophily.show.tables import METRICS
from heterophily.show.venn import OFF, bounds, margin, names_beside
from heterophily.studies import Result
from heterophily.studies.ablation import Ablation
from heterophily.studies.calibration import TIMES, Calibration
from heterophily.studies.confusion import Confusion
from heterophily.studies.edges import BINS, Edges
from heterophily.studies.homophily import Homophily
from heterophily.studies.information import PAIRS, Information
from heterophily.studies.local import Local
from heterophily.studies.partition import PartitionStudy, precision, recall
from heterophily.studies.preference import LABELS, NEIGHBORHOODS, Preference
from heterophily.studies.rescale import Rescale
from heterophily.studies.result import mean, std
from heterophily.studies.tsne import MOST, Tsne

POINTS = 12_000
"""Nodes that t-SNE shows, of all datasets together: the page stays small."""
FEW = 10
"""Test nodes from which on a bin is drawn; of fewer, luck speaks."""
INCH = 110
"""Units of a chart for an inch of a paper: as many as make its words as large."""
SPACES = {"h": "H", "h_hm": "Hʰᵐ", "h_ht": "Hʰᵗ"}


def dataset_charts(table: Table1) -> list[Chart]:
    """Draw each dataset's column of Table 1: every model, the paper's number beside ours."""
    charts = []
    for dataset in table.datasets:
        entries = [e for e in (table.find(model, dataset) for model in table.models) if e is not None]
        ends = [100 * (e.mean + side * (e.std or 0)) for e in entries for side in (-1, 1)]
        ends += [100 * e.paper for e in entries if e.paper is not None]
        texts = [MODELS[e.model].title for e in entries]
        metric = METRICS[entries[0].metric]
        chart = Chart(
            title(dataset), numbers(f"test {metric} in %", ends, 0, 100), names("", texts, down=True),
            height=58 + 19 * len(entries), dataset=title(dataset),
        )  # fmt: skip
        for k, e in enumerate(entries):
            row = {"dataset": dataset, "model": e.model, "mean": e.mean, "std": e.std,
                   "splits": len(e.scores), "paper": e.paper, "paper_std": e.paper_std}  # fmt: skip
            if e.paper is not None:
                tip = f"{texts[k]}: paper {100 * e.paper:.2f}"
                tip += "" if e.paper_std is None else f" ± {100 * e.paper_std:.2f}"
                chart.mark(100 * e.paper, k + 0.14, PAPER, tip, model=texts[k])
            tip = f"{texts[k]}: {ours(e)} over {len(e.scores)} splits"
            tip += f"; paper and difference {paper(e)}" if e.paper is not None else ""
            chart.mark(100 * e.mean, k - 0.14, HERE, tip, row, 100 * (e.std or 0), "x", model=texts[k])
        chart.keys = [_here(e.std for e in entries)]
        chart.keys += [("paper", PAPER)] if any(e.paper is not None for e in entries) else []
        charts.append(chart)
    return charts


def agreement_chart(table: Table1) -> Chart | None:
    """Draw our means against the paper's, of all cells that the paper has."""
    entries = [e for e in table.entries if e.paper is not None]
    if not entries:
        return None
    both = [100 * value for e in entries for value in (e.paper or 0.0, e.mean)]
    x, y = numbers("paper, %", both), numbers("here, %", both)
    chart = Chart("Here against the paper: on the line both agree", x, y, height=340, panel="agreement")
    chart.diagonal()
    for e in entries:
        model = MODELS[e.model].title
        look = HERE if e.model == "hdp" else Look(OTHER, "s")
        row = {"dataset": e.dataset, "model": e.model, "paper": e.paper, "here": e.mean,
               "difference": e.difference, "standard_errors": e.standard_errors}  # fmt: skip
        tip = f"{model} on {title(e.dataset)}: {ours(e)}; paper and difference {paper(e)}"
        place = (100 * (e.paper or 0.0), 100 * e.mean)
        chart.mark(*place, look, tip, row, model=model, dataset=title(e.dataset), size=0.85)
    chart.keys = [("HDP", HERE), ("other models", Look(OTHER, "s"))]
    return chart


def ranks_chart(found: Comparison) -> Chart | None:
    """Draw the mean ranks, each with half the critical difference to both sides."""
    if found.ranks is None:
        return None
    half = found.ranks.critical_difference / 2
    order = sorted(zip(found.ranks.mean, found.models))
    texts = [name_of(model) for _, model in order]
    step = -(-len(order) // 6)
    ticks = [(k, str(k)) for k in dict.fromkeys([1, *range(step, len(order) + 1, step)])]
    chart = Chart(
        f"Mean ranks over {found.ranks.blocks} {found.blocks}",
        Axis("mean rank (1 is best); bars: ± half the critical difference", 1, len(order), ticks),
        names("", texts, down=True),
        height=58 + 22 * len(order),
    )
    for k, (rank, model) in enumerate(order):
        row = {"model": model, "mean_rank": rank, "critical_difference": 2 * half}
        look = HERE if model == "hdp" else Look(OTHER)
        chart.mark(rank, k, look, f"{texts[k]}: mean rank {rank:.2f}", row, half, "x", model=texts[k])
    chart.note = "Two models whose bars overlap are not told apart (Nemenyi)."
    return chart


def study_charts(result: Result, points: int = POINTS) -> list[Chart]:
    """Draw a study; of one with a point for each node, some ``points`` at most."""
    if isinstance(result, Tsne):
        charts = tsne(result, points)
    else:
        charts = next(draw(result) for kind, draw in DRAWN.items() if isinstance(result, kind))
    for chart in charts:
        chart.dataset = title(result.dataset)
    return charts


def ablation(result: Ablation) -> list[Chart]:
    """Draw Table 3's rows beside the paper's."""
    texts = [f"{row} (idle)" if idle else row for row, idle in zip(result.rows, result.idle)]
    means, stds = [result.mean(row) for row in result.rows], [result.std(row) for row in result.rows]
    ends = [*_ends(means, stds), *(100 * cell[0] for cell in result.printed if cell)]
    x = numbers(f"test {_metric(result)} in %", ends, 0, 100)
    chart = Chart("Without each part", x, names("", texts, down=True), height=58 + 22 * len(texts))
    for k, (row, cell) in enumerate(zip(result.rows, result.printed)):
        if cell:
            tip = f"{row}: paper {100 * cell[0]:.2f} ± {100 * cell[1]:.2f}"
            chart.mark(100 * cell[0], k + 0.14, PAPER, tip)
        printed = dict(zip(("paper", "paper_std"), cell or (None, None)))
        data = {"row": row, "mean": means[k], "std": stds[k]} | printed
        tip = f"{row}: {_with_spread(means[k], stds[k], 2)}"
        chart.mark(100 * means[k], k - 0.14, HERE, tip, data, 100 * (stds[k] or 0), "x")
    chart.keys = [_here(stds)] + ([("paper", PAPER)] if any(result.printed) else [])
    return [chart]


def rescale(result: Rescale) -> list[Chart]:
    """Draw test and partition accuracy against λ."""
    charts = []
    kinds = {"test": (f"test {_metric(result)}", ONE), "partition": ("partition accuracy", TWO)}
    for name, (words, look) in kinds.items():
        rows: list[list[float]] = getattr(result, name)
        means, stds = [mean(row) or 0.0 for row in rows], [std(row) for row in rows]
        label = f"λ (Eq. 2); dashed: the chosen {result.chosen:.3g}"
        x_axis = numbers(label, [*result.rescale, result.chosen])
        chart = Chart(words.capitalize(), x_axis, numbers("%", _ends(means, stds), 0, 100), panel=name)
        chart.rule(result.chosen)
        line = list(zip(result.rescale, means, stds))
        _line(chart, line, look)
        for x, m, s in line:
            tip = f"λ = {x:g}: {words} {_with_spread(m, s, 2)} %"
            chart.mark(x, 100 * m, look, tip, {"lambda": x, "measure": name, "mean": m, "std": s})
        chart.keys = [("mean, band of one std" if any(stds) else "mean", look)]
        charts.append(chart)
    return charts


def partition(result: PartitionStudy) -> list[Chart]:
    """Draw the neighborhoods, and precision and recall after each update."""
    shares = result.shares()
    estimated = mean(result.estimated) or 0.0
    texts = ["whole", "called homophilous", "called heterophilous"]
    bars = Chart(
        "Edges that join one class", numbers("% of the edges of E′", [0, 100], 0, 100),
        names("", texts, down=True), height=190, grid=False, panel="neighborhoods",
    )  # fmt: skip
    for k, (part, share) in enumerate(shares.items()):
        for low, high, look, kind in ((0.0, share, ONE, "one class"), (share, 1.0, TWO, "two classes")):
            if share is None or low is None or high is None:
                continue
            width = 100 * (high - low)
            text = f"{width:.1f}" if width >= 14 else ""
            row = {"neighborhood": part, "edges_that_join": kind, "share": high - low, "estimated": estimated}
            tip = f"{texts[k]}: {width:.1f} % join {kind}"
            bars.box((100 * low, 100 * high), (k - 0.34, k + 0.34), look, tip, row, text)
    bars.rule(100 * estimated, (-0.46, 0.46))  # of the whole, not of its parts
    bars.keys = [("one class", ONE), ("two classes", TWO)]
    bars.note = f"Dashed, across the whole: estimated, λh′ = {100 * estimated:.1f} %."
    steps = result.steps()
    longest = max(map(len, steps))
    lines: dict[str, list[tuple[int, float, float | None]]] = {}
    for measure in (precision, recall):
        # A run that has no more updates keeps its last partition.
        table = [[measure(run[min(k, len(run) - 1)]) for run in steps] for k in range(longest)]
        lines[measure.__name__] = [
            (k, mean(row) or 0.0, std(row)) for k, row in enumerate(table) if None not in row
        ]
    every = [point for line in lines.values() for point in line]
    ends = _ends([m for _, m, _ in every], [s for _, _, s in every])
    x = numbers("updates of the partition; 0 is before training", [0, max(longest - 1, 1)])
    whole = [(tick, text) for tick, text in x.ticks if float(tick).is_integer()]
    x = Axis(x.label, x.low, x.high, whole)
    curve = Chart("Edges not known in training", x, numbers("%", ends, 0, 100), panel="updates")
    for (name, line), look in zip(lines.items(), (ONE, TWO)):
        _line(curve, line, look)
        for k, m, s in line:
            tip = f"{name} after {k} updates: {_with_spread(m, s, 1)} %"
            row = {"update": k, "measure": name, "mean": m, "std": s}
            curve.mark(k, 100 * m, look, tip, row, size=0.8 if longest < 30 else 0.5)
        curve.keys.append((f"{name} of the homophilous part", look))
    return [bars, curve]


def information(result: Information) -> list[Chart]:
    """Draw labels and representations as circles that overlap by what they share."""
    values = {pair: result.mean(pair) for pair in PAIRS}
    centers, radii, off = result.circles()
    reach = np.array(radii)[:, None]
    wide, tall = np.max(np.add(centers, reach), axis=0) - np.min(np.subtract(centers, reach), axis=0)
    scale = min(270 / wide, 230 / tall)
    places = names_beside(centers, radii, INCH / scale)
    low, high = bounds(centers, radii, places, INCH / scale)
    scale = min(scale, 382 / (high[0] - low[0]))
    room = 382 / scale - (high[0] - low[0])  # both axes to one scale
    chart = Chart(
        "Shared information in bits", Axis("", low[0] - room / 2, high[0] + room / 2),
        Axis("", low[1], high[1]), height=scale * (high[1] - low[1]) + 16, frame=False,
    )  # fmt: skip
    sides = {"labels": "labels", "h_hm": "Hʰᵐ", "h_ht": "Hʰᵗ"}
    looks = zip(sides.items(), (TEXT, SAME, OTHER), (result.labels, 1.0, 1.0))
    for k, ((side, name), color, own) in enumerate(looks):
        chart.disc(*centers[k], radii[k], color, f"{name}: {own:.3f} bits by itself")
        chart.rows.append({"between": side, "and": side, "bits": own})
        away = np.subtract(places[k], centers[k]) / np.hypot(*np.subtract(places[k], centers[k]))
        ends = (centers[k] + 0.94 * radii[k] * away, places[k] - INCH / scale * margin(away) * away)
        chart.line([(float(x), float(y)) for x, y in ends], Look(color))
        chart.words(*places[k], name, "bold", color)
    said = []
    for pair, (one, two) in PAIRS.items():
        draws, runs = result.spread(pair)
        spread = draws if runs is None else runs
        more = "" if spread is None else f" ± {spread:.3f}"
        said.append(f"{sides[one]} and {sides[two]} at least {values[pair]:.3f}{more}")
        row = {"between": one, "and": two, "bits": values[pair], "std_draws": draws, "std_runs": runs}
        chart.rows.append(row)
    drawn = (
        f"Areas are to scale, overlaps the nearest possible: off by up to {off:.2f}."
        if off > OFF
        else "Areas and overlaps two by two are to scale."
    )
    chart.note = f"Shared bits: {', '.join(said)}. {drawn}"
    return [chart]


def tsne(result: Tsne, most: int) -> list[Chart]:
    """Draw the representations in the plane, of some nodes at most, and the cosines of the prototypes."""
    looks = [Look(*look) for look in class_looks(len(result.classes))]
    labels = np.array(result.labels)
    charts = []
    for space, name in SPACES.items():
        points = np.array(result.points[space], dtype=float)
        stars = [star for star in result.stars[space] if star is not None]
        every = np.concatenate([points, np.array(stars).reshape(-1, 2)])
        middle = (every.min(0) + every.max(0)) / 2
        half = 1.04 * max(float(np.ptp(every, axis=0).max()) / 2, 1e-6)
        x, y = (Axis("", float(c) - half, float(c) + half) for c in middle)
        chart = Chart(f"t-SNE of {name}", x, y, height=400, frame=False, panel=space)
        shown = np.linspace(0, len(points) - 1, min(len(points), most)).astype(int)
        width = float(np.clip(110 / np.sqrt(len(shown)), 1.6, 6))
        for k in (-1, *range(len(looks))):
            some = shown[labels[shown] == k]
            if len(some):
                word = "unknown class" if k < 0 else f"class {result.classes[k]}"
                chart.cloud(points[some].tolist(), looks[k] if k >= 0 else Look("#999999"), word, width)
        for i in shown.tolist():
            name_of_class = result.classes[labels[i]] if labels[i] >= 0 else ""
            # The study does not keep which nodes it has sampled.
            row = {"kind": "node", "node": i if len(points) < MOST else None, "class": name_of_class}
            chart.rows.append(row | dict(zip("xy", result.points[space][i])) | {"test": int(result.test[i])})
        for k, star in enumerate(result.stars[space]):
            if star is not None:
                row = {"kind": "prototype", "class": result.classes[k], "x": star[0], "y": star[1]}
                tip = f"prototype of class {result.classes[k]}"
                chart.mark(star[0], star[1], Look(looks[k].color, "*"), tip, row, size=1.2)
                chart.words(star[0], star[1] + 0.09 * half, short(result.classes[k], 8), "bold halo")
        chart.keys = [(short(name), look) for name, look in zip(result.classes, looks)]
        part = f" {len(shown):,} of {len(points):,} nodes are drawn." if len(shown) < len(points) else ""
        chart.note = f"Stars: the prototypes.{part}"
        charts.append(chart)
    texts = [[f"cosine of the prototypes of {a} and {b}" for b in result.classes] for a in result.classes]
    average, _ = result.orthogonality()
    cosines = _matrix(
        f"Cosines of the prototypes, mean |cos| {average:.2f}", result.cosines, result.classes, texts,
        lambda value: f"{value:.2f}".replace("-", "−"), ("class", "other", "cosine"), signed=True,
    )  # fmt: skip
    cosines.panel = "cosines"
    cosines.note = "Red: above 0; blue: below."
    return [*charts, cosines]


def preference(result: Preference) -> list[Chart]:
    """Draw the connection preferences of the classes, by both labels and in both neighborhoods."""
    charts = []
    for labels in LABELS:
        for part in NEIGHBORHOODS:
            matrix: list[list[float | None]] = [
                [*row] if sum(row) else [None] * len(row) for row in result.shares[labels][part]
            ]
            texts = [[f"of the neighbors of {a}, {b}" for b in result.classes] for a in result.classes]
            apart = result.apart(labels, part)
            heading = f"{part.capitalize()} neighborhood, {labels} labels"
            columns = ("class", "class_of_neighbors", "share")
            labelled = ("class of neighbors (% of a row)", "class of a node")
            chart = _matrix(heading, matrix, result.classes, texts, _hundreds, columns, *labelled)
            chart.panel = f"{labels} {part}"
            chart.note = "" if apart is None else f"Classes differ by {apart:.2f}."
            charts.append(chart)
    return charts


def local(result: Local) -> list[Chart]:
    """Draw the accuracy by local homophily and by degree."""
    charts = []
    words = {"homophily": "share of neighbors of its own class", "degree": "number of neighbors"}
    looks = _looks(result.models)
    for by, bins in result.bins.items():
        counts = np.array(result.total(by))
        shown = [int(k) for k in np.flatnonzero(counts >= (FEW if (counts >= FEW).any() else 1))]
        lines = {model: result.line(by, model) for model in result.models}
        x = names(words[by], [f"{bins[k]}\n{counts[k]:,}" for k in shown])
        found = [
            e for m, s in lines.values() for e in _ends([m[k] or 0 for k in shown], [s[k] for k in shown])
        ]
        y = numbers("accuracy in %", found, 0, 100)
        chart = Chart(f"Accuracy by {words[by]}", x, y, height=270, panel=by)
        for (model, (means, stds)), aside in zip(lines.items(), _aside(len(lines))):
            name, look = MODELS[model].title, looks[model]
            chart.line([(i + aside, 100 * (means[k] or 0)) for i, k in enumerate(shown)], look, name)
            for i, k in enumerate(shown):
                right = _with_spread(means[k] or 0, stds[k], 1)
                tip = f"{name}, {bins[k]}: {right} % of {counts[k]:,} test nodes right"
                row = {"by": by, "bin": bins[k], "model": model, "test_nodes": int(counts[k]),
                       "accuracy": means[k], "std": stds[k]}  # fmt: skip
                spread = 100 * (stds[k] or 0)
                chart.mark(i + aside, 100 * (means[k] or 0), look, tip, row, spread, model=name)
            chart.keys.append((name, look))
        chart.note = f"With each bin: its test nodes; bins of under {FEW} are left out."
        if any(any(stds) for _, stds in lines.values()):
            chart.note += " Bars: one std over the runs."
        charts.append(chart)
    return charts


def calibration(result: Calibration) -> list[Chart]:
    """Draw accuracy against confidence, before and after temperature scaling."""
    charts = []
    for model in result.models:
        name = MODELS[model].title
        x, y = numbers("mean confidence in %", [0, 100], 0, 100), numbers("accuracy in %", [0, 100], 0, 100)
        chart = Chart(f"{name}: confidence and accuracy", x, y, height=330, model=name, panel=model)
        chart.diagonal()
        for time, look in zip(TIMES, (PAPER, HERE)):
            diagram = result.diagram(model, time)
            names_of = ("confidence", "accuracy", "nodes")
            chart.rows += [{"model": model, "time": time} | dict(zip(names_of, each)) for each in diagram]
            shown = [each for each in diagram if each[2] >= FEW] or diagram
            most = max((nodes for _, _, nodes in shown), default=1)
            chart.line([(100 * sure, 100 * right) for sure, right, _ in shown], look)
            for sure, right, nodes in shown:
                tip = f"{time} scaling: confidence {100 * sure:.1f} %, {100 * right:.1f} % of {nodes:,} right"
                chart.mark(100 * sure, 100 * right, look, tip, size=0.6 + 0.8 * nodes / most)
            chart.keys.append((f"{time} scaling, ECE {100 * result.pooled_ece(model, time):.1f} %", look))
        temperature = mean(result.temperature[model]) or 0.0
        chance = 100 * result.ece_by_chance(model, TIMES[-1])
        chart.note = (
            f"Temperature {temperature:.2f}. By chance a calibrated model has an ECE of {chance:.1f} %, too. "
            f"A larger mark stands for more nodes; bins of under {FEW} are left out."
        )
        charts.append(chart)
    return charts


def homophily(result: Homophily) -> list[Chart]:
    """Draw the score of each model against the homophily of the graph."""
    looks = _looks(result.models)
    lines = {m: (result.line(m)[0], [std(row) for row in result.test[m]]) for m in result.models}
    found = [end for means, stds in lines.values() for end in _ends(means, stds)]
    x = numbers("homophily: share of edges that join one class", result.homophily)
    chart = Chart(
        "Who wins at which homophily", x, numbers(f"test {_metric(result)} in %", found, 0, 100), 300
    )
    for model, (means, stds) in lines.items():
        name, look = MODELS[model].title, looks[model]
        chart.line([(h, 100 * m) for h, m in zip(result.homophily, means)], look, name)
        for h, m, s in zip(result.homophily, means, stds):
            tip = f"{name} at homophily {h:g}: {_with_spread(m, s, 1)} %"
            row = {"homophily": h, "model": model, "mean": m, "std": s}
            chart.mark(h, 100 * m, look, tip, row, 100 * (s or 0), model=name)
        chart.keys.append((name, look))
    return [chart]


def confusion(result: Confusion) -> list[Chart]:
    """Draw which share of each class is taken for which."""
    charts = []
    for model in result.models:
        total, name = result.total(model), MODELS[model].title
        texts = [
            [f"{total[i][j]:,} test nodes of {a} taken for {b}" for j, b in enumerate(result.classes)]
            for i, a in enumerate(result.classes)
        ]
        shares: list[list[float | None]] = [
            [*row] if sum(counts) else [None] * len(row) for row, counts in zip(result.shares(model), total)
        ]
        chart = _matrix(f"{name}: {100 * result.accuracy(model):.1f} % right", shares, result.classes, texts,
                        _hundreds, ("true", "predicted", "share"), "predicted class (% of a row)",
                        "true class")  # fmt: skip
        chart.model, chart.panel = name, model
        charts.append(chart)
    return charts


def edges(result: Edges) -> list[Chart]:
    """Draw how probable HDP finds edges of both kinds."""
    step = 1 / BINS
    counts = {truth: np.sum(list(rows.values()), axis=0) for truth, rows in result.histogram.items()}
    shares = {truth: 100 * bins / max(bins.sum(), 1) for truth, bins in counts.items()}
    most = max(float(bins.max()) for bins in shares.values())
    x = numbers("probability that an edge joins one class (Eq. 3)", [0, 1], 0, 1)
    chart = Chart("How HDP tells edges apart", x, numbers("% of such edges", [0, most], 0))
    kinds = {"other": ("two classes", TWO), "same": ("one class", ONE)}
    for truth, (words, look) in kinds.items():
        for k in range(BINS):
            low, high = k * step, (k + 1) * step
            row = {"truth": words, "from": low, "to": high, "edges": int(counts[truth][k])}
            chart.rows.append(row)
            if counts[truth][k]:
                tip = f"{counts[truth][k]:,} edges that join {words} have P from {low:.2f} to {high:.2f}"
                chart.box((low, high), (0, float(shares[truth][k])), look, tip, kind="box thin")
        chart.keys.append((f"joins {words} ({int(counts[truth].sum()):,})", look))
    if result.threshold is not None:
        chart.rule(result.threshold)
        chart.note = (
            f"Dashed: the threshold, {result.threshold:.3f}. Edges right of it are called homophilous. "
        )
    chart.note += "Edges between training nodes are left out."
    return [chart]


def _matrix(
    heading: str,
    matrix: Sequence[Sequence[float | None]],
    classes: Sequence[str],
    texts: Sequence[Sequence[str]],
    words: Callable[[float], str],
    columns: tuple[str, str, str],
    across: str = "",
    down: str = "",
    signed: bool = False,
) -> Chart:
    """Draw a square matrix over the classes."""
    few = [short(name, 10) for name in classes]
    chart = Chart(heading, names(across, few), names(down, few, down=True), height=330, grid=False)
    said = [["–" if value is None else words(value) for value in row] for row in matrix]
    longest = max(len(text) for row in said for text in row)
    fit = LETTER * longest + 4 <= (chart.right - chart.left) / len(classes)  # all are written, or none
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            text = said[i][j]
            chart.cell(i, j, value, text if fit else "", f"{texts[i][j]}: {text}", signed)
            chart.rows.append({columns[0]: classes[i], columns[1]: classes[j], columns[2]: value})
    return chart


def _hundreds(value: float) -> str:
    return f"{100 * value:.0f}"


def _ends(means: Iterable[float], stds: Iterable[float | None]) -> list[float]:
    """Return how far means with their spreads reach, in %."""
    return [100 * (m + side * (s or 0)) for m, s in zip(means, stds) for side in (-1, 1)]


def _with_spread(value: float, spread: float | None, digits: int) -> str:
    """Return a share in %, with its spread where there is one."""
    more = "" if spread is None else f" ± {100 * spread:.{digits}f}"
    return f"{100 * value:.{digits}f}{more}"


def _here(spreads: Iterable[float | None]) -> tuple[str, Look]:
    return ("here, mean ± std" if any(spread is not None for spread in spreads) else "here", HERE)


def _line(chart: Chart, points: Sequence[tuple[float, float, float | None]], look: Look) -> None:
    """Draw means as a line, in a band of one standard deviation."""
    chart.band([(x, 100 * (m - (s or 0)), 100 * (m + (s or 0))) for x, m, s in points], look)
    chart.line([(x, 100 * m) for x, m, _ in points], look)


def _looks(models: Sequence[str]) -> dict[str, Look]:
    return {model: Look(**look) for model, look in model_looks(models).items()}


def _aside(count: int) -> list[float]:
    return np.linspace(-0.12, 0.12, count).tolist() if count > 1 else [0.0]


def _metric(result: Result) -> str:
    return METRICS[result.about.get("metric", "accuracy")]


DRAWN: dict[type[Result], Callable[[Any], list[Chart]]] = {
    Ablation: ablation,
    Rescale: rescale,
    PartitionStudy: partition,
    Information: information,
    Preference: preference,
    Local: local,
    Calibration: calibration,
    Homophily: homophily,
    Confusion: confusion,
    Edges: edges,
}
