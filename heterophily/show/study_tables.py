"""Studies in the terminal: a short table each; percentages here, fractions in the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from heterophily.models import MODELS
from heterophily.show.tables import new_table, percent
from heterophily.studies import STUDIES, Result, StudyError
from heterophily.studies.ablation import FULL, Ablation
from heterophily.studies.calibration import TIMES, Calibration
from heterophily.studies.confusion import Confusion
from heterophily.studies.edges import Edges
from heterophily.studies.homophily import Homophily
from heterophily.studies.information import PAIRS, Information
from heterophily.studies.local import Local
from heterophily.studies.partition import PartitionStudy, accuracy, precision, recall
from heterophily.studies.preference import LABELS, NEIGHBORHOODS, Preference
from heterophily.studies.rescale import Rescale
from heterophily.studies.result import mean, std
from heterophily.studies.tsne import Tsne

MOST_NAMED = 3
"""Models that are named as the best; more are a tie."""


def study_table(result: Result) -> Table:
    """Return the table of a study."""
    for kind, make in TABLES.items():
        if isinstance(result, kind):
            table: Table = make(result)
            place = STUDIES[result.study].paper
            table.title = f"{result.dataset} · {STUDIES[result.study].title}" + (
                f" ({place})" if place else ""
            )
            return table
    raise StudyError(f"there is no table of {type(result).__name__}")


def list_table() -> Table:
    """Return all studies with their datasets."""
    words = ["study", "what it shows", "paper", "datasets"]
    table = new_table("", words, words=words)
    table.box, table.padding, table.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    for column in table.columns:
        column.vertical = "top"
    for name, study in STUDIES.items():
        table.add_row(name, study.title, study.paper or "–", ", ".join(study.datasets))
    return table


def ablation_table(result: Ablation) -> Table:
    """Return Table 3's rows, beside the paper's if it has any; "below HDP" is paired by split, ± its standard
    error."""
    columns, words = ["", "test", "below HDP"], []
    if any(result.printed):
        columns += ["paper", "here −\npaper,\npoints", "as in\npaper"]
    table = new_table("", columns, words=[""])
    for row, idle, printed in zip(result.rows, result.idle, result.printed):
        behind = "" if row == FULL else "same" if idle else _fine(*result.loss(row))
        cells = [row, _fine(result.mean(row), result.std(row)), behind]
        if printed:
            agrees = {True: "yes", False: "no", None: ""}[None if idle else result.agrees(row)]
            difference = f"{100 * (result.mean(row) - printed[0]):+.2f}"
            cells += [_fine(*printed), difference, agrees]
        table.add_row(*(cell.replace("-", "−") for cell in cells))
    if len(result.test[0]) > 1:
        words.append('"below HDP": paired by split, ± its standard error.')
    if any(result.printed):
        words.append(
            '"as in paper": a row that the paper has below HDP by more than a standard error is so here.'
        )
    table.caption, table.caption_justify = " ".join(words), "left"
    return table


def rescale_table(result: Rescale) -> Table:
    """Return the accuracies by λ."""
    table = new_table("", ["λ", "test", "partition,\nall edges", "partition, edges\nnot known"])
    for value, *cells in zip(result.rescale, result.test, result.partition, result.hidden):
        table.add_row(f"{value:g}", *(_spread(mean(cell), std(cell)) for cell in cells))
    table.caption = "Edges not known: no loops, and not both ends in the training set."
    table.caption_justify = "left"
    return table


def partition_table(result: PartitionStudy) -> Table:
    """Return the partition before training, after the last update and as kept, means over the runs."""
    table = new_table("", ["partition", "accuracy", "precision", "recall"], words=["partition"])
    last = [run[-1] for run in result.steps()]
    rows = {"before training": result.initial, "after the last update": last, "kept": result.kept}
    for name, tallies in rows.items():
        cells = [[measure(tally) for tally in tallies] for measure in (accuracy, precision, recall)]
        table.add_row(name, *(_spread(mean(cell), std(cell)) for cell in cells))
    share = result.shares()
    table.caption = (
        f"Of the edges {_cell(result.homophily)} % join one class, estimated "
        f"{_cell(mean(result.estimated))} %; of the part called homophilous {_cell(share['homophilous'])} %, "
        f"called heterophilous {_cell(share['heterophilous'])} %. Accuracy is of all edges, "
        "precision and recall are of those that training could not know. "
        f"{np.mean([len(run) for run in result.updates]):.1f} updates a run."
    )
    table.caption_justify = "left"
    return table


def information_table(result: Information) -> Table:
    """Return the shared information of each pair, with both spreads."""
    table = new_table("", ["between", "bits,\nat least", "± over\ndraws", "± over\nruns"], words=["between"])
    names = {"h_hm": "Hʰᵐ", "h_ht": "Hʰᵗ", "labels": "labels"}
    for pair, sides in PAIRS.items():
        spread = ["–" if value is None else f"{value:.3f}" for value in result.spread(pair)]
        table.add_row(" and ".join(names[side] for side in sides), f"{result.mean(pair):.3f}", *spread)
    table.add_row("labels and themselves", f"{result.labels:.3f} exactly", "", "")
    return table


def tsne_table(result: Tsne) -> Table:
    """Return how orthogonal the prototypes are."""
    table = new_table("", ["nodes drawn", "prototypes", "mean |cos|", "largest |cos|"])
    there = sum(row[k] is not None for k, row in enumerate(result.cosines))
    table.add_row(f"{len(result.labels):,}", str(there), *(f"{v:.3f}" for v in result.orthogonality()))
    table.caption = _one_run(result)
    table.caption_justify = "left"
    return table


def preference_table(result: Preference) -> Table:
    """Return how far the classes' preferences lie apart."""
    table = new_table("", ["labels", "whole", "heterophilous"], words=["labels"])
    for labels in LABELS:
        apart = [result.apart(labels, part) for part in NEIGHBORHOODS]
        table.add_row(labels, *("–" if value is None else f"{value:.3f}" for value in apart))
    table.caption = (
        "How far two classes differ in the shares of their neighbors' classes: "
        "0 if all are alike, 1 if no two share a kind of neighbor."
    )
    table.caption_justify = "left"
    return table


