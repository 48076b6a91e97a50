"""Word documents (DOCX): paragraphs in the XML files of an archive, of which only texts and their runs are changed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from transduce.documents.archive import Archive
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.placeholders import hold
from transduce.documents.segment import Mark, Part, Segment
from transduce.documents.xml import Element, Token, element_of, escape, tokens_of
from transduce.errors import InputError

_RANGE = re.compile(r"(?P<name>bookmark|commentRange|perm)(?P<half>Start|End)")
_FIELD = re.compile(r"""<\w+:fldChar\s[^>]*?fldCharType=["'](begin|separate|end)["']""")
_TEXTS = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")


def read_docx(data: bytes, name: str, wanted: Languages) -> Document:
    """The paragraphs of a document, its headers, footers and notes.

    Raises InputError for what is no such archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "Word document")
    if "word/document.xml" not in archive:
        raise InputError(f"{name}: is no Word document; it has no word/document.xml")
    paths = sorted(filter(_TEXTS.fullmatch, archive.paths), key=_order)
    return Document([unit for path in paths for unit in _units(archive.xml(path), path)], archive.pack)


def _order(path: str) -> tuple[bool, str]:
    return path != "word/document.xml", path


def _units(file: TextFile, path: str) -> Iterator[Unit]:
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind == "start" and token.name == "p":
            yield from _paragraphs(element_of(token, tokens), file, path)


def _paragraphs(element: Element, file: TextFile, path: str) -> Iterator[Unit]:
    """A paragraph, or where that has no words those in a box of text within it."""
    paragraph, inner = _Paragraph(element, file, path), list(_inner_paragraphs(element))
    if inner and not paragraph.segment.is_translatable:
        for one in inner:
            yield from _paragraphs(one, file, path)
    elif paragraph.segment.text.strip():
        where = f"line {file.line_of(element.start)} of {path}"
        notes = ("a box of text that stands in it is left as it is",) if inner else ()
        yield Unit(paragraph.segment, paragraph.write, where, notes=notes)


def _inner_paragraphs(element: Element) -> Iterator[Element]:
    """The outermost paragraphs within another."""
    for inner in element.elements:
        if inner.name == "p":
            yield inner
        else:
            yield from _inner_paragraphs(inner)


class _Paragraph:
    """A paragraph as a segment: a run whose format is not the usual one of the paragraph is a pair of marks."""

    def __init__(self, element: Element, file: TextFile, path: str) -> None:
        self.file, self.path = file, path
        self.prefix = element.tag.rpartition("p")[0]
        content = [one for one in element.content if not (isinstance(one, Element) and one.name == "pPr")]
        self.start = content[0].start if content else element.inner_end
        self.end = element.inner_end
        self.usual = self._usual_format(element)
        parts = self._with_whole_fields(_joined_runs(list(self._parts(content))))
        self.segment = Segment.of(hold(parts, escape))

    def write(self, segment: Segment) -> list[Edit]:
        """All runs anew."""
        written, opened = [], [self.usual]
        for part in segment.parts:
            if isinstance(part, str):
                written.append(self._run(opened[-1], part))
            elif part.kind == "open" and _is_run(part):
                opened.append(part.raw)
            elif part.kind == "close" and _is_run(part):
                opened.pop()
            elif part.is_held:
                written.append(self._run(opened[-1], part.shown))
            else:
                written.append(part.raw)
        return [Edit(self.start, self.end, "".join(written), self.path)]

    def _run(self, format: str, text: str) -> str:
        p = self.prefix
        pieces = [
            f"<{p}tab/>" if piece == "\t" else f'<{p}t xml:space="preserve">{escape(piece)}</{p}t>'
            for piece in re.split("(\t)", text)
            if piece
        ]
        return f"<{p}r>{format}{''.join(pieces)}</{p}r>"

    def _usual_format(self, element: Element) -> str:
        counts: Counter[str] = Counter()
        for run in _runs(element):
            counts[self._format(run)] += sum(len(_text(one)) for one in run.elements if one.name == "t")
        return counts.most_common(1)[0][0] if counts else ""

    def _format(self, run: Element) -> str:
        """The format of a run, as it is written."""
        properties = run.find("rPr")
        return "" if properties is None else self.file.text[properties.start : properties.end]

    def _parts(self, content: Sequence[Element | Token]) -> Iterator[Part]:
        for one in content:
            if isinstance(one, Token):
                if self.file.text[one.start : one.end].strip():
                    yield Mark(self.file.text[one.start : one.end])
            elif one.name == "r":
                yield from self._parts_of_run(one)
            elif one.name in ("hyperlink", "ins", "smartTag") and one.inner_end < one.end:
                name = f"{one.name} {one.start}"
                yield Mark(self.file.text[one.start : one.inner_start], "open", name)
                yield from self._parts(one.content)
                yield Mark(self.file.text[one.inner_end : one.end], "close", name)
            elif (filled_in := one.find("sdtContent")) is not None and filled_in.inner_end < filled_in.end:
                name = f"{one.name} {one.start}"  # a control, which a form has
                yield Mark(self.file.text[one.start : filled_in.inner_start], "open", name)
                yield from self._parts(filled_in.content)
                yield Mark(self.file.text[filled_in.inner_end : one.end], "close", name)
            elif (half := _RANGE.fullmatch(one.name)) is not None:
                number = next((value for key, value in one.attributes.items() if key.endswith(":id")), "")
                kind: Literal["open", "close"] = "open" if half["half"] == "Start" else "close"
                yield Mark(self.file.text[one.start : one.end], kind, f"{half['name']} {number}")
            elif one.name != "proofErr":  # of Word's own check of the text that was there
                yield Mark(self.file.text[one.start : one.end])

    def _parts_of_run(self, run: Element) -> Iterator[Part]:
        format = self._format(run)
        name = f"run {run.start}"
        if format != self.usual:
            yield Mark(format, "open", name)
        for one in run.elements:
            if one.name == "t":
                yield _text(one)
            elif one.name == "tab":
                yield "\t"
            elif one.name == "noBreakHyphen":
                yield "\u2011"
            elif one.name in ("br", "cr"):
                yield Mark(self._alone(run, one, format), shown=" ", breaks=True)
            elif one.name not in ("rPr", "lastRenderedPageBreak", "softHyphen"):
                yield Mark(self._alone(run, one, format))
        if format != self.usual:
            yield Mark("", "close", name)

    def _with_whole_fields(self, parts: Sequence[Part]) -> list[Part]:
        """The parts, in which all from a field's beginning to its result is one mark, which the field's end closes."""
        found: list[Part] = []
        opened: list[str] = []  # fields whose result is being read
        head, depth = "", 0  # of the field whose instruction is being read, and how many are in it
        for part in parts:
            kind = _FIELD.search(part.raw) if isinstance(part, Mark) else None
            is_begin, is_end = kind is not None and kind[1] == "begin", kind is not None and kind[1] == "end"
            if not depth and not is_begin:
                if is_end and opened:
                    part = Mark(part.raw, "close", opened.pop())  # type: ignore[union-attr]
                found.append(part)
                continue
            head += self._run(self.usual, part) if isinstance(part, str) else "" if _is_run(part) else part.raw
            depth += is_begin - is_end
            if depth == 1 and kind is not None and kind[1] == "separate":
                opened.append(f"field {len(found)}")
                found.append(Mark(head, "open", opened[-1]))
                head, depth = "", 0
            elif not depth:  # without a result
                found.append(Mark(head))
                head = ""
        return [*found, Mark(head)] if head else found

    def _alone(self, run: Element, one: Element, format: str) -> str:
        """Something of a run in a run of its own."""
        return f"<{run.tag}>{format}{self.file.text[one.start : one.end]}</{run.tag}>"


def _runs(element: Element) -> Iterator[Element]:
    for one in element.elements:
        if one.name == "r":
            yield one
        else:
            yield from _runs(one)


def _text(element: Element) -> str:
    return "".join(one.value for one in element.content if isinstance(one, Token) and one.kind == "text")


def _is_run(mark: Mark) -> bool:
    """Whether a half of a pair is that of a run: the one that opens it is its format, which may be none."""
    return not mark.raw or re.match(r"<(?:\w+:)?rPr\b", mark.raw) is not None


def _joined_runs(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which a run goes on with the one before it that has its format."""
    found: list[Part] = []
    opened: list[Mark] = []
    last: Mark | None = None  # the run that has just been closed
    for part in parts:
        if not isinstance(part, Mark) or part.kind == "alone" or not _is_run(part):
            found.append(part)
            last = None
        elif part.kind == "close":
            last = opened.pop()
            found.append(Mark("", "close", last.pair))
        elif last is not None and last.raw == part.raw:
            found.pop()
            opened.append(last)
            last = None
        else:
            found.append(part)
            opened.append(part)
            last = None
    return found
