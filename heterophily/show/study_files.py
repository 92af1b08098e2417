"""What a study leaves on disk: its numbers as JSON, and its picture in the formats asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from heterophily.files import write_files
from heterophily.show.study_plots import study_figure
from heterophily.show.style import to_file
from heterophily.studies import Result


def write_study(
    folder: str | os.PathLike[str], result: Result, formats: Sequence[str] = ("png",)
) -> list[Path]:
    """Write STUDY-DATASET.json and the picture, each whole or not at all; return the files."""
    name = f"{result.study}-{result.dataset}"
    figure = study_figure(result)
    files: dict[str, str | bytes | None] = {f"{name}.{kind}": to_file(figure, kind) for kind in formats}
    return write_files(folder, {f"{name}.json": result.to_text()} | files)
