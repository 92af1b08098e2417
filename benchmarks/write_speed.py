"""The page on speed, from the JSON files beside this one; the site shows it.

python benchmarks/write_speed.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from plot_many_runs import table, words  # noqa: E402

from heterophily.models import MODELS  # noqa: E402


def measured(name: str) -> Any:
    """Return what a benchmark wrote."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def page() -> str:
    """Return the page: a section per benchmark, each with the command that measures it anew."""
    parts = [
        "# Speed\n",
        "Measured by the scripts in `benchmarks/`, and read from the JSON files that they wrote. "
        "Times are of the machine that is named; ratios travel better.\n",
    ]
    for title, name, text in sections():
        parts += [f"## {title}\n", text.strip(), f"\n`python benchmarks/{name}.py` measures it anew.\n"]
    return "\n".join(parts)


def sections() -> Iterable[tuple[str, str, str]]:
    """Yield title, script and text of each section."""
    found = measured("many_runs")
    picture = "![Run-epochs a second, all runs together to one after another](many-runs.png)"
    yield "Many runs at once, on a GPU", "many_runs", f"{picture}\n\n{words(found)}"
    yield "Searching settings", "tuning", tuning()
    yield "Many runs at once, on a CPU", "cpu_batches", cpu_batches()
    yield "Growing graphs", "scaling", scaling()
    yield "Memory and time of every model on PubMed", "pubmed_memory", pubmed()
    yield "Reading files", "reading", reading()
    yield "Auditing", "audit", audit()


def tuning() -> str:
    """Trials a minute."""
    found = measured("tuning")
    rows = []
    for model, each in found["models"].items():
        ratios = (each["times_plain"], each["times_captured"])
        rows.append(
            [MODELS[model].title, f"{each['tune']['per_minute']:,.0f}", *(f"{r:.0f} ×" for r in ratios)]
        )
    head = ("model", "trials a minute", "to a plain loop", "to a loop of captured epochs")
    lead = f"Trials of {found['splits']} splits each on {title(found['dataset'])}, on one {found['device']}:"
    return f"{lead}\n\n{table(head, rows)}"


def cpu_batches() -> str:
    """What batching brings without a GPU."""
    found = measured("cpu_batches")
    rows = [
        [title(row["dataset"]), MODELS[row["model"]].title, str(row["runs"]),
         *(f"{row['seconds'][way]:.2f}" for way in ("alone", "together", "chosen"))]
        for row in found["rows"]
    ]  # fmt: skip
    head = ("graph", "model", "runs", "one by one", "together", "as the engine chooses")
    return f"Seconds, on {found['threads']} cores:\n\n{table(head, rows)}"


def scaling() -> str:
    """How the time of an epoch grows with the graph."""
    found = measured("scaling")
    rows = [
        [f"{n:,}", f"{e:,}", f"{s:.2f} s"]
        for n, e, s in zip(found["nodes"], found["edges"], found["epoch_seconds"])
    ]
    words = f"HDP on {found['threads']} cores; at its highest it took {found['peak_GiB']:.1f} GiB."
    return f"{table(('nodes', 'edges', 'epoch'), rows)}\n\n{words}"


def pubmed() -> str:
    """What each model takes on one graph."""
    rows = [
        [MODELS[row["model"]].title, f"{row['peak_GiB'] - row['before_GiB']:.2f}", f"{row['seconds']:.2f}"]
        for row in measured("pubmed_memory")["rows"] if row["model"] in MODELS
    ]  # fmt: skip
    return (
        f"On 2 cores, with default settings:\n\n{table(('model', 'GiB more than before', 'seconds'), rows)}"
    )


def reading() -> str:
    """How long large files take to read."""
    found = measured("reading")
    rows = [
        [
            row["case"],
            f"{row['nodes']:,}",
            f"{row['edges']:,}",
            f"{row['seconds']:.1f} s",
            f"{row['peak_GiB']:.1f} GiB",
        ]
        for row in found["rows"]
    ]
    return (
        f"On {found['cores']} cores:\n\n{table(('files', 'nodes', 'edges', 'time', 'memory at most'), rows)}"
    )


def audit() -> str:
    """How long an audit takes."""
    found = measured("audit")
    large, slow = found["large"], max(found["shared_seconds"], key=found["shared_seconds"].get)
    return (
        f"`heterophily audit` takes {large['seconds']:.0f} s and {large['peak_GiB']:.1f} GiB for "
        f"{large['nodes']:,} nodes and {large['edges']:,} edges, and at most "
        f"{found['shared_seconds'][slow]:.1f} s ({title(slow)}) for a graph of the field, on "
        f"{found['cores']} cores."
    )


def title(dataset: str) -> str:
    """Return what a dataset is called."""
    from heterophily.show.table1 import title

    return title(dataset)


if __name__ == "__main__":
    print(page())
