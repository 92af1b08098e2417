"""Check a built site: every link leads somewhere, anchors too, and no page asks the network for anything.

python -m docs.site.check site
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""Elements that fetch something, with the attribute that says what."""


class Links(HTMLParser):
    """What a page links to, loads, and can be linked to."""

    def __init__(self, page: Path):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        found = dict(attrs)
        self.anchors |= {found[name] or "" for name in ("id", "name") if name in found}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if (
            (name := LOADS.get(tag))
            and found.get(name)
            and found.get("rel") not in ("canonical", "prev", "next")
        ):
            self.loads.append(found[name] or "")


def complaints(site: Path) -> Iterator[str]:
    """Yield a sentence for everything that is wrong with a site."""
    pages = {page: Links(page) for page in sorted(site.rglob("*.html"))}
    for page, found in pages.items():
        where = page.relative_to(site).as_posix()
        for target in found.loads:
            if urlsplit(target).netloc:
                yield f"{where} loads {target} from the network"
        for target in {*found.links, *found.loads}:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or where == "404.html":  # its links are of the server's root
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file():
                yield f"{where} links to {target}, which is not there"
            elif parts.fragment and (other := pages.get(site / file.relative_to(site.resolve()))):
                if unquote(parts.fragment) not in other.anchors | {"__top"}:
                    yield f"{where} links to {target}, which has no such anchor"


def main(site: str) -> int:
    """Print what is wrong; return how much it is."""
    said = list(complaints(Path(site)))
    print("\n".join(said) if said else f"{site}: all links lead somewhere, and no page needs the network")
    return min(len(said), 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
