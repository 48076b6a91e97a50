"""Words of a text and its translation, and the links between them."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docsegments.orthography.characters import Span
from docsegments.orthography.words import words as words_of

Links = Iterable[tuple[int, int]]
"""Pairs of linked words of source and translation, counted from 0; see `orthography.words`."""


@dataclass(frozen=True)
class LinkedWords:
    """Spans of words: of the text, of fixed marks, and of the parts of words that marks divide."""

    source_words: list[Span]
    words: list[Span]
    is_fixed: list[bool]
    """True for each word of the translation whose position was known before."""
    sources_of: list[set[int]]
    """Source words of each word of the translation."""

    @staticmethod
    def of(
        source: str,
        text: str,
        links: Links | None,
        fixed_sources: Sequence[Span],
        fixed: Sequence[Span],
        cuts: Sequence[int],
    ) -> "LinkedWords":
        """Links the words of a text and of its translation.

        Args:
            source: the text.
            text: its translation.
            links: an alignment; without one, words are taken in their order.
            fixed_sources: spans of the fixed marks in the source.
            fixed: their spans in the translation.
            cuts: offsets in the source of marks that may be within a word.
        """
        source_words, words = _words(source, fixed_sources), _words(text, fixed)
        of_fixed = [set(overlapping(source_words, span)) for span in fixed_sources]
        of_any_fixed: set[int] = set().union(*of_fixed)
        fixed_words: set[int] = set().union(*(overlapping(words, span) for span in fixed))
        free = [[n for n in range(len(source_words)) if n not in of_any_fixed]]
        free.append([n for n in range(len(words)) if n not in fixed_words])
        sources_of = _sources_of(source, text, source_words, words, links, free)
        is_fixed = [False] * len(words)
        sources_of = [sources - of_any_fixed for sources in sources_of]
        for span, sources in zip(fixed, of_fixed, strict=True):
            for index in overlapping(words, span):
                sources_of[index] = sources
                is_fixed[index] = True
        plain = LinkedWords(source_words, words, is_fixed, sources_of)
        return plain._divided(source, text, cuts, links is not None, of_any_fixed)

    def _divided(
        self, source: str, text: str, cuts: Sequence[int], is_aligned: bool, fixed_sources: set[int]
    ) -> "LinkedWords":
        """Divides words where marks divide them, in both texts: `H<sub>2</sub>O` is three words."""
        divided: defaultdict[int, list[int]] = defaultdict(list)  # by numbers of source words
        for cut in sorted(set(cuts)):
            number = bisect_right(self.source_words, cut, key=lambda word: word[0]) - 1
            start, end = self.source_words[number] if number >= 0 else (0, 0)
            if start < cut < end and number not in fixed_sources:
                divided[number].append(cut)
        partners = self._partners(source, text, divided, is_aligned)
        if not partners:
            return self
        source_words, of_source = _split(self.source_words, {n: offsets for n, (_, offsets, _) in partners.items()})
        words, of_word = _split(self.words, {word: moved for word, _, moved in partners.values()})
        source_of = {word: number for number, (word, _, _) in partners.items()}
        sources_of: list[set[int]] = []
        for word, sources in enumerate(self.sources_of):
            if word in source_of:  # part by part
                sources_of += [{part} for part in of_source[source_of[word]]]
            else:
                sources_of.append({part for source in sources for part in of_source[source]})
        is_fixed = [self.is_fixed[number] for number in range(len(self.words)) for _ in of_word[number]]
        return LinkedWords(source_words, words, is_fixed, sources_of)

    def _partners(
        self, source: str, text: str, divided: dict[int, list[int]], is_aligned: bool
    ) -> dict[int, tuple[int, list[int], list[int]]]:
        """Returns for each divided source word the same word or its only partner, and where both are divided."""
        same: defaultdict[str, deque[int]] = defaultdict(deque)
        words_of: defaultdict[int, list[int]] = defaultdict(list)
        for word, sources in enumerate(self.sources_of if divided else ()):
            if not self.is_fixed[word]:
                same[text[slice(*_core(text, self.words[word]))].casefold()].append(word)
            for number in sources:
                words_of[number].append(word)
        chosen: dict[int, int] = {}
        for number in divided:
            if alike := same[source[slice(*_core(source, self.source_words[number]))].casefold()]:
                chosen[number] = alike.popleft()
        used = set(chosen.values())
        for number in divided if is_aligned else ():
            if number not in chosen and len(words_of[number]) == 1:
                (only,) = words_of[number]
                if only not in used and not self.is_fixed[only] and len(self.sources_of[only]) == 1:
                    chosen[number] = only
        partners: dict[int, tuple[int, list[int], list[int]]] = {}
        for number, word in chosen.items():
            span, other = self.source_words[number], self.words[word]
            if source[slice(*span)].casefold() != text[slice(*other)].casefold():  # with other punctuation about it
                span, other = _core(source, span), _core(text, other)
            offsets = [offset for offset in divided[number] if span[0] < offset < span[1]]
            moved = _moved(offsets, span, other)
            if moved and len(set(moved)) == len(moved) and all(other[0] < offset < other[1] for offset in moved):
                partners[number] = word, offsets, moved
        return partners


def overlapping(words: Sequence[Span], span: Span) -> range:
    """Returns the indices of the words that overlap a span."""
    first = bisect_right(words, span[0], key=lambda word: word[1])
    return range(first, max(bisect_left(words, span[1], key=lambda word: word[0]), first))


def is_taken(taken: Sequence[Span], start: int, end: int) -> bool:
    """Returns True if the span overlaps any of some spans in order."""
    before = bisect_left(taken, (end, 0))
    return before > 0 and taken[before - 1][1] > start


def span_about(taken: Sequence[Span], offset: int) -> Span | None:
    """Returns the one of some spans in order that an offset is within."""
    before = bisect_left(taken, (offset, 0))
    return taken[before - 1] if before and taken[before - 1][1] > offset else None


def word_starts(text: str) -> list[int]:
    """Returns the starts of the words of a text."""
    return [start for start, _ in words_of(text)]


def is_punctuation(character: str) -> bool:
    """Returns True if a character is punctuation; False for none."""
    return bool(character) and unicodedata.category(character).startswith("P")


def _sources_of(
    source: str,
    text: str,
    source_words: Sequence[Span],
    words: Sequence[Span],
    links: Links | None,
    free: Sequence[Sequence[int]],
) -> list[set[int]]:
    """Returns the source words of each word of the translation; `free` has the words of both that are not fixed."""
    sources_of: list[set[int]] = [set() for _ in words]
    if links is not None:
        sources_with: defaultdict[int, list[int]] = defaultdict(list)
        for i, word in enumerate(_numbers(source, source_words)):
            sources_with[word].append(i)
        linked: defaultdict[int, set[int]] = defaultdict(set)
        for i, j in links:
            linked[j].update(sources_with.get(i, ()))
        sources_of = [set(linked.get(word, ())) for word in _numbers(text, words)]
        _share_out(sources_of, len(source_words))
    elif all(free):  # in their order
        free_sources, free_words = free
        longer = max(map(len, free))
        for step in range(longer):
            number, word = (step * len(numbers) // longer for numbers in (free_sources, free_words))
            sources_of[free_words[word]].add(free_sources[number])
    return sources_of


def _share_out(sources_of: list[set[int]], count: int) -> None:
    """Moves a link from a source word that has several words to one that has none, where their neighbours are linked:
    in `Der Hund` for `The dog` attention may be at the dog for both words."""
    linked = Counter(source for sources in sources_of for source in sources)
    for index, sources in enumerate(sources_of):
        if len(sources) != 1 or linked[next(iter(sources))] < 2:
            continue
        for neighbour, step in ((index + 1, -1), (index - 1, 1)):
            beside = sources_of[neighbour] if 0 <= neighbour < len(sources_of) else set()
            shifted = sorted(source + step for source in beside)
            free = [source for source in shifted if 0 <= source < count and not linked[source]]
            if free:
                linked[next(iter(sources))] -= 1
                linked[free[0]] += 1
                sources_of[index] = {free[0]}
                break


def _words(text: str, fixed: Sequence[Span]) -> list[Span]:
    """Returns the words of a text, in which each fixed span is a word."""
    words: list[Span] = []
    done = 0
    for start, end in [*sorted(fixed), (len(text), len(text))]:
        words += [(done + begin, done + stop) for begin, stop in words_of(text[done:start])]
        if text[start:end].strip():
            words.append((start, end))
        done = end
    return words


def _numbers(text: str, words: Sequence[Span]) -> Iterator[int]:
    """Yields the number, as links count them, of the word that each word begins in."""
    starts = word_starts(text)
    return (bisect_right(starts, start) - 1 for start, _ in words)


def _core(text: str, word: Span) -> Span:
    """Returns a word without the punctuation about it, unless it is nothing else."""
    start, end = word
    while start < end and is_punctuation(text[start]):
        start += 1
    while end > start and is_punctuation(text[end - 1]):
        end -= 1
    return (start, end) if start < end else word


def _moved(offsets: Sequence[int], core: Span, other: Span) -> list[int]:
    """Maps offsets within a word to offsets within another: as far in, by their shares where the lengths differ."""
    size, others = core[1] - core[0], other[1] - other[0]
    if size == others:
        return [other[0] + offset - core[0] for offset in offsets]
    return [other[0] + min(max(round((offset - core[0]) * others / size), 1), others - 1) for offset in offsets]


def _split(words: Sequence[Span], offsets: dict[int, list[int]]) -> tuple[list[Span], list[list[int]]]:
    """Returns the words, some of them in parts, and the numbers of each one's parts."""
    split: list[Span] = []
    parts_of: list[list[int]] = []
    for number, (start, end) in enumerate(words):
        bounds = [start, *offsets.get(number, ()), end]
        parts_of.append(list(range(len(split), len(split) + len(bounds) - 1)))
        split += pairwise(bounds)
    return split, parts_of
