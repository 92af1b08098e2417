"""The real graphs that the tests look at."""

SHARED = [
    "texas", "wisconsin", "cornell", "cornell-corrected", "chameleon", "squirrel", "actor", "cora",
    "citeseer", "pubmed", "chameleon-filtered", "squirrel-filtered", "minesweeper", "tolokers", "reed98",
    "cornell5",
]  # fmt: skip
