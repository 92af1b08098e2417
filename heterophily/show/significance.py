"""A comparison in words and as a grid: what may be concluded from it, and what may not."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from heterophily.bench.compare import GEOM_GCN, SURE, Comparison, Pair
from heterophily.bench.table1 import Entry, Table1
from heterophily.models import MODELS
from heterophily.show.grids import Grid, Piece
from heterophily.show.table1 import mark, marks_words, signed, title

MARKS = {"first": "▲", "second": "▼", "equal": "≈", "open": ""}


def name_of(model: str) -> str:
    """Return what a model is called; one that is not ours by its own name."""
    return MODELS[model].title if model in MODELS else model


def p_text(p: float) -> str:
    """Return a p-value with three digits, never as a plain zero."""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def points(fraction: float) -> str:
    """Return a fraction as points of a percentage."""
    return f"{100 * fraction:g} {'point' if math.isclose(fraction, 0.01) else 'points'}"


def probability(value: float) -> str:
    """Return a probability in percent, never rounded to certainty."""
    return "<1 %" if value < 0.005 else ">99 %" if value > 0.995 else f"{100 * value:.0f} %"


def grid(found: Comparison, table: Table1) -> Grid:
    """Return every model against the reference on every dataset; settings have the marks of the table."""
    assert found.against is not None
    datasets = list(found.means)
    others = list(dict.fromkeys(pair.second for pair in found.pairs))
    others = [model for model in MODELS if model in others] + [m for m in others if m not in MODELS]
    pairs = {(pair.second, pair.dataset): pair for pair in found.pairs}
    entries = {(m, d): table.find(m, d) for m in (*others, found.against) for d in datasets}
    reference = name_of(found.against)
    legend = (
        f"{reference} less each model: the mean difference on the test nodes in points, ▲ where {reference} "
        f"is better, ▼ where it is worse (corrected resampled t-test, p < {found.alpha:g}, Holm-adjusted "
        f"over {_adjusted_over(found)}: all of the paper that have a cell on the dataset, shown or not), ≈ "
        f"where the two are within {points(found.rope)} of each other with a probability of {SURE:.0%} or "
        "more; without a mark nothing is concluded. Below, adjusted p-values: of that test and of Wilcoxon's "
        "signed-rank test, which takes splits as independent though they overlap."
    )
    legend += marks_words([entry for entry in entries.values() if entry])
    own = [f"{title(d)}{sign}" for d in datasets if (sign := _mark(entries[found.against, d]))]
    legend += f" {reference} itself: {', '.join(own)}." if own else ""
    return Grid(
        heading=f"{reference} against each model",
        heads=[title(dataset) for dataset in datasets],
        rows=[(name_of(m), [_piece(pairs.get((m, d)), entries[m, d]) for d in datasets]) for m in others],
        legend=legend,
        notes=[ranks_words(found)],
    )


def _adjusted_over(found: Comparison) -> str:
    counts = [pair.adjusted_over for pair in found.pairs]
    least, most = min(counts), max(counts)
    return f"{f'{least} to ' if least < most else ''}{most} model{'s' if most > 1 else ''}"


def _mark(entry: Entry | None) -> str:
    return mark(entry) if entry else ""


def _piece(pair: Pair | None, entry: Entry | None) -> Piece:
    if pair is None:
        return Piece()
    return Piece(
        number=signed(100 * pair.difference, 2),
        below=f"{p_text(pair.p_holm)} · {p_text(pair.wilcoxon_holm)}",
        mark=MARKS[pair.verdict] + _mark(entry),
        place=1 if pair.verdict in ("first", "second") else None,
        hint=pair_words(pair),
    )


def pairs_table(found: Comparison) -> Table:
    """Return a row per pair with all its statistics; adjusted p-values stand in brackets."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("first less\nsecond", overflow="fold", vertical="bottom")  # it alone makes room
    heads = ("difference\nin points", "effect\nsize", "p,\nt-test", "p,\nWilcoxon")
    for head in (*heads, "first\nbetter", "equal", "second\nbetter"):
        table.add_column(head, justify="right", no_wrap=True, vertical="bottom")
    several = len(found.means) > 1
    for pair in found.pairs:
        effect = signed(pair.effect, 2) if abs(pair.effect) < 100 else "–"
        worse, equal, better = pair.posterior
        table.add_row(
            f"{pair.dataset}:\n" * several + f"{name_of(pair.first)} less\n{name_of(pair.second)}",
            f"{signed(100 * pair.difference, 2)}\n± {100 * pair.std:.2f}",
            effect,
            f"{p_text(pair.p)}\n({p_text(pair.p_holm)})",
            f"{p_text(pair.wilcoxon_p)}\n({p_text(pair.wilcoxon_holm)})",
            *map(probability, (better, equal, worse)),
        )
    return table


