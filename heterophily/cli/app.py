"""The command itself: runs one of its commands, and turns what goes wrong into a line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
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
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Mistake(ValueError):
    """Something the user can mend."""


@dataclass
class Voice:
    """How much is said on stderr."""

    quiet: bool = False
    verbose: bool = False


VOICE = Voice()
FLAGS = ("-q", "--quiet", "-v", "--verbose")
"""Options of the command itself that may stand behind a subcommand, too."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit.

    0 done, 1 some of it failed, 2 a user's mistake, 3 audit or doctor found something serious, 130 Ctrl-C.
    """
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
            words = flags_first(sys.argv[1:] if args is None else args)
            code = app(words, prog_name="heterophily", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as error:
        if (line := mistake(error)) is None:
            raise  # ours, not the user's
        if VOICE.verbose:
            traceback.print_exc()
        complain(f"error: {line}")
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


def flags_first(args: Sequence[str]) -> list[str]:
    """Bring --quiet and --verbose to the front, wherever they stand before a ``--``."""
    end = list(args).index("--") if "--" in args else len(args)
    flags = [word for word in args[:end] if word in FLAGS]
    return flags + [word for word in args[:end] if word not in FLAGS] + list(args[end:])


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings as one dim line each; where they come from only with --verbose."""

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        origin = f" ({category.__name__}, {filename}:{lineno})" if VOICE.verbose else ""
        say(f"note: {' '.join(str(message).split())}{origin}", "dim")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def screen() -> Console:
    """Return where progress is shown: stderr, or nowhere with --quiet."""
    return Console(stderr=True, quiet=VOICE.quiet)


def say(line: str, style: str = "") -> None:
    """Print a line on stderr, whatever characters it has; not with --quiet."""
    screen().print(Text(line, style), soft_wrap=True)


def complain(line: str) -> None:
    """Print a line on stderr that is said even with --quiet."""
    Console(stderr=True).print(Text(line, "bold red"), soft_wrap=True)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print versions and the device that is used, and exit.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no notes: results and errors only.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Say first what this runs on; say where notes and errors arose."
        ),
    ] = False,
    own: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            envvar="HETEROPHILY_WITH",
            help="A Python file that registers models or datasets of your own; may be repeated.",
        ),
    ] = None,
) -> None:
    if quiet and verbose:
        raise Mistake("--quiet and --verbose: it can't be both")
    VOICE.quiet, VOICE.verbose = quiet, verbose
    if version:
        print(f"heterophily {__version__}", flush=True)  # at once; importing torch takes its time
        from heterophily.training.device import machine

        print("\n".join(machine()))
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        return
    if own:
        from heterophily.plugins import load_files

        load_files(own)
    if verbose:
        from heterophily.training.device import machine

        for line in (f"heterophily {__version__}", *machine()):
            say(line, "dim")
