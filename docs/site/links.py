"""Follows every link of a built site, and finds what its pages would load from elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("use", "href")}
"""Attributes whose target a browser loads by itself."""


@dataclass
class Report:
    """Counts of what was followed, and what was wrong."""

    pages: int = 0
    links: int = 0
    problems: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[tuple[str, str, str]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keeps links and anchors of a tag."""
        values = {name: value for name, value in attributes if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        self.targets += [(tag, name, values[name]) for name in ("href", "src") if name in values]


def check(site: Path) -> Report:
    """Follows all links of the pages in a folder, those within frames excepted."""
    report = Report()
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        report.pages += 1
        for tag, name, target in page.targets:
            report.links += 1
            report.problems += [
                f"{path.relative_to(site.resolve())}: {problem}"
                for problem in _wrong(site.resolve(), path, pages, tag, name, target)
            ]
    for sheet in site.rglob("*.css"):
        if "url(http" in sheet.read_text(encoding="utf-8") or "@import" in sheet.read_text(encoding="utf-8"):
            report.problems.append(f"{sheet.name}: loads something from elsewhere")
    return report


def _wrong(site: Path, path: Path, pages: dict[Path, Page], tag: str, name: str, target: str) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        if (tag, name) in LOADED and parts.scheme != "data":
            yield f"loads {target}"
        return
    file = (
        site / parts.path.lstrip("/") if parts.path.startswith("/") else path.parent / unquote(parts.path)
    ).resolve()
    file = path if not parts.path else file / "index.html" if file.is_dir() else file
    if not file.is_relative_to(site) or not file.exists():
        yield f"{target} leads nowhere"
    elif (
        parts.fragment
        and file in pages
        and unquote(parts.fragment) not in pages[file].anchors | {"__comments", "__top"}
    ):
        yield f"{target} has no such anchor"
