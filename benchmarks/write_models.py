"""Write the table of docs/models.md from the registry.

python benchmarks/write_models.py
"""

from __future__ import annotations

import re
from pathlib import Path

from heterophily.files import write_file
from heterophily.models import MODELS
from heterophily.show.cards import models_markdown

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
BEGIN = "<!-- models: written by benchmarks/write_models.py from heterophily/models.py -->"
END = "<!-- end of the models -->"


def page(text: str) -> str:
    """Return the page with the part between the markers as the registry has it."""
    table = f"{BEGIN}\n\n{models_markdown(MODELS.values())}\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: table, text, flags=re.DOTALL)


if __name__ == "__main__":
    write_file(PAGE, page(PAGE.read_text(encoding="utf-8")))
