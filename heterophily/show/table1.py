"""Table 1 for people: percentages, as the paper has them, with the paper's own below."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from heterophily.bench.cells import Cell
from heterophily.bench.published import printed
from heterophily.bench.reproduce import ROWS, Step
from heterophily.bench.table1 import READINGS, Entry, Table1, table1
from heterophily.graph.datasets import DATASETS
from heterophily.models import MODELS
from heterophily.show.grids import Grid, Piece
from heterophily.show.progress import clock
from heterophily.show.tables import METRICS

CHOSEN = {"searched": "", "published": "ᵖ", "kindred": "ᵏ", "guess": "ᵍ", "defaults": "ᵈ"}
"""A mark where the setting was not searched on the dataset."""
UNKNOWN, EARLIER, MISSING = "?", "ᵉ", "–"
MARKS = {
    "ᵖ": "settings published for this dataset; where others were tried on validation, none did better",
    "ᵏ": "settings published or searched for another dataset, or for another form of the model",
    "ᵍ": "a guess, within what the authors tried or by their program's defaults",
    "ᵈ": "the model's default settings, not searched on this dataset",
    UNKNOWN: "how its settings were chosen is not known",
}


def title(dataset: str) -> str:
    """Return what a dataset is called at the head of a column."""
    return DATASETS[dataset].title if dataset in DATASETS else dataset


def ours(entry: Entry) -> str:
    """Return our mean and standard deviation, as 86.49 ± 4.32."""
    return f"{100 * entry.mean:.2f}" + ("" if entry.std is None else f" ± {100 * entry.std:.2f}")


def paper(entry: Entry) -> str:
    """Return the paper's number and how far ours is from it, as 88.38 -1.89 -1.4; nothing without one."""
    if entry.paper is None or entry.difference is None:
        return ""
    errors = "" if entry.standard_errors is None else f" {signed(entry.standard_errors, 1)}"
    return f"{100 * entry.paper:.2f} {signed(100 * entry.difference, 2)}{errors}"


def signed(number: float, digits: int) -> str:
    """Return a number with its sign, a true minus, and none for what is rounded to zero."""
    text = f"{number:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def legend(table: Table1) -> str:
    """Say how the table is to be read."""
    counts = sorted({len(entry.scores) for entry in table.entries})
    seeds = sorted({entry.seeds for entry in table.entries})
    splits = " or ".join(map(str, counts))
    words = f"Mean ± standard deviation (ddof 1) of the test score in % over {splits} splits"
    if seeds != [1]:
        words += f", each the mean of {' or '.join(map(str, seeds))} seeds"
    names: dict[str, dict[str, None]] = {}
    for entry in table.entries:
        names.setdefault(METRICS[entry.metric], {})[title(entry.dataset)] = None
    names.pop(METRICS["accuracy"], None)
    words += ": accuracy" + "".join(f", {metric} on {' and '.join(some)}" for metric, some in names.items())
    words += "."
    losses = sum(entry.by_loss for entry in table.entries)
    rule = f", of the lowest validation loss in {cells(losses)} whose settings say so" if losses else ""
    words += (
        f" Each split is scored at the epoch of the best validation score{rule}. Below it the paper's "
        "number, where there is one, and ours less the paper's: in points, and in standard errors of our "
        "mean (std / √splits). In every column the best is bold and the second best underlined; rules that "
        "learn nothing take no place, nor does a model without another beside it."
    )
    if any(piece.number == MISSING for _, row in _rows(table) for piece in row):
        words += f" {MISSING}: not trained yet, with the paper's number."
    words += marks_words(table.entries)
    if shown := [name for name in READINGS if any(name in _others(entry) for entry in table.entries)]:
        said = "; ".join(f"… {READINGS[name].title}: {READINGS[name].words}" for name in shown)
        words += f" Other readings, from the same runs, {said}."
    return words


def marks_words(entries: Collection[Entry]) -> str:
    """Say what the marks of some entries mean, a sentence each."""
    used = {letter for entry in entries for letter in mark(entry)}
    words = "".join(f" {letter}: {said}." for letter, said in MARKS.items() if letter in used)
    if EARLIER in used:
        count = sum(entry.earlier for entry in entries)
        words += f" {EARLIER}: {cells(count)} {'is' if count == 1 else 'are'} of an earlier recipe."
    return words


