"""The command ``report``: all that a folder of results holds, on one page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heterophily.cli.app import Mistake, app, say


@app.command()
def report(
    source: Annotated[
        Path, typer.Option("--from", metavar="DIR", help="Where `reproduce` and `study` have put results.")
    ] = Path("results"),
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The page to write.")] = Path("report.html"),
) -> None:
    """Make one page of all results: sortable tables, figures with their data, and an edge browser.

    The page needs no network and no other file. What the folder lacks it names, with the command for it.
    """
    from heterophily.files import write_files
    from heterophily.show.report import report as make

    if out.suffix.lower() not in (".html", ".htm"):
        raise Mistake(f"--out: the report is a page, so the name {out.name!r} should end in .html")
    page = make(source)
    (file,) = write_files(out.parent, {out.name: page})
    print(file)
    say(f"{len(page.encode()) / 2**20:.2f} MiB; open it in a browser", "dim")
