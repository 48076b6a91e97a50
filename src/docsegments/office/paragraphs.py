"""Paragraphs of Office documents, which are made of runs: read as segments, and rewritten with all that is not text.

WordprocessingML (`w:p`) and DrawingML (`a:p`, in charts, diagrams and slides) write them in the same way.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal

from docsegments.document import Edit, TextFile
from docsegments.orthography.characters import Span
from docsegments.segment import Mark, Part, Segment, divided_by
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold
from docsegments.xml import Element, Token, element_of, escape, prefixed, tokens_of

Kind = Literal["word", "drawing", "sheet"]
"""Language of paragraphs: WordprocessingML, DrawingML, or SpreadsheetML, whose texts of runs are alike."""
_NAMESPACES: dict[str, Kind] = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "word",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "word",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "drawing",
    "http://purl.oclc.org/ooxml/drawingml/main": "drawing",
}
"""Kinds of paragraphs by their namespaces, transitional and strict."""
REMOVED = frozenset(["del", "moveFrom"])
"""Elements about text that a reader no longer sees."""
_DROPPED = frozenset(["proofErr", "lastRenderedPageBreak", "softHyphen", "rPr"])
"""Elements about the original words, or written with each run."""
_OTHERS = REMOVED | {"p"}
"""Elements whose text does not belong to the paragraph that holds them."""
_MATH = frozenset(["oMath", "oMathPara"])
_PROPERTIES = re.compile(r"\w*Pr|fldData")
_RANGE = re.compile(r"(?P<name>bookmark|commentRange|perm)(?P<half>Start|End)")
_FIELD = re.compile(r"""<(?:\w+:)?fldChar\s[^<>]*?fldCharType=["'](begin|separate|end)["']""")
DROP_CAP = "it is a drop cap, and the rest of its word is in the next paragraph"
_INNER = re.compile("\0(\\d+):(\\d+)\0")
"""Reference in a mark's raw text to characters of the file that have paragraphs of their own."""


def paragraphs_in(file: TextFile) -> Iterator["Paragraph"]:
    """Yields all paragraphs of a file of an archive; those in text boxes after the ones that hold the boxes."""
    prefixes: dict[str, Kind] = {}  # of the namespaces of paragraphs
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind != "start":
            continue
        _note_prefixes(token, prefixes)
        if token.name == "p" and _prefix(token.value) in prefixes:
            outermost = element_of(token, tokens)
            for element in chain([outermost], outermost.descendants()):
                _note_prefixes(element, prefixes)
                if element.name == "p" and (kind := prefixes.get(_prefix(element.tag))):
                    yield Paragraph(element, file, kind)


def inner_mark(element: Element) -> str:
    """Returns a reference, in a mark's raw text, to an element that has paragraphs of its own."""
    return f"\0{element.start}:{element.end}\0"


def pieces_of(written: str) -> Iterator[str | Span]:
    """Yields a text as the pieces of an edit, in which each `inner_mark` is a piece of the file."""
    for piece in divided_by(_INNER, written):
        yield piece if isinstance(piece, str) else (int(piece[1]), int(piece[2]))


def _note_prefixes(token: Token | Element, prefixes: dict[str, Kind]) -> None:
    for name, value in token.attributes.items():
        if name.startswith("xmlns") and value in _NAMESPACES:
            prefixes[name.removeprefix("xmlns").removeprefix(":")] = _NAMESPACES[value]


def _prefix(tag: str) -> str:
    return tag.rpartition(":")[0]


class Paragraph:
    """A paragraph as a segment, with a pair of marks about each run whose format is not the paragraph's usual one."""

    def __init__(self, element: Element, file: TextFile, kind: Kind) -> None:
        self.file, self.kind = file, kind
        self.id = prefixed(element.attributes, "paraId")
        self.prefix = element.tag.removesuffix(element.name)
        properties = self._child(element, "pPr")
        is_drop_cap = properties is not None and "dropCap=" in file.text[properties.start : properties.end]
        self.notes = (DROP_CAP,) if is_drop_cap else ()
        last = self._child(element, "endParaRPr")
        self.start = element.inner_start if properties is None else properties.end
        self.end = element.inner_end if last is None else last.start
        content = [child for child in element.content if self.start <= child.start and child.end <= self.end]
        self.usual = self._usual_format(content)
        self._read: set[int] = set()  # offsets of the elements whose text is in the segment
        self._in_instruction: list[str] = []  # texts of a field that does not end in the paragraph
        parts = self._with_whole_fields(_joined_runs(list(self._parts(content))))
        self.segment = Segment.of(_with_formulas_apart(mark_layout(hold(parts, escape))))
        unread = [text for text in self._own(element.content) if self._is(text, "t") and text.start not in self._read]
        self.left = [text for text in [*self._in_instruction, *map(_text, unread)] if text.strip()]
        """Texts of the paragraph that are not in its segment, such as how a word is read (ruby)."""

    def write(self, segment: Segment) -> list[Edit]:
        """Returns the edit that rewrites all runs; text continues the run before it that has its format."""
        written: list[str] = []
        opened = [self.usual]
        format, text = "", ""  # of the run that is being written
        for part in [*segment.parts, Mark("")]:
            if isinstance(part, Mark) and part.kind != "alone" and _is_run(part):
                opened = [*opened, part.raw] if part.kind == "open" else opened[:-1]
                continue
            is_text = isinstance(part, str) or part.raw[:1] not in ("", "<", "\0")
            if text and not (is_text and format == opened[-1]):
                written.append(self._run(format, text))
                text = ""
            if isinstance(part, Mark) and not is_text:
                written.append(part.raw)
            else:
                content = part if isinstance(part, str) else part.shown if part.is_held else part.raw
                format, text = opened[-1], text + content
        return [self.file.edit(self.start, self.end, *pieces_of("".join(written)))]

    def _run(self, format: str, text: str) -> str:
        p = self.prefix
        if self.kind != "word":
            space = ' xml:space="preserve"' if self.kind == "sheet" else ""
            return f"<{p}r>{format}<{p}t{space}>{escape(text)}</{p}t></{p}r>"
        pieces = [
            f"<{p}tab/>" if piece == "\t" else f'<{p}t xml:space="preserve">{escape(piece)}</{p}t>'
            for piece in re.split("(\t)", text)
            if piece
        ]
        return f"<{p}r>{format}{''.join(pieces)}</{p}r>"

    def _usual_format(self, content: Sequence[Element | Token]) -> str:
        counts: Counter[str] = Counter()
        for run in self._runs(content):
            counts[self._format(run)] += sum(len(child.own_text) for child in run.elements if self._is(child, "t"))
        return counts.most_common(1)[0][0] if counts else ""

    def _own(self, content: Sequence[Element | Token], *skipped: str) -> Iterator[Element]:
        """Yields the elements of the paragraph's own content, at any depth, except some names."""
        for child in content:
            if isinstance(child, Element) and child.name not in _OTHERS and child.name not in skipped:
                yield child
                yield from self._own(child.content if child.name not in _MATH else (), *skipped)

    def _runs(self, content: Sequence[Element | Token]) -> Iterator[Element]:
        return (child for child in self._own(content, "AlternateContent") if self._is(child, "r"))

    def _has_text(self, element: Element) -> bool:
        """Returns True if runs or formulas of the paragraph itself are in an element."""
        inner = self._own(element.content, "AlternateContent")
        return any(self._is(child, "r") or child.name in _MATH for child in inner)

    def _is(self, element: Element, name: str) -> bool:
        return element.tag == self.prefix + name

    def _child(self, element: Element, name: str) -> Element | None:
        return next((child for child in element.elements if self._is(child, name)), None)

    def _format(self, run: Element) -> str:
        properties = self._child(run, "rPr")
        return "" if properties is None else self.file.text[properties.start : properties.end]

    def _raw(self, element: Element) -> str:
        """Returns an element as it is written; a reference to it if paragraphs of their own are in it."""
        has_paragraphs = any(inner.name == "p" for inner in element.descendants())
        return inner_mark(element) if has_paragraphs else self.file.text[element.start : element.end]

    def _parts(self, content: Sequence[Element | Token]) -> Iterator[Part]:
        for child in content:
            if isinstance(child, Token):
                if self.file.text[child.start : child.end].strip():
                    yield Mark(self.file.text[child.start : child.end])
            elif self._is(child, "r"):
                yield from self._parts_of_run(child)
            elif self._is(child, "br"):
                yield Mark(self._raw(child), shown=" ", breaks=True)
            elif (half := _RANGE.fullmatch(child.name)) is not None:
                kind: Literal["open", "close"] = "open" if half["half"] == "Start" else "close"
                yield Mark(self._raw(child), kind, f"{half['name']} {prefixed(child.attributes, 'id')}")
            elif child.name in _MATH:
                texts = (_text(inner) for inner in child.descendants() if inner.name == "t")
                yield Mark(self._raw(child), shown=" ".join("".join(texts).split()))
            elif child.name not in REMOVED and self._has_text(child):
                yield from self._container(child, "", "")
            elif child.name not in _DROPPED:
                yield Mark(self._raw(child))

    def _container(self, element: Element, before: str, after: str) -> Iterator[Part]:
        """Yields a pair of marks about the runs in an element; what precedes them in it belongs to the first."""
        inside = next((child for child in element.elements if child.name in ("sdtContent", "rubyBase")), element)
        begin = inside.inner_start
        for child in inside.elements:
            if not _PROPERTIES.fullmatch(child.name):
                break
            begin = child.end
        name = f"{element.name} {element.start}"
        yield Mark(before + self.file.text[element.start : begin], "open", name)
        yield from self._parts([child for child in inside.content if child.start >= begin])
        yield Mark(self.file.text[inside.inner_end : element.end] + after, "close", name)

    def _parts_of_run(self, run: Element) -> Iterator[Part]:
        format = self._format(run)
        name = f"run {run.start}"
        if format != self.usual:
            yield Mark(format, "open", name)
        for child in run.elements:
            if self._is(child, "t"):
                self._read.add(child.start)
                yield from mark_layout([_text(child, self.kind)], lambda blanks: self._run(format, blanks))
            elif self._is(child, "noBreakHyphen"):
                yield "\u2011"
            elif child.name in ("br", "cr", "tab", "ptab"):
                yield Mark(self._alone(run, child, format), shown=" ", breaks=True)
            elif self._is(child, "ruby") and any(self._runs(child.content)):
                yield from self._container(child, f"<{run.tag}>{format}", f"</{run.tag}>")
            elif child.name not in _DROPPED:
                yield Mark(self._alone(run, child, format))
        if format != self.usual:
            yield Mark("", "close", name)

    def _with_whole_fields(self, parts: Sequence[Part]) -> list[Part]:
        """Joins all from a field's beginning to its result to one mark, which its end closes."""
        merged: list[Part] = []
        opened: list[str] = []  # fields whose result is being read
        head, depth = "", 0  # of the field whose instruction is being read, and how many are in it
        for part in parts:
            kind = _FIELD.search(part.raw) if isinstance(part, Mark) else None
            is_begin, is_end = kind is not None and kind[1] == "begin", kind is not None and kind[1] == "end"
            if not depth and not is_begin:
                if is_end and opened:
                    part = Mark(part.raw, "close", opened.pop())  # type: ignore[union-attr]
                merged.append(part)
                continue
            if isinstance(part, str):
                head += self._run(self.usual, part)
                self._in_instruction.append(part)
            else:
                head += "" if _is_run(part) else part.raw
            depth += is_begin - is_end
            if depth == 1 and kind is not None and kind[1] == "separate":
                opened.append(f"field {len(merged)}")
                merged.append(Mark(head, "open", opened[-1]))
                head, depth = "", 0
                self._in_instruction.clear()
            elif not depth:  # without a result
                merged.append(Mark(head))
                head = ""
                self._in_instruction.clear()
        return [*merged, Mark(head)] if head else merged

    def _alone(self, run: Element, child: Element, format: str) -> str:
        """Writes an element of a run in a run of its own."""
        return f"<{run.tag}>{format}{self._raw(child)}</{run.tag}>"


def _text(element: Element, kind: Kind = "word") -> str:
    return element.own_text if kind == "sheet" else re.sub(r"[\r\n]", " ", element.own_text)  # as Word shows it


def _with_formulas_apart(parts: Sequence[Part]) -> list[Part]:
    """Returns the parts, without shown text for formulas that touch a word or a placeholder."""
    result: list[Part] = []
    after = [" "]  # the first character that is shown after each part, from the last on
    for part in reversed(parts[1:]):
        after.append((part if isinstance(part, str) else part.shown)[:1] or after[-1])
    before = " "
    for part, following in zip(parts, reversed(after), strict=False):
        is_apart = before.isspace() and (following.isspace() or following in ".,;:!?)")
        if isinstance(part, Mark) and part.is_held and part.raw.startswith("<") and not is_apart:
            part = Mark(part.raw)
        before = (part if isinstance(part, str) else part.shown)[-1:] or before
        result.append(part)
    return result


def _is_run(mark: Mark) -> bool:
    """Returns True if a half of a pair is that of a run: its opening mark is the format, which may be empty."""
    return not mark.raw or re.match(r"<(?:\w+:)?rPr\b", mark.raw) is not None


def _joined_runs(parts: Sequence[Part]) -> list[Part]:
    """Joins each run to the one before it if that has the same format."""
    result: list[Part] = []
    opened: list[Mark] = []
    closed = Mark("")
    for part in parts:
        last = result[-1] if result else None
        if not isinstance(part, Mark) or part.kind == "alone" or not _is_run(part):
            result.append(part)
        elif part.kind == "close":
            result.append(replace(part, pair=opened[-1].pair))
            closed = opened.pop()
        elif isinstance(last, Mark) and last.kind == "close" and _is_run(last) and closed.raw == part.raw:
            result.pop()
            opened.append(closed)
        else:
            result.append(part)
            opened.append(part)
    return result