def cells(count: int) -> str:
    """Return a number of cells in words."""
    return f"{count} cell{'' if count == 1 else 's'}"


def mark(entry: Entry) -> str:
    """Return the marks of a setting that no search here found or that is no longer packaged.

    A rule has none to search.
    """
    chosen = CHOSEN.get(entry.chosen, UNKNOWN) if MODELS[entry.model].learns else ""
    return chosen + (EARLIER if entry.earlier else "")


def kept_line(cells: Sequence[Cell]) -> str:
    """Say where cells come from that were there before: on which devices they were trained, and when."""
    devices = " and ".join(sorted({cell["device"] for cell in cells}))
    days = sorted({cell["test_opened"]["at"][:10] for cell in cells})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"trained on {devices}, test labels opened {when}"


def step_line(step: Step) -> str:
    """Say in a line what became of a cell; nothing of one that was there before, or without its graph."""
    if step.state == "kept" or step.unread:
        return ""
    head = f"{step.number}/{step.total} · {step.dataset} · {MODELS[step.model].title}"
    if step.damaged:
        head = f"{head} · again, as {step.damaged}"
    if step.cell is None:
        return f"{head} · failed: {step.error}"
    opened = step.cell["test_opened"]
    if "earlier" in opened and opened["earlier"][-1]["setting"] == opened["setting"]:
        head = f"{head} · replaces a cell of other seeds"
    (entry,) = table1([step.cell]).entries
    beside = "" if entry.paper is None else f" (paper {100 * entry.paper:.2f})"
    return f"{head} · {ours(entry)}{beside} · {clock(step.seconds)}"


def grid(table: Table1) -> Grid:
    """Return Table 1 as a grid, ready to be written in any form."""
    return Grid(
        heading="Table 1, reproduced",
        heads=[title(dataset) for dataset in table.datasets],
        rows=list(_rows(table)),
        legend=legend(table),
        loud="A difference of more than one standard error is red. Point at a number to see how its setting "
        "was chosen, and the paper's with its ±.",
    )


def _rows(table: Table1) -> Iterator[tuple[str, list[Piece]]]:
    """Yield the rows with their names, and one for each other reading of a model."""
    for model in table.models:
        entries = {dataset: table.find(model, dataset) for dataset in table.datasets}
        yield MODELS[model].title, [piece(e) if e else missing(model, name) for name, e in entries.items()]
        for name, reading in READINGS.items():
            if any(entry and name in _others(entry) for entry in entries.values()):
                found = [entry and entry.read(name) for entry in entries.values()]
                yield f"… {reading.title}", [piece(entry) if entry else Piece() for entry in found]


def _others(entry: Entry) -> set[str]:
    """Return the readings that are shown: of the paper's HDP those it leaves open, of its variants none.

    A rule comes to the same from every seed.
    """
    if "initial" in entry.others and entry.model in ROWS:
        return set(entry.others)
    return set(entry.others) & {"averaged"} if MODELS[entry.model].learns else set()


def missing(model: str, dataset: str) -> Piece:
    """Return the place of a cell that is to come: the paper's number, blank where there is none."""
    if (found := printed(model, dataset)) is None:
        return Piece()
    return Piece(number=MISSING, below=f"{100 * found[0]:.2f}", hint=f"not trained yet; {as_printed(*found)}")


def as_printed(mean: float, std: float | None) -> str:
    """Return what the paper prints, as paper 88.38 ± 4.20."""
    return f"paper {100 * mean:.2f}" + ("" if std is None else f" ± {100 * std:.2f}")


def piece(entry: Entry) -> Piece:
    """Return a cell of the table."""
    number, _, spread = ours(entry).partition(" ")
    hints = [f"{entry.chosen}: {entry.note}"]
    hints += ["of an earlier recipe"] if entry.earlier else []
    hints += ["at the epoch of the lowest validation loss"] if entry.by_loss else []
    hints += [as_printed(entry.paper, entry.paper_std)] if entry.paper is not None else []
    return Piece(
        number=number,
        spread=f" {spread}" if spread else "",
        below=paper(entry),
        place=entry.place,
        mark=mark(entry),
        hint="; ".join(hints),
        loud=entry.standard_errors is not None and abs(entry.standard_errors) > 1,
    )
