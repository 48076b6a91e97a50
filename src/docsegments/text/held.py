"""Ensures that a translation contains each held mark exactly as the source does, as often, and beside the same marks.

Marks that no blank and no letter divides in the source, such as `%d/%d` or `<kbd>Ctrl</kbd>+<kbd>C</kbd>`, are one
cluster, which is found, mended or inserted as a whole. The translation's text is rewritten once, with all changes.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import unescape
from operator import attrgetter

from docsegments.orthography.characters import Span
from docsegments.segment import Mark
from docsegments.text.clusters import (
    ENDING,
    Change,
    Cluster,
    ClusterWriter,
    clusters_of,
    is_glue,
    is_joined_letter,
    nearest_pairs,
    normalised,
    occurrences,
    shape_of,
    tokens_of,
)
from docsegments.text.linked_words import is_taken, span_about
from docsegments.text.placeholder_families import GENERAL

_DELIMITERS = frozenset(["{}", "[]", "<>"])
"""First and last sign of placeholders that are whole also within another one."""

STAND_IN = "\ufffc"
"""Character that a translator may read in place of something that it must not translate."""

_RUN_TOGETHER = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,30}+=?+[\"'][^<>]{0,200}+>")
"""A tag without the blanks that were in it when the model read it."""
_WORD = re.compile(r"\w{2,}+")
_PLAIN_SIGNS = frozenset("%{}$<&[\\\x1b")  # of placeholders that no sentence has by chance


@dataclass
class Restored:
    """A translation that contains all held marks."""

    text: str
    spans: list[Span]
    """Spans of the held marks, in the source's order."""
    notes: list[str] = field(default_factory=list)
    """Corrections of the output, for a person to see."""


def restore_held(
    output: str,
    source: str,
    marks: Sequence[Mark],
    starts: Sequence[int],
    expected: Sequence[Span | None] = (),
    families: tuple[str, ...] = (),
    replaced: Container[int] = (),
) -> Restored:
    """Returns a translation in which each held mark is once: found, mended where it is misspelt, or inserted; and no
    placeholder or tag that the source lacks.

    Args:
        output: the translation.
        source: the text that was translated.
        marks: the held marks of the source, in its order.
        starts: where in the source each begins.
        expected: for each mark, the span of the translation that it replaces if it is missing, which may be empty; None
            where that is not known, so that the position in the source decides.
        families: the rules that the source's placeholders were found by; none for the general ones.
        replaced: starts of the marks that the translator read as `STAND_IN`, which it may have written too.
    """
    return _Restoring(output, source, marks, starts, expected, families or GENERAL).restored(replaced)


