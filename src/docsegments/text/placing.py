"""Puts the marks of a segment into its translation by word alignment.

Held texts are in the translation already. The words between an opening and a closing mark are linked to words of the
translation: the marks are put about the run of words that has as many of these, and as few others, as possible.
A mark that is alone follows the word that it followed. Nothing is lost or doubled, pairs that nest in the source nest
in the translation, and no mark passes one that breaks the text, with any alignment.
"""

import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise, takewhile

from docsegments.orthography.characters import Span
from docsegments.segment import Mark, Part, Segment, joined, size_of
from docsegments.text.clusters import clusters_of
from docsegments.text.linked_words import (
    LinkedWords,
    Links,
    is_punctuation,
    is_taken,
    overlapping,
    span_about,
    word_starts,
)
from docsegments.text.mark_tree import BEYOND, Node, crossing_pairs, is_fixed, mark_tree

HELD = 1000.0  # weight of a held text, relative to a word
UNLINKED = -0.01  # keeps words without links out of a run's ends


def place_marks(source: Segment, text: str, links: Links | None, fixed: Sequence[Span]) -> Segment:
    """Returns a translation's text with the marks of its source.

    Args:
        source: the segment, without marks or blanks at its edges.
        text: its translation, which contains all held texts.
        links: a word alignment of the source's text and this one; without one, words are taken in their order.
        fixed: spans in the text of the marks that are held or break, in the source's order.
    """
    if not source.marks:
        return Segment(tuple(joined([text])))
    crossing = crossing_pairs(source.marks)
    parts: list[Part] = []
    for stretch in _between_breaks(source, text, links, fixed, crossing):
        parts += stretch if isinstance(stretch, list) else stretch.parts()
    halves: dict[str, int] = {}  # index of the first half of each pair that crosses others
    for index, part in enumerate(parts):
        if isinstance(part, Mark) and part.pair in crossing:
            first = halves.setdefault(part.pair, index)
            if first < index and part.kind == "open":
                parts[first], parts[index] = part, parts[first]
    return Segment(tuple(joined(parts)))


def _between_breaks(
    source: Segment, text: str, links: Links | None, fixed: Sequence[Span], crossing: set[str]
) -> Iterator["list[Part] | _Placing"]:
    """Yields stretches between the marks that break the text, each placed by itself, and these marks."""
    spans = iter(fixed)
    span_of = {n: next(spans) for n, part in enumerate(source.parts) if isinstance(part, Mark) and is_fixed(part)}
    source_starts, starts = word_starts(source.text), word_starts(text)
    linked = sorted(links) if links is not None else None
    begin = source_done = done = 0  # offsets in the parts, the source's text and the translation
    opened = 0  # pairs
    for stop in [*_breaks(source, span_of), len(source.parts)]:
        end, following = span_of.get(stop, (len(text), len(text)))
        within = source.parts[begin:stop]
        size = sum(map(size_of, within))
        own_links = None
        if linked is not None:
            i, j = bisect_left(source_starts, source_done), bisect_left(starts, done)
            first, last = (bisect_left(linked, (n, 0)) for n in (i, bisect_left(source_starts, source_done + size)))
            own_links = [(a - i, b - j) for a, b in linked[first:last] if b >= j]
        own_fixed = [(span_of[n][0] - done, span_of[n][1] - done) for n in range(begin, stop) if n in span_of]
        yield _Placing(within, opened, text[done:end], own_links, own_fixed, crossing)
        if stop < len(source.parts):
            yield [source.parts[stop]]
            source_done += size + size_of(source.parts[stop])
        begin, done = stop + 1, following
        nested = [part.kind for part in within if isinstance(part, Mark) and part.pair not in crossing]
        opened += nested.count("open") - nested.count("close")


