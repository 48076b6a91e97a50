"""Tags that stand for a break or a note in a message: the words beside them are words of their own, in every format."""

import json
from html import escape

import pytest

from docsegments.segment import Mark
from docsegments.tagged_text import Tags, read_tagged
from docsegments.text.elements import BLOCKS, is_break
from docsegments.text.placeholders import plain_segment
from documents.theorem import translated

XLIFF = (
    '<xliff version="1.2"><file original="a" source-language="en" datatype="html"><body><trans-unit id="1">'
    "<source>{}</source></trans-unit></body></file></xliff>"
)
XLIFF_2 = (
    '<xliff version="2.0" srcLang="en"><file id="a"><unit id="1"><segment><source>{}</source></segment></unit></file>'
    "</xliff>"
)
TMX = (
    '<tmx version="1.4"><header srclang="en" segtype="sentence" o-tmf="x" adminlang="en" datatype="html" '
    'creationtool="x" creationtoolversion="1"/><body><tu><tuv xml:lang="en"><seg>{}</seg></tuv>'
    '<tuv xml:lang="de"><seg></seg></tuv></tu></body></tmx>'
)
IN_TEXT = [
    "a dog<br>two cats",
    "a dog<BR />two cats",
    "<li>a dog</li><li>two cats</li>",
    "<p class='x'>a dog<p>two cats",
]
IN_TEXT += [
    "<td>a dog</td><td><b>two</b> cats</td>",
    "a dog<hr/>two cats",
    "<h1>a dog</h1>two cats",
    "a dog<ul><li>two cats</ul>",
]
MESSAGES = {
    "a.json": lambda text: json.dumps({"a": text}),
    "a.yaml": lambda text: f"a: {json.dumps(text)}\n",
    "a.properties": lambda text: f"a={text}\n",
    "a.strings": lambda text: f'"a" = {json.dumps(text)};\n',
    "a.csv": lambda text: f'id,en\n1,"{text}"\n',
    "a.po": lambda text: (
        f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "{text}"\nmsgstr ""\n'
    ),
    "strings.xml": lambda text: f'<resources><string name="a">{escape(text)}</string></resources>',
    "a.xlf": lambda text: XLIFF.format(escape(text)),
    "a.tmx": lambda text: TMX.format(escape(text)),
}
CODES = [
    (XLIFF, 'a dog<x id="1" ctype="lb"/>two cats'),
    (XLIFF, 'a dog<x id="1" ctype="x-html-br"/>two cats'),
    (XLIFF, 'a dog<ph id="1">&lt;br/&gt;</ph>two cats'),
    (XLIFF, '<g id="1" ctype="x-html-li">a dog</g><g id="2" ctype="x-li">two cats</g>'),
    (XLIFF, '<bpt id="1" ctype="x-p">(</bpt>a dog<ept id="1">)</ept>two cats'),
    (XLIFF, 'a dog<x id="LINE_BREAK" equiv-text="&lt;br&gt;"/>two cats'),
    (XLIFF_2, 'a dog<ph id="1" type="fmt" subType="xlf:lb"/>two cats'),
    (XLIFF_2, 'a dog<ph id="1" equiv="LINE_BREAK"/>two cats'),
    (XLIFF_2, '<pc id="1" equivStart="START_PARAGRAPH">a dog</pc><pc id="2" dispStart="&lt;p&gt;">two cats</pc>'),
    (TMX, 'a dog<ph type="lb"/>two cats'),
    (TMX, '<bpt i="1">&lt;p&gt;</bpt>a dog<ept i="1">&lt;/p&gt;</ept>two cats'),
    ("<resources><string name='a'>{}</string></resources>", "a dog<br/>two cats"),
    ("<resources><string name='a'>{}</string></resources>", "<p>a dog</p><p>two cats</p>"),
]


def texts_read(data: str, name: str) -> list[str]:
    read: list[str] = []

    def keep(text: str) -> str:
        read.append(text)
        return text

    translated(keep, data.encode(), name)
    return read


