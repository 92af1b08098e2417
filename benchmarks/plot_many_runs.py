"""Draw what `many_runs.py` has measured and write it down: all numbers of docs/many-runs.md are its JSON's.

    python benchmarks/plot_many_runs.py

Makes docs/many-runs.png anew, and the part of docs/many-runs.md between the two markers.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heterophily.files import write_file

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "many_runs.json"
PAGE, PICTURE = ROOT / "docs" / "many-runs.md", ROOT / "docs" / "many-runs.png"
BEGIN = "<!-- measured: written by benchmarks/plot_many_runs.py from benchmarks/many_runs.json -->"
END = "<!-- end of what was measured -->"

MODELS = {"gcn": "GCN", "hdp": "HDP"}
BLUE, ORANGE, LIGHT, GREY = "#4477aa", "#d95f02", "#f5bf94", "#888888"
COLORS = {"gcn": BLUE, "hdp": ORANGE}

AGGREGATION = {
    "gather_index_add_ms": "gather, then index_add",
    "block_csr_ms": "one block-diagonal CSR product",
    "bound_every_neighbor_read_from_memory_ms": "bound: each neighbor's row read from memory",
    "bound_every_row_read_once_ms": "bound: each row read once",
}


def captured_ratio(row: dict[str, Any]) -> float:
    """Return the ratio to HDP's runs one after another where each replays a captured epoch, too."""
    return row["runs"] * row["hdp_one_captured_ms"] / row["hdp_many_ms"]


def bounds(row: dict[str, Any], model: str) -> dict[str, float]:
    """Return the bounds on an epoch of all runs: ``gcn_memory_bound_ms`` and any other of this form."""
    found = {re.fullmatch(rf"{model}_(\w+)_bound_ms", key): value for key, value in row.items()}
    return {match[1].replace("_", " "): value for match, value in found.items() if match}


def bounded(found: dict[str, Any]) -> list[tuple[str, str, float, dict[str, float]]]:
    """Return graph, model, the milliseconds of an epoch and its bounds, where there are some."""
    each = [(row, model, bounds(row, model)) for row in found["epochs"] for model in MODELS]
    return [(row["dataset"], model, row[f"{model}_many_ms"], low) for row, model, low in each if low]


# In words


def words(found: dict[str, Any]) -> str:
    """Return what stands between the markers."""
    versions = f"PyTorch {found['torch']}, PyG {found['torch_geometric']}"
    parts = [
        f"On one {found['device']} ({versions}); milliseconds of an epoch, which trains and judges each run:",
        epochs_table(found["epochs"]),
        "A ratio is that of run-epochs per second, all runs together to one after another, in one process on "
        "one device. One after another is, for GCN, PyG's own trained in the usual loop, and for HDP, this "
        "package's with one run. Part of the gain is the replay of a captured epoch (a CUDA graph), which "
        "spares the host's work and which a single run can have, too: the last ratio is to such runs.",
    ]
    if low := bounded(found):
        parts += ["The same epochs against what the device could do at best:", bounds_table(low)]
    if "aggregation" in found:
        parts.append(aggregation_words(found["aggregation"], found["bandwidth_GB_per_s"]))
    if "squirrel_ten_splits_s" in found:
        seconds = found["squirrel_ten_splits_s"]
        parts.append(f"Ten splits of Squirrel, HDP trained to the end with early stopping: {seconds:.1f} s.")
    return "\n\n".join(parts)


def epochs_table(rows: Iterable[dict[str, Any]]) -> str:
    """Return the epochs and ratios of every graph."""
    head = [
        "graph", "runs",
        "GCN: one (PyG)", "GCN: all", "**ratio**",
        "HDP: one", "HDP: one, captured", "HDP: all", "**ratio**", "ratio to captured",
    ]  # fmt: skip
    times = ("pyg_gcn_one_ms", "gcn_many_ms", "hdp_one_ms", "hdp_one_captured_ms", "hdp_many_ms")
    body = []
    for row in rows:
        pyg, gcn, one, captured, hdp = (f"{row[name]:.1f}" for name in times)
        first = [row["dataset"].capitalize(), str(row["runs"]), pyg, gcn, f"**{times_as(row['gcn_ratio'])}**"]
        second = [one, captured, hdp, f"**{times_as(row['hdp_ratio'])}**", times_as(captured_ratio(row))]
        body.append([*first, *second])
    return table(head, body)


