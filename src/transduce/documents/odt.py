"""OpenDocument texts (ODT): paragraphs and headings of the text, tables, frames, notes, comments, headers, footers."""

import re
from collections.abc import Iterator

from transduce.documents.archive import Archive
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.layout import mark_layout
from transduce.documents.office import pack, texts_of
from transduce.documents.paragraphs import inner_mark
from transduce.documents.placeholders import hold
from transduce.documents.segment import Mark, Part, Segment
from transduce.documents.xml import CDATA, Element, Token, element_of, escape, tokens_of
from transduce.errors import InputError

PARAGRAPHS = frozenset(["p", "h"])
_FILES = re.compile(r"(?:Object[^/]*/|\./)?(?:content|styles)\.xml")
"""Those with text, of formulas and charts in the document too."""
_REMOVED = frozenset(["tracked-changes", "deletion"])
"""Elements about text that a reader no longer sees."""
_PAIRS = frozenset(["span", "a", "meta", "meta-field", "ruby", "ruby-base", "bookmark-ref", "conditional-text"])
_BREAKS = frozenset(["tab", "line-break", "s"])
_RANGE = re.compile(r"(bookmark|reference-mark|toc-mark|user-index-mark|alphabetical-index-mark)-(start|end)")
_OWN_TEXTS = frozenset(["p", "h", "note", "annotation", "frame", "custom-shape", "text-box", "list", "table", "g"])
"""Elements in a paragraph whose texts are no part of it."""
_TITLES = frozenset(["title", "desc"])
_OF_META = frozenset(["title", "subject", "description"])
_BLANKS = re.compile(r"([ \t\r\n]++)")
_LABELS = ("num-prefix", "num-suffix")


def read_odt(data: bytes, name: str, wanted: Languages) -> Document:
    """The paragraphs of a document. Raises InputError for what is no such archive, encrypted, or too large."""
    archive = Archive(data, name, "OpenDocument text")
    if "content.xml" not in archive:
        raise InputError(f"{name}: is no OpenDocument text; it holds no content.xml")
    if "META-INF/manifest.xml" in archive and "encryption-data" in archive.xml("META-INF/manifest.xml").text:
        raise InputError(f"{name}: is encrypted; save it without a password")
    units: list[Unit] = []
    left: list[Untranslated] = []
    for path in sorted(filter(_FILES.fullmatch, archive.paths), key=lambda path: ("/" in path, path)):
        file = archive.xml(path)
        for number, paragraph in enumerate(_paragraphs(file, path), 1):
            where = f"paragraph {number} of {path}"
            if paragraph.segment.text.strip():
                units.append(Unit(paragraph.segment, paragraph.write, where))
            left += [Untranslated(where, text, "it is beside the text of its paragraph") for text in paragraph.left]
        if any(f":{name}>" in file.text for name in _TITLES):
            units += texts_of(file, path, _TITLES, frozenset(["frame", "custom-shape", "g", "rect", "line", "path"]))
        left += _labels(file, path)
    if "meta.xml" in archive:
        units += texts_of(archive.xml("meta.xml"), "meta.xml", _OF_META, frozenset(["meta"]))
    return Document(units, lambda edits: pack(archive, edits), left)


def _paragraphs(file: TextFile, path: str) -> Iterator["_Paragraph"]:
    """All paragraphs, those within others after these."""
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind != "start":
            continue
        if token.name in _REMOVED and token.value.startswith("text:"):
            element_of(token, tokens)
        elif _is_paragraph(token):
            yield from _with_inner(element_of(token, tokens), file, path)


def _is_paragraph(one: Token | Element) -> bool:
    tag = one.tag if isinstance(one, Element) else one.value
    return one.name in PARAGRAPHS and tag.startswith("text:")


def _with_inner(element: Element, file: TextFile, path: str) -> Iterator["_Paragraph"]:
    yield _Paragraph(element, file, path)
    waiting = list(reversed(element.elements))
    while waiting:
        inner = waiting.pop()
        if _is_paragraph(inner):
            yield from _with_inner(inner, file, path)
        elif not (inner.name in _REMOVED and inner.tag.startswith("text:")):
            waiting += reversed(inner.elements)


