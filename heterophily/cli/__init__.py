"""The command line: parse, call, print. Results go to stdout; progress, notes and errors to stderr.

Torch and PyG take seconds to import. Commands import what they need, so that --help answers at once.
"""

from heterophily.cli import look, study, train, tune  # noqa: F401  each adds its commands, in this order
from heterophily.cli.app import main

__all__ = ["main"]
