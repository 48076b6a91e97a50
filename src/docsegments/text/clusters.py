"""Clusters of held marks, which no blank and no letter divides, and a writer of translations with them."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from docsegments.orthography.characters import Span
from docsegments.segment import Mark
from docsegments.text.placeholder_families import GENERAL, pattern_of, takes_next_argument

_ENDS = frozenset("。！？")  # of sentences that no blank follows
_BETWEEN_SIZES = frozenset("x×X")  # of %dx%d


@dataclass(frozen=True)
class Member:
    """A held mark of a cluster, by its number, and its offset in the cluster's text."""

    number: int
    offset: int


@dataclass(frozen=True)
class Cluster:
    """Held marks beside each other, and the characters between them."""

    shown: str
    start: int
    """Start in the source."""
    members: tuple[Member, ...]
    before: str
    """The character before it in the source; "" at its beginning."""
    after: str
    is_word: bool
    """True if the cluster is not a placeholder but a word, for example of code."""
    is_in_order: bool
    """True if a placeholder of the cluster means the next argument."""

    @property
    def end(self) -> int:
        """End in the source."""
        return self.start + len(self.shown)


def clusters_of(source: str, marks: Sequence[Mark], starts: Sequence[int]) -> list[Cluster]:
    """Returns the clusters of a text, by its held marks and where they begin."""
    groups: list[list[int]] = []
    end = 0
    for number, (mark, start) in enumerate(zip(marks, starts, strict=True)):
        if groups and is_glue(source[end:start]):
            groups[-1].append(number)
        else:
            groups.append([number])
        end = start + len(mark.shown)
    return [_cluster(source, marks, starts, group) for group in groups]


def _cluster(source: str, marks: Sequence[Mark], starts: Sequence[int], group: Sequence[int]) -> Cluster:
    start, end = starts[group[0]], starts[group[-1]] + len(marks[group[-1]].shown)
    members = tuple(Member(number, starts[number] - start) for number in group)
    is_word = all(shape_of(marks[number].shown) == "" for number in group)
    is_in_order = any(takes_next_argument(marks[number].shown) for number in group)
    before, after = source[start - 1 : start], source[end : end + 1]
    return Cluster(source[start:end], start, members, before, after, is_word, is_in_order)


def is_glue(between: str) -> bool:
    """Returns True for what may be between two placeholders that belong together, such as the slash of `%d/%d`."""
    return between in _BETWEEN_SIZES or not any(c.isspace() or c.isalpha() or c in _ENDS for c in between)


def tokens_of(text: str, families: tuple[str, ...] = GENERAL) -> list[Span]:
    """Returns the spans of the placeholders in a text, by the rules of some families."""
    return [match.span() for match in pattern_of(families).finditer(text)]


def shape_of(shown: str) -> str:
    """Returns the sign that a placeholder begins with, `address` for an address, "" for a word."""
    if not shown or shown[0].isalnum() or shown[0].isspace():
        return "address" if "://" in shown or "@" in shown or shown.startswith("www.") else ""
    return shown[0] if not shown[0].isalpha() else ""


def normalised(text: str) -> str:
    """Returns a text without blanks and differences of case and width."""
    return "".join(map(_normal, text))


def occurrences(text: str, wanted: Iterable[str], is_exact: bool) -> dict[str, list[Span]]:
    """Returns spans of texts in another text, exact, or normalised as the texts that are searched for."""
    if is_exact:
        return {shown: [(start, start + len(shown)) for start in _starts(text, shown)] for shown in wanted}
    pieces = list(map(_normal, text))
    begins, size = [], 0
    for piece in pieces:
        begins.append(size)
        size += len(piece)
    whole = "".join(pieces)
    spans_of: dict[str, list[Span]] = {}
    for shown in wanted:
        spans = []
        for start in _starts(whole, shown):
            first = bisect_right(begins, start) - 1
            last = bisect_right(begins, start + len(shown) - 1) - 1
            if begins[first] == start and begins[last] + len(pieces[last]) == start + len(shown):
                spans.append((first, last + 1))
        spans_of[shown] = spans
    return spans_of


def _starts(text: str, shown: str) -> list[int]:
    """Returns the starts of the copies of a text that do not overlap."""
    starts, index = [], text.find(shown) if shown else -1
    while index >= 0:
        starts.append(index)
        index = text.find(shown, index + len(shown))
    return starts


def _normal(character: str) -> str:
    if character.isspace():
        return ""
    return character.casefold() if character.isascii() else unicodedata.normalize("NFKC", character).casefold()


