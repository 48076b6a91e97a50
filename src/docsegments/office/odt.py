"""OpenDocument texts (ODT): paragraphs and headings of the text, tables, frames, notes, comments, headers, footers."""

import re
from collections.abc import Iterator
from dataclasses import replace

from docsegments.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from docsegments.language_codes import turn
from docsegments.office.archive import Archive
from docsegments.office.office_parts import BESIDE, attributes_of, texts_of
from docsegments.office.paragraphs import inner_mark, pieces_of
from docsegments.segment import Mark, Part, Segment
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold
from docsegments.user_errors import InputError
from docsegments.xml import CDATA, Element, Token, element_of, escape, prefixed, tokens_of

_FILES = re.compile(r"(?:Object[^/]*/|\./)?(?:content|styles)\.xml")
"""Files with text, those of formulas and charts included."""
_WORDS = "a bookmark-ref content-control meta meta-field placeholder ruby ruby-base span text-input"
_PAIRS = frozenset(_WORDS.split())
"""Elements about words of the author, which may hold notes, comments and frames."""
_BREAKS = frozenset(["tab", "line-break", "s"])
_RANGE = re.compile(r"(bookmark|reference-mark|toc-mark|user-index-mark|alphabetical-index-mark)-(start|end)")
_PARAGRAPHS = frozenset(["text:p", "text:h"])
_REMOVED = frozenset(["text:tracked-changes", "text:deletion"])
"""Elements that hold deleted text, which readers do not see."""
_OWN_TEXTS = frozenset(["p", "h", "note", "annotation", "frame", "custom-shape", "text-box", "list", "table", "g"])
"""Elements in a paragraph whose texts are not part of it."""
_TITLES = frozenset(["title", "desc", "index-title-template"])
_SOURCES = "alphabetical-index bibliography illustration-index object-index table-index table-of-content user-index"
_TITLED = frozenset(["frame", "custom-shape", "g", "rect", "line", "path", *map("{}-source".format, _SOURCES.split())])
"""Elements about titles."""
_OF_META = frozenset(["title", "subject", "description"])
_PLACEHOLDER = re.compile("<([^<>]*)>")
_BLANKS = re.compile(r"([ \t\r\n]++)")


def read_odt(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the paragraphs of a document. Raises InputError for what is not such an archive, encrypted, or too
    large."""
    archive = Archive(data, name, "OpenDocument text", wanted)
    if "content.xml" not in archive:
        raise InputError(f"{name}: is no OpenDocument text; it holds no content.xml")
    if "META-INF/manifest.xml" in archive and "encryption-data" in archive.xml("META-INF/manifest.xml").text:
        raise InputError(f"{name}: is encrypted; save it without a password")
    units: list[Unit] = []
    left: list[Untranslated] = []
    for path in sorted(filter(_FILES.fullmatch, archive.paths), key=lambda path: ("/" in path, path)):
        file = archive.xml(path)
        for number, paragraph in enumerate(_paragraphs(file), 1):
            where = f"paragraph {number} of {path}"
            if paragraph.segment.text.strip():
                units.append(Unit(paragraph.segment, paragraph.write, where))
            left += [Untranslated(where, text, BESIDE) for text in paragraph.left]
        if any(f":{name}>" in file.text for name in _TITLES):
            units += texts_of(file, _TITLES, _TITLED)
        left += attributes_of(file)
    if "meta.xml" in archive:
        units += texts_of(archive.xml("meta.xml"), _OF_META, frozenset(["meta"]))
    if units and "styles.xml" not in archive and turn(wanted.source, wanted.target) == "rtl":
        units[0] = replace(units[0], notes=("the text is read from right to left, which no style says",))
    return Document(units, archive.pack, left)


def _paragraphs(file: TextFile) -> Iterator["_Paragraph"]:
    """Yields all paragraphs, those within others after these."""
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind != "start":
            continue
        if token.value in _REMOVED:
            element_of(token, tokens)
        elif token.value in _PARAGRAPHS:
            waiting = [element_of(token, tokens)]
            while waiting:
                element = waiting.pop()
                if element.tag in _PARAGRAPHS:
                    yield _Paragraph(element, file)
                if element.tag not in _REMOVED:
                    waiting += reversed(element.elements)


class _Paragraph:
    """A paragraph as a segment: spans and links are pairs of marks, fields are held."""

    def __init__(self, element: Element, file: TextFile) -> None:
        self.element, self.file = element, file
        self.left: list[str] = []
        """Texts that are not in the segment, such as how a word is read (ruby)."""
        self.segment = Segment.of(mark_layout(hold(self._parts(element), escape), escape))

    def write(self, segment: Segment) -> list[Edit]:
        """Returns the edit that writes all content of the paragraph anew."""
        return [self.file.edit(self.element.inner_start, self.element.inner_end, *pieces_of(segment.written(escape)))]

    def _parts(self, element: Element) -> Iterator[Part]:
        for child in element.content:
            if isinstance(child, Token):
                raw = self.file.text[child.start : child.end]
                if child.kind == "text":  # in which white space is read as one blank
                    for piece in _BLANKS.split(child.value):
                        yield Mark(piece, shown=" ") if piece.isspace() and piece != " " else piece
                elif child.value != CDATA:
                    yield Mark(raw)
            else:
                yield from self._element(child)

    def _element(self, element: Element) -> Iterator[Part]:
        raw = self.file.text[element.start : element.end]
        half = _RANGE.fullmatch(element.name)
        has_paragraphs = any(inner.tag in _PARAGRAPHS for inner in [element, *element.descendants()])
        is_pair = element.name in _PAIRS or (has_paragraphs and element.own_text.strip() != "")
        if element.name in _OWN_TEXTS or (has_paragraphs and not is_pair):
            yield Mark(inner_mark(element) if has_paragraphs else raw)
        elif element.name in _BREAKS:
            yield self._blank(element, raw)
        elif half is not None:
            name = next((v for k, v in element.attributes.items() if k.endswith((":name", ":id"))), "")
            yield Mark(raw, "open" if half[2] == "start" else "close", f"{half[1]} {name}")
        elif is_pair and element.inner_end < element.end:
            opening, closing = element.tags(self.file)
            if element.name == "placeholder" and (words := _PLACEHOLDER.fullmatch(element.text)):
                opening, closing, inside = f"{opening}&lt;", f"&gt;{closing}", iter([words[1]])
            else:
                inside = self._parts(element)
            yield Mark(opening, "open", f"{element.name} {element.start}")
            yield from inside
            yield Mark(closing, "close", f"{element.name} {element.start}")
        elif element.name == "ruby-text":
            self.left += [element.text] if element.text.strip() else []
            yield Mark(raw)
        else:  # a field, whose text programs write, or something without text
            text = element.text.strip()
            self.left += [text] if any(map(str.isalpha, text)) else []
            yield Mark(raw, shown=text)

    def _blank(self, element: Element, raw: str) -> Mark:
        """Returns the mark of an element of white space: it breaks the text, except a blank or two."""
        count = prefixed(element.attributes, "c") or "1"
        is_wide = element.name != "s" or not count.isdecimal() or int(count[:9]) > 2
        return Mark(raw, shown=" ", breaks=is_wide)