def bounds_table(low: Sequence[tuple[str, str, float, dict[str, float]]]) -> str:
    """Return epochs of all runs beside their bounds, and their ratio to the highest of them."""
    kinds = list(dict.fromkeys(kind for *_, each in low for kind in each))
    head = [
        "graph",
        "model",
        "epoch of all runs",
        *(f"{kind} bound" for kind in kinds),
        "epoch / highest bound",
    ]
    body = []
    for dataset, model, epoch, each in low:
        cells = [f"{each[kind]:.2f}" if kind in each else "–" for kind in kinds]
        ratio = times_as(epoch / max(each.values()))
        body.append([dataset.capitalize(), MODELS[model], f"{epoch:.2f}", *cells, ratio])
    return table(head, body)


def aggregation_words(found: dict[str, Any], speed: float) -> str:
    """Say how the sparse product stands to gather and index_add, and to the bytes it must move."""
    ours, gather, far, near = (
        found[name]
        for name in (
            "block_csr_ms",
            "gather_index_add_ms",
            "bound_every_neighbor_read_from_memory_ms",
            "bound_every_row_read_once_ms",
        )
    )
    verdict = "less, so rows come from the cache" if ours < far else f"{times_as(ours / far)} as long"
    return (
        f"The sparse product alone, for {found['runs']} runs on Squirrel at width {found['width']}: "
        f"{ours:.2f} ms, and {gather:.1f} ms with gather and index_add ({times_as(gather / ours)}). At the "
        f"measured {speed:,.0f} GB/s, to read the row of each neighbor from memory takes {far:.2f} ms: the "
        f"product takes {verdict}. To read each row just once would take {near:.3f} ms; the product takes "
        f"{times_as(ours / near)} that."
    )


def times_as(ratio: float) -> str:
    """Return a ratio with two or three digits."""
    return f"{ratio:.0f} ×" if ratio >= 9.95 else f"{ratio:.1f} ×"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; all columns but the first are flush right."""
    rows = [head, ["---", *["--:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(text: str, found: dict[str, Any]) -> str:
    """Return the page with the part between the markers made anew."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{PAGE.name} has lost its markers:\n{BEGIN}\n{END}")
    return f"{before}{begin}\n\n{words(found)}\n\n{end}{after}"


# As a picture


def figure(found: dict[str, Any]) -> Figure:
    """Draw the ratios, the epochs against their bounds where there are some, and the sparse product."""
    low = bounded(found)
    panels = 1 + bool(low) + ("aggregation" in found)
    heights = [3.9, *[3.3] * bool(low), *[2.5] * ("aggregation" in found)]
    whole = Figure(figsize=(10, 0.8 + sum(heights)), layout="constrained")
    whole.get_layout_engine().set(h_pad=0.1, w_pad=0.1)  # type: ignore[union-attr,call-arg]
    versions = f"PyTorch {found['torch']}, PyG {found['torch_geometric']}"
    whole.suptitle(f"Many runs at once on one {found['device']}", fontsize=14, fontweight="bold")
    whole.supxlabel(versions, fontsize=9, color=GREY)
    rows: Any = whole.subfigures(panels, 1, squeeze=False, height_ratios=heights)
    axes = [row.subplots() for row in rows.flat]
    ratio_panel(axes.pop(0), found["epochs"])
    if low:
        bounds_panel(axes.pop(0), low)
    if "aggregation" in found:
        aggregation_panel(axes.pop(0), found["aggregation"])
    return whole


