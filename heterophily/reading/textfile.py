"""Text files of rows: the delimiter, the header and the comments are found, and the rest is read strictly.

Arrow does the parsing. Every cell stays the text it is in the file; what it means is decided later, for
a whole column at once. A row with a field too many or too few is an error, never a shifted row.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv

from heterophily.reading.mistakes import ReadingError, reason

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "space"}
SAMPLE = 1 << 18  # bytes
ROWS = 500
BLOCK = 1 << 24  # bytes: the longest row
LARGE = 1 << 26  # bytes: an edge list beyond is read block by block
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf)?\s*", re.IGNORECASE)
WORDS = {
    *(
        "id",
        "ids",
        "node",
        "nodes",
        "nodeid",
        "vertex",
        "name",
        "source",
        "target",
        "src",
        "dst",
        "from",
        "to",
    ),
    *("u", "v", "head", "tail", "weight", "label", "labels", "class", "category", "y", "split", "features"),
}
"""What columns are often called: a first row with one of these is a header."""


@dataclass(frozen=True)
class Form:
    """How a text file is laid out."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    skip: int
    """Lines before the first row of data: comments, blank lines and the header."""
    comments: int

    def __str__(self) -> str:
        parts = [
            DELIMITERS.get(self.delimiter, repr(self.delimiter)) if len(self.names) > 1 else "one column"
        ]
        parts.append("header" if self.header else "no header")
        if self.comments:
            parts.append(f"{self.comments} comment line{'s' * (self.comments > 1)} skipped")
        return ", ".join(parts)


def plain(name: str) -> str:
    """A column's name in small letters, without spaces, underscores and the like."""
    return re.sub(r"[\W_]+", "", name).lower()


def is_gzip(path: Path) -> bool:
    """Whether the file's first bytes are those of gzip."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_bytes(path: Path) -> IO[bytes] | gzip.GzipFile:
    """The file's bytes, decompressed where it is gzip."""
    return gzip.open(path) if is_gzip(path) else path.open("rb")


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The first ``most`` bytes of a file, or all of it."""
    try:
        with open_bytes(path) as stream:
            return stream.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None


def read_text(path: Path) -> str:
    """The whole file as UTF-8 text."""
    content = read_bytes(path)
    _refuse_wide(path, content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, content.count(b"\n", 0, error.start) + 1) from None


def unreadable(path: Path, error: BaseException) -> ReadingError:
    """The error for a file that the system or the decompressor gives up on."""
    return ReadingError(
        f"{path.name} cannot be read ({reason(error)}); check the path, and whether the file is whole"
    )


def not_utf8(path: Path, line: int | None = None) -> ReadingError:
    """The error for bytes that are no text."""
    where = f"{path.name} line {line}" if line else path.name
    return ReadingError(f"{where} is not UTF-8 text; save the file as UTF-8 (iconv -f LATIN1 -t UTF-8)")


def _refuse_wide(path: Path, content: bytes) -> None:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReadingError(f"{path.name} is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")
    if (place := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, place) + 1
        raise ReadingError(f"{path.name} line {line} has a zero byte: this is no text file, or a damaged one")


def find_form(
    path: Path,
    delimiter: str | None = None,
    header: bool | None = None,
    expected: Collection[str] = (),
    ids: Container[str] | None = None,
    certain: bool = True,
) -> Form:
    """Find out how a file is laid out, from its first rows.

    ``expected`` are column names the caller was told; ``ids`` are known nodes, which tell an edge
    from a header. Where nothing tells, ``certain`` decides between asking and taking the first
    line for a header.
    """
    text = _sample(path)
    lines = list(io.StringIO(text, newline=""))
    lead = _lead(lines)
    rest = lines[lead:]
    if not rest:
        raise ReadingError(f"{path.name} is empty: it has no row; check that it was written to the end")
    delimiter = delimiter or _delimiter(path, rest)
    rows = _rows(rest, delimiter)
    first, used = rows[0]
    comments = sum(1 for line in lines[:lead] if line.strip())
    titles = _rows([lines[lead - 1].lstrip("#% ")], delimiter)[0][0] if comments else []
    data = [cells for cells, _ in rows[1:]]
    if (
        comments
        and len(titles) == len(first) > 1
        and not header
        and not any(NUMBER.fullmatch(t) for t in titles)
    ):
        data, used, comments, header, first = [first, *data], 0, comments - 1, True, titles
    elif header is None:
        header = _is_header(path, first, data, expected, ids, certain)
    names = [name.strip() for name in first] if header else [""] * len(first)
    names = [name or f"column{i}" for i, name in enumerate(names, 1)]
    if len(names) == 2 and names[0] == names[1]:  # an edge list may call both ends by one name
        names[1] += " 2"
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ReadingError(
            f"{path.name} line {lead + 1}: two columns are named `{twice[0]}`; give each column its own name"
        )
    return Form(delimiter, header, tuple(names), lead + (used if header else 0), comments)


def _sample(path: Path) -> str:
    """The first lines of a file, whole ones."""
    size = SAMPLE
    while True:
        content = read_bytes(path, size)
        if len(content) < size or size >= BLOCK or content.count(b"\n") + content.count(b"\r") > 1:
            break
        size *= 4
    _refuse_wide(path, content)
    if not content.strip():
        raise ReadingError(f"{path.name} is empty; check that it was written to the end")
    if len(content) == size:
        content = content[: max(content.rfind(b"\n"), content.rfind(b"\r")) + 1]
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, content.count(b"\n", 0, error.start) + 1) from None


def _lead(lines: list[str]) -> int:
    """How many lines come before the data: comments that begin with # or %, and blank lines."""
    count = 0
    while count < len(lines) and (not lines[count].strip() or lines[count][0] in "#%"):
        count += 1
    marked = [line for line in lines[:count] if line.strip()]
    cells = [cell for line in marked for cell in re.split(r"[,\t;|]", line)[1:]]
    if any(cell.strip().startswith(("#", "%")) for cell in cells) or (marked and count == len(lines)):
        return 0  # not comments: the ids themselves begin with #
    return count


