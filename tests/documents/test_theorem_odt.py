"""OpenDocument texts: all that a reader sees is translated or named in the log, and nothing else changes."""

import io
import zipfile
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from docsegments.translating.document_translator import TranslatedDocument
from documents.theorem import in_capitals

text = pytest.importorskip("odf.text")
opendocument = pytest.importorskip("odf.opendocument")
table = pytest.importorskip("odf.table")
office = pytest.importorskip("odf.office")
draw = pytest.importorskip("odf.draw")
etree = pytest.importorskip("lxml.etree")

T = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
OF_OWN = {"p", "h"}
NOT_COUNTED = {"tab", "s", "line-break", "page-number"}


class Writer:
    """Writes documents by chance."""

    def __init__(self, random: Random, words: Callable[[], str]) -> None:
        self.random, self.words = random, words
        self.number = 0

    def fill(self, element: Any, depth: int = 2) -> Any:
        for _ in range(self.random.randint(1, 5)):
            self.number += 1
            kind = self.random.randint(0, 12)
            if kind == 0 and depth:
                element.addElement(self.fill(text.Span(), depth - 1))
            elif kind == 1 and depth == 2:
                element.addElement(self.fill(text.A(href="http://a.example/the_dog", type="simple"), 0))
            elif kind == 2:
                element.addElement(self.random.choice([text.Tab, text.LineBreak, lambda: text.S(c=3), text.S])())
            elif kind == 3:
                element.addElement(text.PageNumber(text="3"))
                element.addElement(text.TextInput(text=self.words()))
                element.addElement(text.Placeholder(placeholdertype="text", text="<the cat>"))
            elif kind == 4:
                element.addElement(text.BookmarkStart(name=f"b{self.number}"))
                element.addText(self.words())
                element.addElement(text.BookmarkEnd(name=f"b{self.number}"))
            elif kind == 5 and depth > 0:
                note = text.Note(noteclass="footnote")
                note.addElement(text.NoteCitation(text="1"))
                body = text.NoteBody()
                body.addElement(self.fill(text.P(), depth - 1))
                note.addElement(body)
                element.addElement(note)
            elif kind == 6 and depth > 0:
                annotation = office.Annotation()
                annotation.addElement(self.fill(text.P(), 0))
                element.addElement(annotation)
            elif kind == 7 and depth > 0:
                frame = draw.Frame()
                box = draw.TextBox()
                box.addElement(self.fill(text.P(), depth - 1))
                frame.addElement(box)
                element.addElement(frame)
            else:
                element.addText(self.words())
        return element

    def document(self) -> bytes:
        document = opendocument.OpenDocumentText()
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.randint(0, 3)
            if kind == 0:
                document.text.addElement(self.fill(text.H(outlinelevel=1), 1))
            elif kind == 1:
                grid = table.Table(name="the table")
                row = table.TableRow()
                for _ in range(2):
                    cell = table.TableCell()
                    cell.addElement(self.fill(text.P()))
                    row.addElement(cell)
                grid.addElement(row)
                document.text.addElement(grid)
            elif kind == 2:
                items = text.List()
                item = text.ListItem()
                item.addElement(self.fill(text.P()))
                items.addElement(item)
                document.text.addElement(items)
            else:
                document.text.addElement(self.fill(text.P()))
        data = io.BytesIO()
        document.save(data)
        return data.getvalue()


