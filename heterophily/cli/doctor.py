"""The command ``doctor``: whether all is well with this machine, and what to do where it is not."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.console import Console
from rich.text import Text

from heterophily.cli.app import FOUND, app, screen
from heterophily.cli.options import AsJson

STYLES = {"fine": "green", "note": "yellow", "broken": "bold red"}


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look whether all is well here: versions, device, folders, a training; say what to mend.

    The exit code is 3 if something is broken.
    """
    from heterophily.bench.doctor import examine
    from heterophily.files import to_text
    from heterophily.show.progress import waiting

    console, waits, checks = Console(), screen(), []
    looks = examine()
    while True:
        with waiting(waits, "still looking"):
            check = next(looks, None)
        if check is None:
            break
        checks.append(check)
        if not as_json:
            line = Text.assemble(
                (f"{check.state:<7}", STYLES[check.state]), (f"{check.name}: ", "bold"), check.fact
            )
            console.print(line, soft_wrap=True)
            if check.mend:
                console.print(Text(f"       → {check.mend}"), soft_wrap=True)
    broken = [check.name for check in checks if check.state == "broken"]
    if as_json:
        print(to_text({"well": not broken, "checks": [asdict(check) for check in checks]}), end="")
    elif broken:
        console.print(Text(f"Broken: {', '.join(broken)}."))
    else:
        console.print(Text("All is well."))
    if broken:
        raise typer.Exit(FOUND)
