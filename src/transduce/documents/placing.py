"""Puts the marks of a segment into its translation, where word alignment says that they belong.

What is held stands in the translation's text already. The words between an opening and a closing mark go with certain
words of the translation: the marks are put about the run of words that holds as many of these, and as few others, as it
can. A mark that stands alone follows the word that it followed. Nothing is lost or doubled, and pairs that nest in the
source nest in the translation, whatever the alignment says.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from transduce.documents.segment import Mark, Part, Segment, joined

Span = tuple[int, int]
"""Characters of a text, from the first to before the last."""

Links = Iterable[tuple[int, int]]
"""Words, between white space, of source and translation that belong together, counted from 0."""

HELD = 1000.0  # how much more what is held counts than a word
UNLINKED = -0.01  # keeps words that nothing is known of out of a run's ends
_WIDE = r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff\u0e00-\u0eff\u1780-\u17ff]"
_PIECE = re.compile(rf"{_WIDE}|(?:(?!{_WIDE})\S)+")


def place_marks(source: Segment, text: str, links: Links | None, fixed: Sequence[Span]) -> Segment:
    """A translation's text with the marks of its source.

    Args:
        source: the segment, without marks or blanks at its edges.
        text: its translation, in which all that is held stands.
        links: a word alignment of the source's text and this one; without one, words are taken in their order.
        fixed: where in the text each mark stands that is held or breaks, in the source's order.
    """
    if not source.marks:
        return Segment(tuple(joined([text])))
    return Segment(tuple(joined(_Placing(source, text, links, fixed).parts())))


def is_fixed(mark: Mark) -> bool:
    """Whether a mark's place in a translation is known before the others': see `place_marks`."""
    return mark.is_held or mark.breaks


@dataclass
class _Node:
    """A pair of marks, or one that stands alone, by its characters in the source's text."""

    order: int
    opening: Mark
    start: int
    end: int
    closing: Mark | None = None
    inside: list["_Node"] = field(default_factory=list)
    place: Span = (0, 0)
    """In the translation."""


