"""Write heterophily/recipes/hdp.toml from the searches in results/.

python benchmarks/write_recipes.py
"""

from __future__ import annotations

import json
from pathlib import Path

from heterophily.hdp import HDPConfig

HEADER = """\
# HDP: settings per dataset, chosen on validation accuracy alone. Fields are those of HDPConfig; what a
# table leaves out has its default. Used by `heterophily train DATASET --recipe paper` and by
# HDPClassifier.from_recipe("DATASET"). Written by benchmarks/write_recipes.py from results/search-*.json.
"""


def toml(value: object) -> str:
    """Write one value; a float keeps its point, so that it is read back as one."""
    return json.dumps(round(value, 4) if isinstance(value, float) else value)


def main() -> None:
    """Turn every search into a table."""
    home = Path(__file__).parent.parent
    defaults, tables = HDPConfig().to_dict(), []
    for path in sorted((home / "results").glob("search-*.json")):
        found = json.loads(path.read_text())
        validation = 100 * sum(found["validation"]) / len(found["validation"])
        changed = {name: value for name, value in found["config"].items() if value != defaults[name]}
        lines = [f"{name} = {toml(value)}" for name, value in changed.items()]
        note = f"# mean validation accuracy {validation:.2f}"
        tables.append("\n".join([f"[{found['dataset']}]", note, *lines]) + "\n")
    (home / "heterophily/recipes/hdp.toml").write_text(HEADER + "\n" + "\n".join(tables))


if __name__ == "__main__":
    main()