def local(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else "comment"


def own_text(element: Any) -> str:
    found = element.text or ""
    for child in element:
        if local(child) in ("tab", "s", "line-break"):
            found += " "
        elif local(child) in ("span", "a", "page-number", "text-input", "placeholder"):
            found += own_text(child)
        found += child.tail or ""
    return found


def roots(data: bytes) -> list[tuple[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        names = [path for path in packed.namelist() if path.endswith(".xml")]
        return [(path, etree.fromstring(packed.read(path))) for path in names]


def shown(data: bytes) -> list[str]:
    return [
        own_text(element)
        for _, root in roots(data)
        for element in root.iter(f"{T}p", f"{T}h")
    ]  # fmt: skip


def skeleton(data: bytes) -> Any:
    found: Counter[Any] = Counter()
    for path, root in roots(data):
        for element in root.iter():
            name = local(element)
            around = [local(one) for one in element.iterancestors()]
            is_within = bool(OF_OWN & {*around, name})
            text = "" if is_within else (element.text or "").strip()
            around = [] if name in NOT_COUNTED else around
            found[path, name, tuple(around), tuple(sorted(element.attrib.items())), text] += 1
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        kinds = [(one.filename, one.compress_type) for one in packed.infolist()]
        return found, kinds, packed.read("mimetype")


def translated(content: str) -> TranslatedDocument:
    urn = "urn:oasis:names:tc:opendocument:xmlns:"
    named = {"text": "text:1.0", "office": "office:1.0", "draw": "drawing:1.0", "form": "form:1.0"}
    namespaces = " ".join(f'xmlns:{prefix}="{urn}{name}"' for prefix, name in named.items())
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        packed.writestr("content.xml", f"<office:d {namespaces}>{content}</office:d>")
    return in_capitals(data.getvalue(), "a.odt")


def content_of(paragraph: str) -> str:
    with zipfile.ZipFile(io.BytesIO(translated(paragraph).data)) as packed:
        return packed.read("content.xml").decode().partition(">")[2].removesuffix("</office:d>")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<text:p>a <text:span a='b'>dog</text:span></text:p>", "<text:p>A <text:span a='b'>DOG</text:span></text:p>"),
        ("<text:p>\n the dog\n</text:p>", "<text:p>\n THE DOG\n</text:p>"),
        ("<text:p>a<text:tab/>b<text:s text:c='2'/>d</text:p>", "<text:p>A<text:tab/>B<text:s text:c='2'/>D</text:p>"),
        (
            "<text:p>the <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p>"
            "</text:note-body></text:note>dog</text:p>",
            "<text:p>THE <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A NOTE</text:p>"
            "</text:note-body></text:note>DOG</text:p>",
        ),
        (
            "<text:tracked-changes><text:deletion><text:p>the dog</text:p></text:deletion></text:tracked-changes>"
            "<text:p>page <text:page-number>1</text:page-number></text:p>",
            "<text:tracked-changes><text:deletion><text:p>the dog</text:p></text:deletion></text:tracked-changes>"
            "<text:p>PAGE <text:page-number>1</text:page-number></text:p>",
        ),
        (
            "<text:p>the <text:span>old <text:unknown><text:p>a box</text:p> dog</text:unknown></text:span></text:p>",
            "<text:p>THE <text:span>OLD <text:unknown><text:p>A BOX</text:p> DOG</text:unknown></text:span></text:p>",
        ),
        (
            "<text:table-of-content-source><text:index-title-template>the list</text:index-title-template>"
            "</text:table-of-content-source>",
            "<text:table-of-content-source><text:index-title-template>THE LIST</text:index-title-template>"
            "</text:table-of-content-source>",
        ),
    ],
)  # fmt: skip
def test_what_is_written(before: str, after: str) -> None:
    assert content_of(before) == after


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ("<text:p><text:text-input text:description='to fill'>a dog</text:text-input></text:p>", ["to fill"]),
        ("<text:p><text:drop-down><text:label text:value='one'/>two</text:drop-down></text:p>", ["two", "one"]),
        ("<text:p><text:hidden-text text:string-value='one'>two</text:hidden-text></text:p>", ["two", "one"]),
        (
            "<text:p><text:conditional-text text:string-value-if-true='one' text:string-value-if-false='two'>one"
            "</text:conditional-text></text:p>",
            ["one", "one", "two"],
        ),
        ("<text:p>of <text:title>dogs</text:title> and <text:page-number>3</text:page-number></text:p>", ["dogs"]),
        ("<office:forms><form:form><form:button form:label='one'/></form:form></office:forms>", ["one"]),
        ("<form:listbox><form:option form:label='one' form:value='two'/></form:listbox>", ["one", "two"]),
        ("<text:user-field-decl office:string-value='one' text:name='two'/>", ["one"]),
    ],
)
def test_fields_and_forms_are_named(content: str, left: list[str]) -> None:
    assert [one.source for one in translated(content).segments if one.origin == "untranslated"] == left
