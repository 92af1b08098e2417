"""Write into PAPER.md what the studies of the paper's section 5 found, and draw the pictures of the docs.

    python -m benchmarks.study_ledger [--check]

Results are those under results/studies (`studies.py`). What is believed stands in results/study_beliefs.toml:
a sentence per study, and one per row of Table 3 that the paper has below HDP by more than a standard error
and that is not so here. A disagreement without a sentence is an error, and so is a sentence without one.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from benchmarks.ledger import HOME, into_paper
from heterophily.files import write_files
from heterophily.models import MODELS
from heterophily.show.study_plots import study_figure
from heterophily.show.style import to_file
from heterophily.studies import STUDIES, Result, read
from heterophily.studies.ablation import FULL, ROWS, Ablation
from heterophily.studies.calibration import Calibration
from heterophily.studies.homophily import Homophily
from heterophily.studies.information import Information
from heterophily.studies.local import Local
from heterophily.studies.partition import PartitionStudy, accuracy
from heterophily.studies.preference import Preference
from heterophily.studies.rescale import Rescale
from heterophily.studies.result import mean
from heterophily.studies.tsne import Tsne

FOUND = HOME / "results" / "studies"
BEGIN, END = "<!-- studies: benchmarks/study_ledger.py -->", "<!-- end of studies -->"
"""Of the section, in PAPER.md."""
R = TypeVar("R", bound=Result)
Results = Mapping[tuple[str, str], Result]
"""By study and dataset."""


def results(folder: Path) -> Results:
    """Read all results of a folder."""
    found = [read(file) for file in sorted(folder.glob("*.json"))]
    return {(result.study, result.dataset): result for result in found}


def of(found: Results, kind: type[R]) -> list[R]:
    """Return the results of a study, its datasets in the order of the paper."""
    name = next(name for name, study in STUDIES.items() if study.result is kind)
    return [each for d in STUDIES[name].datasets if isinstance(each := found.get((name, d)), kind)]


def table_3(found: Results) -> list[str]:
    """Return Table 3 beside the paper's: every row's mean, and how far it lies below HDP."""
    studies = of(found, Ablation)
    head = "| | " + " | ".join(f"{s.dataset} | below HDP" for s in studies) + " |"
    lines = [head, "|---" * (1 + 2 * len(studies)) + "|"]
    for row in ROWS:
        cells = [row]
        for study in studies:
            cells += _row(study, row)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _row(study: Ablation, row: str) -> list[str]:
    printed, behind = study.printed[study.rows.index(row)], study.printed_loss(row)
    score = (
        f"{100 * study.mean(row):.1f} ({100 * printed[0]:.1f})" if printed else f"{100 * study.mean(row):.1f}"
    )
    if row == FULL:
        return [score, ""]
    lost, error = study.loss(row)
    paper = f" ({100 * behind[0]:.1f} ± {100 * behind[1]:.1f})" if behind else ""
    if study.idle[study.rows.index(row)]:
        return [score, f"same{paper}"]
    return [score, f"{round(100 * lost, 1) + 0.0:.1f} ± {100 * (error or 0):.1f}{paper}".replace("-", "−")]


def disagreements(found: Results) -> list[tuple[str, str]]:
    """Name the rows, by dataset, that the paper has clearly below HDP and that are not below it here."""
    return [(s.dataset, row) for s in of(found, Ablation) for row in s.rows if s.agrees(row) is False]


def by_layers(dataset: str) -> str:
    """Say what the searches on validation made of settings with and without message passing layers."""
    rows = json.loads((HOME / "results" / "tuning" / "hdp.json").read_text(encoding="utf-8"))
    row = next(row for row in rows if row["dataset"] == dataset)
    trials = pd.DataFrame(row["trace"], columns=row["columns"])
    trials = trials[trials["splits"] == row["splits"]]
    layers = trials["layers_hm"] + trials["layers_ht"] > 0
    without, having = (100 * trials["validation"][some].max() for some in (~layers, layers))
    return f"{without:.1f} % without layers and {having:.1f} % with them"


def beliefs(found: Results, said: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return a line per disagreement and what is believed of it."""
    differ, rows = disagreements(found), dict[tuple[str, str], str]()
    for dataset, sentences in said.items():
        rows |= {(dataset, row): why for row, why in sentences.items()}
    if silent := [f"{row} on {dataset}" for dataset, row in differ if (dataset, row) not in rows]:
        raise SystemExit(f"results/study_beliefs.toml says nothing of {', '.join(silent)}")
    if idle := [f"{row} on {dataset}" for dataset, row in rows if (dataset, row) not in differ]:
        raise SystemExit(f"results/study_beliefs.toml explains {', '.join(idle)}, which agree with the paper")
    clear = [s.loss(row) for s in of(found, Ablation) for row in s.rows if s.agrees(row) is not None]
    clearly = sum(lost > (error or 0.0) for lost, error in clear)
    head = (
        f"Of {len(clear)} rows that the paper has below HDP by more than a standard error, "
        f"{len(clear) - len(differ)} are below it here too, {clearly} of them by more than a standard error. "
        "The others:"
    )
    facts = {f"layers_on_{dataset}": by_layers(dataset) for dataset, row in differ if row == "w/o SMP."}
    return [head, "", *(f"- **{row} on {name}.** {rows[name, row].format(**facts)}" for name, row in differ)]


