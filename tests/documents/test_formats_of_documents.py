"""Whatever a document holds beside the text that is translated stays byte for byte, and others can read the result."""

import io
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from transduce.documents.document import Document, Languages
from transduce.documents.formats import FORMATS, format_of, read_document
from transduce.documents.segment import Mark, Segment, problems
from transduce.documents.text.placing import place_marks
from transduce.errors import InputError

pytest.importorskip("polib")
pytest.importorskip("pysubs2")

LIST = (
    "a.po crlf.po latin.po a.xlf two.xliff latin.xlf a.tmx crlf.tmx a.srt a.vtt a.html crlf.htm latin.html a.md "
    "crlf.md a.text a.docx"
)
OF_MESSAGES = (
    "a.json crlf.json a.yaml crlf.yml a.properties latin.properties a.strings crlf.strings a.xcstrings a.xml crlf.xml "
    "a.arb a.csv a.tsv a.pptx a.xlsx a.odt"
)
NAMES = [*LIST.split(), *OF_MESSAGES.split()]
EN_DE = Languages("en", "de")
ENCRYPTED = {"content.xml": b"x", "META-INF/manifest.xml": b"<manifest><encryption-data/></manifest>"}
IN_XLIFF = '<xliff version="1.2"><file source-language="en"><trans-unit><source>{}</source></trans-unit></file></xliff>'


def read(folder: Path, name: str, languages: Languages = EN_DE) -> Document:
    kind = "text" if name.endswith(".text") else None
    return read_document((folder / name).read_bytes(), name, languages, kind)


def upper(segment: Segment) -> Segment:
    """The text in capitals, and all marks."""
    return Segment(tuple(part.upper() if isinstance(part, str) else part for part in segment.parts))


def in_capitals(document: Document) -> bytes:
    return document.translated([upper(unit.source) for unit in document.units])


def texts(document: Document) -> list[str]:
    return [" ".join(unit.source.text.split()) for unit in document.units]


def test_every_format_has_an_example() -> None:
    assert {format_of(name) or "text" for name in NAMES} == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_of_which_nothing_changes_comes_back_identical(folder: Path, name: str) -> None:
    document = read(folder, name)
    assert document.units
    same = [unit.target if unit.is_bilingual else unit.source for unit in document.units]
    for translations in ([None] * len(document.units), same):
        assert document.translated(translations) == (folder / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_again_with_all_marks(folder: Path, name: str) -> None:
    before = read(folder, name)
    after = read_document(in_capitals(before), name, EN_DE, "text" if name.endswith(".text") else None)
    assert len(after.units) == len(before.units)
    for old, new in zip(before.units, after.units, strict=True):
        found = new.target if new.is_bilingual else new.source
        assert found is not None
        assert not problems(*(Segment(tuple(map(in_small, one.parts))) for one in (old.source, found)))
        assert " ".join(found.text.split()) == " ".join(upper(old.source).text.split())


def in_small(part: str | Mark) -> str | Mark:
    """A part, of which attributes may have been translated."""
    return part if isinstance(part, str) else replace(part, raw=part.raw.lower())


@pytest.mark.parametrize(
    "name", [name for name in LIST.split() if not name.endswith(("po", "xlf", "xliff", "tmx", "docx", "md"))]
)
def test_only_the_texts_have_changed(folder: Path, name: str) -> None:
    encoding = "latin-1" if name.startswith("latin") else "utf-8"
    before, after = (
        re.sub(r"\s+", " ", data.decode(encoding)).lower().replace("a < b", "a &lt; b").replace("lang=en", "lang=de")
        for data in ((folder / name).read_bytes(), in_capitals(read(folder, name)))
    )
    assert before == after


def test_po_the_source_and_all_else_stay(folder: Path) -> None:
    import polib

    document = read(folder, "a.po")
    assert texts(document) == [
        "The dog sees %(name)s.", 'The small cat "sleeps".', "The man", "%d dog", "%d dogs",
    ]  # fmt: skip
    assert [(unit.target is not None, unit.is_draft) for unit in document.units] == [
        (True, False), (False, False), (True, True), (False, False), (False, False),
    ]  # fmt: skip
    data = in_capitals(document).decode()
    old, new = polib.pofile((folder / "a.po").read_text()), polib.pofile(data)
    for one, other in zip(old, new, strict=True):
        assert (one.msgid, one.msgctxt, one.flags, one.occurrences, one.previous_msgid, one.obsolete) == (
            other.msgid, other.msgctxt, other.flags, other.occurrences, other.previous_msgid, other.obsolete,
        )  # fmt: skip
    assert new.metadata == old.metadata
    assert [entry.msgstr for entry in new][:3] == [
        "THE DOG SEES %(name)s.",
        'THE <b>SMALL</b> CAT "SLEEPS".\n',
        "THE MAN",
    ]
    assert new[3].msgstr_plural == {0: "%d DOG", 1: "%d DOGS"}
    assert [line for line in data.splitlines() if "msgstr" not in line] == [
        line for line in PO_LINES(folder) if "msgstr" not in line
    ]


def PO_LINES(folder: Path) -> list[str]:
    return (folder / "a.po").read_text().splitlines()


def test_po_each_plural_form_is_made_of_the_right_number() -> None:
    head = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals={}; plural={};\\n"\n\n'
    )
    message = 'msgid "a dog"\nmsgid_plural "dogs"\n'

    def sources(count: int, rule: str) -> list[str]:
        forms = "".join(f'msgstr[{i}] ""\n' for i in range(count))
        return texts(read_document((head.format(count, rule) + message + forms).encode(), "a.po"))

    assert sources(2, "(n > 1)") == ["a dog", "dogs"]
    assert sources(1, "0") == ["dogs"]
    assert sources(3, "(n==1 ? 2 : n>9 ? 0 : 1)") == ["dogs", "dogs", "a dog"]


