"""Markdown of all dialects: every text that a reader sees; only characters of texts are ever changed.

`markdown_parser` finds the texts with markdown-it, `markdown_inline` makes parts of a segment of each, and
`markdown_writing` writes translations. HTML within is read as HTML is.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import unescape

from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.html import read_html
from transduce.documents.html_edits import Rewrite, without_inner
from transduce.documents.markdown_front_matter import front_matter
from transduce.documents.markdown_inline import Item, items_of
from transduce.documents.markdown_opaque import HIDDEN, MASK, Opaque, masked
from transduce.documents.markdown_parser import HtmlBlock, MarkdownParser, Run, Title
from transduce.documents.markdown_writing import MarkdownWriter
from transduce.documents.placeholders import hold
from transduce.documents.segment import Mark, Segment
from transduce.errors import InputError

_TITLE = re.compile(
    r"""\]\(\s*+(?><[^<>\n]*+>|[^\s"'(]\S*+)\s++(?P<title>"(?>[^"\\]|\\.)*+"|'(?>[^'\\]|\\.)*+'|\((?>[^()\\]|\\.)*+\))\s*+\)""",
    re.DOTALL,
)
_ARGUMENT = re.compile(
    r"""[\s(](?P<name>title|label|description|caption|alt|heading|summary|tooltip|placeholder|text)\s?=\s?(?P<value>"[^"{}]*+"|'[^'{}]*+')"""
)
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_HTML_TAG = re.compile(r"<[a-z]")


def read_markdown(data: bytes, name: str, wanted: Languages) -> Document:
    """The paragraphs, headings, cells, items, titles and other texts of a file; code and what belongs to the dialects
    stay."""
    file = TextFile.read(data, name)
    for character, what in (
        ("\0", "zero bytes"),
        (MASK, "U+FDD0, which is no character"),
        (HIDDEN, "U+FDD1, which is no character"),
    ):
        if character in file.text:
            raise InputError(f"{name}: is no Markdown; it holds {what}")
    reader = _Reader(file, name.lower().endswith(".mdx"))
    return Document(reader.units, reader.save, reader.untranslated)


@dataclass(frozen=True)
class _HtmlEdit(Edit):
    """An edit of a piece of HTML."""

    number: int = 0
    """Of the piece."""
    inner: Edit | None = None


@dataclass(frozen=True)
class _Html:
    """A piece of HTML, by its characters in the file."""

    document: Document
    start: int
    end: int
    line_begin: str
    """What begins its lines but the first, as in a quotation."""


class _Reader:
    def __init__(self, file: TextFile, is_mdx: bool) -> None:
        self.units: list[Unit] = []
        self.untranslated: list[Untranslated] = []
        self._file = file
        self._text = file.text.replace("\r\n", "\n").replace("\r", "\n")
        self._returns = [found.start() - n for n, found in enumerate(re.finditer("\r\n", file.text))]
        self._html: list[_Html] = []
        front = front_matter(self._text)
        for scalar in front.scalars:
            self._add_plain(scalar.start, scalar.end, scalar.text, scalar.escape, f", {scalar.key}")
        self.untranslated += [
            Untranslated(f"line {self._line(one.start)}, {one.key}", one.text, one.reason) for one in front.left
        ]
        blanks = re.sub(r"[^\n]", " ", self._text[: front.end])
        self._parser = MarkdownParser(file.name, is_mdx)
        for block in self._parser.blocks(blanks + self._text[front.end :]):
            if isinstance(block, Run):
                self._add_run(block)
            elif isinstance(block, Opaque):
                self._add_arguments(block.start, block.end)
            elif isinstance(block, Title):
                self._add_title(block.start, block.end)
            else:
                self._add_html_block(block)

    def save(self, edits: Sequence[Edit]) -> bytes:
        """The file with edits made."""
        within: dict[int, list[Edit]] = {}
        made: list[Edit] = []
        for edit in edits:
            if isinstance(edit, _HtmlEdit):
                assert edit.inner is not None
                within.setdefault(edit.number, []).append(edit.inner)
            else:
                made.append(edit)
        for number, inner in within.items():
            piece = self._html[number]
            written = piece.document.save(inner).removeprefix(codecs.BOM_UTF8).decode()
            if self._returns:
                written = written.replace("\n", "\r\n")
            written = written.replace("\n", f"\n{piece.line_begin}")
            made.append(Rewrite.of(self._file.text, piece.start, piece.end, [written]))
        return self._file.save(without_inner(self._file.text, made))

    def _offset(self, place: int) -> int:
        """Where in the file a character of the text is, whose lines all end in one character."""
        return place + bisect_left(self._returns, place)

    def _line(self, place: int) -> int:
        return self._file.line_of(self._offset(place))

    def _add_run(self, run: Run, what: str = "") -> None:
        place = run.offset(0)
        items = items_of(run)
        where = f"line {self._line(place)}{what}"
        if items is None:
            self.untranslated.append(Untranslated(where, run.content, "its markup could not be read"))
            return
        writer = MarkdownWriter(self._parser, run, items, self._file.text, lambda at: self._offset(run.offset(at)))
        parts = hold(writer.parts, writer.escape_held)
        self.units.append(Unit(Segment.of(parts), writer.write, where))
        for item in items:
            if isinstance(item.part, Mark):
                self._add_inner(run, item)

    def _add_inner(self, run: Run, item: Item) -> None:
        """What a mark has that readers see: the text and the title of an image or a link, attributes of tags."""
        raw = run.content[item.start : item.end]
        if item.token is not None and item.token.type == "image":
            start = item.start + 2
            if item.token.content.strip():
                label = _part_of(run, start, start + len(item.token.content), item.token.children)
                self._add_run(label, ", text of an image")
            self._add_title_after(run, start + len(item.token.content), item.end)
        elif item.token is not None and item.token.type == "link_close":
            self._add_title_after(run, item.start, item.end)
        elif _HTML_TAG.match(raw) and "=" in raw and "{" not in raw and not self._parser.is_mdx:
            start, end = run.offset(item.start), run.offset(item.end)
            if self._text[start:end] == raw:
                self._add_html(raw, start, end, "")

    def _add_arguments(self, start: int, end: int) -> None:
        """What readers see of the arguments of a tag of a template language, or of a component."""
        for found in _ARGUMENT.finditer(self._text, start, end):
            value, place = found["value"], found.start("value")
            if self._text[start] == "<":
                escape = partial(_attribute, quote=value[0])
                self._add_plain(place + 1, place + len(value) - 1, unescape(value[1:-1]), escape, f", {found['name']}")
            else:
                where = f"line {self._line(place)}, {found['name']}"
                self.untranslated.append(Untranslated(where, value[1:-1], "an argument of a template tag"))

    def _add_title_after(self, run: Run, start: int, end: int) -> None:
        """The title of a link or an image whose text ends there."""
        found = _TITLE.match(masked(run.content, run.opaque), start, end)
        if found is not None:
            self._add_title(run.offset(found.start("title")), run.offset(found.end("title")))

    def _add_title(self, start: int, end: int) -> None:
        written = self._text[start + 1 : end - 1]
        if "\n" in written:
            self.untranslated.append(
                Untranslated(f"line {self._line(start)}, title", written, "a title of several lines")
            )
            return
        text = unescape(_BACKSLASH.sub(r"\1", written))
        self._add_plain(start + 1, end - 1, text, partial(_title, quote=self._text[start]), ", title")

    def _add_plain(self, start: int, end: int, text: str, escape: Callable[[str], str], what: str) -> None:
        """A text without marks, which is written as `escape` says."""
        file_start, file_end = self._offset(start), self._offset(end)
        written = self._text[start:end]

        def write(segment: Segment) -> list[Edit]:
            pieces = [part.raw if isinstance(part, Mark) else escape(part) for part in segment.parts]
            return [Rewrite.of(self._file.text, file_start, file_end, pieces)]

        parts = hold([text], lambda held: held if held in written else escape(held))
        self.units.append(Unit(Segment.of(parts), write, f"line {self._line(start)}{what}"))

    def _add_html_block(self, block: HtmlBlock) -> None:
        """Lines of HTML, of which each may have the signs of a quotation before it."""
        (start, _), (_, end) = block.lines[0], block.lines[-1]
        text = "\n".join(self._text[begin:stop] for begin, stop in block.lines)
        line_begin = ""
        if len(block.lines) > 1:
            second = block.lines[1][0]
            line_begin = self._text[self._text.rfind("\n", 0, second) + 1 : second]
        self._add_html(text, start, end, line_begin)

    def _add_html(self, text: str, start: int, end: int, line_begin: str) -> None:
        document = read_html(codecs.BOM_UTF8 + text.encode(), self._file.name, Languages())
        number, line = len(self._html), self._line(start)
        self._html.append(_Html(document, self._offset(start), self._offset(end), line_begin))

        def write(inner: Callable[[Segment], Sequence[Edit]], segment: Segment) -> list[Edit]:
            piece = self._html[number]
            return [_HtmlEdit(piece.start, piece.end, "", number=number, inner=edit) for edit in inner(segment)]

        for unit in document.units:
            self.units.append(replace(unit, write=partial(write, unit.write), where=_moved(unit.where, line)))
        self.untranslated += [replace(one, where=_moved(one.where, line)) for one in document.untranslated]


def _part_of(run: Run, start: int, end: int, tokens: Sequence[object]) -> Run:
    """The text of an image in another text."""
    inside = [(place - start, source) for place, source in run.origins if start < place < end]
    opaque = [
        Opaque(one.start - start, one.end - start, one.kind, one.shown, one.pair)
        for one in run.opaque
        if start <= one.start and one.end <= end
    ]
    return Run("text of an image", run.content[start:end], [(0, run.offset(start)), *inside], opaque, tokens)


def _moved(where: str, line: int) -> str:
    """A place in a piece that begins on a line."""
    return re.sub(r"\Aline (\d+)", lambda found: f"line {int(found[1]) + line - 1}", where)


def _title(text: str, quote: str) -> str:
    """Writes the title of a link or an image."""
    closing = ")" if quote == "(" else quote
    text = _ENTITY.sub("&amp;", text).replace("\\", "&#92;").replace("|", "&#124;")
    for sign in {quote, closing}:
        text = text.replace(sign, "&quot;" if sign == '"' else f"&#{ord(sign)};")
    return text


def _attribute(text: str, quote: str) -> str:
    """Writes the value of an attribute."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(quote, "&quot;" if quote == '"' else "&#39;")
