"""Whatever a document holds beside the text that is translated stays byte for byte, and others can read the result."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from docsegments.document import Document, Languages
from docsegments.document_formats import format_of, read_document
from docsegments.segment import Mark, Segment, problems
from docsegments.text.placing import place_marks
from transduce.base.errors import InputError

pytest.importorskip("polib")
pytest.importorskip("pysubs2")

EN_DE = Languages("en", "de")
ENCRYPTED = {"content.xml": b"x", "META-INF/manifest.xml": b"<manifest><encryption-data/></manifest>"}
IN_XLIFF = '<xliff version="1.2"><file source-language="en"><trans-unit><source>{}</source></trans-unit></file></xliff>'


def upper(segment: Segment) -> Segment:
    """The text in capitals, and all marks."""
    return Segment(tuple(part.upper() if isinstance(part, str) else part for part in segment.parts))


def in_capitals(document: Document) -> bytes:
    return document.translated([upper(unit.source) for unit in document.units])


def texts(document: Document) -> list[str]:
    return [" ".join(unit.source.text.split()) for unit in document.units]


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


def test_xliff_2_names_the_language_that_it_lacked() -> None:
    data = (
        '<xliff version="2.0" srcLang="en"><file id="f"><unit id="u"><segment><source>a dog</source></segment></unit>'
        "</file></xliff>"
    )
    assert b'srcLang="en" trgLang="de">' in in_capitals(read_document(data.encode(), "a.xlf", EN_DE))


def test_tmx_the_language_asked_for_is_added_or_replaced() -> None:
    variants = (("EN-us", "The dog"), ("de-AT", "Der Hund"), ("fr", "Le chien"))
    written = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
    data = f'<tmx version="1.4"><header srclang="en-us"/><body><tu>{written}</tu></body></tmx>'

    def into(languages: Languages) -> str:
        return in_capitals(read_document(data.encode(), "a.tmx", languages)).decode()

    assert into(EN_DE) == data.replace("Der Hund", "THE DOG")
    assert into(Languages("fr", "de")) == data.replace("Der Hund", "LE CHIEN")
    new = '<tuv xml:lang="it"><seg>THE DOG</seg></tuv>'
    assert into(Languages("en", "it")) == data.replace("The dog</seg></tuv>", f"The dog</seg></tuv>{new}")
    with pytest.raises(InputError, match="no text in 'it'; it has"):
        into(Languages("it", "de"))


def test_what_an_encoding_lacks_is_an_entity_of_html_and_an_error_of_po() -> None:
    page = read_document(b"<meta charset=latin1><title>\xf6</title>", "a.html")
    assert b"<title>&#29356; &lt;&amp;&gt; \xe4</title>" in page.translated([Segment(("犬 <&> ä",))])
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    document = read_document(f'{head}msgid "ö"\nmsgstr ""\n'.encode("latin-1"), "a.po", EN_DE)
    with pytest.raises(InputError, match=r"encoding, .*8859-1, has no '犬'"):
        document.translated([Segment(("犬",))])


def test_docx_with_a_damaged_picture_is_reported_in_a_line() -> None:
    packed = io.BytesIO(_in_word("<w:r><w:t>a dog</w:t></w:r>"))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("word/media/a.png", b"a picture" * 9)
    document = read_document(packed.getvalue().replace(b"a picture", b"b picture", 1), "a.docx")
    with pytest.raises(InputError, match=r"word/media/a\.png in it is damaged"):
        in_capitals(document)


def test_xliff_what_is_protected_or_a_carriage_return_stays() -> None:
    source = 'Use <mrk mtype="protected">Some&amp;one</mrk>&#13; or <mrk translate="no"><g id="1">it</g></mrk>'
    document = read_document(IN_XLIFF.format(source).encode(), "a.xlf", EN_DE)
    wanted = source.replace("Use", "USE").replace("or", "OR")
    assert f"<target>{wanted}</target>" in in_capitals(document).decode()
    assert [mark.shown for mark in document.units[0].source.marks if mark.is_held] == ["Some&one", "it"]


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