def _rows(lines: Sequence[str], delimiter: str) -> list[tuple[list[str], int]]:
    """The first rows that are not blank, each with the number of the line where it ends."""
    reader = csv.reader(lines, delimiter=delimiter)
    found: list[tuple[list[str], int]] = []
    try:
        for cells in reader:
            if cells:
                found.append((cells, reader.line_num))
            if len(found) == ROWS:
                break
    except csv.Error:
        pass  # a field that never ends; what came before it counts
    return found or [([lines[0].strip()], 1)]


def _delimiter(path: Path, lines: list[str]) -> str:
    """The delimiter that cuts (nearly) all rows into the same number of fields, two or more."""
    widths: dict[str, int] = {}
    ragged: dict[str, int] = {}
    for delimiter in DELIMITERS:
        counts = Counter(len(cells) for cells, _ in _rows(lines, delimiter))
        width, rows = counts.most_common(1)[0]
        if width > 1 and len(counts) == 1:
            widths[delimiter] = width
        elif width > 1 and rows > 0.5 * counts.total():
            ragged[delimiter] = width
    for found in (widths, ragged):
        if len(found) > 1:
            found.pop(" ", None)  # values often have spaces in them
        if path.name.removesuffix(".gz").endswith((".tsv", ".tab")) and "\t" in found:
            return "\t"
        if len(found) > 1:
            ways = " or ".join(f"by {DELIMITERS[d]} into {width} columns" for d, width in found.items())
            raise ReadingError(f"{path.name} can be cut {ways}; say which with delimiter=...")
        if found:
            return next(iter(found))
    return ","


def _is_header(
    path: Path,
    first: list[str],
    data: list[list[str]],
    expected: Collection[str],
    ids: Container[str] | None,
    certain: bool,
) -> bool:
    """Whether the first row names the columns."""
    cells = [cell.strip() for cell in first]
    if any(cell in expected for cell in cells):
        return True
    columns = [[row[i] for row in data if i < len(row)] for i in range(len(cells))]
    below = [bool(column) and all(NUMBER.fullmatch(cell) for cell in column) for column in columns]
    numbers = [bool(NUMBER.fullmatch(cell)) for cell in cells]
    if any(number and under for number, under in zip(numbers, below)) and not any(
        under and not number for number, under in zip(numbers, below)
    ):
        return False
    if any(under and not number for number, under in zip(numbers, below)):
        return True
    if ids is not None and len(cells) > 1:
        return not any(cell in ids for cell in cells)
    if any(plain(cell) in WORDS for cell in cells) and len(set(cells)) == len(cells):
        return True
    if any(cell in column for cell, column in zip(cells, columns)):
        return False
    if certain and len(cells) > 1:
        raise ReadingError(
            f"{path.name} line 1 ({', '.join(cells[:4])}) may be a header or the first row; "
            "say header=True or header=False"
        )
    return True


def parse(path: Path, form: Form, columns: Sequence[str] | None = None) -> pa.Table:
    """The columns of a file as text."""
    wanted = list(form.names if columns is None else columns)
    quoted = _has_quotes(path)
    try:
        with _opened(path) as stream:
            table = pa.csv.read_csv(stream, **_options(form, wanted, quoted))
    except (pa.ArrowException, OSError) as error:
        raise _explained(path, form, error) from None
    last = table.column(form.names[-1])[-1].as_py() if quoted and len(table) else ""
    _check_end(path, form, len(table), quoted, last)
    return table.select(wanted)


