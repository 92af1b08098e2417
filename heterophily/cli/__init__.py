"""The command line: parse, call, print. Results go to stdout; progress, notes and errors to stderr.

Torch and PyG take seconds to import. Commands import what they need, so that --help answers at once.
"""

from heterophily.cli import look, doctor, scan, train, distribute, tune, own, reproduce, study, report  # noqa: F401, I001  each adds its commands, in this order
from heterophily.cli.app import main

__all__ = ["main"]