class _Paragraph:
    """A paragraph as a segment: spans and links are pairs of marks, fields are held."""

    def __init__(self, element: Element, file: TextFile, path: str) -> None:
        self.element, self.file, self.path = element, file, path
        self.left: list[str] = []
        """Texts that are not in the segment, such as how a word is read (ruby)."""
        self.segment = Segment.of(mark_layout(hold(self._parts(element), escape), escape))

    def write(self, segment: Segment) -> list[Edit]:
        """All that the paragraph holds, anew."""
        text = "".join(part.raw if isinstance(part, Mark) else escape(part) for part in segment.parts)
        return [Edit(self.element.inner_start, self.element.inner_end, text, self.path)]

    def _parts(self, element: Element) -> Iterator[Part]:
        for child in element.content:
            if isinstance(child, Token):
                raw = self.file.text[child.start : child.end]
                if child.kind == "text":  # in which white space is one blank
                    yield from _with_blanks(child.value)
                elif child.value != CDATA:
                    yield Mark(raw)
            else:
                yield from self._element(child)

    def _element(self, element: Element) -> Iterator[Part]:
        raw = self.file.text[element.start : element.end]
        half = _RANGE.fullmatch(element.name)
        if element.name in _OWN_TEXTS or any(_own_paragraphs(element)):
            yield Mark(inner_mark(element) if any(_own_paragraphs(element)) else raw)
        elif element.name in _BREAKS:
            yield self._blank(element, raw)
        elif half is not None:
            name = next((v for k, v in element.attributes.items() if k.endswith((":name", ":id"))), "")
            yield Mark(raw, "open" if half[2] == "start" else "close", f"{half[1]} {name}")
        elif element.name in _PAIRS and element.inner_end < element.end:
            name = f"{element.name} {element.start}"
            yield Mark(self.file.text[element.start : element.inner_start], "open", name)
            yield from self._parts(element)
            yield Mark(self.file.text[element.inner_end : element.end], "close", name)
        elif element.name == "ruby-text":
            self.left += [text for text in [_plain(element)] if text.strip()]
            yield Mark(raw)
        else:  # a field, whose text programs write, or something without text
            yield Mark(raw, shown=_plain(element).strip())

    def _blank(self, element: Element, raw: str) -> Mark:
        """White space that is an element: it breaks the text, but for a blank or two."""
        count = next((value for key, value in element.attributes.items() if key.endswith(":c")), "1")
        is_wide = element.name != "s" or not count.isdecimal() or int(count[:9]) > 2
        return Mark(raw, shown=" ", breaks=is_wide)


def _with_blanks(text: str) -> Iterator[Part]:
    """A text in which white space other than a single blank, which is read as one, is a mark."""
    for piece in _BLANKS.split(text):
        yield Mark(piece, shown=" ") if piece.isspace() and piece != " " else piece


def _own_paragraphs(element: Element) -> Iterator[Element]:
    for child in element.elements:
        if _is_paragraph(child):
            yield child
        yield from _own_paragraphs(child)


def _plain(element: Element) -> str:
    return "".join(
        _plain(child) if isinstance(child, Element) else child.value if child.kind == "text" else ""
        for child in element.content
    )


def _labels(file: TextFile, path: str) -> Iterator[Untranslated]:
    """Words in the numbers of headings and lists, such as `Chapter 1`."""
    seen: set[str] = set()
    for token in tokens_of(file):
        if token.kind == "start" and token.name.startswith(("list-level-style", "outline-level-style")):
            for key, value in token.attributes.items():
                if key.endswith(_LABELS) and sum(map(str.isalpha, value)) > 1 and value not in seen:
                    seen.add(value)
                    yield Untranslated(f"line {file.line_of(token.start)} of {path}", value, "it is part of a number")
