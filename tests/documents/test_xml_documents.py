"""XML is read with little memory, by whatever means a file asks for more, and comes out as it is written."""

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from docsegments.xml import read_xml, tokens_of
from documents.theorem import in_capitals, reordered
from transduce.base.errors import InputError

TMX = '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>{}</seg></tuv></tu></body></tmx>'
EN_DE = Languages("en", "de")


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ('<!ATTLIST seg x CDATA "many bytes">', "declares attributes of 'seg'"),
        ("<!ATTLIST seg x CDATA #IMPLIED>", "declares attributes of 'seg'"),
        ("<!ENTITY x 'many bytes'>", "declares the entity 'x'"),
        ("<!ENTITY % x 'many bytes'>", "declares the entity 'x'"),
        ("<!ENTITY x SYSTEM 'file:///etc/passwd'>", "declares the entity 'x'"),
    ],
)
def test_a_file_that_declares_what_is_put_in_is_refused(declaration: str, words: str) -> None:
    data = f"<!DOCTYPE tmx [{declaration}]>{TMX.format('The dog')}".encode()
    with pytest.raises(InputError, match=words):
        read_document(data, "a.tmx", EN_DE)


def test_tokens_are_the_whole_file_in_its_order() -> None:
    text = "<?xml version='1.0'?>\n<a b='c'>d\r\n&amp;<!-- e --><f/><![CDATA[g\nh]]>&#10;i<?j k?></a>\n"
    file = read_xml(text.encode(), "a.xml")
    tokens = list(tokens_of(file))
    assert "".join(text[token.start : token.end] for token in tokens) == text
    said = [token.value for token in tokens if token.kind == "text"]
    assert said == ["d\n&", "g\nh", "\ni"]


@pytest.mark.parametrize("kind", ["tmx", "xlf"])
def test_line_ends_within_a_segment_stay_as_they_are_written(kind: str) -> None:
    unit = "<trans-unit id='1'><source>{}</source></trans-unit>"
    xliff = f'<xliff version="1.2">\r\n<file source-language="en"><body>{unit}</body></file></xliff>'
    text = "The dog\r\n  sleeps.\r\n&#13;Now&#10;&#x9;<![CDATA[a\r\nb]]>"
    data = (TMX if kind == "tmx" else xliff).format(text).encode()
    translated = in_capitals(data, f"a.{kind}").data.decode()
    assert "THE DOG\r\n  SLEEPS.\r\n&#13;NOW&#10;&#x9;A\r\nB</" in translated


def test_tabs_and_columns_divide_a_text_and_single_blanks_do_not() -> None:
    data = TMX.format("one two\tthree four    five six&#9;seven  eight").encode()
    assert "two one\tfour three    six five&#9;eight  seven" in reordered(data, "a.tmx").data.decode()


def test_every_unit_has_the_name_that_its_file_gives_it() -> None:
    data = TMX.replace("<tu>", '<tu tuid="greeting">').format("The dog").encode()
    assert [unit.id for unit in read_document(data, "a.tmx", EN_DE).units] == ["greeting"]
    segments = "<mrk mtype='seg' mid='s1'>One.</mrk> <mrk mtype='seg' mid='s2'>Two.</mrk>"
    unit = f"<trans-unit id='u'><source>One. Two.</source><seg-source>{segments}</seg-source></trans-unit>"
    data = f'<xliff version="1.2"><file source-language="en" original="f">{unit}</file></xliff>'.encode()
    assert [unit.id for unit in read_document(data, "a.xlf", EN_DE).units] == ["f/u/s1", "f/u/s2"]


@pytest.mark.parametrize("encoding", ["idna", "punycode", "utf-7", "unicode_escape", "raw_unicode_escape"])
def test_codecs_that_no_file_is_written_in_are_refused(encoding: str) -> None:
    data = f"<?xml version='1.0' encoding='{encoding}'?>{TMX.format('a')}".encode()
    with pytest.raises(InputError, match="unknown encoding"):
        read_document(data, "a.tmx", EN_DE)