def test_po_escapes_mean_in_the_translation_what_they_mean_in_the_source() -> None:
    data = 'msgid "a\\033[1mb\\x41\\a\\\\033"\nmsgstr ""\n'
    document = read_document(data.encode(), "a.po", EN_DE)
    assert document.units[0].source.text == "a\x1b[1mbA\a\\033"
    assert in_capitals(document).decode() == data.replace('msgstr ""', 'msgstr "A\\033[1mBA\\a\\\\033"')


def test_po_long_texts_are_folded_as_gettext_does() -> None:
    import polib

    text = "The dog sees the small cat and " * 6
    document = read_document(f'msgid "{text}"\nmsgstr ""\n'.encode(), "a.po")
    data = in_capitals(document).decode()
    assert polib.pofile("#\n" + data)[0].msgstr == text.upper()
    assert max(map(len, data.splitlines()[2:])) <= 80
    assert data.splitlines()[1:3] == [
        'msgstr ""',
        '"THE DOG SEES THE SMALL CAT AND THE DOG SEES THE SMALL CAT AND THE DOG SEES "',
    ]


def test_a_po_whose_text_is_the_name_of_a_file_opens_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "msgid").write_text('msgid "secret"\nmsgstr ""\n')
    with pytest.raises(InputError):
        read_document(b"msgid", "a.po")


def test_xliff_targets_are_put_beside_their_sources(folder: Path) -> None:
    import lxml.etree

    document = read(folder, "a.xlf")
    assert texts(document) == ["The small cat sleeps.", "The man", "The dog", "The child"]
    assert [(unit.target is not None, unit.is_draft) for unit in document.units] == [
        (False, False), (True, True), (True, False), (False, False),
    ]  # fmt: skip
    data = in_capitals(document)
    targets = [
        "".join(one.itertext())
        for one in lxml.etree.fromstring(data).iter("{*}target")
        if one.getparent().tag[-1] != "s"
    ]
    assert targets == ["THE SMALL CAT <i>SLEEPS</i>.", "THE MAN", "THE DOG", "THE CHILD"]
    lines, found = ((folder / "a.xlf").read_text("utf-8-sig").splitlines(), data.decode("utf-8-sig").splitlines())
    added = (
        """        <target>THE <g id="1" ctype='bold'>SMALL</g> CAT &lt;i&gt;SLEEPS&lt;/i&gt;<x id="2"/>.</target>"""
    )
    assert found.pop(8) == added
    assert [line for line in found if "<target" not in line] == [line for line in lines if "<target" not in line]