@dataclass
class _Restoring:
    output: str
    source: str
    marks: Sequence[Mark]
    starts: Sequence[int]
    expected: Sequence[Span | None]
    families: tuple[str, ...]

    def __post_init__(self) -> None:
        source = self.source
        self.clusters = clusters_of(source, self.marks, self.starts)
        self.notes: list[str] = []
        self.taken: list[Span] = []  # in order
        self.changes: list[Change] = []
        self.missing = dict.fromkeys(range(len(self.clusters)))
        bounds = [0, *(bound for cluster in self.clusters for bound in (cluster.start, cluster.end)), len(source)]
        free = "\0".join(source[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True))
        self.free_text = normalised(free)
        self.unheld = {normalised(source[start:end]) for start, end in self._tokens_of_text()}
        self.words = set(_WORD.findall(free.casefold()))
        self.tokens = list(self._own_tokens(0, len(self.output)))

    def _own_tokens(self, first: int, last: int) -> Iterator[Span]:
        """Yields spans of a part of the translation that the rules hold, and that are not text of the source."""
        for start, end in tokens_of(self.output[first:last], self.families):
            text = self.output[first + start : first + end]
            is_text = normalised(text) in self.unheld or not self.words.isdisjoint(_WORD.findall(text.casefold()))
            if not is_text and not self._is_torn_by_letters(first + start, first + end):
                yield first + start, first + end

    def _tokens_of_text(self) -> Iterator[Span]:
        """Yields spans of the source that the rules would hold though they are not held."""
        starts = [cluster.start for cluster in self.clusters]
        for start, end in tokens_of(self.source, self.families):
            before = bisect_right(starts, start)
            if not before or self.clusters[before - 1].end < end:
                yield start, end

    def restored(self, replaced: Container[int]) -> Restored:
        self._find_replaced([number for number in self.missing if self.clusters[number].start in replaced])
        self._find(is_exact=True)
        self._find(is_exact=False)
        if self.missing:
            self._find_decoded()
            self._find_divided()
        rest = self._take_for_missing(self._others())
        ends = {change.end for change in self.changes if change.cluster and len(change.cluster.members) > 1}
        for start, end in rest:
            self.notes.append(f"{self.output[start:end]!r} is not in the source and has been taken out")
            glued = (begin for begin in range(start - 3, start) if begin in ends and is_glue(self.output[begin:start]))
            self._change(next(glued, start), end, None)
        for number in self.missing:
            self._insert(number)
        self._keep_order()
        return self._written()

    def _find_replaced(self, numbers: Sequence[int]) -> None:
        """Gives clusters the positions of their stand-ins: their words may be elsewhere, as text."""
        spans = occurrences(self.output, [STAND_IN], is_exact=True)[STAND_IN]
        for number, span in nearest_pairs(numbers, spans, self._wanted):
            self._take(number, *span)

    def _find(self, is_exact: bool) -> None:
        """Gives clusters the positions of their texts, the longest first."""
        alike: defaultdict[str, list[int]] = defaultdict(list)
        for number in self.missing:
            shown = self.clusters[number].shown
            forms = (shown, "".join(shown.split())) if is_exact else (normalised(shown),)  # as it is written and read
            for form in dict.fromkeys(forms):
                alike[form].append(number)
        if not alike:
            return
        spans_of = occurrences(self.output, alike, is_exact)
        for shown in sorted(alike, key=lambda shown: (-len(shown), shown)):
            numbers = [number for number in alike[shown] if number in self.missing]
            if not numbers:
                continue
            first = self.clusters[numbers[0]]
            spans = [span for span in spans_of[shown] if self._is_free(*span) and self._is_whole(first, *span)]
            for number, span in nearest_pairs(numbers, spans, self._wanted):
                self._take(number, *span)

    def _wanted(self, number: int) -> float:
        """Returns the position of a cluster if it were as far into the translation as it is into the source."""
        return self.clusters[number].start / max(len(self.source), 1) * len(self.output)

    def _is_free(self, start: int, end: int) -> bool:
        return not is_taken(self.taken, start, end)

    def _is_whole(self, cluster: Cluster, start: int, end: int) -> bool:
        """Returns True if the span is not a part of a longer word or placeholder."""
        text = self.output
        is_closed = text[start:end] == cluster.shown and (cluster.shown[0] + cluster.shown[-1]) in _DELIMITERS
        for token in self._tokens_about(start, end):
            if not is_closed and (token[0] < start or end < token[1]):
                return False
        if text[start:end] != cluster.shown and not cluster.is_word and self._is_torn_by_letters(start, end):
            return False
        if cluster.is_word or text[start:end] != cluster.shown:
            before, after = text[start - 1 : start], text[end : end + 1]
            if is_joined_letter(text[start], before) and not is_joined_letter(text[start], cluster.before):
                return False
            if is_joined_letter(text[end - 1], after) and not is_joined_letter(text[end - 1], cluster.after):
                return False
        return True

    def _tokens_about(self, start: int, end: int) -> Iterator[Span]:
        number = max(bisect_right(self.tokens, (start, 0)) - 1, 0)
        while number < len(self.tokens) and self.tokens[number][0] < end:
            if self.tokens[number][1] > start:
                yield self.tokens[number]
            number += 1

    def _take(self, number: int, start: int, end: int) -> None:
        shown, written = self.clusters[number].shown, self.output[start:end]
        if written not in (shown, "".join(shown.split()), STAND_IN):
            self.notes.append(f"{shown!r} was misspelt as {written!r}")
        self._change(start, end, self.clusters[number])
        del self.missing[number]

    def _change(self, start: int, end: int, cluster: Cluster | None, is_inserted: bool = False) -> None:
        self.changes.append(Change(start, end, cluster, is_inserted))
        if start < end:
            insort(self.taken, (start, end))

    def _find_decoded(self) -> None:
        """Gives references such as `&lt;` the positions of the characters that they stand for."""
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number in self.missing:
            if len(character := unescape(self.clusters[number].shown)) == 1:
                numbers[character].append(number)
        for character, spans in occurrences(self.output, numbers, is_exact=True).items():
            free = [span for span in spans if self._is_free(*span) and not any(self._tokens_about(*span))]
            for number, span in nearest_pairs(numbers[character], free, self._wanted):
                self._take(number, *span)

    def _find_divided(self) -> None:
        """Puts a cluster that the translation divides where its first member is, and removes the others."""
        wanted: defaultdict[str, list[int]] = defaultdict(list)
        for number in self.missing:
            if len(self.clusters[number].members) > 1:
                for member in self.clusters[number].members:
                    wanted[self.marks[member.number].shown].append(number)
        if not wanted:
            return
        exact = occurrences(self.output, wanted, is_exact=True)
        alike = occurrences(self.output, {normalised(shown): [] for shown in wanted}, is_exact=False)
        of_cluster: defaultdict[int, list[Span]] = defaultdict(list)
        seen: set[int] = set()
        for shown, numbers in wanted.items():
            spans = sorted({*exact[shown], *alike[normalised(shown)]})
            is_word = shape_of(shown) == ""
            free = [
                span
                for span in spans
                if self._is_free(*span)
                and (not is_word or not self._touches_letters(*span))
                and all(span[0] <= start and end <= span[1] for start, end in self._tokens_about(*span))
            ]
            for number, span in zip(numbers, [span for span in free if span[0] not in seen], strict=False):
                of_cluster[number].append(span)
                seen.add(span[0])
        for number, spans in of_cluster.items():
            first, *others = sorted(spans)
            if not self._is_free(*first):
                continue
            self._take(number, *first)
            for span in others:
                if self._is_free(*span):
                    self._change(*span, None)

    def _others(self) -> list[Span]:
        """Returns placeholders and tags that the source lacks, and further copies of those that it has."""
        held = {cluster.shown for cluster in self.clusters}
        held |= {self.marks[member.number].shown for cluster in self.clusters for member in cluster.members}
        copies = {normalised(shown): shape_of(shown) for shown in held if shape_of(shown) or not shown.isalnum()}
        copies[STAND_IN] = STAND_IN
        copies = {shown: shape for shown, shape in copies.items() if shown not in self.free_text}
        again = occurrences(self.output, copies, is_exact=False)
        shapes = _PLAIN_SIGNS.difference(self.free_text) | (set(map(shape_of, held)) - _PLAIN_SIGNS - {""})
        spans = [span for span in self._free_tokens() if self._is_made_up(shapes, *span)]
        for shown, matches in again.items():
            is_torn = self._is_torn_by_letters if copies[shown] else self._touches_letters
            spans += [span for span in matches if not is_torn(*span)]
        spans.sort(key=lambda span: (span[0], -span[1]))
        others: list[Span] = []
        for span in spans:
            if self._is_free(*span) and (not others or others[-1][1] <= span[0]):
                others.append(span)
        return others

    def _free_tokens(self) -> Iterator[Span]:
        """Yields placeholders of the translation that no cluster has taken, such as the second of `:rocket::boat:`."""
        bounds = [0, *(bound for span in self.taken for bound in span), len(self.output)]
        for first, last in zip(bounds[::2], bounds[1::2], strict=True):
            yield from self._own_tokens(first, last)
            for match in _RUN_TOGETHER.finditer(self.output, first, last):
                yield match.span()

    def _is_made_up(self, shapes: Container[str], start: int, end: int) -> bool:
        """Returns True if a placeholder cannot be text, since it begins as only placeholders of the source do."""
        text = self.output[start:end]
        shape = shape_of(text)
        return normalised(text) not in self.free_text if shape == "address" else shape in shapes

    def _is_torn_by_letters(self, start: int, end: int) -> bool:
        """Returns True if a blank divides a sign of the text from a word, as in `20 % d'accord` beside `%d`."""
        text = self.output
        if not any(map(str.isspace, text[start:end])):
            return False
        return is_joined_letter(text[end - 1], text[end : end + 2].lstrip("'’")[:1])

    def _touches_letters(self, start: int, end: int) -> bool:
        before, after = self.output[start - 1 : start], self.output[end : end + 1]
        return is_joined_letter(self.output[start], before) or is_joined_letter(self.output[end - 1], after)

    def _take_for_missing(self, others: Sequence[Span]) -> list[Span]:
        """Takes made-up placeholders for missing ones, by stand-in, name, then sign; returns the rest."""
        left = dict.fromkeys(others)
        for key_of in (_stand_in, _name_of, shape_of):
            waiting: defaultdict[str, deque[int]] = defaultdict(deque)
            for number in self.missing:
                shown = self.clusters[number].shown
                waiting[STAND_IN if key_of is _stand_in else key_of(shown)].append(number)
            for span in list(left):
                key = key_of(self.output[slice(*span)])
                if key and waiting[key]:
                    self._take(waiting[key].popleft(), *span)
                    del left[span]
        return list(left)

    def _keep_order(self) -> None:
        """Puts placeholders for the next argument into the source's order, in which a program fills them in."""
        slots = sorted(
            (change.start, change.end, change.cluster.start, index)
            for index, change in enumerate(self.changes)
            if change.cluster is not None and change.cluster.is_in_order
        )
        wanted = sorted(filter(attrgetter("is_in_order"), self.clusters), key=attrgetter("start"))
        is_changed = False
        for (*_, index), cluster in zip(slots, wanted, strict=True):
            before = self.changes[index].cluster
            is_changed |= before is not None and before.shown != cluster.shown
            self.changes[index] = replace(self.changes[index], cluster=cluster)
        if is_changed:
            names = ", ".join(dict.fromkeys(repr(cluster.shown) for cluster in wanted))
            self.notes.append(f"{names} have been put into the order of the source, in which a program fills them in")

    def _insert(self, number: int) -> None:
        """Puts a cluster between words, or in place of some."""
        cluster = self.clusters[number]
        member = cluster.members[0].number
        guess = round(self._wanted(number))
        wanted = self.expected[member] if member < len(self.expected) else None
        start, end = (guess, guess) if wanted is None else wanted
        text = self.output
        while start < end and text[end - 1] in ENDING:
            end -= 1
        if start < end and self._is_free(start, end):
            self.notes.append(f"{cluster.shown!r} was missing and has been put in for {text[start:end]!r}")
            self._change(start, end, cluster)
            return
        start = min(max(start, 0), len(text))
        if inside := span_about(self.taken, start):
            start = inside[1]
        start = self._bounds[bisect_left(self._bounds, start)]
        while start > 0 and text[start - 1] in ENDING and not span_about(self.taken, start - 1):
            start -= 1  # of the sentence, or a part of it
        if inside := span_about(self.taken, start):
            start = inside[1]
        self.notes.append(f"{cluster.shown!r} was missing and has been put in")
        self._change(start, start, cluster, is_inserted=True)

    @cached_property
    def _bounds(self) -> list[int]:
        """Offsets in the translation between words, or between characters of scripts without blanks."""
        text = self.output
        return [
            offset
            for offset in range(len(text) + 1)
            if offset in (0, len(text))
            or text[offset].isspace()
            or text[offset - 1].isspace()
            or not (text[offset].isascii() or is_joined_letter(text[offset], "a"))
        ]

    def _written(self) -> Restored:
        """Returns the translation with all changes, and clusters as far from their neighbours as in the source."""
        writer = ClusterWriter(self.output)
        for change in sorted(
            self.changes, key=lambda change: (change.start, change.end, change.cluster.start if change.cluster else 0)
        ):
            writer.write(change)
        text = writer.finish()
        spans: list[Span] = [(0, 0)] * len(self.marks)
        for cluster, start in writer.starts:
            for member in cluster.members:
                begin = start + member.offset
                spans[member.number] = (begin, begin + len(self.marks[member.number].shown))
        return Restored(text, spans, self.notes)


def _stand_in(text: str) -> str:
    return text if text == STAND_IN else ""


def _name_of(placeholder: str) -> str:
    """Returns the sign and letters of a placeholder; "" if it has none."""
    letters = "".join(filter(str.isalnum, normalised(placeholder)))
    return shape_of(placeholder) + letters if letters and shape_of(placeholder) else ""
