"""Markdown of all dialects: every text that a reader sees; only characters of texts are ever changed.

`parser` finds the texts with markdown-it, `inline` makes them parts of segments, and `markdown_writer` writes
translations. HTML within is read as HTML is.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from unicodedata import normalize
from urllib.parse import unquote

from docsegments.document import Document, Languages, TextFile, Unit, Untranslated
from docsegments.html.character_references import WrittenText, escape_attribute
from docsegments.html.html_page import HtmlPage
from docsegments.markdown.front_matter import front_matter
from docsegments.markdown.inline import RunItem, items_of
from docsegments.markdown.markdown_writer import MarkdownWriter
from docsegments.markdown.opaque import HIDDEN, MASK, Opaque, masked
from docsegments.markdown.parser import HtmlBlock, MarkdownParser, Run, Title
from docsegments.segment import Mark, Segment
from docsegments.text.placeholders import hold
from docsegments.user_errors import InputError

_TITLE = re.compile(
    r"""\]\(\s*+(?><[^<>\n]*+>|[^\s"'(]\S*+)\s++(?P<title>"(?>[^"\\]|\\.)*+"|'(?>[^'\\]|\\.)*+'|\((?>[^()\\]|\\.)*+\))\s*+\)""",
    re.DOTALL,
)
_ARGUMENT = re.compile(
    r"""[\s(](?P<name>title|label|description|caption|alt|heading|summary|tooltip|placeholder|text)\s?=\s?(?P<value>"[^"{}]*+"|'[^'{}]*+')"""
)
_OPTION = re.compile(
    r"""^[ \t>]*+(?:(?:\#|//|%%)\|\s*+[\w-]*(?:cap|alt|title)\s*+:\s*+(?P<chunk>(?:(?!\n)[\W\d_])*+[^\W\d_].*)
    | :{3,}+[^\n{]*+\{[^{}\n]*?\s(?:title|caption)="(?P<container>(?:(?!["\n{}])[\W\d_])*+[^\W\d_][^"\n{}]*+)")""",
    re.VERBOSE | re.MULTILINE,
)
"""A text that Quarto shows: an option of a chunk of code, or of a container."""
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_HTML_TAG = re.compile(r"<[a-z]")
_HERE = re.compile(r"""(?:\]\(\s*+<?|\]:[ \t]++<?|\bhref=["'])\#([^\s"'<>()]++)""")
_ELSEWHERE = re.compile(r"\]\(<?(?![a-z]++:)[^()\s#]++\#|\[\[[^\[\]|#]*+\#")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
HEADING_ELSEWHERE = "a link leads to a heading by its name, which changes when the heading is translated"


def read_markdown(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads all texts of a Markdown file, such as paragraphs, headings, cells and titles; code stays."""
    file = TextFile.read(data, name)
    for character, description in (
        ("\0", "zero bytes"),
        (MASK, "U+FDD0, which is no character"),
        (HIDDEN, "U+FDD1, which is no character"),
    ):
        if character in file.text:
            raise InputError(f"{name}: is no Markdown; it holds {description}")
    reader = _MarkdownReader(file, name.lower().endswith(".mdx"))
    return Document(reader.units, file.save, reader.untranslated)


class _MarkdownReader:
    def __init__(self, file: TextFile, is_mdx: bool) -> None:
        self.units: list[Unit] = []
        self.untranslated: list[Untranslated] = []
        self._file = file
        self._text = file.text.replace("\r\n", "\n").replace("\r", "\n")
        self._returns = [match.start() - n for n, match in enumerate(re.finditer("\r\n", file.text))]
        self._linked = {_slug(link): unquote(link) for link in reversed(_HERE.findall(self._text))}
        """Names of headings that the file links to, without signs, and as the links write them."""
        self._headings: Counter[str] = Counter()
        begin, scalars = front_matter(self._text)
        for scalar in scalars:
            if scalar.reason:
                where = self._where(scalar.start, f", {scalar.key}")
                self.untranslated.append(Untranslated(where, scalar.text, scalar.reason))
            else:
                self._add_plain(scalar.start, scalar.end, scalar.text, scalar.escape, f", {scalar.key}")
        for option in _OPTION.finditer(self._text, begin):
            where, kind = self._where(option.start(), ""), option.lastgroup or ""
            self.untranslated.append(Untranslated(where, option[kind], f"an option of a {kind}"))
        blanks = re.sub(r"[^\n]", " ", self._text[:begin])
        self._parser = MarkdownParser(file.name, is_mdx)
        for block in self._parser.blocks(blanks + self._text[begin:]):
            if isinstance(block, Run):
                self._add_run(block)
            elif isinstance(block, Opaque):
                self._add_arguments(block.start, block.end)
            elif isinstance(block, Title):
                self._add_title(block.start, block.end)
            else:
                self._add_html_block(block)

    def _offset(self, index: int) -> int:
        """Returns the offset in the file of a character of the text, whose lines all end in one character."""
        return index + bisect_left(self._returns, index)

    def _where(self, index: int, detail: str) -> str:
        return self._file.where(self._offset(index)) + detail

    def _anchor(self, run: Run, text: str) -> str:
        """Returns the element that keeps links to a heading alive when it is translated; "" where none is needed."""
        if "heading" not in run.kind or re.search(r"\{\s?#|<[^<>]*\s(?:id|name)=", run.content):
            return ""
        slug = _slug(text)
        number = self._headings[slug]
        self._headings[slug] += 1
        names = [f"{slug}{number or ''}", *([_slug(text.casefold().translate(_UMLAUTS))] if not number else [])]
        name = next((self._linked.pop(name) for name in names if name in self._linked), "")
        return f'<a id="{escape_attribute(name, chr(34))}"></a>' if name else ""

    def _add_run(self, run: Run, detail: str = "", label_end: str = "") -> None:
        """Adds a text. For an image that is defined by its text, `label_end` is what follows the text."""
        items = items_of(run)
        where = self._where(run.offset(0), detail)
        if items is None:
            self.untranslated.append(Untranslated(where, run.content, "its markup could not be read"))
            return
        writer = MarkdownWriter(self._parser, run, items, self._file, lambda at: self._offset(run.offset(at)))
        source = Segment.of(hold(writer.parts, writer.escape_held))
        writer.head, writer.replaced = self._anchor(run, source.text), len(label_end)
        writer.tail = f"][{' '.join(run.content.split())}]" if label_end else ""
        notes = (HEADING_ELSEWHERE,) if _ELSEWHERE.search(run.content) else ()
        self.units.append(Unit(source, writer.write, where, notes=notes))
        for item in items:
            if isinstance(item.part, Mark):
                self._add_inner(run, item)

    def _add_inner(self, run: Run, item: RunItem) -> None:
        """Adds the texts of a mark: text and title of an image or a link, attributes of a tag."""
        raw = run.content[item.start : item.end]
        if item.token is not None and item.token.type == "image":
            start = item.start + 2
            if item.token.content.strip():
                label = _part_of(run, start, start + len(item.token.content), item.token.children)
                after = raw[2 + len(item.token.content) :]
                self._add_run(label, ", text of an image", after if after in ("]", "][]") else "")
            self._add_title_after(run, start + len(item.token.content), item.end)
        elif item.token is not None and item.token.type == "link_close":
            self._add_title_after(run, item.start, item.end)
        elif _HTML_TAG.match(raw) and "=" in raw and "{" not in raw and not self._parser.is_mdx:
            start, end = run.offset(item.start), run.offset(item.end)
            if self._text[start:end] == raw:
                self._add_html(raw, range(start, end + 1), "")

    def _add_arguments(self, start: int, end: int) -> None:
        """Adds the visible arguments of a template tag or of a component."""
        for match in _ARGUMENT.finditer(self._text, start, end):
            value, begin = match["value"], match.start("value")
            if self._text[start] == "<":
                escape = partial(escape_attribute, quote=value[0])
                self._add_plain(begin + 1, begin + len(value) - 1, unescape(value[1:-1]), escape, f", {match['name']}")
            else:
                where = self._where(begin, f", {match['name']}")
                self.untranslated.append(Untranslated(where, value[1:-1], "an argument of a template tag"))

    def _add_title_after(self, run: Run, start: int, end: int) -> None:
        """Adds the title of a link or an image whose text ends there."""
        match = _TITLE.match(masked(run.content, run.opaque), start, end)
        if match is not None:
            self._add_title(run.offset(match.start("title")), run.offset(match.end("title")))

    def _add_title(self, start: int, end: int) -> None:
        written = self._text[start + 1 : end - 1]
        if "\n" in written:
            where = self._where(start, ", title")
            self.untranslated.append(Untranslated(where, written, "a title of several lines"))
            return
        text = unescape(_BACKSLASH.sub(r"\1", written))
        self._add_plain(start + 1, end - 1, text, partial(_title, quote=self._text[start]), ", title")

    def _add_plain(self, start: int, end: int, text: str, escape: Callable[[str], str], detail: str) -> None:
        """Adds a text without marks, which `escape` writes."""
        written = self._text[start:end]
        source = Segment.of(hold([text], lambda held: held if held in written else escape(held)))
        begin, stop, where = self._offset(start), self._offset(end), self._where(start, detail)
        self.units.append(self._file.unit(begin, stop, source, escape=escape, where=where))

    def _add_html_block(self, block: HtmlBlock) -> None:
        """Adds the texts of lines of HTML, before which may be the signs of a quotation."""
        text = "\n".join(self._text[begin:stop] for begin, stop in block.lines)
        offsets = [offset for begin, stop in block.lines for offset in range(begin, stop + 1)]
        second = block.lines[1][0] if len(block.lines) > 1 else 0
        self._add_html(text, offsets, self._text[self._text.rfind("\n", 0, second) + 1 : second])

    def _add_html(self, text: str, offsets: Sequence[int], line_begin: str) -> None:
        """Adds the texts of HTML, given the offset of each character and the beginning of each line but the first."""
        value = WrittenText(text, list(map(self._offset, offsets)))
        line_end = ("\r\n" if self._returns else "\n") + line_begin
        page = HtmlPage(text)
        for html_text in page.texts:
            moved = html_text.within(value, lambda written: written.replace("\n", line_end))
            self.units.append(Unit(html_text.source, moved.write, self._file.where(moved.start) + html_text.place))
        self.untranslated += [
            Untranslated(self._file.where(value.offsets[start]), shown, reason)
            for start, shown, reason in page.untranslated
        ]


def _slug(name: str) -> str:
    """Returns the letters and digits of a heading's name, which all renderers keep when they make it part of links."""
    return "".join(filter(str.isalnum, normalize("NFKD", unquote(name).casefold())))


def _part_of(run: Run, start: int, end: int, tokens: Sequence[object]) -> Run:
    """Returns the text of an image in another text."""
    inside = [(offset - start, source) for offset, source in run.origins if start < offset < end]
    opaque = [
        replace(piece, start=piece.start - start, end=piece.end - start)
        for piece in run.opaque
        if start <= piece.start and piece.end <= end
    ]
    return Run("text of an image", run.content[start:end], [(0, run.offset(start)), *inside], opaque, tokens)


def _title(text: str, quote: str) -> str:
    """Writes the title of a link or an image."""
    signs = re.escape("()" if quote == "(" else quote)
    text = _ENTITY.sub("&amp;", text)
    return re.sub(rf"[\\|{signs}]", lambda sign: "&quot;" if sign[0] == '"' else f"&#{ord(sign[0])};", text)
