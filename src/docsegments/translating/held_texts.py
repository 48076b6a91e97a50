"""Sentences of a segment: their placeholders, the text that the model reads, and their translations."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from docsegments.orthography.characters import Span
from docsegments.orthography.joining import gap_in_translation
from docsegments.orthography.words import words as words_of
from docsegments.segment import Mark, Segment
from docsegments.text.clusters import Cluster, clusters_of, shape_of
from docsegments.text.held import STAND_IN, restore_held
from docsegments.text.linked_words import word_starts
from docsegments.text.mark_tree import is_fixed
from docsegments.translating.sentence_translator import TranslatedSentence, confidence


@dataclass
class HeldText:
    """A sentence of a segment, or other text between two line ends."""

    start: int
    end: int
    """The end of the sentence in the segment's text."""
    text: str
    held: list[Mark]
    places: list[int]
    """Starts of the held marks in the text."""
    families: tuple[str, ...] = ()
    """Names of the rules that detected what is held; empty for the general rules."""
    before: tuple[str, ...] = ()
    """The sentences before it that the model reads with it."""
    is_translated: bool = True
    read: str = ""
    """The text as the model reads it: one unknown word for what its vocabulary cannot write."""
    is_required: bool = True
    """True if the search must keep what is held."""
    stand_ins: list[tuple[int, int, int]] = field(default_factory=list)
    """For each stand-in: its start in the text read, the characters it saves, and its start in the text."""
    output: str = ""
    translation: TranslatedSentence | None = None
    """Translation by the model; None for text that it has not read."""
    spans: list[Span] = field(default_factory=list)
    """The spans of the held marks in the output."""
    links: set[tuple[int, int]] | None = None
    """Words of text and output that go together; None if that is not known."""

    @property
    def free_text(self) -> str:
        """The text without its held marks."""
        kept, done = [], 0
        for mark, start in zip(self.held, self.places, strict=True):
            kept.append(self.text[done:start])
            done = start + len(mark.shown)
        return "".join([*kept, self.text[done:]])

    @property
    def sureness(self) -> float:
        """Confidence of the translation; 0 for none."""
        return confidence([] if self.translation is None else [self.translation]) or 0.0

    @property
    def is_incomplete(self) -> bool:
        """True if the output lacks a held mark."""
        return any(shown not in self.output for shown in {cluster.shown for cluster in self.clusters})

    def let_read(self, unknown: Container[str], holds: bool = True) -> None:
        """Sets the text that the model reads, with the held marks if they are required.

        Args:
            unknown: texts that the model's vocabulary lacks; the model reads one unknown word for each.
            holds: True if the search can require phrases. If not, the model also reads one unknown word for each held
                word, which it would translate; if they are not required, it reads nothing for either.
        """
        done = size = 0
        read: list[str] = []
        for cluster in self.clusters:
            shown = [self.held[member.number].shown for member in cluster.members]
            if any(word in unknown or not (holds or shape_of(word)) for word in shown):
                text = STAND_IN if holds or self.is_required else ""
            elif holds:
                text = cluster.shown if self.is_required else ""
            else:
                text = "".join(cluster.shown.split())  # so that no blank divides it
            size += cluster.start - done
            if text != cluster.shown:
                self.stand_ins.append((size, len(cluster.shown) - len(text), cluster.start))
            read += [self.text[done : cluster.start], text]
            size += len(text)
            done = cluster.end
        self.read = "".join([*read, self.text[done:]])

    @cached_property
    def clusters(self) -> list[Cluster]:
        """Clusters of held marks; marks that touch are one cluster."""
        return clusters_of(self.text, self.held, self.places)

    @property
    def loses_stand_ins(self) -> bool:
        """True if the output has fewer unknown words than the model has read for held marks."""
        return self.output.count(STAND_IN) < self.read.count(STAND_IN)

    def words_read(self) -> list[int]:
        """Returns the index in the text of each word that the model reads."""
        numbers, starts = [], word_starts(self.text)
        shorter = number = 0
        for begin in word_starts(self.read):
            while number < len(self.stand_ins) and self.stand_ins[number][0] < begin:
                shorter += self.stand_ins[number][1]
                number += 1
            numbers.append(bisect_right(starts, begin + shorter) - 1)
        return numbers

    def restore(self) -> list[str]:
        """Puts missing held marks into the output, and returns notes for a reviewer."""
        if not self.is_translated:
            self._leave()
            return []
        restored = restore_held(
            self.output,
            self.text,
            self.held,
            self.places,
            self._expected(),
            self.families,
            self._replaced(),
        )
        if not self.output.strip() or not restored.text.strip():
            self._leave()
            return ["the model wrote nothing, so that the source stays"]
        if restored.text != self.output:
            self.links = None
        self.output, self.spans = restored.text, restored.spans
        return restored.notes

    def _leave(self) -> None:
        self.output, self.links = self.text, None
        self.spans = [(start, start + len(mark.shown)) for mark, start in zip(self.held, self.places, strict=True)]

    def _replaced(self) -> set[int]:
        """Returns the starts in the text of what the model read one unknown word for."""
        return {start for begin, _, start in self.stand_ins if self.read.startswith(STAND_IN, begin)}

    def _expected(self) -> list[Span | None]:
        """Returns the span in the output where each held mark belongs if it is missing, None if unknown: the word
        aligned with it alone, if the model read an unknown word for it, else the end of the word aligned with the one
        before."""
        if self.links is None:
            return [None] * len(self.held)
        words = words_of(self.output)
        starts = word_starts(self.text)
        targets: defaultdict[int, list[int]] = defaultdict(list)
        sources = Counter(j for _, j in self.links)
        for i, j in self.links:
            if j < len(words):
                targets[i].append(j)
        linked = sorted(targets)
        unknown = self._replaced()
        expected: list[Span | None] = []
        for start in self.places:
            number = bisect_right(starts, start) - 1
            ours = targets.get(number, [])
            before = bisect_left(linked, bisect_left(starts, start))
            if start in unknown and len(ours) == 1 and sources[ours[0]] == 1:
                expected.append(words[ours[0]])
            elif before:
                end = words[max(targets[linked[before - 1]])][1]
                expected.append((end, end))
            else:
                expected.append((0, 0))
        return expected