def test_xliff_what_is_protected_or_a_carriage_return_stays() -> None:
    source = 'Use <mrk mtype="protected">Some&amp;one</mrk>&#13; or <mrk translate="no"><g id="1">it</g></mrk>'
    document = read_document(IN_XLIFF.format(source).encode(), "a.xlf", EN_DE)
    wanted = source.replace("Use", "USE").replace("or", "OR")
    assert f"<target>{wanted}</target>" in in_capitals(document).decode()
    assert [mark.shown for mark in document.units[0].source.marks if mark.is_held] == ["Some&one", "it"]


def test_xliff_2_names_the_language_that_it_lacked(folder: Path) -> None:
    import lxml.etree

    document = read(folder, "two.xliff")
    assert texts(document) == ["The dog sees it.", "The man"]
    root = lxml.etree.fromstring(in_capitals(document))
    assert root.get("trgLang") == "de"
    assert len(list(root.iter("{*}target"))) == 2


def test_tmx_the_language_asked_for_is_added_or_replaced(folder: Path) -> None:
    import lxml.etree

    lang = "{http://www.w3.org/XML/1998/namespace}lang"

    def variants(languages: Languages) -> list[list[tuple[str, str]]]:
        root = lxml.etree.fromstring(in_capitals(read(folder, "a.tmx", languages)))
        return [
            [(one.get(lang), "".join(one.itertext()).strip()) for one in unit.iter("tuv")] for unit in root.iter("tu")
        ]

    small, cat = "The <b>small</b> cat.", "THE <b>SMALL</b> CAT."
    assert variants(EN_DE) == [
        [("EN-us", small), ("de", cat), ("fr", "Le chat.")],
        [("en-us", "The dog"), ("de-AT", "THE DOG")],
    ]
    assert variants(Languages("fr", "de"))[0][1:] == [("fr", "Le chat."), ("de", "LE CHAT.")]
    with pytest.raises(InputError, match="no text in 'it'; it has"):
        read(folder, "a.tmx", Languages("it", "de"))


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_subtitles_times_and_all_else_stay(folder: Path, kind: str) -> None:
    import pysubs2

    data = (folder / f"a.{kind}").read_bytes().decode("utf-8-sig")
    new = in_capitals(read(folder, f"a.{kind}")).decode("utf-8-sig")
    old, found = (
        pysubs2.SSAFile.from_string(text.replace("\r\n", "\n"), format_=kind, keep_html_tags=True)
        for text in (data, new)
    )
    assert [(event.start, event.end) for event in old] == [(event.start, event.end) for event in found]
    assert new.count("\r\n") == data.count("\r\n")
    first = {"srt": "<i>THE DOG SLEEPS.</i>", "vtt": "<v Ann>THE DOG &amp; THE <b>CAT</b> SLEEP."}
    assert first[kind] in new


def test_subtitles_a_sentence_goes_on_through_its_lines_and_speakers_are_apart(folder: Path) -> None:
    cue = read(folder, "a.srt").units[1].source
    marks = [(mark.raw, mark.breaks) for mark in cue.marks]
    assert marks == [("- ", False), ("\r\n", False), ("\r\n", True), ("- ", False), ("{\\an8}", False)]


def test_html_texts_and_attributes_are_found_and_code_and_scripts_are_not(folder: Path) -> None:
    units = [unit for unit in read(folder, "a.html").units if not unit.where.endswith(("title", "alt"))]
    assert [" ".join(unit.source.text.split()) for unit in units] == [
        "The dog & I",
        "The small cat sleeps & sings. The man",
        "Unclosed The dog() and Dog",
        "One",
        "{name} sees it",
        "Lost text",
        "The child",
        "a < b x",
    ]
    segment = units[2].source
    assert [mark.shown for mark in segment.marks if mark.is_held] == ["The dog()", "Dog"]


