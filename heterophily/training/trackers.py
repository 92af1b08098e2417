"""Trackers: what a training tells of every epoch goes to a file, TensorBoard, MLflow or Weights & Biases.

A tracker is a watcher that is closed: ``with tracker("curves.csv") as watch: model.fit(graph, watch=watch)``.
Each row has stage, epoch, losses and scores. Several at once: ``tracker("curves.csv", "tensorboard:runs")``.
"""

from __future__ import annotations

import csv
import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from heterophily.config import ConfigError
from heterophily.training.engine import Progress, Watch

Row = dict[str, Any]
EXTRAS = {"tensorboard": "tensorboard", "mlflow": "mlflow", "wandb": "wandb"}
"""Trackers by name, and the package that each needs."""


@contextmanager
def tracker(*places: str | os.PathLike[str], settings: Mapping[str, Any] | None = None) -> Iterator[Watch]:
    """Yield a watcher that writes every epoch to all ``places``.

    A place is a file, ``.csv`` or ``.jsonl``; or ``tensorboard:FOLDER``, ``mlflow:EXPERIMENT``,
    ``wandb:PROJECT``, of packages that must be installed. ``settings`` go to those that can show them.
    """
    with ExitStack() as stack:
        writers = [stack.enter_context(_writer(str(place), dict(settings or {}))) for place in places]

        def watch(progress: Progress) -> None:
            row = {"stage": progress.stage, "epoch": progress.epoch} | progress.figures()
            for write in writers:
                write(row)

        yield watch


def _writer(place: str, settings: Row) -> Any:
    kind, colon, rest = place.partition(":")
    if kind in EXTRAS:
        return {"tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb}[kind](rest, settings)
    if place.endswith(".csv"):
        return _csv(Path(place))
    if place.endswith((".jsonl", ".ndjson")):
        return _jsonl(Path(place))
    raise ConfigError(
        f"cannot log to {place!r}; name a file that ends in .csv or .jsonl, or one of "
        f"{', '.join(f'{name}:NAME' for name in EXTRAS)}"
    )


@contextmanager
def _csv(path: Path) -> Iterator[Callable[[Row], None]]:
    """Rows of one header; a stage with other figures than the first leaves what it lacks empty."""
    columns = ["stage", "epoch", "loss", "cross_entropy", "tpc", "train", "validation", "validation_loss"]
    with _open(path) as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        yield lambda row: table.writerow(row)


@contextmanager
def _jsonl(path: Path) -> Iterator[Callable[[Row], None]]:
    with _open(path) as file:

        def write(row: Row) -> None:
            finite = {name: None if value != value else value for name, value in row.items()}
            file.write(json.dumps(finite) + "\n")
            file.flush()

        yield write


def _open(path: Path) -> Any:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise ConfigError(f"cannot log to {path}: {(error.strerror or str(error)).lower()}") from None


def _package(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ConfigError(
            f"to log to {name} install it: pip install 'heterophily[{name}]'; or log to a file, curves.csv"
        ) from None


@contextmanager
def _tensorboard(folder: str, settings: Row) -> Iterator[Callable[[Row], None]]:
    _package("tensorboard", "tensorboard")
    board = _package("tensorboard", "torch.utils.tensorboard").SummaryWriter(folder or "runs")
    try:
        board.add_text("settings", json.dumps(settings, default=str))

        def write(row: Row) -> None:
            for name, value in _numbers(row).items():
                board.add_scalar(f"{row['stage']}/{name}", value, row["epoch"])

        yield write
    finally:
        board.close()


@contextmanager
def _mlflow(experiment: str, settings: Row) -> Iterator[Callable[[Row], None]]:
    mlflow = _package("mlflow", "mlflow")
    if experiment:
        mlflow.set_experiment(experiment)
    with mlflow.start_run():
        mlflow.log_params(settings)
        yield lambda row: mlflow.log_metrics(
            {f"{row['stage']}/{name}": value for name, value in _numbers(row).items()}, step=row["epoch"]
        )


@contextmanager
def _wandb(project: str, settings: Row) -> Iterator[Callable[[Row], None]]:
    run = _package("wandb", "wandb").init(project=project or "heterophily", config=settings)
    try:
        yield lambda row: run.log(
            {f"{row['stage']}/{name}": value for name, value in _numbers(row).items()}
            | {"epoch": row["epoch"]}
        )
    finally:
        run.finish()


def _numbers(row: Row) -> dict[str, float]:
    return {name: value for name, value in row.items() if name not in ("stage", "epoch")}
