"""The type that documents and translators share: a segment of text with inline marks."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import Literal, cast


@dataclass(frozen=True)
class Mark:
    """Something inside a segment that is carried over as it is: a tag, a placeholder, a line break."""

    raw: str
    """The mark as the document writes it."""
    kind: Literal["open", "close", "alone"] = "alone"
    pair: str = ""
    """Name that an opening mark and its closing one share, and no other mark of the segment."""
    shown: str = ""
    """Text that a translator reads for the mark. Unless it is blank, the translation must contain it (`is_held`)."""
    breaks: bool = False
    """True if the text before the mark is translated apart from the text after it."""

    @property
    def is_held(self) -> bool:
        """True if the mark keeps its text in a translation: a placeholder, an address, code."""
        return bool(self.shown.strip())


Part = str | Mark


@dataclass(frozen=True)
class Segment:
    """Text and marks in their order."""

    parts: tuple[Part, ...]
    families: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Names of the rules that found its placeholders, see `text/placeholder_families.py`; none for the general ones."""

    @staticmethod
    def of(parts: Iterable[Part], families: tuple[str, ...] = ()) -> "Segment":
        """Makes a segment: adjacent texts are joined, halves without a partner made single marks, pairs numbered."""
        return Segment(tuple(_paired(joined(parts))), families)

    @property
    def text(self) -> str:
        """Text that a translator reads."""
        return "".join(part if isinstance(part, str) else part.shown for part in self.parts)

    @property
    def one_line(self) -> str:
        """The same text, with one blank for all white space between words."""
        return " ".join(self.text.split())

    @property
    def marks(self) -> list[Mark]:
        """All marks, in order."""
        return [part for part in self.parts if isinstance(part, Mark)]

    def with_held(self, text: str) -> "Segment":
        """Makes a segment of a text, in which what this segment holds is marked."""
        held = {mark.shown: mark for mark in self.marks if mark.is_held}
        pattern = re.compile("|".join(map(re.escape, sorted(held, key=len, reverse=True))) or "(?!)")
        return Segment.of(part if isinstance(part, str) else held[part[0]] for part in divided_by(pattern, text))

    def placed_marks(self) -> Iterator[tuple[int, Mark]]:
        """Yields all marks, each with the offset in the text where it is shown."""
        offset = 0
        for part in self.parts:
            if isinstance(part, Mark):
                yield offset, part
            offset += size_of(part)

    def written(self, escape: Callable[[str], str] = str) -> str:
        """Returns the segment as a document writes it: marks as they are, and texts by a function."""
        return "".join(part.raw if isinstance(part, Mark) else escape(part) for part in self.parts)

    @property
    def is_translatable(self) -> bool:
        """True if the segment has a letter to translate, outside what is held."""
        return any(isinstance(part, str) and any(map(str.isalpha, part)) for part in self.parts)

    def split_edges(self) -> tuple[tuple[Part, ...], "Segment", tuple[Part, ...]]:
        """Splits off blanks and marks at both edges, without tearing pairs; held marks belong to the text."""
        first, last = 0, len(self.parts)
        while first < last and not is_text(self.parts[first]):
            first += 1
        while last > first and not is_text(self.parts[last - 1]):
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
        """Returns the smallest range about this one that holds both marks, or neither, of each pair."""
        partner = partners(self.parts)
        if first == last:
            return first, last
        left, right = first, last  # bounds of the parts looked at
        waiting = list(range(first, last))
        while waiting:
            other = partner.get(waiting.pop())
            if other is not None and not left <= other < right:
                waiting += [*range(other, left), *range(right, other + 1)]
                left, right = min(left, other), max(right, other + 1)
        return left, right


def divided_by(pattern: re.Pattern[str], text: str) -> Iterator[str | re.Match[str]]:
    """Yields matches of a pattern in a text, and the texts between, in order."""
    done = 0
    for match in pattern.finditer(text):
        if done < match.start():
            yield text[done : match.start()]
        yield match
        done = match.end()
    if done < len(text):
        yield text[done:]


def partners(parts: Sequence[Part]) -> dict[int, int]:
    """Maps each half of a pair to the other; a closing mark belongs to the last opening one of its name."""
    opened: dict[str, int] = {}
    partner: dict[int, int] = {}
    for index, part in enumerate(parts):
        if isinstance(part, Mark) and part.kind == "open":
            opened[part.pair] = index
        elif isinstance(part, Mark) and part.kind == "close" and part.pair in opened:
            other = opened.pop(part.pair)
            partner[other], partner[index] = index, other
    return partner


def size_of(part: Part) -> int:
    """Returns the length of a part in the segment's text."""
    return len(part if isinstance(part, str) else part.shown)


def joined(parts: Iterable[Part]) -> list[Part]:
    """Joins adjacent texts of the parts."""
    result: list[Part] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        if not is_text:
            result += group
        elif text := "".join(cast(Iterable[str], group)):
            result.append(text)
    return result


def problems(source: Segment, target: Segment) -> list[str]:
    """Lists marks that a translation has lost, added or doubled, and whether only its pairs do not nest."""
    expected, actual = (Counter((mark.raw, mark.kind) for mark in segment.marks) for segment in (source, target))
    messages = [f"{raw!r} is lost" for raw, _ in (expected - actual).elements()]
    messages += [f"{raw!r} is added" for raw, _ in (actual - expected).elements()]
    if is_nested(source.marks) and not is_nested(target.marks):
        messages.append("marks are not well nested")
    return messages


def emptied_pairs(source: Segment, target: Segment) -> list[str]:
    """Returns the opening marks of pairs that hold words in the source, but nothing in its translation."""
    filled = _filled(target)
    return [mark.raw for pair, mark in _filled(source).items() if mark.raw and pair not in filled]


def is_nested(marks: Sequence[Mark]) -> bool:
    """Returns True if each closing mark closes the last one that was opened."""
    opened: list[str] = []
    for mark in marks:
        if mark.kind == "open":
            opened.append(mark.pair)
        elif mark.kind == "close" and (not opened or opened.pop() != mark.pair):
            return False
    return not opened


def depth(marks: Sequence[Mark]) -> int:
    """Returns the greatest number of pairs within each other."""
    steps = ((mark.kind == "open") - (mark.kind == "close") for mark in marks)
    return max(accumulate(steps), default=0)


def _filled(segment: Segment) -> dict[str, Mark]:
    """Returns the opening marks of pairs with words in them."""
    opened: dict[str, Mark] = {}
    filled: dict[str, Mark] = {}
    for part in segment.parts:
        if isinstance(part, Mark) and part.kind == "open":
            opened[part.pair] = part
        elif isinstance(part, Mark) and part.kind == "close":
            opened.pop(part.pair, None)
        elif is_text(part):
            filled |= opened
    return filled


def is_text(part: Part) -> bool:
    """Returns True if a part has something to read: words, or the text of a held mark."""
    return bool(part.strip()) if isinstance(part, str) else part.is_held


def _paired(parts: Sequence[Part]) -> Iterator[Part]:
    """Yields the parts; pairs are numbered in their order, and halves without a partner become single marks."""
    partner = partners(parts)
    opening = sorted(index for index, other in partner.items() if index < other)
    names = {index: str(number) for number, first in enumerate(opening, 1) for index in (first, partner[first])}
    for index, part in enumerate(parts):
        if isinstance(part, str) or part.kind == "alone":
            yield part
        elif index in names:
            yield replace(part, pair=names[index])
        else:
            yield Mark(part.raw, shown=part.shown, breaks=part.breaks)