@pytest.mark.parametrize("unended", ["<a" + ' ="a"' * 60, "<a" * 3000, '<a ="' * 3000, "<!" * 3000, "<!--" * 3000])
def test_html_a_tag_without_an_end_is_read_at_once_and_stays(unended: str) -> None:
    document = read_document(f"<p>The dog</p>{unended}".encode(), "a.html")
    assert in_capitals(document) == f"<p>THE DOG</p>{unended}".encode()


def test_html_is_escaped_again_and_what_an_encoding_lacks_is_an_entity(folder: Path) -> None:
    document = read(folder, "latin.html")
    translations: list[Segment | None] = [Segment(("犬 <&> ä",)), *[None] * (len(document.units) - 1)]
    assert b"<title>&#29356; &lt;&amp;&gt; \xe4</title>" in document.translated(translations)


def test_po_in_an_encoding_that_lacks_a_character_is_refused(folder: Path) -> None:
    document = read(folder, "latin.po")
    with pytest.raises(InputError, match=r"encoding, .*8859-1, has no '犬'"):
        document.translated([Segment(("犬",)), *[None] * (len(document.units) - 1)])


def test_markdown_texts_and_titles_are_found_and_code_links_and_tables_stay(folder: Path) -> None:
    found = texts(read(folder, "a.md"))
    assert found == [
        "The dog",  # the title of the front matter
        "The small dog",
        "The man sees the cat() and the woman sings * & more of it or https://a.b/.",
        "The dog",  # the title of the link
        "The dog sleeps.",
        "The cat sings.",
        "The dog",
        "x",
        "The man",
        "1",
        "The dog",  # in a block of HTML
        "The dog",  # the title of a definition
    ]


def test_markdown_stays_what_it_was_whatever_signs_a_translation_has() -> None:
    import markdown_it

    document = read_document(b"The dog\n\n[The cat] sings\n\n[the cat]: x\n", "a.md")
    signs = "# 1. *a* _b_ `c` [d](e) <f> &amp; | \\ ~~g~~ snake_case 2 * 3"
    cat = document.units[1].source.marks
    data = document.translated([Segment((signs,)), Segment((cat[0], "Die Katze", cat[1], " singt"))])
    tokens = [token for token in markdown_it.MarkdownIt().parse(data.decode()) if token.type == "inline"]
    assert "".join(child.content for child in tokens[0].children) == signs
    assert [child.type for child in tokens[1].children] == ["link_open", "text", "link_close", "text"]


def test_an_ampersand_is_escaped_where_the_source_always_escapes_it() -> None:
    words = Segment(("Jan & Eva",))
    assert read_document(b"Tom \\& Ann\n", "a.md").translated([words]) == b"Jan \\& Eva\n"
    assert read_document(b"Tom & Ann \\& Bob\n", "a.md").translated([words]) == b"Jan & Eva\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- [ ] Buy milk\n- [x] Sell *it*\n", "- [ ] BUY MILK\n- [x] SELL *IT*\n"),
        ("Text[^a] here.\n\n[^a]: One.\n[^b]: Two.\n", "TEXT[^a] HERE.\n\n[^a]: ONE.\n[^b]: TWO.\n"),
        ("> [!NOTE]\n> Useful\n> words.\n", "> [!NOTE]\n> USEFUL WORDS.\n"),
        (":::note\nSome *text*\n:::\n", ":::note\nSOME *TEXT*\n:::\n"),
        ("See [[A Page|there]].\n", "SEE [[A Page|THERE]].\n"),
        ("See \\[^a] and [ ].\n", "SEE \\[^A] AND \\[ ].\n"),
    ],
)
def test_markdown_boxes_footnotes_alerts_and_containers_stay(text: str, wanted: str) -> None:
    assert in_capitals(read_document(text.encode(), "a.md")).decode() == wanted