def local_table(result: Local) -> Table:
    """Return the accuracy of each model in each bin."""
    table = new_table("", ["by", "bin", "nodes", *_titles(result.models)], words=["by", "bin"])
    for by, bins in result.bins.items():
        lines = [result.line(by, model)[0] for model in result.models]
        for k, (name, nodes) in enumerate(zip(bins, result.total(by))):
            table.add_row(by if k == 0 else "", name, f"{nodes:,}", *(_cell(line[k]) for line in lines))
        table.add_section()
    return table


def calibration_table(result: Calibration) -> Table:
    """Return temperature, calibration error and loss of each model."""
    columns = ["model", "accuracy", "temperature", "ECE\nbefore", "ECE\nafter", "loss\nbefore", "loss\nafter"]
    table = new_table("", columns, words=["model"])
    for model in result.models:
        errors = [
            f"{_cell(result.pooled_ece(model, time))} ({_cell(result.ece_by_chance(model, time))})"
            for time in TIMES
        ]
        losses = [f"{np.mean(result.loss[model][time]):.3f}" for time in TIMES]
        heat = f"{np.mean(result.temperature[model]):.2f}"
        table.add_row(MODELS[model].title, _cell(result.accuracy(model)), heat, *errors, *losses)
    table.caption = "ECE over all runs together; in brackets what a calibrated model would have by chance."
    table.caption_justify = "left"
    return table


def homophily_table(result: Homophily) -> Table:
    """Return the test score of each model at each homophily, and the best ones."""
    table = new_table("", ["homophily", *_titles(result.models), "best"], words=["best"])
    lines = [result.line(model)[0] for model in result.models]
    for k, (value, best) in enumerate(zip(result.homophily, result.best())):
        said = f"tie of {len(best)}" if len(best) > MOST_NAMED else ", ".join(_titles(best))
        table.add_row(f"{value:g}", *(percent(line[k]) for line in lines), said)
    table.caption = "best: all within a standard error, paired by split, of the highest mean."
    table.caption_justify = "left"
    return table


def confusion_table(result: Confusion) -> Table:
    """Return the test nodes by true and predicted class."""
    table = new_table("", ["model", "true class", *result.classes], words=["model", "true class"])
    for model in result.models:
        for k, row in enumerate(result.total(model)):
            table.add_row(MODELS[model].title if k == 0 else "", result.classes[k], *(f"{n:,}" for n in row))
        table.add_section()
    return table


def edges_table(result: Edges) -> Table:
    """Return the edges by truth and verdict."""
    table = new_table(
        "", ["edges that join", "called\nhomophilous", "called\nheterophilous"], ["edges that join"]
    )
    names = {"same": "one class", "other": "two classes"}
    for truth, row in result.tally().items():
        table.add_row(names[truth], *(f"{row[kind]:,}" for kind in ("homophilous", "heterophilous")))
    table.caption = (
        "Edges that join two training nodes are not counted. The file holds "
        f"{len(result.centers):,} of {result.total['nodes']:,} nodes with their neighbors. {_one_run(result)}"
    )
    table.caption_justify = "left"
    return table


TABLES: dict[type[Result], Callable[..., Table]] = {
    Ablation: ablation_table,
    Rescale: rescale_table,
    PartitionStudy: partition_table,
    Information: information_table,
    Tsne: tsne_table,
    Preference: preference_table,
    Local: local_table,
    Calibration: calibration_table,
    Homophily: homophily_table,
    Confusion: confusion_table,
    Edges: edges_table,
}


def _titles(models: Sequence[str]) -> list[str]:
    return [MODELS[model].title for model in models]


def _cell(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _one_run(result: Result) -> str:
    return f"One run, on split {result.about['splits'][0]}; other splits and seeds are left out."


def _fine(value: float, spread: float | None) -> str:
    return f"{100 * value:.2f}" + ("" if spread is None else f" ± {100 * spread:.2f}")


def _spread(value: float | None, spread: float | None) -> str:
    return _cell(value) if spread is None else f"{_cell(value)} ± {_cell(spread)}"