def blocks(path: Path, form: Form, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The same, and for a large file block by block: all its text would need much memory at once."""
    if path.stat().st_size <= LARGE:
        yield parse(path, form, columns)
        return
    quoted, rows, last = _has_quotes(path), 0, ""
    try:
        with _opened(path) as stream, pa.csv.open_csv(stream, **_options(form, columns, quoted)) as reader:
            for block in reader:
                if len(block):
                    rows += len(block)
                    last = block.column(form.names[-1])[-1].as_py() if quoted else ""
                    yield pa.Table.from_batches([block]).select(list(columns))
    except (pa.ArrowException, OSError) as error:
        raise _explained(path, form, error) from None
    _check_end(path, form, rows, quoted, last)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with closing(pa.OSFile(str(path))) as raw:
        yield pa.CompressedInputStream(raw, "gzip") if is_gzip(path) else raw


def _options(form: Form, columns: Sequence[str], quoted: bool) -> dict[str, Any]:
    """How Arrow is to read: strictly, texts only; with the last column where quotes are to be checked."""
    last = form.names[-1]
    read = [*columns, last] if quoted and last not in columns else list(columns)
    return {
        "read_options": pa.csv.ReadOptions(
            column_names=list(form.names), skip_rows=form.skip, block_size=BLOCK
        ),
        "parse_options": pa.csv.ParseOptions(
            delimiter=form.delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(form.names, pa.string()), include_columns=read
        ),
    }


def _check_end(path: Path, form: Form, rows: int, quoted: bool, last: str) -> None:
    if not rows:
        raise ReadingError(f"{path.name} has a header but no row; check that it was written to the end")
    if quoted and _ends_in_quotes(path, form, last):
        line = line_of(path, form, rows - 1)
        raise ReadingError(f"{path.name} line {line}: a quote opens and is never closed; close or remove it")


def _has_quotes(path: Path) -> bool:
    with open_bytes(path) as stream:
        return any(b'"' in block for block in iter(lambda: stream.read(1 << 20), b""))


def _ends_in_quotes(path: Path, form: Form, last: str) -> bool:
    """Whether the last cell opens with a quote that the file does not close, which Arrow lets pass."""
    open_cell = b'"' + last.replace('"', '""').encode()
    size = len(open_cell) + len(form.delimiter)
    with open_bytes(path) as stream:
        if not isinstance(stream, gzip.GzipFile):
            stream.seek(max(0, path.stat().st_size - size))
        tail = b""
        for block in iter(lambda: stream.read(1 << 20), b""):
            tail = (tail + block)[-size:]
    starts = (form.delimiter.encode(), b"\n", b"\r")
    return tail == open_cell or tail.endswith(tuple(start + open_cell for start in starts))


def _explained(path: Path, form: Form, error: BaseException) -> ReadingError:
    """Where a file is broken; it is read again, slowly, to find the line."""
    said = str(error)
    if isinstance(error, OSError):
        return unreadable(path, error)
    if "UTF8" in said or "UTF-8" in said:
        with open_bytes(path) as stream:
            for number, content in enumerate(stream, 1):
                try:
                    content.decode("utf-8")
                except UnicodeDecodeError:
                    return not_utf8(path, number)
    by = DELIMITERS.get(form.delimiter, repr(form.delimiter))
    for line, cells in walk(path, form):
        if len(cells) != len(form.names):
            return ReadingError(
                f"{path.name} line {line}: {len(cells)} fields, but the first row has {len(form.names)} "
                f"(delimiter: {by}); look for a missing field, a delimiter inside a value without quotes, "
                "or a quote that is never closed"
            )
    return ReadingError(f"{path.name} cannot be read ({reason(error)}); look for a quote too many")


def walk(path: Path, form: Form) -> Iterator[tuple[int, list[str]]]:
    """The rows of data one by one, each with the line where it begins."""
    with open_bytes(path) as stream, io.TextIOWrapper(stream, "utf-8", "replace", newline="") as text:
        for _ in range(form.skip):
            text.readline()
        reader = csv.reader(text, delimiter=form.delimiter)
        before = 0
        try:
            for cells in reader:
                if cells:
                    yield form.skip + before + 1, cells
                before = reader.line_num
        except csv.Error:
            return


def line_of(path: Path, form: Form, row: int) -> int:
    """The line in the file where a row of data, counted from 0, begins."""
    for number, (line, _) in enumerate(walk(path, form)):
        if number == row:
            return line
    return form.skip + row + 1