def test_plain_text_paragraphs_come_out_on_a_line(folder: Path) -> None:
    document = read(folder, "a.text")
    assert texts(document) == ["The dog sleeps. The cat sings with %s.", "The man", "The woman", "12:30"]
    assert in_capitals(document).decode() == (
        "THE DOG SLEEPS. THE CAT SINGS WITH %s.\n\n  * THE MAN\n  * THE WOMAN\n\n12:30\n"
    )


def test_docx_runs_keep_their_formats_and_other_files_of_the_archive_stay(folder: Path) -> None:
    import docx

    data = in_capitals(read(folder, "a.docx"))
    document = docx.Document(io.BytesIO(data))
    runs = [(run.text, run.bold) for run in document.paragraphs[1].runs]
    assert runs == [
        ("THE ", None), ("OLD", True), (" DOG SEES {name}", None), ("\n", None), ("NOW.", None),
    ]  # fmt: skip
    assert document.tables[0].cell(0, 1).text == "THE CHILD & I"
    assert document.sections[0].header.paragraphs[0].text == "THE HEAD"
    with zipfile.ZipFile(folder / "a.docx") as old, zipfile.ZipFile(io.BytesIO(data)) as new:
        assert new.testzip() is None
        assert old.namelist() == new.namelist()
        changed = {name for name in old.namelist() if old.read(name) != new.read(name)}
        labels = {f"word/{name}.xml" for name in ("styles", "stylesWithEffects", "settings")}  # of the language
        assert changed - labels == {"word/document.xml", "word/header1.xml"}


def test_docx_with_a_damaged_picture_is_reported_in_a_line(folder: Path) -> None:
    packed = io.BytesIO((folder / "a.docx").read_bytes())
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("word/media/a.png", b"a picture" * 9)
    document = read_document(packed.getvalue().replace(b"a picture", b"b picture", 1), "a.docx")
    with pytest.raises(InputError, match=r"word/media/a\.png in it is damaged"):
        in_capitals(document)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.html", "<b>", "</b>"),
        ("a.md", "<b>", "</b>"),
        ("a.xlf", "<g id='1'>", "</g>"),
    ],
)
def test_tags_in_each_other_have_a_depth_that_can_be_placed(name: str, before: str, after: str) -> None:
    def document(depth: int) -> Document:
        text = "x " + f"{before}a " * depth + after * depth + " y"
        return read_document((IN_XLIFF.format(text) if name == "a.xlf" else text).encode(), name, EN_DE)

    source = document(190).units[0].source
    assert not problems(source, place_marks(source, source.text, None, []))
    with pytest.raises(InputError, match=r"200 (elements|tags) in each other"):
        document(500)


def test_docx_a_field_is_not_torn_whatever_becomes_of_the_words() -> None:
    field = "".join(
        f"<w:r>{inner}</w:r>"
        for inner in (
            '<w:fldChar w:fldCharType="begin"/>', "<w:instrText> REF a </w:instrText>",
            '<w:fldChar w:fldCharType="separate"/>', "<w:t>Figure 1</w:t>", '<w:fldChar w:fldCharType="end"/>',
        )
    )  # fmt: skip
    text = f'<w:r><w:t xml:space="preserve">See </w:t></w:r><w:bookmarkStart w:id="1"/>{field}<w:bookmarkEnd w:id="1"/>'
    (unit,) = read_document(_in_word(text), "a.docx").units
    core = unit.source.split_edges()[1]
    assert core.text == "See Figure 1"
    found = place_marks(core, "Bild 1 siehe", {(0, 2), (1, 0), (2, 1)}, [])
    written = "".join(str(piece) for edit in unit.write(found) for piece in edit.pieces)
    order = [
        written.index(one) for one in ("bookmarkStart", "begin", "instrText", "separate", "Bild 1", "end", "siehe")
    ]
    assert order == sorted(order)


def test_docx_the_text_in_a_control_of_a_form_is_translated() -> None:
    control = '<w:sdt><w:sdtPr><w:alias w:val="Name"/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>'
    run = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'
    data = _in_word(run.format("The dog of ") + control.format(run.format("the man")) + run.format(" sleeps."))
    document = read_document(data, "a.docx")
    assert texts(document) == ["The dog of the man sleeps."]
    written = in_capitals(document)
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        text = archive.read("word/document.xml").decode()
    assert control.format(run.format("THE MAN")) in text
    assert re.sub("<[^>]*>", "", text) == "THE DOG OF THE MAN SLEEPS."