def is_joined_letter(character: str, neighbour: str) -> bool:
    """Returns True if two characters belong to one word: letters or digits of scripts with blanks between words."""
    return _is_letter(character) and _is_letter(neighbour)


def _is_letter(character: str) -> bool:
    return (
        (character.isalnum() or character == "_")
        and not "\u2e80" <= character <= "\ud7ff"
        and not (
            "\u0e00" <= character <= "\u0eff" or "\u1780" <= character <= "\u17ff" or "\uf900" <= character <= "\uffef"
        )
    )


ENDING = frozenset(".,;:!?…。！？")
"""Signs at the end of a sentence, or of a part of it."""
_CLOSING = frozenset(")]}>”’»")
_OPENING = frozenset("([{<„“«‹¿¡\"'")


@dataclass(frozen=True)
class Change:
    """Characters of the translation, and the cluster that replaces them; None where nothing does."""

    start: int
    end: int
    cluster: Cluster | None
    is_inserted: bool = False


class ClusterWriter:
    """Writes a text with changes, given in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.written: list[str] = []
        self.size = 0
        self.last = ""  # character
        self.done = 0
        self.cluster: Cluster | None = None  # that has just been written
        self.starts: list[tuple[Cluster, int]] = []

    def write(self, change: Change) -> None:
        """Writes the text before a change, and the cluster that the change inserts."""
        start, end = max(change.start, self.done), max(change.end, self.done)
        following = self.text[end : end + 1]
        self._put(self.text[self.done : start])
        self.done = end
        if change.cluster is None:
            if not self.last or self.last.isspace():
                if following.isspace():
                    self.done += 1
                elif not following or following in ENDING or following in _CLOSING:
                    self._drop_last_blank()
            elif is_joined_letter(self.last, following):
                self._put(" ")
            return
        cluster = change.cluster
        if self._must_part(cluster, change.is_inserted):
            self._put(" ")
        self.starts.append((cluster, self.size))
        self._put(cluster.shown, cluster)
        if (
            change.is_inserted
            and following
            and (following.isalnum() or following in _OPENING)
            and (cluster.after.isspace() or not is_joined_letter(following, cluster.after))
        ):
            self._put(" ")

    def _must_part(self, cluster: Cluster, is_inserted: bool) -> bool:
        """Returns True if a blank belongs before a cluster that is written next."""
        if not self.last or self.last.isspace():
            return False
        if self.cluster is not None:
            return True  # clusters are apart in the source
        if self.last in "%$@!{#&\\" and self.last != cluster.before:  # which would become part of the held text
            return True
        if is_inserted:
            return self.last not in _OPENING
        return is_joined_letter(self.last, "a") and not is_joined_letter(cluster.before, "a")

    def _put(self, text: str, cluster: Cluster | None = None) -> None:
        if not text:
            return
        is_after = cluster is None and self.cluster is not None and is_joined_letter(text[0], "a")
        if is_after and self.cluster is not None and not is_joined_letter(self.cluster.after, "a"):
            text = f" {text}"
        self.written.append(text)
        self.size += len(text)
        self.last = text[-1]
        self.cluster = cluster

    def _drop_last_blank(self) -> None:
        if self.written and self.cluster is None and self.written[-1][-1:].isspace():
            self.written[-1] = self.written[-1][:-1]
            self.size -= 1
            self.last = self.written[-1][-1:] or (self.written[-2][-1:] if len(self.written) > 1 else "")

    def finish(self) -> str:
        """Returns the written text, with the rest of the original."""
        self._put(self.text[self.done :])
        return "".join(self.written)


def nearest_pairs(
    numbers: Sequence[int], spans: Sequence[Span], wanted: Callable[[int], float]
) -> Iterator[tuple[int, Span]]:
    """Pairs clusters of one text with spans in the same order, each with the nearest one that leaves enough."""
    positions, starts = [wanted(number) for number in numbers], [start for start, _ in spans]
    if len(numbers) <= len(spans):
        yield from zip(numbers, [spans[pick] for pick in _picks(positions, starts)], strict=True)
    else:
        yield from zip([numbers[pick] for pick in _picks(starts, positions)], spans, strict=True)


def _picks(wanted: Sequence[float], among: Sequence[float]) -> Iterator[int]:
    """Yields for each number the index of the nearest in an ordered list that is no shorter, later ones further on."""
    first = 0
    for count, value in enumerate(wanted):
        last = len(among) - (len(wanted) - count)
        after = min(max(bisect_left(among, value), first), last)
        if after > first and abs(among[after - 1] - value) <= abs(among[after] - value):
            after -= 1
        yield after
        first = after + 1
