"""What is held of a text as clusters: things that no blank and no letter divides; and where a translation has them."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transduce.documents.families import GENERAL, pattern_of, takes_next_argument
from transduce.documents.linked_words import Span
from transduce.documents.segment import Mark

_ENDS = frozenset("。！？")  # of sentences that no blank follows
_BETWEEN_SIZES = frozenset("x×X")  # of %dx%d


@dataclass(frozen=True)
class Member:
    """A held mark of a cluster, by its number, and where it begins in the cluster's text."""

    number: int
    offset: int


@dataclass(frozen=True)
class Cluster:
    """Held marks beside each other, with what divides them."""

    shown: str
    start: int
    """In the source."""
    members: tuple[Member, ...]
    before: str
    """The character before it in the source; "" at its beginning."""
    after: str
    is_word: bool
    """Whether it is no placeholder but a word, of code for example."""
    is_in_order: bool
    """Whether something of it stands for the next argument."""

    @property
    def end(self) -> int:
        """Where it ends in the source."""
        return self.start + len(self.shown)


def clusters_of(source: str, marks: Sequence[Mark], places: Sequence[int]) -> list[Cluster]:
    """The clusters of a text, by its held marks and where they begin."""
    groups: list[list[int]] = []
    end = 0
    for number, (mark, place) in enumerate(zip(marks, places, strict=True)):
        if groups and _is_glue(source[end:place]):
            groups[-1].append(number)
        else:
            groups.append([number])
        end = place + len(mark.shown)
    found = []
    for group in groups:
        start, end = places[group[0]], places[group[-1]] + len(marks[group[-1]].shown)
        found.append(
            Cluster(
                source[start:end],
                start,
                tuple(Member(number, places[number] - start) for number in group),
                source[start - 1 : start],
                source[end : end + 1],
                all(shape_of(marks[number].shown) == "" for number in group),
                any(takes_next_argument(marks[number].shown) for number in group),
            )
        )
    return found


def _is_glue(between: str) -> bool:
    return between in _BETWEEN_SIZES or not any(c.isspace() or c.isalpha() or c in _ENDS for c in between)


def tokens_of(text: str, families: tuple[str, ...] = GENERAL) -> list[Span]:
    """Where placeholders are in a text, by the rules of some families."""
    return [found.span() for found in pattern_of(families).finditer(text)]


def shape_of(shown: str) -> str:
    """The sign that a placeholder begins with, `address` for an address, "" for a word."""
    if not shown or shown[0].isalnum() or shown[0].isspace():
        return "address" if "://" in shown or "@" in shown or shown.startswith("www.") else ""
    return shown[0] if not shown[0].isalpha() else ""


def normalised(text: str) -> str:
    """A text without blanks and differences of case and width."""
    return "".join(map(_normal, text))


def occurrences(text: str, wanted: Iterable[str], is_exact: bool) -> dict[str, list[Span]]:
    """Where texts are in another: exactly so, or normalised, as what is searched for is, too."""
    if is_exact:
        return {shown: [(start, start + len(shown)) for start in _starts(text, shown)] for shown in wanted}
    pieces = list(map(_normal, text))
    begins, size = [], 0
    for piece in pieces:
        begins.append(size)
        size += len(piece)
    whole = "".join(pieces)
    found: dict[str, list[Span]] = {}
    for shown in wanted:
        spans = []
        for start in _starts(whole, shown):
            first = bisect_right(begins, start) - 1
            last = bisect_right(begins, start + len(shown) - 1) - 1
            if begins[first] == start and begins[last] + len(pieces[last]) == start + len(shown):
                spans.append((first, last + 1))
        found[shown] = spans
    return found


def _starts(text: str, shown: str) -> list[int]:
    """Where copies of a text begin that do not overlap."""
    starts, place = [], text.find(shown) if shown else -1
    while place >= 0:
        starts.append(place)
        place = text.find(shown, place + len(shown))
    return starts


def _normal(character: str) -> str:
    if character.isspace():
        return ""
    return character.casefold() if character.isascii() else unicodedata.normalize("NFKC", character).casefold()


def is_joined_letter(character: str, neighbour: str) -> bool:
    """Whether two characters belong to one word: letters or digits of scripts that have blanks between words."""
    return _is_letter(character) and _is_letter(neighbour)


def _is_letter(character: str) -> bool:
    return (
        (character.isalnum() or character == "_")
        and not "\u2e80" <= character <= "\ud7ff"
        and not (
            "\u0e00" <= character <= "\u0eff" or "\u1780" <= character <= "\u17ff" or "\uf900" <= character <= "\uffef"
        )
    )