def _in_word(paragraph: str) -> bytes:
    """A Word document with a paragraph of this content."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(
            "word/document.xml", f'<w:document xmlns:w="{word}"><w:body><w:p>{paragraph}</w:p></w:body></w:document>'
        )
    return data.getvalue()


def _bomb() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a>" + b" " * 30_000_000 + b"</a>")
    return data.getvalue()


ENTITY = b'<!DOCTYPE a [<!ENTITY b "ccc"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>'


def zip_of(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.docx", _bomb, "would be 30,000,007 bytes when unpacked"),
        ("a.docx", lambda: b"PK\3\4 damaged", "no Word document"),
        ("a.tmx", lambda: ENTITY, "declares the entity 'b'"),
        ("a.xlf", lambda: ENTITY.replace(b"<a>", b"<xliff version='1.2'>"), "declares the entity 'b'"),
        ("a.tmx", lambda: b"<!DOCTYPE tmx SYSTEM 'x.dtd'><tmx>&nbsp;</tmx>", "unknown entity &nbsp;"),
        ("a.tmx", lambda: b"<tmx>" + 2000 * b"<a>", "more than 200 elements"),
        ("a.tmx", lambda: b"<tmx><tu>", "line 1: not well-formed XML"),
        ("a.tmx", lambda: b"<xliff/>", "is no TMX but begins with <xliff>"),
        ("a.xlf", lambda: b"<tmx/>", "is no XLIFF but begins with <tmx>"),
        ("a.xlf", lambda: b"<xliff version='3.0'/>", "XLIFF of version '3.0'"),
        ("a.xlf", lambda: b"<xliff version='1.2'><file source-language='en'/></xliff>", "no texts to translate"),
        ("a.xlf", lambda: b"<?xml version='1.0' encoding='klingon'?><xliff/>", "unknown encoding 'klingon'"),
        ("a.po", lambda: b'msgid "a"\nmsgstr "b', "not on its line|PO catalogue|does not end on its line"),
        ("a.po", lambda: b"Hello", "no msgid"),
        ("a.po", lambda: b'msgid ""\nmsgstr "Language: fr\\n"\nmsgid "a"\nmsgstr ""\n', "is 'fr', not 'de'"),
        ("a.po", lambda: b'msgid "\xe4"\nmsgstr ""\n', "line 1 is not UTF-8"),
        ("a.srt", lambda: b"Hello", "no cues"),
        ("a.vtt", lambda: b"00:01.000 --> 00:02.000\na\n", "must begin with WEBVTT"),
        ("a.srt", lambda: "ä".encode("latin-1"), "line 1 is not UTF-8"),
        ("a.html", lambda: b"a\0b", "zero bytes"),
        ("a.md", lambda: b"", "a.md: is empty"),
        ("a.abc", lambda: b"MZ", "is of no format"),
        ("a.exe", lambda: b"MZ", "a.exe: a program or library cannot be translated; it is no text"),
        ("a.pdf", lambda: b"%PDF-1.7", "a PDF cannot be translated; copy its text out"),
        ("a.json.gz", lambda: b"\x1f\x8b", "compressed JSON file of messages cannot be translated; unpack it first"),
        ("a.json", lambda: b"%PDF-1.7", "is no JSON file of messages but a PDF"),
        ("a.docx", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "before 2007, or one with a password"),
        ("a.yml", lambda: b"PK\3\4", "is no YAML file of messages but an archive"),
        ("a.json", lambda: b'{"a": 1,}', "line 1: is not JSON"),
        ("a.json", lambda: b"[" * 100_000, "more than 200 lists and objects"),
        ("a.json", lambda: b"[" * 300 + b"]" * 300, "more than 200 lists and objects"),
        ("a.json", lambda: b'{"a": NaN}', "NaN is no number"),
        ("a.json", lambda: b'{"fr": {"a": "b"}}', "its first key.* is 'fr', not 'en'"),
        ("a.json", lambda: b'{"de": {"a": "b"}, "en": {}}', "has messages in 'en' and in 'de'"),
        ("a.json", lambda: b'{"sourceLanguage": "de", "strings": {}}', "must end in .xcstrings"),
        ("a.arb", lambda: b'{"@@locale": "fr"}', "language is 'fr', not 'en'"),
        ("a.arb", lambda: b"[]", "must be one object"),
        ("a.xcstrings", lambda: b"{}", "needs strings and sourceLanguage"),
        ("a.yaml", lambda: b"a: [b", "line 2: is not YAML"),
        ("a.yaml", lambda: b"a: {b: c}}\n", "is not YAML"),
        ("a.yaml", lambda: b"- " * 100_000, "more than 200 lists and mappings"),
        ("a.yaml", lambda: b"a: \x07", "is not YAML"),
        ("a.properties", lambda: b"a = \\u12", "line 1: .* needs four digits"),
        ("a.properties", lambda: b"a = \\ud800", "line 1: half of a character"),
        ("a.strings", lambda: b'"a" = "b"', 'line 1: expected "key" = "value";'),
        ("a.strings", lambda: b'"a" = (b);', 'line 1: expected "key" = "value";'),
        ("a.strings", lambda: b"/* a", 'line 1: expected "key" = "value";'),
        ("a.strings", lambda: b"<?xml version='1.0'?><plist/>", "is a property list"),
        ("a.xml", lambda: b"<html/>", "begins with <html>"),
        ("a.xml", lambda: b"<resources><string name='a'>b</resources>", "not well-formed XML"),
        ("a.csv", lambda: b"a,b\n1,2\n", "its first row is 'a', 'b'; name the column"),
        ("a.csv", lambda: b'source\na "b" c\n"d"e\n', "line 3: its cells cannot be distinguished"),
        ("a.csv", lambda: b"so\0urce\n", "zero bytes"),
        ("a.pptx", lambda: b"Hello", "is no PowerPoint presentation, or damaged"),
        ("a.xlsx", lambda: zip_of({"a": b""}), "is no Excel workbook; nothing in it says"),
        ("a.odt", lambda: zip_of({"a": b""}), "holds no content.xml"),
        ("a.odt", lambda: zip_of(ENCRYPTED), "is encrypted; save it without a password"),
        ("a.odt", lambda: zip_of({"content.xml": b"<a><b></a>"}), "content.xml: line 1: not well-formed"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_reported_in_a_line(name: str, data: Callable[[], bytes], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        read_document(data(), name, EN_DE)
    assert "\n" not in str(error.value)


FORMATS_FOLDER = Path(os.environ.get("TRANSDUCE_DATA") or "/nowhere") / "formats"


@pytest.mark.skipif(not FORMATS_FOLDER.is_dir(), reason="TRANSDUCE_DATA does not name a folder with formats")
def test_files_of_others_come_back_identical_and_keep_every_mark() -> None:
    files = [path for path in FORMATS_FOLDER.glob("*/*.*") if format_of(path.name)]
    assert len(files) > 15
    marks = 0
    for path in files:
        data = path.read_bytes()
        languages = Languages("en", "fr" if path.suffix == ".tmx" or ".fr." in path.name else "de")
        if path.name in ("ImportTest1I.tmx", "ImportTest1J_many.tmx"):
            languages = Languages("en-us", "ja" if "1I" in path.name else "en-gb")
        document = read_document(data, path.name, languages)
        assert document.translated([None] * len(document.units)) == data
        assert document.translated([u.target if u.is_bilingual else u.source for u in document.units]) == data
        again = read_document(in_capitals(document), path.name, languages)
        for old, new in zip(document.units, again.units, strict=True):
            found = new.target if new.is_bilingual else new.source
            assert found is not None
            assert not problems(old.source, found)
            marks += sum(isinstance(part, Mark) for part in found.parts)
    assert marks > 500
