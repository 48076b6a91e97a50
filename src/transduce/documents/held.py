"""Sees to it that what a translation must hold stands in it exactly as in the source, as often as there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from transduce.documents.placeholders import PLACEHOLDER, TAG
from transduce.documents.placing import Span
from transduce.documents.segment import Mark

_ENDING = frozenset(".,;:!?…。！？")
_OPENING = frozenset("([{<„“«‹¿¡\"'")


@dataclass
class Restored:
    """A translation that holds what it must."""

    text: str
    spans: list[Span | None]
    """Where each held mark stands, in the source's order."""
    notes: list[str] = field(default_factory=list)
    """What the search had not got right, for a person to see."""

    def replace(self, start: int, end: int, text: str) -> Span:
        """Put a text in place of characters that no span shares; where it then stands."""
        self.text = self.text[:start] + text + self.text[end:]
        moved = len(text) - (end - start)
        self.spans = [
            span if span is None or span[1] <= start else (span[0] + moved, span[1] + moved) for span in self.spans
        ]
        return start, start + len(text)

    def is_free(self, start: int, end: int) -> bool:
        """Whether nothing that is held stands among some characters."""
        return all(span is None or span[1] <= start or end <= span[0] for span in self.spans)


def restore_held(
    text: str,
    marks: Sequence[Mark],
    places: Sequence[float],
    apart: Sequence[tuple[bool, bool]],
    expected: Sequence[Span | None] = (),
) -> Restored:
    """A translation in which each held mark stands once: found, else mended where it is misspelt, else put in; and no
    placeholder or tag that the source has not.

    Args:
        text: the translation.
        marks: those held of the source, in its order.
        places: how far into the source each stands, 0 to 1.
        apart: whether there is a blank in the source before and after each.
        expected: where in the translation each belongs that is missing from it, in place of some characters or of
            none; None or nothing where that is not known, and the place in the source has to do.
    """
    restored = Restored(text, [None] * len(marks))
    by_length = sorted(range(len(marks)), key=lambda n: (-len(marks[n].shown), n))
    for is_exact in (True, False):
        for number in by_length:
            if restored.spans[number] is None:
                _find(restored, number, marks[number].shown, places[number], is_exact)
    for number in range(len(marks) - 1, -1, -1):
        if restored.spans[number] is None:
            wanted = expected[number] if number < len(expected) else None
            guess = round(places[number] * len(text))
            _insert(restored, number, marks[number].shown, *((guess, guess) if wanted is None else wanted))
    _remove_others(restored, marks)
    for number, sides in enumerate(apart):
        _set_apart(restored, number, *sides)
    return restored


def _find(restored: Restored, number: int, shown: str, place: float, is_exact: bool) -> None:
    """Give a mark the place of its text, the likeliest where there are several."""
    if is_exact:
        pattern = re.escape(shown)
    else:
        pattern = r"\s*".join(re.escape(character) for character in shown if not character.isspace())
    is_word = PLACEHOLDER.fullmatch(shown) is None
    before = r"(?<!\w)" if is_word and shown[0].isalnum() else ""
    after = r"(?!\w)" if is_word and shown[-1].isalnum() else ""
    text = restored.text
    others = [match.span() for match in PLACEHOLDER.finditer(text)]
    found = [
        match.span()
        for match in re.finditer(f"{before}{pattern}{after}", text, re.IGNORECASE if not is_exact else 0)
        if restored.is_free(*match.span()) and not any(_is_torn(match.span(), other) for other in others)
    ]
    if not found:
        return
    start, end = min(found, key=lambda span: abs(span[0] / max(len(text), 1) - place))
    if text[start:end] != shown:
        restored.notes.append(f"{shown!r} was misspelt as {text[start:end]!r}")
    restored.spans[number] = restored.replace(start, end, shown)


def _is_torn(found: Span, other: Span) -> bool:
    """Whether one of two would tear the other: the `%d` in `%user%d` is none."""
    return found != other and found[0] < other[1] and other[0] < found[1]


def _insert(restored: Restored, number: int, shown: str, place: int, end: int) -> None:
    """Put a mark's text between words, or in the place of some."""
    while place < end and restored.text[end - 1] in _ENDING:
        end -= 1
    if place < end and restored.is_free(place, end):
        restored.notes.append(f"{shown!r} was missing and has been put in for {restored.text[place:end]!r}")
        restored.spans[number] = restored.replace(place, end, shown)
        return
    text = restored.text
    place = min(max(place, 0), len(text))
    while 0 < place < len(text) and not text[place].isspace() and not text[place - 1].isspace():
        place += 1
    while place > 0 and text[place - 1] in _ENDING:  # of the sentence, or a part of it
        place -= 1
    for span in sorted(span for span in restored.spans if span is not None):
        if span[0] < place < span[1]:
            place = span[1]
    before, after = text[place - 1 : place], text[place : place + 1]
    left = " " if before and not before.isspace() and before not in _OPENING else ""
    right = " " if after and (after.isalnum() or after in _OPENING or not restored.is_free(place, place + 1)) else ""
    start, end = restored.replace(place, place, f"{left}{shown}{right}")
    restored.spans[number] = (start + len(left), end - len(right))
    restored.notes.append(f"{shown!r} was missing and has been put in")


def _set_apart(restored: Restored, number: int, left: bool, right: bool) -> None:
    """Part a mark's text from a word that touches it, where it is so in the source."""
    for is_after in (True, False):
        span = restored.spans[number]
        assert span is not None  # each has been found or put in
        place = span[is_after]
        beside = restored.text[place : place + 1] if is_after else restored.text[place - 1 : place] if place else ""
        if (right if is_after else left) and beside.isalnum() and beside.isascii():
            restored.replace(place, place, " ")
            if not is_after:
                restored.spans[number] = (place + 1, span[1] + 1)


def _remove_others(restored: Restored, marks: Sequence[Mark]) -> None:
    """Take out placeholders, addresses and tags that are none of the source's."""
    while found := _next_other(restored, marks):
        start, end = found
        restored.notes.append(f"{restored.text[start:end]!r} is not in the source and has been taken out")
        before, after = restored.text[:start], restored.text[end:]
        if before[-1:].isspace() and (not after or after[0].isspace() or not after[0].isalnum()):
            if restored.is_free(start - 1, start):
                start -= 1
        elif not before.strip() and after[:1].isspace() and restored.is_free(end, end + 1):
            end += 1
        restored.replace(start, end, "")


def _next_other(restored: Restored, marks: Sequence[Mark]) -> Span | None:
    """The first placeholder or tag between what is held, or another copy of that."""
    copies = [re.escape(mark.shown) for mark in marks if PLACEHOLDER.fullmatch(mark.shown)]
    if any(mark.shown.startswith("%") for mark in marks):
        copies.append("%[sd]")  # after a digit, too, where a program will read the text for such
    patterns = [PLACEHOLDER, TAG, *([re.compile("|".join(copies))] if copies else [])]
    held = sorted(span for span in restored.spans if span is not None)
    begins, ends = [0, *(end for _, end in held)], [*(begin for begin, _ in held), len(restored.text)]
    found = [
        (begin + match.start(), begin + match.end())
        for begin, end in zip(begins, ends, strict=True)
        for pattern in patterns
        for match in pattern.finditer(restored.text[begin:end])
        if match[0] != "|"
    ]
    return min(found, default=None)