def ratio_panel(axes: Axes, rows: Sequence[dict[str, Any]]) -> None:
    """Draw the ratios, graph by graph."""
    rows = sorted(rows, key=lambda row: row["gcn_ratio"], reverse=True)
    kinds = {
        "GCN, against PyG's in the usual loop": (BLUE, [row["gcn_ratio"] for row in rows]),
        "HDP, against HDP with one run": (ORANGE, [row["hdp_ratio"] for row in rows]),
        "HDP, against one run that replays a captured epoch": (LIGHT, [captured_ratio(row) for row in rows]),
    }
    for i, (label, (color, values)) in enumerate(kinds.items()):
        places = [graph + 0.27 * (i - 1) for graph in range(len(rows))]
        bars = axes.bar(places, values, 0.25, label=label, color=color)
        axes.bar_label(bars, [times_as(value) for value in values], padding=2, fontsize=9.5)
    axes.set_yscale("log")
    axes.set_ylim(1, 3 * max(value for _, values in kinds.values() for value in values))
    axes.set_yticks([1, 10, 100], ["1 ×", "10 ×", "100 ×"])
    axes.set_xticks(range(len(rows)), [f"{row['dataset'].capitalize()}\n{row['runs']} runs" for row in rows])
    axes.tick_params(axis="x", length=0)
    axes.minorticks_off()
    axes.set_title("Run-epochs per second, all runs together to one after another (log scale)", fontsize=11.5)
    axes.legend(loc="upper right", frameon=False, fontsize=9.5)
    plain(axes, "y")


def bounds_panel(axes: Axes, low: Sequence[tuple[str, str, float, dict[str, float]]]) -> None:
    """Draw the epochs of all runs as dots, and their bounds as marks below."""
    kinds = list(dict.fromkeys(kind for *_, each in low for kind in each))
    for kind, mark in zip(kinds, ("_", "x", "+", "1")):
        points = [(i, each[kind]) for i, (*_, each) in enumerate(low) if kind in each]
        style: dict[str, Any] = {"s": 220 if mark == "_" else 50, "linewidths": 2.2}
        axes.scatter(*zip(*points), marker=mark, color=GREY, label=f"{kind} bound", zorder=3, **style)
    for i, (_, model, epoch, each) in enumerate(low):
        axes.plot([i, i], [max(each.values()), epoch], color="#cccccc", zorder=1)
        axes.scatter(i, epoch, s=80, color=COLORS[model], zorder=3)
        words = f"{epoch:.1f} ms\n{times_as(epoch / max(each.values()))}"
        axes.annotate(words, (i, epoch), (0, 7), textcoords="offset points", ha="center", fontsize=9)
    axes.set_yscale("log")
    axes.set_ylim(min(min(each.values()) for *_, each in low) / 2, 6 * max(epoch for _, _, epoch, _ in low))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} ms")
    axes.minorticks_off()
    axes.set_xticks(range(len(low)), [f"{dataset.capitalize()}\n{MODELS[m]}" for dataset, m, _, _ in low])
    axes.tick_params(axis="x", length=0)
    title = "An epoch of all runs, and how many times its highest bound it takes (log scale)"
    axes.set_title(title, fontsize=11.5, pad=24)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 0.98), ncols=len(kinds), frameon=False, fontsize=9.5)
    plain(axes, "y")


def aggregation_panel(axes: Axes, found: dict[str, Any]) -> None:
    """Draw the sparse product beside what it replaces and what bounds it."""
    names = [name for name in AGGREGATION if name in found]
    values = [found[name] for name in names]
    for i, (name, value) in enumerate(zip(names, values)):
        color = GREY if name.startswith("bound") else BLUE
        axes.scatter(
            value, i, s=80, marker="|" if name.startswith("bound") else "o", color=color, linewidths=3
        )
        words = f"{value:.2f} ms" if value >= 0.1 else f"{value:.3f} ms"
        axes.annotate(words, (value, i), (10, 0), textcoords="offset points", va="center", fontsize=9.5)
    axes.set_yticks(range(len(names)), [AGGREGATION[name] for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 2, max(values) * 3)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} ms")
    axes.tick_params(axis="y", length=0)
    axes.minorticks_off()
    title = f"The sum over neighbors, {found['runs']} runs on Squirrel at width {found['width']} (log scale)"
    axes.set_title(title, fontsize=11.5)
    plain(axes, "x")


def plain(axes: Axes, grid: str) -> None:
    """Leave out what says nothing."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#dddddd", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def digest(measured: Path) -> str:
    """Name the content of the JSON, so that a picture can say what it was drawn from."""
    return hashlib.sha256(measured.read_bytes()).hexdigest()


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.parse_args()
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8"), found))
    note = {"Description": f"drawn from {MEASURED.name}, sha256 {digest(MEASURED)}"}
    stream = io.BytesIO()
    figure(found).savefig(stream, dpi=130, metadata=note)
    write_file(PICTURE, stream.getvalue())
    print(f"wrote {PAGE.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