def partitions(study: PartitionStudy) -> str:
    """Figure 4."""
    share = study.shares()
    parts = [share["homophilous"], share["heterophilous"]]
    hm, ht = (f"{100 * part:.0f} %" if part is not None else "none" for part in parts)
    first, last = (mean([accuracy(t) for t in some]) or 0.0 for some in (study.initial, study.kept))
    return (
        f"{study.dataset}: of all edges {100 * (study.homophily or 0):.0f} % join one class, estimated "
        f"{100 * (mean(study.estimated) or 0):.0f} %; of those called homophilous {hm}, called heterophilous "
        f"{ht}; accuracy {100 * first:.1f} % before training, {100 * last:.1f} % as kept"
    )


def rescales(study: Rescale) -> str:
    """Figure 5."""
    scores = {name: study.line(name)[0] for name in ("test", "partition")}
    best = {name: int(np.argmax(values)) for name, values in scores.items()}
    test, part = scores["test"], scores["partition"]
    return (
        f"{study.dataset}: partition accuracy from {100 * min(part):.1f} to {100 * max(part):.1f} %, highest "
        f"at λ = {study.rescale[best['partition']]:g}; test accuracy from {100 * min(test):.1f} to "
        f"{100 * max(test):.1f} %, highest at {study.rescale[best['test']]:g}; validation chose "
        f"{study.chosen:.2f}"
    )


def informations(study: Information) -> str:
    """Figure 6."""
    hm, ht, both = (study.mean(pair) for pair in ("hm_labels", "ht_labels", "hm_ht"))
    return (
        f"{study.dataset}: of the labels' {study.labels:.2f} bits H^hm tells at least {hm:.2f}, H^ht "
        f"{ht:.2f}; the two share {both:.2f}"
    )


def prototypes(study: Tsne) -> str:
    """Figure 7."""
    usual, largest = study.orthogonality()
    return f"{study.dataset}: mean size {usual:.2f}, largest {largest:.2f}"


def preferences(study: Preference) -> str:
    """Figure 1b."""
    whole, part = (study.apart("true", name) or 0.0 for name in ("whole", "heterophilous"))
    guess = study.apart("pseudo", "heterophilous") or 0.0
    return (
        f"{study.dataset}: classes differ by {whole:.2f} in the whole neighborhood, by {part:.2f} in the "
        f"heterophilous one ({guess:.2f} by pseudo labels)"
    )


