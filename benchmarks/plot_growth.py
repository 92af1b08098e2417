"""Draw what `growth.py` and `minibatch.py` have measured and write it down, for docs/large-graphs.md.

    python benchmarks/plot_growth.py

Makes docs/large-graphs.png anew, and the part of docs/large-graphs.md between the two markers. All numbers
there are those of benchmarks/growth.json (a CPU), growth_gpu.json (a GPU, where it was measured) and
minibatch.json.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heterophily.files import write_file
from heterophily.show.style import model_looks, styled

ROOT = Path(__file__).parents[1]
FILES = {"CPU": ROOT / "benchmarks/growth.json", "GPU": ROOT / "benchmarks/growth_gpu.json"}
BATCHES = ROOT / "benchmarks/minibatch.json"
PAGE, PICTURE = ROOT / "docs/large-graphs.md", ROOT / "docs/large-graphs.png"
BEGIN = "<!-- measured: written by benchmarks/plot_growth.py -->"
END = "<!-- end of what was measured -->"
TITLES = {"hdp": "HDP", "gcn": "GCN (PyG)", "linkx": "LINKX"}

# The projection's assumptions, all in one place and all in the page.
NODES, DEGREE, FEATURES, HIDDEN, DIM = 50_000_000, 20, 128, 512, 128
MEMORY, USABLE = 141e9, 0.8
BANDWIDTH, RATE = 4.8e12, 60e12
LINKS = {"NVLink": 450e9, "InfiniBand": 50e9}
PRODUCTS = 4 * 3
"""Sparse products of an epoch: one for H^nb, three layers of SMP; forward, backward, evaluation."""


def words(measured: dict[str, dict[str, Any]], batches: dict[str, Any] | None) -> str:
    """Return what stands between the markers."""
    parts = []
    for kind, found in measured.items():
        parts += [*growth_table(kind, found), ""]
    if batches:
        parts += [*batch_table(batches), ""]
    parts += projection_table(measured)
    return "\n".join(parts)


def growth_table(kind: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of one machine as a table, and its exponents."""
    machine = found["machine"]
    shared = f", on a machine with a load of {machine['load']:.1f}" if machine["load"] > 1 else ""
    where = f"{machine['threads']} threads{shared}" if kind == "CPU" else machine["device"]
    yield f"**{kind}** ({where}, {machine['features']} features, torch {machine['torch']}):"
    yield ""
    yield "| model | nodes | edges | s an epoch | s of all cores | bound, s | peak GiB |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in found["rows"]:
        name = TITLES[row["model"]]
        if "error" in row:
            yield f"| {name} | {row['nodes']:,} | | does not fit | | | |"
            continue
        bound = f"{row['bound_seconds']:.3g}" if "bound_seconds" in row else ""
        seconds = f"{row['seconds']:.3g} | {row['cpu_seconds']:.3g} | {bound}"
        memory = row["peak_memory_bytes"] / 2**30
        yield f"| {name} | {row['nodes']:,} | {row['edges']:,} | {seconds} | {memory:.2f} |"
    yield ""
    fits = [
        f"{TITLES[model]} {fit['seconds']:.2f}, {fit['cpu_seconds']:.2f} and {fit['peak_memory_bytes']:.2f}"
        for model, fit in found.get("exponents", {}).items()
    ]
    yield f"Exponents in edges of an epoch's time, its time on all cores, and memory: {'; '.join(fits)}."


def batch_table(found: dict[str, Any]) -> Iterator[str]:
    """Yield full batches in full precision beside mini-batches and mixed precision."""
    yield f"**Mini-batches and mixed precision** (accuracy on test nodes, `{' '.join(found['set'])}`):"
    yield ""
    yield "| graph | splits | full batch | the other way | accuracy | difference in points |"
    yield "|---|---:|---:|---|---:|---:|"
    full = {row["dataset"]: row for row in found["rows"] if row["way"] == "full"}
    for row in found["rows"]:
        if row["way"] != "full" and row["dataset"] in full:
            mean, whole = 100 * row["mean"], 100 * full[row["dataset"]]["mean"]
            name, splits = row["dataset"].capitalize(), len(row["test"])
            assert splits == len(full[row["dataset"]]["test"])
            way = "mixed precision" if row["way"] == "mixed" else f"{row['way']} clusters"
            yield f"| {name} | {splits} | {whole:.2f} % | {way} | {mean:.2f} % | {mean - whole:+.2f} |"


