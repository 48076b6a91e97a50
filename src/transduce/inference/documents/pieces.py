"""Sentences of a segment: what each holds, what the model reads of it, and what its translation becomes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from transduce.documents.held import restore_held
from transduce.documents.placing import Span, is_fixed, word_starts
from transduce.documents.segment import Mark, Segment

STAND_IN = "\ufffc"  # a character for something that is none


@dataclass
class Piece:
    """A sentence of a segment, or what else stands between two line ends."""

    start: int
    end: int
    """In the segment's text."""
    text: str
    held: list[Mark]
    places: list[int]
    """Where the held marks begin in the text."""
    is_translated: bool = True
    read: str = ""
    """The text as the model reads it: one unknown word for what its vocabulary cannot write."""
    is_required: bool = True
    """Whether the search is to hold what is held."""
    stand_ins: list[tuple[int, int]] = field(default_factory=list)
    """Where those begin in what is read, and how many characters each is shorter than what it stands for."""
    output: str = ""
    spans: list[Span] = field(default_factory=list)
    """Of the held marks in the output."""
    links: set[tuple[int, int]] | None = None
    """Words of text and output that go together; None where that is not known."""

    @property
    def free_text(self) -> str:
        """Its text without what is held."""
        return _without(self.text, list(zip(self.held, self.places, strict=True)))

    @property
    def is_incomplete(self) -> bool:
        """Whether its output lacks something that it must hold."""
        return any(self.output.count(mark.shown) < 1 for mark in self.held)

    def let_read(self, unknown: Container[str]) -> None:
        """Set what the model reads of a sentence, with what is held if the search is to hold it; one unknown word is
        read for each held text that is among the unknown ones, which the model's vocabulary lacks."""
        done = 0
        for mark, place in zip(self.held, self.places, strict=True):
            self.read += self.text[done:place]
            done = place + len(mark.shown)
            read = mark.shown if self.is_required else ""
            if mark.shown in unknown:
                read = STAND_IN
            if read != mark.shown:
                self.stand_ins.append((len(self.read), len(mark.shown) - len(read)))
            self.read += read
        self.read += self.text[done:]

    def words_read(self) -> list[int]:
        """For each word that the model reads its number in the text."""
        numbers, starts = [], word_starts(self.text)
        for begin in word_starts(self.read):
            place = begin + sum(shorter for start, shorter in self.stand_ins if start < begin)
            numbers.append(bisect_right(starts, place) - 1)
        return numbers

    def restore(self) -> list[str]:
        """Make the output hold what it must."""
        if not self.is_translated:
            self.output = self.text
            self.spans = [(place, place + len(mark.shown)) for mark, place in zip(self.held, self.places, strict=True)]
            return []
        shares = [place / max(len(self.text), 1) for place in self.places]
        expected = [self._expected(place) for place in self.places]
        apart = [
            (self.text[place - 1 : place].isspace(), self.text[place + len(mark.shown) :][:1].isspace())
            for mark, place in zip(self.held, self.places, strict=True)
        ]
        restored = restore_held(self.output, self.held, shares, apart, expected)
        if not restored.text.strip():
            restored = restore_held(self.text, self.held, shares, apart)
            restored.notes = ["the model wrote nothing, so that the source stands"]
        if restored.text != self.output:
            self.links = None
        self.output = restored.text
        self.spans = [span for span in restored.spans if span is not None]
        return restored.notes

    def _expected(self, place: int) -> Span | None:
        """Where in the output a mark belongs that stands there in the text: in place of the words that go with it and
        with nothing else, if it stood for an unknown word, or after the word that goes with the one before it; None
        where that is not known."""
        if self.links is None:
            return None
        words = [found.span() for found in re.finditer(r"\S+", self.output)]
        number = len(self.text[: place + 1].split()) - 1
        ours = sorted({j for i, j in self.links if i == number and j < len(words)})
        shared = {j for i, j in self.links if i != number}
        if (
            any(start == self._place_read(place) for start, _ in self.stand_ins)
            and len(ours) == 1
            and ours[0] not in shared
        ):
            return words[ours[0]]
        for source in range(len(self.text[:place].split()) - 1, -1, -1):
            if targets := [j for i, j in self.links if i == source and j < len(words)]:
                return words[max(targets)][1], words[max(targets)][1]
        return 0, 0

    def _place_read(self, place: int) -> int:
        """Where in what the model reads something stands that is held."""
        for start, shorter in self.stand_ins:
            if start < place:
                place -= shorter
        return place


