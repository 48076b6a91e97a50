"""The small type between documents and translators: a segment of text with inline marks."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import Literal, cast


@dataclass(frozen=True)
class Mark:
    """Something inside a segment that is carried over as it is: a tag, a placeholder, a line break."""

    raw: str
    """As the document writes it."""
    kind: Literal["open", "close", "alone"] = "alone"
    pair: str = ""
    """The same for an opening mark and its closing one, and for no other of the segment."""
    shown: str = ""
    """What a translator reads in its place. Unless that is blank, the translation must hold it (`is_held`)."""
    breaks: bool = False
    """Whether what stands before it is translated apart from what comes after."""

    @property
    def is_held(self) -> bool:
        """Whether its text stands in the translation exactly as here: a placeholder, an address, code."""
        return bool(self.shown.strip())


Part = str | Mark


@dataclass(frozen=True)
class Segment:
    """Text and marks in their order."""

    parts: tuple[Part, ...]
    families: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The rules by which its placeholders were found, see `transduce.documents.families`; none for the general ones."""

    @staticmethod
    def of(parts: Iterable[Part], families: tuple[str, ...] = ()) -> "Segment":
        """A document's segment: texts beside each other are joined, an opening or closing mark without the other stands
        alone, and pairs are numbered."""
        return Segment(tuple(_numbered(_without_halves(joined(parts)))), families)

    @property
    def text(self) -> str:
        """What a translator reads."""
        return "".join(part if isinstance(part, str) else part.shown for part in self.parts)

    @property
    def marks(self) -> list[Mark]:
        """All of them, in order."""
        return [part for part in self.parts if isinstance(part, Mark)]

    @property
    def is_translatable(self) -> bool:
        """Whether there is a letter to translate, outside what is held."""
        return any(isinstance(part, str) and any(map(str.isalpha, part)) for part in self.parts)

    def split_edges(self) -> tuple[tuple[Part, ...], "Segment", tuple[Part, ...]]:
        """Blanks and marks before the first text, the text, and what stands after it; pairs are not torn, and what is
        held belongs to the text."""
        first, last = 0, len(self.parts)
        while first < last and not _is_text(self.parts[first]):
            first += 1
        while last > first and not _is_text(self.parts[last - 1]):
            last -= 1
        first, last = self._whole_pairs(first, last)
        core = list(self.parts[first:last])
        before, after = list(self.parts[:first]), list(self.parts[last:])
        if core and isinstance(core[0], str):
            stripped = core[0].lstrip()
            before.append(core[0][: len(core[0]) - len(stripped)])
            core[0] = stripped
        if core and isinstance(core[-1], str):
            stripped = core[-1].rstrip()
            after.insert(0, core[-1][len(stripped) :])
            core[-1] = stripped
        return tuple(filter(None, before)), replace(self, parts=tuple(core)), tuple(filter(None, after))

    def _whole_pairs(self, first: int, last: int) -> tuple[int, int]:
        """The smallest range about this one with both marks, or neither, of each pair."""
        halves: dict[str, list[int]] = {}
        for place, part in enumerate(self.parts):
            if isinstance(part, Mark) and part.kind != "alone":
                halves.setdefault(part.pair, []).append(place)
        partner = {
            place: other
            for first_half, last_half in halves.values()
            for place, other in ((first_half, last_half), (last_half, first_half))
        }
        if first == last:
            return first, last
        left, right = first, last  # of what has been looked at
        waiting = list(range(first, last))
        while waiting:
            other = partner.get(waiting.pop())
            if other is not None and not left <= other < right:
                waiting += [*range(other, left), *range(right, other + 1)]
                left, right = min(left, other), max(right, other + 1)
        return left, right


def joined(parts: Iterable[Part]) -> list[Part]:
    """The parts, with texts that stand beside each other as one."""
    found: list[Part] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        if not is_text:
            found += group
        elif text := "".join(cast(Iterable[str], group)):
            found.append(text)
    return found


def problems(source: Segment, target: Segment) -> list[str]:
    """What is wrong with the marks of a translation: those lost, added or doubled, and pairs that do not nest though
    the source's do."""
    wanted, found = (Counter((mark.raw, mark.kind) for mark in one.marks) for one in (source, target))
    told = [f"{raw!r} is lost" for raw, _ in (wanted - found).elements()]
    told += [f"{raw!r} is added" for raw, _ in (found - wanted).elements()]
    if is_nested(source.marks) and not is_nested(target.marks):
        told.append("marks are not well nested")
    return told


def emptied_pairs(source: Segment, target: Segment) -> list[str]:
    """The opening marks of pairs that hold words in the source, but nothing in its translation."""
    filled = _filled(target)
    return [mark.raw for pair, mark in _filled(source).items() if mark.raw and pair not in filled]


def is_nested(marks: Sequence[Mark]) -> bool:
    """Whether each closing mark closes the last one that was opened."""
    opened: list[str] = []
    for mark in marks:
        if mark.kind == "open":
            opened.append(mark.pair)
        elif mark.kind == "close" and (not opened or opened.pop() != mark.pair):
            return False
    return not opened


def depth(marks: Sequence[Mark]) -> int:
    """How many pairs stand in each other, at most."""
    steps = ((mark.kind == "open") - (mark.kind == "close") for mark in marks)
    return max(accumulate(steps), default=0)


def _filled(segment: Segment) -> dict[str, Mark]:
    """The opening marks of pairs with words in them."""
    opened: dict[str, Mark] = {}
    filled: dict[str, Mark] = {}
    for part in segment.parts:
        if isinstance(part, Mark) and part.kind == "open":
            opened[part.pair] = part
        elif isinstance(part, Mark) and part.kind == "close":
            opened.pop(part.pair, None)
        elif _is_text(part):
            filled |= opened
    return filled


def _is_text(part: Part) -> bool:
    return bool(part.strip()) if isinstance(part, str) else part.is_held


def _numbered(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which each pair has a name of its own, and pairs that are marked in the same way have the same
    names in every segment."""
    names: dict[str, str] = {}
    count = 0
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Mark) and part.kind == "open":
            count += 1
            names[part.pair] = str(count)
        found.append(replace(part, pair=names[part.pair]) if isinstance(part, Mark) and part.pair else part)
    return found


def _without_halves(parts: Sequence[Part]) -> list[Part]:
    opened: dict[str, int] = {}
    whole: set[int] = set()
    for place, part in enumerate(parts):
        if isinstance(part, Mark) and part.kind == "open":
            opened[part.pair] = place
        elif isinstance(part, Mark) and part.kind == "close" and part.pair in opened:
            whole |= {opened.pop(part.pair), place}
    return [
        Mark(part.raw, shown=part.shown, breaks=part.breaks)
        if isinstance(part, Mark) and part.kind != "alone" and place not in whole
        else part
        for place, part in enumerate(parts)
    ]