def projection_table(measured: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield what a billion edges would take, from the bytes a node takes in what was measured."""
    each = bytes_a_node(measured)
    yield (
        f"**A projection to {NODES * DEGREE / 1e9:g} billion edges** ({NODES / 1e6:g} million nodes of "
        f"degree {DEGREE}, {FEATURES} features; {each / 1024:.1f} KiB a node, as measured):"
    )
    yield ""
    yield "| GPUs | GB each | fits | s of computing | s of exchange, NVLink | s of exchange, InfiniBand |"
    yield "|---:|---:|---|---:|---:|---:|"
    for gpus in (4, 8, 16, 32, 64):
        memory, compute, exchange = projected(each, gpus)
        fits = "yes" if memory < USABLE * MEMORY else "no"
        seconds = " | ".join(f"{exchange / rate:.2f}" for rate in LINKS.values())
        yield f"| {gpus} | {memory / 1e9:.0f} | {fits} | {compute:.2f} | {seconds} |"


def bytes_a_node(measured: dict[str, dict[str, Any]]) -> float:
    """Return how many bytes of HDP's peak a further node takes: of the last machine, between its ends."""
    rows = [row for row in list(measured.values())[-1]["rows"] if row["model"] == "hdp" and "seconds" in row]
    first, last = rows[0], rows[-1]
    return float((last["peak_memory_bytes"] - first["peak_memory_bytes"]) / (last["nodes"] - first["nodes"]))


def projected(each: float, gpus: int) -> tuple[float, float, float]:
    """Return bytes a GPU holds, seconds it computes and bytes it receives in an epoch."""
    own = NODES / gpus
    # The rows that its own nodes' neighbors stand in, all different at worst.
    halo = min(own * DEGREE, NODES) * (1 - 1 / gpus)
    gathered = PRODUCTS * own * DEGREE * (4 * DIM + 8)
    products = 3.5 * 2 * own * (FEATURES * HIDDEN + HIDDEN * DIM)
    row = 4 * DIM
    return each * own + row * halo, gathered / BANDWIDTH + products / RATE, PRODUCTS * row * halo


def figure(measured: dict[str, dict[str, Any]]) -> Figure:
    """Draw time and memory against edges, both axes logarithmic."""
    drawn = Figure(figsize=(8.4, 3.1 * len(measured)), layout="constrained")
    for (kind, found), axes in zip(measured.items(), drawn.subplots(len(measured), 2, squeeze=False)):
        if kind == "CPU":  # where others may have been at work
            panel(axes[0], found["rows"], "cpu_seconds", "CPU: an epoch's seconds on all cores", 1)
        else:
            panel(axes[0], found["rows"], "seconds", f"{kind}: seconds of an epoch", 1)
        panel(axes[1], found["rows"], "peak_memory_bytes", f"{kind}: peak memory, GiB", 2**30)
    return drawn


def panel(axes: Axes, rows: Sequence[dict[str, Any]], what: str, title: str, unit: float) -> None:
    """Draw one quantity, with a line of slope 1 to compare."""
    rows = [row for row in rows if what in row]
    for model, look in model_looks(list(TITLES)).items():
        some = [row for row in rows if row["model"] == model]
        axes.plot([r["edges"] for r in some], [r[what] / unit for r in some], label=TITLES[model], **look)
    bound = [row for row in rows if what == "seconds" and "bound_seconds" in row]
    if bound:
        values = [row["bound_seconds"] for row in bound]
        axes.plot([r["edges"] for r in bound], values, "--", color="#999999", label="HDP's bound")
    edges = sorted({row["edges"] for row in rows})
    start = min(row[what] for row in rows if row["edges"] == edges[-1]) / unit / 3
    ends = [edges[0], edges[-1]]
    axes.plot(ends, [start * end / edges[-1] for end in ends], ":", color="#bbbbbb", label="in proportion")
    low = min(row[what] for row in rows) / unit
    axes.set(xscale="log", yscale="log", xlabel="edges", title=title, ylim=(low / 2, None))
    axes.legend()


def page(text: str, measured: dict[str, dict[str, Any]], batches: dict[str, Any] | None) -> str:
    """Return the page with what was measured in its place."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{words(measured, batches)}\n\n{END}{rest.split(END)[1]}"


def digest(files: Sequence[Path]) -> str:
    """Name what a picture was drawn from."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def read() -> tuple[dict[str, dict[str, Any]], dict[str, Any] | None]:
    """Return what was measured."""
    measured = {kind: json.loads(file.read_text()) for kind, file in FILES.items() if file.exists()}
    return measured, json.loads(BATCHES.read_text()) if BATCHES.exists() else None


def main() -> None:
    """Write both."""
    measured, batches = read()
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8"), measured, batches))
    note = {"Description": f"sha256 {digest([file for file in FILES.values() if file.exists()])}"}
    stream = io.BytesIO()
    with styled():
        figure(measured).savefig(stream, dpi=150, metadata=note)
    write_file(PICTURE, stream.getvalue())
    print(f"wrote {PAGE.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