def locals_(study: Local) -> str:
    """Accuracy where few and where most neighbors are of a node's class."""
    lines = {model: study.line("homophily", model)[0] for model in study.models}
    low, high = (
        ", ".join(f"{MODELS[model].title} {100 * (line[k] or 0):.0f} %" for model, line in lines.items())
        for k in (0, -1)
    )
    first, last = study.bins["homophily"][0], study.bins["homophily"][-1]
    return (
        f"{study.dataset}: where {first} of the neighbors are of a node's class {low}; where {last}, {high}"
    )


def calibrations(study: Calibration) -> str:
    """Errors before and after temperature scaling."""
    ece = {m: [100 * study.pooled_ece(m, time) for time in ("before", "after")] for m in study.models}
    told = (f"{MODELS[m].title} {before:.1f} and {after:.1f} %" for m, (before, after) in ece.items())
    return f"{study.dataset}: {', '.join(told)}"


def homophilies(study: Homophily) -> str:
    """Who wins where."""
    wins = [
        f"{value:g} {', '.join(MODELS[m].title for m in best)}"
        for value, best in zip(study.homophily, study.best())
    ]
    return f"best at homophily {'; '.join(wins)}"


LINES: dict[str, tuple[str, type[Result], Callable[[Any], str]]] = {
    "partition": ("Figure 4, the partition", PartitionStudy, partitions),
    "rescale": ("Figure 5, λ", Rescale, rescales),
    "information": ("Figure 6, information", Information, informations),
    "tsne": ("Figure 7, cosines of the prototypes", Tsne, prototypes),
    "preference": ("Figure 1b, preferences", Preference, preferences),
    "local": ("Beyond the paper, local homophily", Local, locals_),
    "calibration": (
        "Beyond the paper, calibration error before and after scaling",
        Calibration,
        calibrations,
    ),
    "homophily": ("Beyond the paper, synthetic graphs", Homophily, homophilies),
}
PICTURES = (
    "ablation-squirrel", "partition-actor", "rescale-squirrel", "information-squirrel", "tsne-squirrel",
    "preference-cornell", "local-squirrel", "homophily-synthetic",
)  # fmt: skip
"""Those of the docs."""


def section(found: Results, said: Mapping[str, Any]) -> str:
    """Return all that stands between the markers."""
    lines = [*table_3(found), "", *beliefs(found, said["ablation"]), ""]
    lines += ["| study | found | what to make of it |", "|---|---|---|"]
    for name, (title, kind, words) in LINES.items():
        told = "; ".join(words(result) for result in of(found, kind))
        lines.append(f"| {title} | {told} | {said['figures'][name]} |")
    return "\n".join([*lines, "", cost([each for each in found.values() if STUDIES[each.study].paper])])


def cost(studies: Sequence[Result]) -> str:
    """Say what some studies took to train; a run that several share counts once."""
    runs = sum(study.about["runs"] - study.about["shared_runs"] for study in studies)
    minutes = sum(study.about["seconds"] for study in studies) / 60
    devices = ", ".join(sorted({study.about["device"] for study in studies}))
    return f"The studies of the paper are of {runs:,} runs, trained in {minutes:.1f} minutes on {devices}."


def main() -> None:
    """Write the section and the pictures, or say that the section is out of date."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if PAPER.md is out of date"
    )
    args = parser.parse_args()
    found = results(FOUND)
    said = tomllib.loads((HOME / "results" / "study_beliefs.toml").read_text(encoding="utf-8"))
    into_paper(BEGIN, END, section(found, said), "python -m benchmarks.study_ledger" if args.check else None)
    if args.check:
        return
    drawn = {name: found[study, dataset] for name in PICTURES for study, dataset in [name.split("-")]}
    pictures = {f"{name}.png": to_file(study_figure(result), "png") for name, result in drawn.items()}
    write_files(HOME / "docs" / "studies", pictures)


if __name__ == "__main__":
    main()