def held_of(segment: Segment) -> tuple[list[Mark], list[int]]:
    """Returns the held marks, and their starts in the text."""
    held = [(mark, start) for start, mark in segment.placed_marks() if mark.is_held]
    return [mark for mark, _ in held], [start for _, start in held]


def without_torn(bounds: Iterable[Span], clusters: Sequence[Cluster]) -> Iterator[Span]:
    """Yields bounds of sentences; one that would end within something held goes on to the next end."""
    begin: int | None = None
    starts = [cluster.start for cluster in clusters]
    for start, end in bounds:
        begin = start if begin is None else begin
        before = bisect_left(starts, end)
        if not before or clusters[before - 1].end <= end:
            yield begin, end
            begin = None


def after_same(text: str, start: int, part: str) -> int:
    """Returns the end of a part that begins at `start`, whose blanks may differ from the text's."""
    index = start
    for character in part:
        if character.isspace():
            continue
        while text[index].isspace():
            index += 1
        index += 1
    return index


def has_tags(segment: Segment) -> bool:
    """Returns True if a segment has marks whose positions word alignment must find."""
    return any(not is_fixed(mark) for mark in segment.marks)


def join(
    segment: Segment, pieces: Sequence[HeldText], language: str
) -> tuple[str, list[Span], set[tuple[int, int]] | None]:
    """Joins the sentences' translations; returns the text, the spans of fixed marks, and the links of words."""
    source = segment.text
    breaks = deque(position for position, mark in segment.placed_marks() if mark.breaks)
    written: list[str] = []
    size = done = 0
    spans: list[tuple[int, Span]] = []  # by their positions in the source
    begins = []  # of the pieces, in the text
    before: HeldText | None = None
    for piece in [*pieces, None]:
        stop = len(source) if piece is None else piece.start
        gap = source[done:stop]
        if before is not None and piece is not None and not (breaks and breaks[0] < stop):
            gap = gap_in_translation(gap, (before.text, piece.text), (before.output, piece.output), language)
        while breaks and breaks[0] < stop:
            position = breaks.popleft()
            spans.append((position, (size + position - done, size + position - done + 1)))
        written.append(gap)
        size += len(gap)
        if piece is None:
            break
        spans += [
            (piece.start + position, (size + start, size + end))
            for position, (start, end) in zip(piece.places, piece.spans, strict=True)
        ]
        begins.append(size)
        written.append(piece.output)
        size += len(piece.output)
        done, before = piece.end, piece
    text = "".join(written)
    return text, [span for _, span in sorted(spans)], _joined_links(source, text, pieces, begins)


def _joined_links(
    source: str, text: str, pieces: Sequence[HeldText], begins: Sequence[int]
) -> set[tuple[int, int]] | None:
    """Returns the links of the words of a segment and its translation; None if any sentence's are unknown."""
    if any(piece.is_translated and piece.links is None for piece in pieces):
        return None
    source_starts, starts = word_starts(source), word_starts(text)
    links = set()
    for piece, begin in zip(pieces, begins, strict=True):
        source_words, words = bisect_left(source_starts, piece.start), bisect_left(starts, begin)
        links |= {(i + source_words, j + words) for i, j in piece.links or ()}
    return links
