"""The command itself: runs one of its commands, and turns what goes wrong into a line and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from heterophily._version import __version__

MISTAKE, FOUND, STOPPED = 2, 3, 130
"""Exit codes beside 0."""

# Typer hands on BadParameter but not its base, which it has from click or from a copy of its own.
UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    help="Node classification where neighbors differ. A first look: heterophily demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Mistake(ValueError):
    """Something the user can mend."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 2 a user's mistake, 3 an audit found something serious, 130 Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that has no ± shows a ? instead of failing
    if "torch" not in sys.modules:
        # Read once, when torch loads OpenMP. By default its threads spin while they wait for each other;
        # on a machine that has other work they then wait for one that has no core, and the many small
        # steps of a training take many times as long. Waiting asleep costs next to nothing.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        with notes():
            code = app(args, prog_name="heterophily", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as error:
        if (line := mistake(error)) is None:
            raise  # ours, not the user's
        say(f"error: {line}", "bold red")
        code = MISTAKE
    if code == STOPPED:
        say("stopped")
    sys.exit(code if isinstance(code, int) else 0)


def mistake(error: Exception) -> str | None:
    """Return what to tell the user about an error that the user can mend; None for one of ours."""
    if isinstance(error, UsageError):
        text = error.format_message()
    elif isinstance(error, ValueError) and type(error).__module__.partition(".")[0] == "heterophily":
        text = str(error)
    elif isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and ("out of memory" in str(error) or "allocate memory" in str(error))
    ):
        text = "not enough memory; try fewer splits or seeds at a time, another device or smaller widths"
    elif isinstance(error, RuntimeError) and "deterministic" in str(error):
        operation = str(error).split(maxsplit=1)[0]
        text = f"{operation} has no deterministic form here; leave out --deterministic or use --device cpu"
    else:
        return None
    return " ".join(text.split())


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings as one dim line each, without file and line number."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"note: {' '.join(str(message).split())}", "dim")
        yield


def say(line: str, style: str = "") -> None:
    """Print a line on stderr, whatever characters it has."""
    Console(stderr=True).print(Text(line, style), soft_wrap=True)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"heterophily {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
