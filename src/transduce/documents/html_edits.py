"""Edits of a page that lie within each other: a sentence, the attributes of its tags, and pages in attributes."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from transduce.documents.document import Edit
from transduce.documents.html_segments import Item
from transduce.documents.html_text import Written
from transduce.documents.linked_words import Span
from transduce.documents.placeholders import Escape
from transduce.documents.segment import Mark, Segment

Write = Callable[[Segment], Sequence["Rewrite"]]
"""The edits that put a translation of a segment into its page."""


@dataclass(frozen=True)
class Rewrite(Edit):
    """An edit whose text has pieces of the page in it, within which there may be other edits."""

    pieces: tuple[str | Span, ...] = ()

    @staticmethod
    def of(page: str, start: int, end: int, pieces: Sequence[str | Span]) -> "Rewrite":
        """An edit of a page."""
        text = "".join(piece if isinstance(piece, str) else page[slice(*piece)] for piece in pieces)
        return Rewrite(start, end, text, pieces=tuple(pieces))


def writer(page: str, items: Sequence[Item], escape: Escape, quote: str = "") -> Write:
    """Puts translations of a segment in its place, with quotes about them where the value of an attribute has none."""

    def write(segment: Segment) -> list[Rewrite]:
        written: defaultdict[str, list[Item]] = defaultdict(list)
        for item in reversed(items):
            if isinstance(item.part, Mark):
                written[item.part.raw].append(item)
        pieces: list[str | Span] = []
        for part in segment.parts:
            if isinstance(part, str):
                pieces.append(escape(part))
            elif (same := written[part.raw]) and same[-1].is_exact:
                item = same.pop()
                pieces += [(item.start, item.end), item.more]
            else:
                pieces.append(part.raw)
        return [Rewrite.of(page, items[0].start, items[-1].end, [quote, *pieces, quote])]

    return write


def write_within(page: str, write: Write, value: Written, escape: Escape) -> Write:
    """The same edits of a page that is the value of an attribute, as edits of the page about it."""

    def moved(piece: str | Span) -> str | Span:
        return escape(piece) if isinstance(piece, str) else (value.offsets[piece[0]], value.offsets[piece[1]])

    def outer(segment: Segment) -> list[Rewrite]:
        return [
            Rewrite.of(page, value.offsets[one.start], value.offsets[one.end], [moved(piece) for piece in one.pieces])
            for one in write(segment)
        ]

    return outer


def without_inner(page: str, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that lie in no others, with those made that lie within them."""
    ordered = sorted((one for one in edits if isinstance(one, Rewrite)), key=attrgetter("start", "end"))
    starts = [one.start for one in ordered]

    def outermost(start: int, end: int) -> list[Edit]:
        """Those among some characters."""
        found: list[Edit] = []
        number = bisect_left(starts, start)
        while number < len(ordered) and starts[number] < end:
            last = number
            while last + 1 < len(ordered) and starts[last + 1] == starts[number]:
                last += 1
            fitting = [one for one in ordered[number : last + 1] if one.end <= end]
            if fitting:
                widest = fitting[-1]
                found.append(Edit(widest.start, widest.end, "".join(map(text_of, widest.pieces))))
            number = bisect_left(starts, widest.end, last + 1) if fitting else last + 1
        return found

    def text_of(piece: str | Span) -> str:
        if isinstance(piece, str):
            return piece
        done, pieces = piece[0], []
        for one in outermost(*piece):
            pieces += [page[done : one.start], one.text]
            done = one.end
        return "".join([*pieces, page[done : piece[1]]])

    return outermost(0, len(page))