def _breaks(source: Segment, span_of: dict[int, Span]) -> list[int]:
    """Returns indices of the marks that break the text; none if the translation has fixed marks in another order."""
    breaks = [n for n in span_of if (part := source.parts[n]) and isinstance(part, Mark) and part.breaks]
    bounds = [0, *chain.from_iterable(span_of[n] for n in breaks)]
    if any(first > second for first, second in pairwise(bounds)):
        return []
    for n, span in span_of.items():
        before = bisect_left(breaks, n)
        begin = span_of[breaks[before - 1]][1] if before else 0
        if n not in breaks[before : before + 1] and (
            span[0] < begin or (before < len(breaks) and span[1] > span_of[breaks[before]][0])
        ):
            return []
    return breaks


@dataclass
class _Placing:
    """Places the marks that are between two breaks."""

    source_parts: Sequence[Part]
    opened: int
    """Number of pairs that are open before them."""
    text: str
    links: Links | None
    own_fixed: Sequence[Span]
    crossing: set[str]

    def __post_init__(self) -> None:
        parts, text, fixed = self.source_parts, self.text, self.own_fixed
        segment = Segment(tuple(parts))
        self.source = segment.text
        marks = [mark for mark in segment.marks if is_fixed(mark)]
        self.fixed = sorted(zip(fixed, marks, strict=True), key=lambda pair: pair[0])
        self.mark_spans = [span for span, _ in self.fixed]
        self.roots, fixed_sources = mark_tree(parts, self.opened, self.crossing)
        cuts = [offset for offset, mark in segment.placed_marks() if not mark.shown]  # which may be within a word
        fixed_sources, fixed = _whole_clusters(self.source, text, marks, fixed_sources, fixed, cuts)
        self.fixed_spans = sorted(fixed)  # into which no mark may be put
        linked = LinkedWords.of(self.source, text, self.links, fixed_sources, fixed, cuts)
        self.source_words, self.words, self.sources_of = linked.source_words, linked.words, linked.sources_of
        self.is_fixed = linked.is_fixed
        self.words_of: defaultdict[int, list[int]] = defaultdict(list)  # words of each source word
        for word, sources in enumerate(self.sources_of):
            for source in sources:
                self.words_of[source].append(word)
        weights = (self._weight(word, range(0)) for word in range(len(self.words)))
        self.weight_before = [0.0, *accumulate(weights)]  # total weight of the words before each, outside all pairs

    def parts(self) -> list[Part]:
        whole = (0, len(self.text))
        self._place(self.roots, whole)
        return [part for part in self._render(self.roots, whole) if part is not BEYOND]

    def _place(self, nodes: Sequence[Node], bounds: Span) -> None:
        """Chooses the positions of marks that are beside each other, within a span."""
        for node in nodes:
            if node.opening is BEYOND or node.closing is BEYOND:  # from or to a break: the other marks are beside it
                start, end = self._run(node, bounds, ()) or self._point(node, bounds, ())
                first = bounds[0] if node.opening is BEYOND else start
                last = bounds[1] if node.closing is BEYOND else end
                node.place = first, last
                bounds = (last, bounds[1]) if node.opening is BEYOND else (bounds[0], first)
        taken: list[Span] = []  # in order
        inner = [node for node in nodes if node.opening is not BEYOND and node.closing is not BEYOND]
        pairs = [node for node in inner if node.closing is not None and self.source[node.start : node.end].strip()]
        for node in sorted(pairs, key=lambda node: (node.start - node.end, node.order)):  # the longest first
            node.place = self._run(node, bounds, taken) or self._point(node, bounds, taken)
            if node.place[0] < node.place[1]:
                insort(taken, node.place)
        placed = {id(node) for node in pairs}
        for node in inner:
            if id(node) not in placed:
                node.place = self._line_end(node, bounds, taken) or self._point(node, bounds, taken)
                if node.place[0] < node.place[1]:
                    insort(taken, node.place)
        for node in nodes:
            self._place(node.inside, node.place)

    def _run(self, node: Node, bounds: Span, taken: Sequence[Span]) -> Span | None:
        """Returns the run of words in the bounds that best match the words inside the pair; None if none match."""
        inside = overlapping(self.source_words, (node.start, node.end))
        candidates = overlapping(self.words, bounds)
        linked = {word for source in inside for word in self.words_of.get(source, ()) if word in candidates}
        best, most = None, 0.0
        total, begin, last = 0.0, 0, -1
        for word in sorted(linked):
            if is_taken(taken, *self.words[word]):
                continue
            between = self.weight_before[word] - self.weight_before[last + 1]
            if last < 0 or total + between <= 0 or is_taken(taken, self.words[last][1], self.words[word][0]):
                total, begin = 0.0, word
            else:
                total += between
            total += self._weight(word, inside)
            last = word
            if total > most + 1e-9:
                best, most = (begin, word), total
        if best is None:
            return None
        start, end = self._without_punctuation(node, *best)
        start, end = max(start, bounds[0]), min(end, bounds[1])
        return (start, end) if start < end else None

    def _weight(self, word: int, inside: range) -> float:
        sources = self.sources_of[word]
        if not sources:
            return UNLINKED
        weight = 2 * sum(source in inside for source in sources) / len(sources) - 1
        return weight * HELD if self.is_fixed[word] else weight

    def _without_punctuation(self, node: Node, first: int, last: int) -> Span:
        """Returns the span of a run, without punctuation about it that the pair leaves out in the source."""
        start, end = self.words[first][0], self.words[last][1]
        if not is_punctuation(self.source[node.end - 1 : node.end]):
            end = self._without_last_signs(start, end)
        if not is_punctuation(self.source[node.start : node.start + 1]):
            while (
                start < end - 1
                and is_punctuation(self.text[start])
                and not is_taken(self.fixed_spans, start, start + 1)
            ):
                start += 1
        return start, end

    def _without_last_signs(self, start: int, end: int, most: int = 100) -> int:
        """Returns the end of a word without its last signs of punctuation, unless that is all it has, or fixed."""
        shorter = end
        while shorter > max(start, end - most) and is_punctuation(self.text[shorter - 1]):
            if is_taken(self.fixed_spans, shorter - 1, shorter):
                break
            shorter -= 1
        return shorter if shorter > start else end

    def _line_end(self, node: Node, bounds: Span, taken: Sequence[Span]) -> Span | None:
        """Returns the blank to be replaced by a line's end, as far on as in the source; None for other marks."""
        if not node.opening.shown.isspace():
            return None
        wanted = node.start * len(self.text) / max(len(self.source), 1)
        after = bisect_left(self._blanks, (wanted, 0))
        before = after - 1
        while before >= 0 or after < len(self._blanks):
            is_first = after >= len(self._blanks) or (
                before >= 0 and wanted - self._blanks[before][0] <= self._blanks[after][0] - wanted
            )
            span = self._blanks[before if is_first else after]
            before, after = (before - 1, after) if is_first else (before, after + 1)
            if bounds[0] < span[0] and span[1] < bounds[1] and not is_taken(taken, *span):
                return span
        return None

    @cached_property
    def _blanks(self) -> list[Span]:
        """White space of the translation that is not fixed."""
        blanks = [match.span() for match in re.finditer(r"\s+", self.text)]
        return [span for span in blanks if not is_taken(self.fixed_spans, *span)]

    def _point(self, node: Node, bounds: Span, taken: Sequence[Span]) -> Span:
        """Returns an empty span for a mark, or for a pair without words: where its neighbour is."""
        after = bisect_left(self.source_words, (node.start, 0))  # the first word that does not begin before it
        next_character = self.source[node.end : node.end + 1]
        is_apart = self.source[node.start - 1 : node.start].isspace()
        before = range(after - 1, -1, -1)
        if not before:
            offset = bounds[0]
        elif after == len(self.source_words) and not is_punctuation(next_character):
            offset = bounds[1]
        elif is_apart and next_character.strip() and not is_punctuation(next_character):
            offset = self._beside(chain([after], before), is_bound_to_next=True)
        else:
            signs = "".join(takewhile(is_punctuation, self.source[node.end : node.end + 10]))
            offset = self._beside(before, signs_left=signs, is_apart=is_apart)
            if is_apart and signs and self.text[offset : offset + 1].isspace() and self._follows(offset, signs):
                offset += 1
        offset = min(max(offset, bounds[0]), bounds[1])
        for spans in (self.fixed_spans, taken):  # never within a span
            span = span_about(spans, offset)
            offset = offset if span is None else span[1]
        blanks = self.text[offset : offset + 2]
        if is_apart and len(blanks) == 2 and blanks.isspace():
            offset += 1
        offset = min(offset, bounds[1])
        return offset, offset

    def _beside(
        self, sources: Iterable[int], is_bound_to_next: bool = False, signs_left: str = "", is_apart: bool = False
    ) -> int:
        """Returns the end of the word linked to the first linked source word, or its start if bound to that word.

        The end leaves out signs that follow the mark in the source: if a blank is before it, the same signs alone.
        """
        for number, source in enumerate(sources):
            words = self.words_of.get(source)
            if words and number == 0 and is_bound_to_next:
                return self.words[words[0]][0]
            if words:
                start, end = self.words[words[-1]]
                is_kept = self._follows(end, signs_left) or (
                    is_apart and not self.text.endswith(signs_left, start, end)
                )
                return end if is_kept else self._without_last_signs(start, end, len(signs_left))
        return 0

    def _follows(self, offset: int, signs: str) -> bool:
        """Returns True if signs are at an offset, or after one blank."""
        return self.text.startswith(signs, offset + self.text[offset : offset + 1].isspace())

    def _render(self, nodes: Sequence[Node], bounds: Span) -> Iterator[Part]:
        done = bounds[0]
        for node in sorted(nodes, key=lambda node: (node.place[0], node.order)):
            start, end = max(node.place[0], done), max(node.place[1], done)
            yield from self._texts(done, start)
            done = end
            if node.closing is None:
                yield from self._spaced(node, start, end)
            else:
                yield node.opening
                yield from self._render(node.inside, (start, end))
                yield node.closing
        yield from self._texts(done, bounds[1])

    def _spaced(self, node: Node, start: int, end: int) -> Iterator[Part]:
        """Yields a single mark, with blanks about it where the source has them."""
        has_none = node.opening.shown != ""
        left, right = self.source[node.start - 1 : node.start], self.source[node.end : node.end + 1]
        if not has_none and node.start > 0 and left.isspace() and self.text[start - 1 : start].strip() and start:
            yield " "
        yield node.opening
        if not has_none and right.isspace() and self.text[end : end + 1].strip():
            yield " "

    def _texts(self, start: int, end: int) -> Iterator[Part]:
        """Yields characters of the translation, with marks in place of fixed spans."""
        done = start
        for number in range(bisect_left(self.mark_spans, (start, 0)), bisect_left(self.mark_spans, (end + 1, 0))):
            span, mark = self.fixed[number]
            if span[1] <= end:
                yield self.text[done : span[0]]
                yield mark
                done = span[1]
        yield self.text[done:end]


def _whole_clusters(
    source: str,
    text: str,
    marks: Sequence[Mark],
    fixed_sources: Sequence[Span],
    fixed: Sequence[Span],
    cuts: Sequence[int],
) -> tuple[list[Span], list[Span]]:
    """Returns fixed spans of source and translation, touching ones as one, but divided where marks are within."""
    cuts = sorted(cuts)
    starts = [start for start, _ in fixed_sources]
    sources: list[Span] = []
    spans: list[Span] = []
    for cluster in clusters_of(source, marks, starts):
        numbers = [member.number for member in cluster.members]
        start = fixed[numbers[0]][0]
        moved = start - cluster.start
        if text[start : start + len(cluster.shown)] == cluster.shown and all(
            fixed[number][0] == fixed_sources[number][0] + moved for number in numbers
        ):
            inner = cuts[bisect_left(cuts, cluster.start + 1) : bisect_left(cuts, cluster.end)]
            pieces = list(pairwise([cluster.start, *sorted(set(inner)), cluster.end]))
            sources += pieces
            spans += [(first + moved, last + moved) for first, last in pieces]
        else:
            sources += [fixed_sources[number] for number in numbers]
            spans += [fixed[number] for number in numbers]
    return sources, spans
