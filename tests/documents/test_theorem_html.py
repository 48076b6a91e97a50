"""HTML: every text that a browser shows is translated, held by a rule that docs/documents.md names, or told in the log.

BeautifulSoup with html5lib reads the pages; it has no part in the product.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.theorem import check_theorem, in_capitals
from transduce.documents.document import Document
from transduce.documents.formats import read_document
from transduce.errors import InputError

bs4 = pytest.importorskip("bs4")
pytest.importorskip("html5lib")

HIDDEN = {"script", "style", "iframe", "noembed", "noframes", "metadata", "annotation"}
HELD = {
    "code", "kbd", "samp", "tt", "var", "pre", "listing", "xmp", "plaintext", "textarea", "math", "rt", "rp", "rtc",
}  # fmt: skip
SHOWN_ATTRIBUTES = {"alt", "title", "placeholder", "aria-label", "summary", "label", "standby"}
INLINE = {
    "a",
    "b",
    "i",
    "em",
    "span",
    "sub",
    "u",
    "font",
    "nobr",
    "code",
    "kbd",
    "img",
    "br",
    "wbr",
    "ruby",
    "svg",
    "label",
    "q",
    *HELD,
} - {"pre", "listing", "textarea", "xmp", "plaintext"}


def shown(data: bytes) -> list[str]:
    """The texts of blocks in their order, with those of drawings and attributes at the end."""
    blocks, apart = [""], []
    for text, is_held, kind in _texts(_soup(data)):
        if kind == "block":
            blocks.append("")
        elif not is_held:
            if kind == "text":
                blocks[-1] += text
            else:
                apart.append(text)
    return [text for text in [*blocks, *sorted(apart, key=str.upper)] if text.strip()]


def skeleton(data: bytes) -> Any:
    """The elements in their blocks, comments, and texts that no translation may change."""
    soup = _soup(data)
    counts: Counter[Any] = Counter()
    for node in soup.descendants:
        if isinstance(node, bs4.Tag):
            blocks = tuple(parent.name for parent in node.parents if parent.name not in INLINE)
            attributes = sorted((key, str(value)) for key, value in node.attrs.items() if not _is_shown(node, key))
            counts[node.name, blocks, tuple(attributes)] += 1
        elif type(node) is not bs4.NavigableString:
            counts[type(node).__name__, str(node)] += 1
    return counts, Counter("".join(text.split()) for text, is_held, _ in _texts(soup) if is_held)


def _soup(data: bytes) -> Any:
    return bs4.BeautifulSoup(data.decode("utf-8-sig"), "html5lib", multi_valued_attributes=None)


def _texts(soup: Any) -> Iterator[tuple[str, bool, str]]:
    """Texts and attributes in their order, whether they stay, and what they are."""
    stack: list[tuple[Any, bool, bool]] = [(soup, True, False)]
    while stack:
        node, is_on, is_drawn = stack.pop()
        if node is None:
            yield "", False, "block"
        elif isinstance(node, bs4.Tag):
            asked = {"no": False, "yes": True, "": True}.get(node.get("translate", "unknown"))
            asked = False if "notranslate" in node.get("class", "").split() else asked
            on = asked if asked is not None else is_on and node.name not in HELD | HIDDEN
            for key, value in node.attrs.items():
                if _is_shown(node, key):
                    yield value, not (is_on if asked is None else asked), "attribute"
            drawn = is_drawn or node.name == "svg"
            is_block = not drawn and node.name not in INLINE
            stack += [
                *[(None, on, drawn)] * is_block,
                *[(child, on, drawn) for child in reversed(node.contents)],
                *[(None, on, drawn)] * is_block,
            ]
        elif not isinstance(node, bs4.Comment | bs4.Doctype | bs4.Declaration) and node.strip():
            yield str(node), not is_on, "drawn" if is_drawn else "text"


def _is_shown(node: Any, key: str) -> bool:
    if key == "alt":
        return node.name in ("img", "area", "input")
    if key == "value":
        return node.name == "input" and node.get("type", "") in ("submit", "button", "reset")
    if key == "content":
        return node.name == "meta" and node.get("name") in ("description", "twitter:title")
    return key in SHOWN_ATTRIBUTES and node.name not in ("link", "style")


WORDS = (
    "The dog", "sees", "a cat. ", " It sleeps", "now &amp; then", "a < b", "&eacute;t&eacute;", "&copy 2020 Ann",
    "&nbsp;", "1 &lt; 2", "&#233;l&#xe8;ve&#8217;s", "&notit; x", "&#0; y", "&unknown; z", "fish & chips", "50%",
    "\n", " ", "\r\n", " {name} ", " %s ", " https://a.example/b?c=d&amp;e ", "\u00a0dog", "&#128512; smile", "&", "&;", "<", "< b",
    "l'&Eacute;t&eacute;", "say \"so\"", "</", "]]>", "-->", "?>", "a>b",
)  # fmt: skip
NAMES = (
    "p", "div", "b", "i", "em", "span", "a", "u", "font", "nobr", "ul", "li", "dl", "dt", "dd", "h1", "h2", "section",
    "table", "tbody", "thead", "tr", "td", "th", "caption", "colgroup", "form", "button", "option", "optgroup",
    "label", "blockquote", "center", "article", "object", "body", "html", "head", "noscript", "fieldset", "legend",
    "details", "summary", "figure", "q", "sub", "my-element", "ruby", "DIV", "Span", "address", "marquee", "dir",
)  # fmt: skip
WHOLE = (
    " <code>dog()</code> ", " <kbd>Ctrl<b>x</b></kbd> ", "<br>", "<BR/>", "<wbr>", "<hr>", "<img src=x>", "<input>",
    '<img alt="The dog" src="a.png">', "<img alt='The \"dog\"'>", "<img alt=Dog src=x>", '<img alt="fish &amp; chips">',
    '<input type=submit value="Send it">', '<input value="dog">', '<input placeholder="Your name">', "<!-- a dog -->",
    "<!---->", "<!-->", "<!dog>", "<?xml version='1.0'?>", "<?php echo $dog ?>", "</>", "</ dog>", "<![CDATA[a dog]]>",
    "<script>if (a < b) dog('</p>')</script>", "<style>p > b { color: red }</style>", "<title>The dog &amp; I</title>",
    "<title>Two &lt; dogs</title>", "<textarea>The dog <b></textarea>", "<pre>\n The dog\n  sleeps</pre>", "<!DOCTYPE html>",
    "<svg viewBox='0 0 1 1'><title>A dog</title><path d='M0'/><text x=1>The <tspan>cat</tspan> sleeps</text></svg>",
    "<svg><style>a{}</style><g><text>One &amp; two</text></g></svg>", " <math><mi>x</mi><mo>=</mo><mn>2</mn></math> ",
    "<ruby>word<rp>(</rp><rt>reading</rt><rp>)</rp></ruby>", ' <span translate="no">Dogfood</span> ',
    ' <span class="x notranslate" title="Not this">Dogfood</span> ', '<p title="Not this" translate=no>Dog food</p>',
    '<div translate="no">Dog <b translate="yes" title="A name">but cats</b> food</div>', "<iframe src=x>a dog</iframe>",
    "<iframe title='The dog' src=x></iframe>", "<svg><foreignObject><p>A <b>big</b> dog</p></foreignObject></svg>",
    "<select><option value=a>One dog<option selected>Two</select>", "<meta name=description content='A page of dogs'>", "<meta name=author content='Ann Dog'>", "<link rel=x title=Blue>",
)  # fmt: skip
ATTRIBUTES = (
    "",
    "",
    "",
    "",
    ' title="The dog"',
    " title='a &lt; b'",
    " class=dog",
    ' href="/x?y&z"',
    " aria-label=Dog",
    " x",
)

pieces = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.builds("<{}{}>".format, st.sampled_from(NAMES), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(NAMES)),
    st.sampled_from(WHOLE),
    st.builds("<{0}{2}>{1}</{0}>".format, st.sampled_from(NAMES), st.sampled_from(WORDS), st.sampled_from(ATTRIBUTES)),
)
trees = st.recursive(
    st.sampled_from(WORDS + WHOLE),
    lambda inner: st.builds(
        "<{0}{2}>{1}</{0}>".format,
        st.sampled_from(NAMES),
        st.lists(inner, max_size=4).map("".join),
        st.sampled_from(ATTRIBUTES),
    ),
    max_leaves=12,
)
pages = st.one_of(st.lists(pieces, max_size=14), st.lists(st.one_of(trees, pieces), max_size=6)).map("".join)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(pages)
def test_pages_of_any_tags_in_any_order(page: str) -> None:
    check(page)


def check(page: str) -> None:
    data = f"<p>Begin</p>{page}".encode()
    document = read_document(data, "a.html")
    assert document.translated([unit.source for unit in document.units]) == data
    check_theorem(data, "a.html", shown, skeleton)
