"""Models and datasets of your own: known to everything here once they are registered."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from heterophily import models
from heterophily.config import ConfigError
from heterophily.graph import datasets

PREFIX = "heterophily_with_"


def register(row: models.Model | datasets.Facts) -> None:
    """Make a model or a dataset known by its name: to ``make_classifier`` and ``load``, to tuning and report.

    ``row`` is what a row of the registry is: a ``heterophily.models.Model``, or the facts of a dataset,
    ``heterophily.graph.datasets.Facts``. A name that is taken is refused.
    """
    if isinstance(row, models.Model):
        models.register(row)
    elif isinstance(row, datasets.Facts):
        datasets.register(row)
    else:
        raise ConfigError(f"only a Model or the Facts of a dataset can be registered, not {row!r}")


def loaded_files() -> list[str]:
    """Return the files that were run so far, for another process to run as well."""
    return [str(module.__file__) for name, module in sys.modules.items() if name.startswith(PREFIX)]


def load_files(files: Sequence[str | Path]) -> None:
    """Run Python files that register something, as ``heterophily --with FILE`` does; each file once."""
    for text in files:
        file = Path(text).expanduser().resolve()
        name = f"{PREFIX}{file.stem}"
        if not file.is_file():
            raise ConfigError(f"--with {text}: there is no such file; name one that registers a model")
        if name in sys.modules and sys.modules[name].__file__ == str(file):
            continue
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ConfigError(f"--with {text}: this is no Python file; its name should end in .py")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            lines = [
                each.lineno
                for each in traceback.extract_tb(error.__traceback__)
                if each.filename == str(file)
            ]
            where = f" line {lines[-1]}" if lines else ""
            raise ConfigError(f"--with {text}{where}: {type(error).__name__}: {error}") from error
