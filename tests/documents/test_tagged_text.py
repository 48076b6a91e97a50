"""XML inside a request: which elements divide texts, which are marks in them, and that all of it stays well-formed."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document import Document
from docsegments.document_formats import read_marked_up
from docsegments.segment import Segment
from docsegments.tagged_text import Tags
from transduce.base.errors import InputError


def read(text: str, **settings: object) -> Document:
    return read_marked_up(text.encode(), "the text", "xml", Tags(**settings))  # type: ignore[arg-type]


def texts(document: Document) -> list[str]:
    return [" ".join(unit.source.text.split()) for unit in document.units]


def in_capitals(document: Document) -> str:
    segments = [
        replace(unit.source, parts=tuple(part.upper() if isinstance(part, str) else part for part in unit.source.parts))
        for unit in document.units
    ]
    return document.translated(segments).decode()


DOCUMENT = (
    "<document>\n  <meta><title>A title</title></meta>\n  <content><par>One. Two.</par><par>Three.</par></content>\n"
    "</document>"
)


def test_elements_without_text_beside_them_are_texts_of_their_own() -> None:
    assert texts(read(DOCUMENT)) == ["A title", "One. Two.", "Three."]
    assert in_capitals(read(DOCUMENT)) == re.sub(
        r">([^<]*)<", lambda match: f">{match[1].upper()}<", DOCUMENT, flags=re.DOTALL
    )


def test_elements_beside_text_are_marks_in_it() -> None:
    document = read("Press <b>Continue</b> to <i>go <u>on</u></i>.")
    assert texts(document) == ["Press Continue to go on."]
    assert in_capitals(document) == "PRESS <b>CONTINUE</b> TO <i>GO <u>ON</u></i>."


def test_an_outline_is_found_only_if_it_is_asked_for() -> None:
    document = read(DOCUMENT, finds_outline=False, splitting=("title", "par"))
    (unit,) = document.units
    assert [mark.raw for mark in unit.source.marks if mark.breaks and mark.raw.startswith("<")] == [
        "<title>", "</title>", "<par>", "</par>", "<par>", "</par>"
    ]  # fmt: skip
    assert in_capitals(document) == in_capitals(read(DOCUMENT))


def test_elements_that_divide_no_text_are_read_with_what_is_beside_them() -> None:
    text = "<par>The firm had been </par><par>conducting an inquiry.</par>"
    assert texts(read(text)) == ["The firm had been", "conducting an inquiry."]
    assert texts(read(text, non_splitting=("par",))) == ["The firm had been conducting an inquiry."]


def test_the_text_of_ignored_elements_stays() -> None:
    document = read('See <x id="1"></x> or <x>the <b>file</b></x> now. <x>Alone</x>', ignored=("x",))
    assert in_capitals(document) == 'SEE <x id="1"></x> OR <x>the <b>file</b></x> NOW. <x>Alone</x>'
    assert not read("<x>Alone</x>", ignored=("x",)).units


def test_line_ends_divide_a_text_or_not() -> None:
    breaks = [[mark.breaks for mark in read("A line\nand on", splits_lines=on).units[0].source.marks] for on in (1, 0)]
    assert breaks == [[True], [False]]


def test_what_xml_needs_escaped_is_escaped_and_a_declaration_stays() -> None:
    assert in_capitals(read("a &lt; b > &amp; c")) == "A &lt; B &gt; &amp; C"
    for before in ("", '<?xml version="1.0"?>\n', "<!DOCTYPE a>", '<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "b">\n'):
        assert in_capitals(read(f"{before}<a>hi &#38; ho</a>", is_strict=True)) == f"{before}<a>HI &amp; HO</a>"
    assert in_capitals(read("<!-- no --> a &lt;b&gt;c&lt;/b&gt;")) == "<!-- no --> A &lt;b&gt;C&lt;/b&gt;"


@pytest.mark.parametrize("text", ["AT&T <b>is</b> here", "a <b>b", "</text><text>", "a < b", "<b>a</i></b>"])
def test_text_that_is_no_xml_keeps_its_tags_or_is_refused(text: str) -> None:
    tags = re.compile(r"</?[a-z]+>")
    assert tags.findall(in_capitals(read(text))) == tags.findall(text)
    with pytest.raises(InputError, match="the text: line 1: not well-formed XML"):
        read(text, is_strict=True)


def test_too_many_elements_in_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="more than 200 elements"):
        read("<a>" * 300 + "x" + "</a>" * 300, is_strict=True)
    with pytest.raises(InputError, match="more than 200 tags"):
        read("&lt;b&gt;" * 300 + "x" + "&lt;/b&gt;" * 300, is_strict=True)


WORDS = st.lists(st.sampled_from(["Hund ", "läuft", " & ", "<", '"x" ', "\n", "  ", "%s ", "Ende. "]), max_size=4)
TREES = st.recursive(
    WORDS.map(lambda words: "".join(words).replace("&", "&amp;").replace("<", "&lt;")),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>", st.sampled_from("abpx"), st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(TREES, max_size=3).map("".join), st.sampled_from([(), ("p",), ("a", "p")]), st.booleans())
def test_all_text_but_ignored_is_read_and_what_is_written_is_xml(
    text: str, names: tuple[str, ...], finds_outline: bool
) -> None:
    document = read(text, splitting=names, non_splitting=names[:1], ignored=("x",), finds_outline=finds_outline)
    before, after = (ElementTree.fromstring(f"<r>{one}</r>") for one in (text, in_capitals(document)))
    assert [element.tag for element in before.iter()] == [element.tag for element in after.iter()]
    assert _read_by_others(before) == _read_by_others(after)
    unchanged = document.translated([Segment(unit.source.parts) for unit in document.units])
    assert unchanged.decode() == text


def _read_by_others(element: ElementTree.Element, is_ignored: bool = False) -> str:
    """All text in capitals but that of ignored elements."""
    is_ignored = is_ignored or element.tag == "x"
    parts = [element.text or "", *(_read_by_others(child, is_ignored) + (child.tail or "") for child in element)]
    text = "".join(parts)
    return text if is_ignored else text.replace("%s", "%S").upper()