@pytest.mark.parametrize("text", IN_TEXT)
@pytest.mark.parametrize("name", MESSAGES)
def test_a_block_or_a_line_break_parts_the_words_beside_it(name: str, text: str) -> None:
    assert [read.split() for read in texts_read(MESSAGES[name](text), name)] == [["a", "dog"], ["two", "cats"]]


@pytest.mark.parametrize(("document", "text"), CODES)
def test_a_code_that_stands_for_a_break_does_so_too(document: str, text: str) -> None:
    name = "a.tmx" if document == TMX else "strings.xml" if "<resources>" in document else "a.xlf"
    assert texts_read(document.format(text), name) == ["a dog", "two cats"]


def test_other_codes_and_names_are_no_breaks() -> None:
    assert not any(
        map(is_break, ["x-b", "bold", "link", "fmt", "xlf:b", "image", "<b>", "x-html-span", "INTERPOLATION", ""])
    )
    assert BLOCKS.isdisjoint(["a", "b", "i", "em", "span", "sub", "sup", "code", "img"])
    for text in ("a <b>dog</b>s", "cmd <title> now", "a <custom>dog</custom>"):
        assert not any(mark.breaks for mark in plain_segment(text).marks)


@pytest.mark.parametrize("is_xml", [True, False])
def test_elements_of_tagged_text_with_names_of_html_blocks_part_it(is_xml: bool) -> None:
    text = "a dog<br/>two cats" if is_xml else "a dog<br>two cats"
    (unit,) = read_tagged(text.encode(), "a", Tags(splits_lines=False)).units
    assert [mark.breaks for mark in unit.source.marks] == [True]
    (unit,) = read_tagged(b"<t>a <p>dog</p> b</t>", "a", Tags(non_splitting=("p",))).units
    assert not any(mark.breaks for mark in unit.source.marks)


@pytest.mark.parametrize(
    "note",
    ["<sup>1</sup>", "<sup>[2]</sup>", "<sup>®</sup>", "<sup>TM</sup>", '<sup><a href="#n">3</a></sup>',
     "<a href='#n'>[4]</a>", '<a href="#n"><sup>*</sup></a>', "<sup><a href='#n'>[a]</a></sup>",
     "<sup class='x'>1, 2</sup>"],
)  # fmt: skip
def test_a_note_is_one_mark_behind_its_word(note: str) -> None:
    segment = plain_segment(f"A dog{note} runs.")
    assert [part if isinstance(part, str) else part.raw for part in segment.parts] == ["A dog", note, " runs."]
    assert segment.text == "A dog runs."
    assert texts_read(f"<p>A dog{note} runs.</p>", "a.html") == ["A dog runs."]


@pytest.mark.parametrize(
    "text", ["the 1<sup>st</sup> dog", "H<sub>2</sub>O", "M<sup>me</sup> A", "<a href='x'>2024</a> ends"]
)
def test_letters_that_are_raised_and_links_of_words_are_text(text: str) -> None:
    segment = plain_segment(text)
    assert [mark.kind for mark in segment.marks if isinstance(mark, Mark)] == ["open", "close"]


@pytest.mark.parametrize("sign", ["<!-- x -->", "<img src='x'>", "<!doctype html>"])
def test_a_comment_or_an_image_parts_the_words_that_it_is_between_and_no_others(sign: str) -> None:
    assert texts_read(json.dumps({"a": f"a dog{sign}two cats"}), "a.json") == ["a dog", "two cats"]
    assert texts_read(json.dumps({"a": f"a dog {sign} runs"}), "a.json") == ["a dog runs"]


@pytest.mark.parametrize("sign", ["<img src=x>", "<image src=x>", "<b></b>", "<!-- x -->"])
def test_an_image_of_a_page_parts_the_words_that_it_is_between(sign: str) -> None:
    is_image = sign in ("<img src=x>", "<image src=x>")
    assert texts_read(f"<p>a dog{sign}two cats", "a.html") == (["a dog", "two cats"] if is_image else ["a dogtwo cats"])
    assert texts_read(f"<p>a dog {sign}runs", "a.html") == ["a dog runs"]