def held_of(segment: Segment) -> tuple[list[Mark], list[int]]:
    """What is held, and where in the text it begins."""
    held, places, place = [], [], 0
    for part in segment.parts:
        if isinstance(part, Mark) and part.is_held:
            held.append(part)
            places.append(place)
        place += len(part) if isinstance(part, str) else len(part.shown)
    return held, places


def without_torn(bounds: Iterable[Span], marks: Sequence[tuple[Mark, int]]) -> Iterator[Span]:
    """The same, but what would tear something that is held goes with what comes next."""
    begin: int | None = None
    for start, end in bounds:
        begin = start if begin is None else begin
        if not any(place < end < place + len(mark.shown) for mark, place in marks):
            yield begin, end
            begin = None


def _without(text: str, held: Sequence[tuple[Mark, int]]) -> str:
    for mark, place in reversed(held):
        text = text[:place] + text[place + len(mark.shown) :]
    return text


def after_same(text: str, start: int, part: str) -> int:
    """Where a part ends that begins at `start`, whose blanks may be others."""
    place = start
    for character in part:
        if character.isspace():
            continue
        while text[place].isspace():
            place += 1
        place += 1
    return place


def has_tags(segment: Segment) -> bool:
    """Whether there are marks whose places word alignment must find."""
    return any(not is_fixed(mark) for mark in segment.marks)


def join(segment: Segment, pieces: Sequence[Piece]) -> tuple[str, list[Span], set[tuple[int, int]] | None]:
    """The translated text of a segment, where what is fixed stands in it, and which words go together."""
    source = segment.text
    text, done = "", 0
    breaks = _breaks(segment)
    spans: list[tuple[int, Span]] = []  # by their places in the source
    begins = []  # of the pieces, in the text
    for piece in [*pieces, None]:
        stop = len(source) if piece is None else piece.start
        spans += [
            (place, (len(text) + place - done, len(text) + place - done + 1))
            for place in breaks
            if done <= place < stop
        ]
        text += source[done:stop]
        if piece is None:
            break
        spans += [
            (piece.start + place, (len(text) + span[0], len(text) + span[1]))
            for place, span in zip(piece.places, piece.spans, strict=True)
        ]
        begins.append(len(text))
        text += piece.output
        done = piece.end
    return text, [span for _, span in sorted(spans)], _joined_links(source, text, pieces, begins)


def _joined_links(
    source: str, text: str, pieces: Sequence[Piece], begins: Sequence[int]
) -> set[tuple[int, int]] | None:
    """Words of a segment and its translation that go together, by those of the pieces, which begin there in the
    translation; None where those of a translated one are not known."""
    if any(piece.is_translated and piece.links is None for piece in pieces):
        return None
    source_starts, starts = word_starts(source), word_starts(text)
    links = set()
    for piece, begin in zip(pieces, begins, strict=True):
        source_words, words = bisect_left(source_starts, piece.start), bisect_left(starts, begin)
        links |= {(i + source_words, j + words) for i, j in piece.links or ()}
    return links


def _breaks(segment: Segment) -> list[int]:
    """Where in the text marks stand that break it."""
    places, place = [], 0
    for part in segment.parts:
        if isinstance(part, Mark) and part.breaks:
            places.append(place)
        place += len(part) if isinstance(part, str) else len(part.shown)
    return places