def pair_words(pair: Pair) -> str:
    """Say what may be concluded of a pair."""
    first, second, apart = name_of(pair.first), name_of(pair.second), 100 * abs(pair.difference)
    if pair.verdict in ("first", "second"):
        better, worse = (first, second) if pair.verdict == "first" else (second, first)
        by = f"by {apart:.2f} points, p {equals(pair.p_holm)}"
        return f"On {pair.dataset}, {better} is better than {worse}: {by}."
    if pair.verdict == "equal":
        return (
            f"On {pair.dataset}, {first} and {second} are equal in practice, with a probability of "
            f"{probability(pair.posterior.equal)}."
        )
    lead = first if pair.difference > 0 else second
    head = f"{lead} is {apart:.2f} points ahead" if apart >= 0.005 else "they are level"
    words = (
        f"On {pair.dataset}, it stays open whether {first} or {second} is better: {head}, "
        f"p {equals(pair.p_holm)}"
    )
    if pair.wilcoxon_holm < pair.alpha:
        words += f". Wilcoxon's test alone would decide for {lead}, but it takes splits as independent, and "
        words += "they overlap"
    return f"{words}. That is no evidence that they are equal."


def equals(p: float) -> str:
    """Return a p-value with what it is equal to or less than."""
    return f"= {p:.3f}" if p >= 0.0005 else "< 0.001"


def ranks_words(found: Comparison) -> str:
    """Say what the mean ranks show, or why there are none."""
    ranks, over = found.ranks, ", ".join(map(title, found.over))
    if ranks is None:
        return f"There are no mean ranks, as no two models have all of {over}. {lacking(found)}"
    where = f" ({over})" if len(found.means) > 1 else ""
    order = sorted(zip(ranks.mean, found.models))
    shown = ", ".join(f"{name_of(model)} {rank:.2f}" for rank, model in order)
    words = (
        f"Mean ranks over {ranks.blocks} {found.blocks}{where}, 1 being the best: {shown}. Two models "
        f"differ where their mean ranks are more than {ranks.critical_difference:.2f} apart (Nemenyi, "
        f"{found.alpha:g}); that all are alike has p {equals(ranks.friedman)} (Friedman)."
    )
    if ranks.friedman >= found.alpha:
        words += " So the ranks tell none of them apart."
    if found.blocks == "splits":
        words += " The splits of one dataset overlap, so these ranks look surer than they are."
    return f"{words} {lacking(found)}".strip()


def lacking(found: Comparison) -> str:
    """Name the models that are not ranked, with the datasets that they lack; nothing if all are."""
    if not found.left_out:
        return ""
    each = (f"{name_of(model)} lacks {', '.join(map(title, some))}" for model, some in found.left_out.items())
    return f"Not ranked: {'; '.join(each)}."


def caveats(found: Comparison) -> list[str]:
    """Say what may not be concluded, and what was taken for granted."""
    splits = min(pair.splits for pair in found.pairs)
    said = [
        "What may not be concluded: anything about other graphs or other settings than these. A test knows "
        "the spread over splits alone; it cannot know whether one model was tuned for longer, or by its test "
        "scores."
    ]
    family = max(pair.adjusted_over for pair in found.pairs)
    least = 2 / 2**splits
    if least * family >= found.alpha:
        adjusted = f", which is {min(least * family, 1):.3f} once adjusted for {family} comparisons"
        said.append(
            f"With {splits} splits Wilcoxon's test cannot give a p below {least:.3f}"
            f"{adjusted if family > 1 else ''}: it could not have found a difference here, however large."
        )
    if found.assumed:
        said.append(
            f"How many nodes were trained and tested on is not known for {', '.join(found.assumed)}; the "
            f"ratio of test to training nodes was taken as {GEOM_GCN:.2f}, that of the paper's splits. "
            "--ratio says otherwise."
        )
    return said


def comparison(found: Comparison) -> Group:
    """Return a whole comparison for a terminal: its numbers, then its words."""
    legend = (
        "Difference: mean ± std (ddof 1) of first less second. Effect: the mean in units of that std. "
        "p-values in brackets are Holm-adjusted within a dataset. The last three columns are probabilities "
        f"that the mean difference is above, within and below ±{points(found.rope)}."
    )
    lines = [legend, "", *map(pair_words, found.pairs), ""]
    lines += [ranks_words(found), ""] if len(found.models) + len(found.left_out) > 2 else []
    return Group(pairs_table(found), Text("\n".join([*lines, *caveats(found)])))