class _Placing:
    def __init__(self, source: Segment, text: str, links: Links | None, fixed: Sequence[Span]) -> None:
        self.source, self.text = source.text, text
        self.fixed = list(fixed)
        self.fixed_marks = [mark for mark in source.marks if is_fixed(mark)]
        self.crossing = _crossing(source.marks)
        self.roots, fixed_sources = _tree(source, self.crossing)
        self.source_words, self.words = _words(self.source, fixed_sources), _words(text, self.fixed)
        self.is_fixed = [False] * len(self.words)
        for span in self.fixed:
            for place in _overlapping(self.words, span):
                self.is_fixed[place] = True
        self.sources_of = self._sources_of_words(links, fixed_sources)
        self.places_of: defaultdict[int, list[int]] = defaultdict(list)  # the other way round
        for place, sources in enumerate(self.sources_of):
            for one in sources:
                self.places_of[one].append(place)

    def parts(self) -> list[Part]:
        """All parts of the translation."""
        whole = (0, len(self.text))
        self._place(self.roots, whole)
        parts = list(self._render(self.roots, whole))
        for pair in self.crossing:
            halves = [i for i, part in enumerate(parts) if isinstance(part, Mark) and part.pair == pair]
            if len(halves) == 2 and parts[halves[0]].kind == "close":  # type: ignore[union-attr]
                parts[halves[0]], parts[halves[1]] = parts[halves[1]], parts[halves[0]]
        return parts

    def _sources_of_words(self, links: Links | None, fixed_sources: Sequence[Span]) -> list[set[int]]:
        """For each word of the translation those of the source that it goes with."""
        found: list[set[int]] = [set() for _ in self.words]
        if links is not None and not re.search(_WIDE, self.source + self.text):
            source_number, number = _numbers(self.source, self.source_words), _numbers(self.text, self.words)
            sources_with: defaultdict[int, list[int]] = defaultdict(list)
            for i, word in enumerate(source_number):
                sources_with[word].append(i)
            linked: defaultdict[int, set[int]] = defaultdict(set)
            for i, j in links:
                linked[j].update(sources_with.get(i, ()))
            found = [set(linked.get(word, ())) for word in number]
            _share_out(found, len(self.source_words))
        elif self.words and self.source_words:  # in their order
            longer = max(len(self.words), len(self.source_words))
            for step in range(longer):
                place = step * len(self.words) // longer
                found[place].add(step * len(self.source_words) // longer)
        of_fixed = [set(_overlapping(self.source_words, span)) for span in fixed_sources]
        of_any_fixed = set().union(*of_fixed)
        found = [sources - of_any_fixed for sources in found]
        for span, sources in zip(self.fixed, of_fixed, strict=True):
            for place in _overlapping(self.words, span):
                found[place] = sources
        return found

    def _place(self, nodes: Sequence[_Node], room: Span) -> None:
        """Choose the places of marks that stand beside each other, within some characters."""
        taken: list[Span] = []
        pairs = [node for node in nodes if node.closing is not None and self.source[node.start : node.end].strip()]
        for node in sorted(pairs, key=lambda node: (node.start - node.end, node.order)):  # the longest first
            node.place = self._run(node, room, taken) or self._point(node, room, taken)
            if node.place[0] < node.place[1]:
                taken.append(node.place)
        for node in nodes:
            if node.closing is None or node not in pairs:
                node.place = self._line_end(node, room, taken) or self._point(node, room, taken)
                if node.place[0] < node.place[1]:
                    taken.append(node.place)
        for node in nodes:
            self._place(node.inside, node.place)

    def _run(self, node: _Node, room: Span, taken: Sequence[Span]) -> Span | None:
        """The run of words in the room that goes best with those of the pair; None where none does."""
        inside = set(_overlapping(self.source_words, (node.start, node.end)))
        best, most = None, 0.0
        for places in self._free_runs(room, taken):
            total, begin = 0.0, places[0]
            for place in places:
                if total <= 0:
                    total, begin = 0.0, place
                total += self._weight(place, inside)
                if total > most + 1e-9:
                    best, most = (begin, place), total
        if best is None:
            return None
        start, end = self._without_punctuation(node, *best)
        start, end = max(start, room[0]), min(end, room[1])
        return (start, end) if start < end else None

    def _weight(self, place: int, inside: set[int]) -> float:
        sources = self.sources_of[place]
        if not sources:
            return UNLINKED
        weight = 2 * len(sources & inside) / len(sources) - 1
        return weight * HELD if self.is_fixed[place] else weight

    def _free_runs(self, room: Span, taken: Sequence[Span]) -> Iterator[list[int]]:
        """Words next to each other in the room that nothing has taken."""
        run: list[int] = []
        for place in _overlapping(self.words, room):
            if not any(_overlap(self.words[place], span) for span in taken):
                run.append(place)
            elif run:
                yield run
                run = []
        if run:
            yield run

    def _without_punctuation(self, node: _Node, first: int, last: int) -> Span:
        """The characters of a run, without the punctuation about it that the pair leaves out in the source."""
        start, end = self.words[first][0], self.words[last][1]
        if not _is_punctuation(self.source[node.end - 1 : node.end]):
            end = self._without_last_signs(start, end)
        if not _is_punctuation(self.source[node.start : node.start + 1]):
            while start < end - 1 and _is_punctuation(self.text[start]) and not self._is_in_fixed(start):
                start += 1
        return start, end

    def _without_last_signs(self, start: int, end: int) -> int:
        """The end of a word without its last punctuation, unless that is all there is, or fixed."""
        shorter = end
        while shorter > start and _is_punctuation(self.text[shorter - 1]):
            if self._is_in_fixed(shorter - 1):
                break
            shorter -= 1
        return shorter if shorter > start else end

    def _is_in_fixed(self, place: int) -> bool:
        return any(start <= place < end for start, end in self.fixed)

    def _line_end(self, node: _Node, room: Span, taken: Sequence[Span]) -> Span | None:
        """A blank that a line's end takes the place of, as far on in the text as in the source; None for others."""
        if not node.opening.shown.isspace():
            return None
        wanted = node.start * len(self.text) / max(len(self.source), 1)
        blanks = [found.span() for found in re.finditer(r"\s+", self.text)]
        free = [
            span
            for span in blanks
            if room[0] < span[0] and span[1] < room[1] and not any(_overlap(span, one) for one in [*taken, *self.fixed])
        ]
        return min(free, key=lambda span: (abs(span[0] - wanted), span[0]), default=None)

    def _point(self, node: _Node, room: Span, taken: Sequence[Span]) -> Span:
        """A place between characters for a mark, or for a pair without words: where its neighbour is."""
        after = bisect_left(self.source_words, (node.start, 0))  # the first word that does not begin before it
        next_character = self.source[node.end : node.end + 1]
        is_apart = self.source[node.start - 1 : node.start].isspace()
        before = range(after - 1, -1, -1)
        if not before:
            place = room[0]
        elif after == len(self.source_words):
            place = room[1]
        elif is_apart and next_character.strip() and not _is_punctuation(next_character):
            place = self._beside(chain([after], before), is_bound_to_next=True)
        else:
            place = self._beside(before, leaves_signs=_is_punctuation(next_character))
        place = min(max(place, room[0]), room[1])
        for start, end in sorted([*self.fixed, *taken]):  # tears nothing
            if start < place < end:
                place = end
        place = min(place, room[1])
        return place, place

    def _beside(self, sources: Iterable[int], is_bound_to_next: bool = False, leaves_signs: bool = False) -> int:
        """The end of the last word that goes with the first of some source words that any goes with; or, for the very
        first, if it is bound to it, the beginning."""
        for number, source in enumerate(sources):
            places = self.places_of.get(source)
            if places and number == 0 and is_bound_to_next:
                return self.words[places[0]][0]
            if places:
                start, end = self.words[places[-1]]
                return self._without_last_signs(start, end) if leaves_signs else end
        return 0

    def _render(self, nodes: Sequence[_Node], room: Span) -> Iterator[Part]:
        done = room[0]
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
        yield from self._texts(done, room[1])

    def _spaced(self, node: _Node, start: int, end: int) -> Iterator[Part]:
        """A mark that stands alone, with blanks about it where the source has them."""
        has_none = node.opening.shown != ""
        left, right = self.source[node.start - 1 : node.start], self.source[node.end : node.end + 1]
        if not has_none and node.start > 0 and left.isspace() and self.text[start - 1 : start].strip() and start:
            yield " "
        yield node.opening
        if not has_none and right.isspace() and self.text[end : end + 1].strip():
            yield " "

    def _texts(self, start: int, end: int) -> Iterator[Part]:
        """Characters of the translation, with marks in place of what is fixed."""
        done = start
        for span, mark in sorted(zip(self.fixed, self.fixed_marks, strict=True), key=lambda pair: pair[0]):
            if start <= span[0] and span[1] <= end:
                yield self.text[done : span[0]]
                yield mark
                done = span[1]
        yield self.text[done:end]


def _tree(source: Segment, crossing: set[str]) -> tuple[list[_Node], list[Span]]:
    """Marks as they nest, pairs that cross others taken apart; and where in the text each stands that is fixed."""
    roots: list[_Node] = []
    opened: list[_Node] = []
    fixed: list[Span] = []
    place = 0
    for order, part in enumerate(source.parts):
        if isinstance(part, str):
            place += len(part)
            continue
        end = place + len(part.shown)
        if is_fixed(part):
            fixed.append((place, end))
        elif part.kind == "close" and part.pair not in crossing:
            node = opened.pop()
            node.closing, node.end = part, place
        else:
            node = _Node(order, part, place, end)
            (opened[-1].inside if opened else roots).append(node)
            if part.kind == "open" and part.pair not in crossing:
                opened.append(node)
        place = end
    return roots, fixed


def _crossing(marks: Sequence[Mark]) -> set[str]:
    """Pairs to be taken apart, so that the others nest."""
    crossing: set[str] = set()
    opened: list[str] = []
    for mark in marks:
        if mark.kind == "open":
            opened.append(mark.pair)
        elif mark.kind == "close" and mark.pair in opened:
            if opened[-1] != mark.pair:
                crossing.add(mark.pair)
            opened.remove(mark.pair)
    return crossing


def _share_out(sources_of: list[set[int]], count: int) -> None:
    """Let a word whose only source has another word, too, go with a source that has none, where their neighbours go
    together: in `Der Hund` for `The dog` attention may be at the dog for both words."""
    linked = Counter(source for found in sources_of for source in found)
    for place, found in enumerate(sources_of):
        if len(found) != 1 or linked[next(iter(found))] < 2:
            continue
        for neighbour, step in ((place + 1, -1), (place - 1, 1)):
            beside = sources_of[neighbour] if 0 <= neighbour < len(sources_of) else set()
            free = [
                source + step for source in sorted(beside) if 0 <= source + step < count and not linked[source + step]
            ]
            if free:
                linked[next(iter(found))] -= 1
                linked[free[0]] += 1
                sources_of[place] = {free[0]}
                break


def _words(text: str, fixed: Sequence[Span]) -> list[Span]:
    """Words between white space, and each character of scripts without it; what is fixed is a word of its own."""
    words: list[Span] = []
    done = 0
    for start, end in [*sorted(fixed), (len(text), len(text))]:
        words += [(done + found.start(), done + found.end()) for found in _PIECE.finditer(text[done:start])]
        if text[start:end].strip():
            words.append((start, end))
        done = end
    return words


def word_starts(text: str) -> list[int]:
    """Where words between white space begin."""
    return [found.start() for found in re.finditer(r"\S+", text)]


def _numbers(text: str, words: Sequence[Span]) -> list[int]:
    """The number of the word between white space that each word begins in."""
    starts = word_starts(text)
    return [bisect_right(starts, start) - 1 for start, _ in words]


def _overlapping(words: Sequence[Span], span: Span) -> range:
    """The words that overlap some characters."""
    first = bisect_right(words, span[0], key=lambda word: word[1])
    return range(first, max(bisect_left(words, span[1], key=lambda word: word[0]), first))


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def _is_punctuation(character: str) -> bool:
    return bool(character) and unicodedata.category(character).startswith("P")
