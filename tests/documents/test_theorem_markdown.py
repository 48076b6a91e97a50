"""Markdown: every text that a reader sees is translated, held by a rule of docs/documents.md, or named in the log.

Python-Markdown with the extensions of MkDocs, and mistune, read the documents; they have no part in the product.
"""

import html
import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.theorem import check_theorem
from transduce.documents.formats import read_document

markdown = pytest.importorskip("markdown")
mistune = pytest.importorskip("mistune")
pytest.importorskip("pymdownx")

INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "code",
        "del",
        "em",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "s",
        "span",
        "strong",
        "sub",
        "sup",
        "u",
        "br",
    ]
)
HELD = frozenset(["code", "kbd", "pre", "script", "style"])
TEXTS = ("alt", "title")  # attributes that readers see
VOID = frozenset(["br", "hr", "img", "input"])
OF_MKDOCS = [
    "tables", "attr_list", "def_list", "footnotes", "abbr", "admonition", "md_in_html", "pymdownx.superfences",
    "pymdownx.details", "pymdownx.tabbed", "pymdownx.arithmatex", "pymdownx.tilde", "pymdownx.mark",
]  # fmt: skip
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)


class Page(HTMLParser):
    """A page as blocks: their tags, the tags within them, and their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: list[tuple[str, Counter[Any]]] = [("", Counter())]
        self.texts: list[str] = [""]
        self.attributes: list[str] = []
        self._held = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if ("class", "footnote-backref") not in attrs:
            self.attributes += [value for name, value in attrs if name in TEXTS and value]
        others = tuple(sorted((name, value) for name, value in attrs if name not in (*TEXTS, "id", "for", "name")))
        self._held += tag in HELD
        if tag in INLINE:
            self.blocks[-1][1][tag, others] += 1
        else:
            self._begin(f"{tag} {others}")

    def handle_endtag(self, tag: str) -> None:
        self._held -= tag in HELD
        if tag not in INLINE and tag not in VOID:
            self._begin(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if not self._held:
            self.texts[-1] += data
        else:
            self.blocks[-1][1]["held", "".join(data.split())] += 1

    def handle_comment(self, data: str) -> None:
        self.blocks[-1][1]["comment", data] += 1

    def _begin(self, name: str) -> None:
        self.blocks.append((name, Counter()))
        self.texts.append("")


def by_python_markdown(data: bytes) -> Page:
    text = FRONT_MATTER.sub("", data.decode().replace("\r\n", "\n"))
    options = {"pymdownx.tabbed": {"alternate_style": True}, "pymdownx.arithmatex": {"preview": False}}
    return Page(markdown.markdown(text, extensions=OF_MKDOCS, extension_configs=options))


def by_mistune(data: bytes) -> Page:
    text = FRONT_MATTER.sub("", data.decode().replace("\r\n", "\n"))
    plugins = ["strikethrough", "table", "footnotes", "task_lists", "def_list"]
    return Page(mistune.create_markdown(escape=False, plugins=plugins)(text))


def shown(read: Callable[[bytes], Page]) -> Callable[[bytes], list[str]]:
    def texts(data: bytes) -> list[str]:
        page = read(data)
        return [text for text in [*page.texts, *sorted(page.attributes, key=str.upper)] if text.strip()]

    return texts


def skeleton(read: Callable[[bytes], Page]) -> Callable[[bytes], Any]:
    return lambda data: read(data).blocks


def check(text: str, *readers: Callable[[bytes], Page]) -> None:
    """Assert that a document comes back as it was and fulfils the theorem as these readers see it."""
    for data in (text.encode(), text.replace("\n", "\r\n").encode()):
        document = read_document(data, "a.md")
        assert document.translated([unit.source for unit in document.units]) == data
    for read in readers:
        check_theorem(text.encode(), "a.md", shown(read), skeleton(read))


WORDS = st.sampled_from(
    [
        *["the dog", "a small cat", "It's 5 o'clock.", "R&D", "one", "é ü", "Two, three", "(four)"],
        *["2 * 3", "well-known", "5 < 6"],
    ]
)  # fmt: skip
PIECES = st.one_of(
    WORDS,
    WORDS.map("*{}*".format),
    WORDS.map("**{}**".format),
    WORDS.map("__{}__".format),
    WORDS.map("~~{}~~".format),
    st.tuples(WORDS, WORDS).map(lambda two: f"*{two[0]} **{two[1]}***"),
    WORDS.map("[{}](a.html)".format),
    st.tuples(WORDS, WORDS).map(lambda two: f'[{two[0]}](a_b.html "{two[1]}")'),
    st.tuples(WORDS, WORDS).map(lambda two: f'![{two[0]}](a.png "{two[1]}")'),
    WORDS.map("[![{}](a.png)](b_c.html)".format),
    st.sampled_from(
        ["`code_x*`", "<kbd>Ctrl</kbd>", "<https://a.b/c_d>", "&amp;", "\\*a\\*", "snake_case_word", "&copy; me"]
    ),
    WORDS.map("<b>{}</b>".format),
    WORDS.map('<span title="A title">{}</span>'.format),
    WORDS.map("[{}][there]".format),
)
LINE = st.lists(PIECES, min_size=1, max_size=4).map(" and ".join)
LINES = st.lists(LINE, min_size=1, max_size=3).map("\n".join)


def indented(text: str, blanks: str) -> str:
    return "\n".join(f"{blanks}{line}" if line else "" for line in text.split("\n"))


COMMON = st.one_of(
    LINES,
    LINE.map("# {}".format),
    LINE.map("### {} ###".format),
    LINE.map("{}\n---".format),
    st.lists(
        LINES.map(lambda text: indented(text, "    ").replace("    ", "-   ", 1)), min_size=1, max_size=3
    ).map("\n".join),
    st.lists(LINE.map("1. {}".format), min_size=1, max_size=3).map("\n".join),
    LINES.map(lambda text: indented(text, "> ")),
    st.tuples(LINE, LINE).map(lambda two: f"- {two[0]}\n    - {two[1]}"),
    st.tuples(WORDS, WORDS, LINE).map(lambda few: f"| {few[0]} | {few[1]} |\n|---|:-:|\n| {few[2]} | `a \\| b` |"),
    st.sampled_from(["```\nThe dog\n```", "    The *code*", "<!-- The dog -->", "* * *", "<pre>The dog</pre>"]),
    st.tuples(WORDS, WORDS).map(
        lambda two: f"<div>\n<p>{html.escape(two[0])} <b>{html.escape(two[1])}</b></p>\n</div>"
    ),
)  # fmt: skip
MKDOCS = st.one_of(
    COMMON,
    LINE.map("## {} {{#name}}".format),
    LINES.map("{}\n{{: .note }}".format),
    st.tuples(WORDS, LINES).map(lambda two: f'!!! note "{two[0]}"\n\n{indented(two[1], "    ")}'),
    st.tuples(WORDS, LINES).map(lambda two: f'??? tip "{two[0]}"\n{indented(two[1], "    ")}\n\n    - The cat'),
    st.tuples(WORDS, LINES).map(lambda two: f'=== "{two[0]}"\n\n{indented(two[1], "    ")}'),
    st.tuples(WORDS, LINE).map(lambda two: f"{two[0]}\n:   {two[1]}"),
    WORDS.map("A note[^1].\n\n[^1]: {} and more\n    lines.".format),
    st.sampled_from(
        ["$$\nE = m c^2\n$$", "It is $a_1*b_2$ large.", "A **dog**{: .big } and [a cat](c.md){ .button }."]
    ),
    LINE.map('<div markdown="1">\n\n{}\n\n</div>'.format),
    WORDS.map("It is ==marked {}== now.".format),
)
DEFINITION = '[there]: c_d.html "A *title*"\n'


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(COMMON, min_size=1, max_size=4))
def test_commonmark_and_github(blocks: list[str]) -> None:
    check("\n\n".join(["# The dog", *blocks, DEFINITION]), by_mistune)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(MKDOCS, min_size=1, max_size=4))
def test_mkdocs(blocks: list[str]) -> None:
    check("\n\n".join(["# The dog", *blocks, DEFINITION]), by_python_markdown)
