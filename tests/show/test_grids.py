"""A grid says the same in the terminal, in Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from heterophily.show import grids
from heterophily.show.grids import Grid, Piece

BEST = Piece(
    "86.49", " ± 4.32", "88.38 −1.89 −1.4", place=1, mark="ᵖ", hint='recipe: "good" & <new>', loud=True
)
SECOND = Piece("80.00", " ± 1.00", "", place=2)
GRID = Grid(
    "Table <1>", ["Texas", "Cora"], [("GCNII*", [BEST, Piece()]), ("HDP", [SECOND, SECOND])],
    "A legend, in %.", loud="Red is far.", notes=["A note."],
)  # fmt: skip


class Page(HTMLParser):
    """Checks that what is opened is closed, and keeps the texts of cells and the hints."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.hints: list[str | None] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hints += [value for name, value in attrs if name == "title"]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_markdown_has_bold_and_underlined_numbers_and_blanks() -> None:
    text = grids.markdown(GRID)
    head, rule, first, second, *_ = text.splitlines()
    assert head == "| | Texas | Cora |" and rule == "|---|--:|--:|"
    assert first == "| GCNII\\* | **86.49** ± 4.32ᵖ<br><sub>88.38 −1.89 −1.4</sub> |  |"
    assert second == "| HDP | <ins>80.00</ins> ± 1.00 | <ins>80.00</ins> ± 1.00 |"
    assert text.endswith("A legend, in %.\n\nA note.\n")


def test_latex_uses_booktabs_and_leaves_no_character_it_cannot_set() -> None:
    text = grids.latex(GRID)
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert "A legend, in \\%." in body and "A note." in body  # what marks mean is printed, too
    assert body.isascii() and "\\textbf{86.49} $\\pm$ 4.32$^{p}$" in body and "\\underline{80.00}" in body
    assert [body.count(rule) for rule in ("\\toprule", "\\midrule", "\\bottomrule")] == [1, 1, 1]
    assert all(line.count("&") == 2 for line in body.splitlines() if line.endswith("\\\\"))
    assert body.count("{") == body.count("}")
    assert body.count("\\begin{tabular}") == body.count("\\end{tabular}")


def test_latex_keeps_the_space_after_dots_and_sets_every_sign_that_legends_have() -> None:
    signs = "… last – √splits ± − ᵈᵉᵍᵏᵖ ▲▼≈ <> 5 % a_b c&d · #"
    text = grids.latex(Grid("", ["Texas"], [("… last", [Piece("1")])], signs))
    assert "\\dots{} last & 1" in text and text.isascii()


def test_html_is_a_whole_page_and_lets_no_text_become_markup() -> None:
    text = grids.html(GRID)
    page = Page(text)
    assert (
        page.hints == ['recipe: "good" & <new>'] and "Table <1>" in page.words and "Red is far." in page.words
    )
    assert "<b>86.49</b> ± 4.32" in text and '<small class="loud">' in text
    assert not re.search(r"https?://", text)  # it needs nothing from elsewhere


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_terminal_shows_every_column_whole_at_any_width(width: int) -> None:
    many = [f"Dataset {i}" for i in range(9)]
    wide = Grid("", many, [("HDP", [BEST] * 9), ("MLP", [SECOND] * 9)], "A legend.")
    console = Console(width=width, file=StringIO())
    console.print(grids.terminal(wide, width))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(name in text for name in many)
    assert text.count("86.49 ± 4.32ᵖ") == 9 and text.count("88.38 −1.89 −1.4") == 9 and "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert text.split() == grids.written(wide, "terminal", width).split()
