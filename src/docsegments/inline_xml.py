"""Segments of XML with elements in their text (XLIFF, TMX): tags, held elements, and elements with separate texts."""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from docsegments.document import TextFile
from docsegments.segment import Mark, Part, Segment
from docsegments.sentences import ends_sentence
from docsegments.text.elements import is_break
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold, mark_tags
from docsegments.xml import CDATA, Element, Token, as_written, characters

_CODES = ("ctype", "type", "subType", "equiv-text", "disp", "dispStart", "dispEnd", "equiv", "equivStart", "equivEnd")
"""Attributes of XLIFF and TMX that say what an element is in the original."""

_CONTROL = re.compile(r"0{0,4}[01]?[0-9A-Fa-f]")
"""Code of a control character, which XML cannot hold."""

InlineKind = Literal["open", "close", "alone", "pair", "apart", "held", "free"]
"""The kind of an element inside a segment.

`open`, `close` and `alone` are codes: one half of a pair, or a single tag; only <sub> in them is text. `pair` is a pair
of marks about text, `apart` the same about a text that is translated apart. `held` has text that stays, `free` text
within such that is translated.
"""

Inline = Callable[[Element], tuple[InlineKind, str]]
"""The kind of an element, and the name that both halves of a pair share."""


def segment_of(
    element: Element, file: TextFile, inline: Inline, breaks: Callable[[str], bool] | None = ends_sentence
) -> Segment:
    """Returns the text and the marks within an element; for `breaks` see `mark_layout`."""
    parts = hold(mark_tags(_InlineReader(file, inline).parts(element), as_written), as_written)
    return Segment.of(mark_layout(parts, str, breaks))


class _InlineReader:
    def __init__(self, file: TextFile, inline: Inline) -> None:
        self.file, self.inline = file, inline
        self.holding: set[str] = set()
        """Names of the elements that hold the text being read."""
        self.breaking: set[str] = set()
        """Names of the pairs of codes that are breaks."""

    def parts(self, element: Element) -> Iterator[Part]:
        is_cdata = False
        for child in element.content:
            if isinstance(child, Element):
                yield from self._element(child)
            elif child.kind == "text":
                yield from self._text(child, is_cdata)
            elif child.value == CDATA:
                is_cdata = not is_cdata
            else:
                yield Mark(self.file.text[child.start : child.end])

    def _text(self, token: Token, is_cdata: bool) -> Iterator[Part]:
        raw = self.file.text[token.start : token.end]
        if not self.holding:
            yield from [raw] if is_cdata else characters(raw)
        elif not raw.strip():
            yield raw
        else:
            core = raw.strip()
            begin = raw.index(core)
            yield raw[:begin]
            yield Mark(as_written(core) if is_cdata else core, shown=token.value.strip())
            yield raw[begin + len(core) :]

    def _element(self, element: Element) -> Iterator[Part]:
        kind, pair = self.inline(element)
        if kind == "pair" and self._is_break(element):
            kind = "apart"
        whole = self.file.text[element.start : element.end]
        if kind == "close":
            self.holding.discard(pair)
        elif kind == "open" and element.attributes.get("translate") == "no":  # <sm> of XLIFF 2
            self.holding.add(pair)
        if kind in ("open", "close", "alone"):
            yield from self._code(element, kind, pair)
        elif element.inner_end == element.end:  # <g/>
            yield Mark(whole, shown=" ", breaks=True) if kind == "apart" else Mark(whole)
        elif kind == "held" and all(self.inline(inner)[0] != "free" for inner in element.descendants()):
            yield Mark(whole, shown=self._plain(element))
        else:
            name, is_apart, before = f"{pair} {element.start}", kind == "apart", set(self.holding)
            if kind == "held":
                self.holding.add(name)
            elif kind == "free":
                self.holding.clear()
            opening, closing = element.tags(self.file)
            yield Mark(opening, shown=" ", breaks=True) if is_apart else Mark(opening, "open", name)
            yield from self.parts(element)
            yield Mark(closing, shown=" ", breaks=True) if is_apart else Mark(closing, "close", name)
            if kind in ("held", "free"):
                self.holding = before

    def _code(self, element: Element, kind: Literal["open", "close", "alone"], pair: str) -> Iterator[Part]:
        """Yields a code as one mark, or as several about the texts within it, which are translated apart."""
        texts = [text for text in element.outermost(lambda child: child.name == "sub") if self._plain(text).strip()]
        if not texts:
            whole = self.file.text[element.start : element.end]
            if self._is_break(element) or (kind == "close" and pair in self.breaking):
                self.breaking.add(pair)
                yield Mark(whole, shown=" ", breaks=True)
            elif element.name == "cp":
                code = element.attributes.get("hex", "")
                yield Mark(whole, shown=chr(int(code, 16)) if _CONTROL.fullmatch(code) else "")
            else:
                yield Mark(whole, kind, pair)
            return
        done = element.start
        for text in texts:
            yield Mark(self.file.text[done : text.inner_start], shown=" ", breaks=True)
            yield from self.parts(text)
            done = text.inner_end
        yield Mark(self.file.text[done : element.end], shown=" ", breaks=True)

    def _is_break(self, element: Element) -> bool:
        """Returns True for an element that stands for a break, by its attributes or the tag within it."""
        codes = [element.attributes[name] for name in _CODES if name in element.attributes]
        return any(map(is_break, codes)) or (self.inline(element)[0] != "pair" and is_break(element.text))

    def _plain(self, element: Element) -> str:
        """Returns the text within an element and the elements in it, without codes."""
        return "".join(
            child.value
            if isinstance(child, Token) and child.kind == "text"
            else self._plain(child)
            if isinstance(child, Element) and self.inline(child)[0] not in ("open", "close", "alone")
            else ""
            for child in element.content
        )
