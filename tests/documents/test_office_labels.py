"""An Office document in another language says so, and is read in the direction of that language."""

import io
import re
import zipfile

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from docsegments.office.office_language import labelled
from docsegments.segment import Segment
from documents.office_files import docx_bytes, odt_bytes, pptx_bytes, xlsx_bytes

HEBREW = "הכלב בגן"


def into(target: str, data: bytes, name: str, source: str = "en") -> dict[str, str]:
    """The files of a document whose texts all became Hebrew words."""
    document = read_document(data, name, Languages(source, target))
    translations = [Segment((HEBREW, *unit.source.marks)) for unit in document.units]
    with zipfile.ZipFile(io.BytesIO(document.translated(translations))) as archive:
        return {path: archive.read(path).decode() for path in archive.namelist() if path.endswith(".xml")}


def test_a_word_document_is_set_from_right_to_left() -> None:
    docx = pytest.importorskip("docx")
    files = into("he", docx_bytes(), "a.docx")
    text = files["word/document.xml"]
    assert len(re.findall("<w:p[ >]", text)) == text.count("<w:bidi/>") == 3
    for run in re.findall(r"<w:r>.*?</w:r>", text):
        assert ("<w:rtl/>" in run) == (HEBREW in run)
    assert '<w:pPr><w:pStyle w:val="Heading1"/><w:bidi/></w:pPr>' in text
    assert '<w:tblPr><w:bidiVisual/><w:tblW w:type="auto" w:w="0"/>' in text
    assert '<w:lang w:bidi="he" w:val="he" w:eastAsia="en-US"/>' in files["word/styles.xml"]
    data = read_document(docx_bytes(), "a.docx", Languages("en", "he"))
    docx.Document(io.BytesIO(data.translated([Segment((HEBREW,)) for _ in data.units])))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<w:p/>", "<w:p/>"),
        ("<w:p><w:pPr/></w:p>", "<w:p><w:pPr><w:bidi/></w:pPr></w:p>"),
        ('<w:p a="b"><w:pPr><w:bidi w:val="0"/></w:pPr>', '<w:p a="b"><w:pPr><w:bidi/></w:pPr>'),
        (
            "<w:p><w:pPr><w:keepNext/><w:tabs><w:tab/></w:tabs><w:jc/></w:pPr>",
            "<w:p><w:pPr><w:keepNext/><w:tabs><w:tab/></w:tabs><w:bidi/><w:jc/></w:pPr>",
        ),
        ("<w:r><w:t>a</w:t></w:r>", "<w:r><w:t>a</w:t></w:r>"),
        (f"<w:r><w:t>{HEBREW}", f'<w:r><w:rPr><w:rtl/><w:lang w:bidi="he"/></w:rPr><w:t>{HEBREW}'),
        (
            f'<w:r><w:rPr><w:b/><w:sz w:val="9"/><w:lang w:val="en-GB" w:bidi="ar"/></w:rPr><w:t>a {HEBREW}',
            '<w:r><w:rPr><w:b/><w:bCs/><w:sz w:val="9"/><w:szCs w:val="9"/><w:rtl/><w:lang w:bidi="he" w:val="he"/>'
            f"</w:rPr><w:t>a {HEBREW}",
        ),
        ("<w:rPr><w:b/></w:rPr><w:tab/><w:t>a", "<w:rPr><w:b/><w:bCs/></w:rPr><w:tab/><w:t>a"),
        ('<w:lang w:val="fr"/>', '<w:lang w:bidi="he" w:val="fr"/>'),
        ("<a:p><a:r>", '<a:p><a:pPr rtl="1"/><a:r>'),
        ('<a:lvl1pPr algn="l" rtl="0"><a:x/>', '<a:lvl1pPr rtl="1" algn="r"><a:x/>'),
        ('<a:rPr lang="en-US"/><a:rPr lang="fr"/>', '<a:rPr lang="he"/><a:rPr lang="fr"/>'),
        ('<s style:writing-mode="lr-tb"/>', '<s style:writing-mode="rl-tb"/>'),
        ('<s fo:language="en" fo:country="US"/>', '<s fo:language="he" fo:country="none"/>'),
        ("<dc:language>en-GB</dc:language>", "<dc:language>he</dc:language>"),
    ],
)  # fmt: skip
def test_what_is_written(before: str, after: str) -> None:
    assert labelled(before, Languages("en", "he")) == after
    assert labelled(before, Languages()) == before


def test_a_document_from_right_to_left_may_become_one_from_left_to_right() -> None:
    before = (
        '<w:pPr><w:bidi/></w:pPr><a:pPr rtl="1" algn="r"/><x style:writing-mode="rl-tb"/><sheetView rightToLeft="1"/>'
    )
    assert labelled(before, Languages("ar", "de")) == (
        '<w:pPr><w:bidi w:val="0"/></w:pPr><a:pPr rtl="0" algn="l"/><x style:writing-mode="lr-tb"/>'
        '<sheetView rightToLeft="0"/>'
    )


def test_the_language_of_a_document_of_the_same_direction_changes_alone() -> None:
    assert labelled('<s fo:language="en" fo:country="US"/>', Languages("en", "de-AT")) == (
        '<s fo:language="de" fo:country="AT"/>'
    )
    files = into("de", docx_bytes(), "a.docx")
    assert "bidi/>" not in files["word/document.xml"]
    assert '<w:lang w:val="de" ' in files["word/styles.xml"]


def test_slides_and_sheets_and_opendocument_texts_are_set_from_right_to_left() -> None:
    pptx, openpyxl = pytest.importorskip("pptx"), pytest.importorskip("openpyxl")
    data = {"a.pptx": pptx_bytes(), "a.xlsx": xlsx_bytes()}
    documents = {name: read_document(one, name, Languages("en", "ar")) for name, one in data.items()}
    made = {name: one.translated([Segment((HEBREW,)) for _ in one.units]) for name, one in documents.items()}
    for slide in pptx.Presentation(io.BytesIO(made["a.pptx"])).slides:
        for shape in slide.shapes:
            assert [p._p.pPr.get("rtl") for p in shape.text_frame.paragraphs] == ["1"]
    assert openpyxl.load_workbook(io.BytesIO(made["a.xlsx"])).active.sheet_view.rightToLeft
    assert 'style:writing-mode="rl-tb"' in into("ar", odt_bytes(), "a.odt")["styles.xml"]
