"""Translates segments sentence by sentence, keeps held texts, and puts inline marks back by word alignment."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from docsegments.orthography.characters import Span
from docsegments.orthography.words import has_words
from docsegments.segment import Mark, Segment, emptied_pairs
from docsegments.sentences import split_sentences
from docsegments.text.clusters import clusters_of
from docsegments.text.placing import place_marks
from docsegments.text.written_numbers import changes
from docsegments.translating.held_texts import HeldText, after_same, has_tags, held_of, join, without_torn
from docsegments.translating.sentence_translator import (
    PartProgress,
    SentenceRequest,
    SentenceTranslator,
    Tell,
    confidence,
)

UNSURE = 0.4
"""Confidence below which a person is asked to look at a translation."""

TAGS_PLACED = "the memory's translation has other tags; see whether those of the document are about the right words"

SENTENCES_AT_ONCE = 1000
"""Sentences that are translated at a time: enough to sort by length, however long the document is."""


@dataclass(frozen=True)
class TranslatedSegment:
    """A segment in the other language, with all marks that it had."""

    segment: Segment
    confidence: float | None
    """Geometric mean of the probabilities of its tokens, 0 to 1; None for text that no model wrote."""
    notes: tuple[str, ...] = ()
    """Reasons for a person to look at the segment."""


class SegmentTranslator:
    """A translator for segments."""

    def __init__(self, sentences: SentenceTranslator, splits_sentences: bool = True) -> None:
        self._sentences = sentences
        self._splits_sentences = splits_sentences
        self._holds = self._sentences.can_require
        """True if the search itself keeps held texts; else they are put in afterwards."""

    @property
    def context(self) -> int:
        """The number of texts before a sentence that are read with it."""
        return getattr(self._sentences, "context", 0)

    @property
    def reads_both(self) -> bool:
        """True if translations are among these texts."""
        return getattr(self._sentences, "reads_both", False)

    def translate(
        self, segments: Sequence[Segment], tell: Tell | None = None, before: Sequence[Sequence[str]] | None = None
    ) -> list[TranslatedSegment]:
        """Translates segments without blanks and marks at their edges, in their order.

        `tell` is called now and then with the share that is done. `before` are the texts before each segment in its
        document. Raises InputError as the `SentenceTranslator` does.
        """
        pieces, unknown = self._examined(segments)
        if self.context:
            for of_segment, texts in zip(pieces, before or [()] * len(segments), strict=True):
                _put_in_context(of_segment, texts, self.context)
        wanted = [piece for of_segment in pieces for piece in of_segment if piece.is_translated]
        for piece in wanted:
            piece.let_read(unknown, self._holds)
        self._search(wanted, tell)
        self._search_again([piece for piece in wanted if piece.held], unknown)
        self._align([piece for piece in wanted if piece.is_incomplete])
        notes = [[note for piece in of_segment for note in piece.restore()] for of_segment in pieces]
        self._align(
            [
                piece
                for segment, of_segment in zip(segments, pieces, strict=True)
                if has_tags(segment)
                for piece in of_segment
            ]
        )
        return [
            self._join(segment, of_segment, of_notes, unknown)
            for segment, of_segment, of_notes in zip(segments, pieces, notes, strict=True)
        ]

    def place(self, pairs: Sequence[tuple[Segment, str]]) -> list[TranslatedSegment]:
        """Puts the marks of segments into given translations, which must have all that is held."""
        pieces = []
        for segment, text in pairs:
            held, starts = held_of(segment)
            pieces.append(HeldText(0, len(segment.text), segment.text, held, starts, segment.families, output=text))
        unknown = self._unknown([mark.shown for piece in pieces for mark in piece.held])
        notes = []
        for (segment, _), piece in zip(pairs, pieces, strict=True):
            piece.let_read(unknown)
            notes.append([*piece.restore(), *([TAGS_PLACED] if has_tags(segment) else [])])
        self._align([piece for (segment, _), piece in zip(pairs, pieces, strict=True) if has_tags(segment)])
        return [
            TranslatedSegment(place_marks(segment, piece.output, piece.links, piece.spans), None, tuple(reasons))
            for (segment, _), piece, reasons in zip(pairs, pieces, notes, strict=True)
        ]

    def _examined(self, segments: Sequence[Segment]) -> tuple[list[list[HeldText]], set[str]]:
        """Returns the sentences of each segment, divided if too long, and the texts that hold unknown tokens."""
        held = [(segment.text, *held_of(segment), segment.families) for segment in segments]
        sentences = [
            [_piece(span, *of_segment) for span in _sentences(segment, of_segment[0], self._splits_sentences)]
            for segment, of_segment in zip(segments, held, strict=True)
        ]
        asked = [piece for of_segment in sentences for piece in of_segment]
        texts = list(dict.fromkeys([text for piece in asked for text in _texts_of(piece)]))
        all_parts, are_unknown = self._sentences.examine([piece.text for piece in asked], texts)
        known, parts = dict(zip(texts, are_unknown, strict=True)), iter(all_parts)
        pieces = []
        for (text, marks, starts, families), of_segment in zip(held, sentences, strict=True):
            bounds = [bound for sentence in of_segment for bound in _divide(text, sentence, next(parts))]
            whole = without_torn(bounds, clusters_of(text, marks, starts))
            pieces.append([_piece(bound, text, marks, starts, families) for bound in whole])
        others = {text for of_segment in pieces for piece in of_segment for text in _texts_of(piece)} - known.keys()
        return pieces, {text for text, is_unknown in known.items() if is_unknown} | self._unknown(list(others))

    def _unknown(self, texts: Sequence[str]) -> set[str]:
        """Returns the texts that hold unknown tokens."""
        texts = list(dict.fromkeys(texts))
        are_unknown = self._sentences.examine([], texts)[1] if texts else []
        return {text for text, is_unknown in zip(texts, are_unknown, strict=True) if is_unknown}

    def _search(self, pieces: Sequence[HeldText], tell: Tell | None) -> None:
        done, total = 0, sum(len(piece.text) for piece in pieces)
        for begin in range(0, len(pieces), SENTENCES_AT_ONCE):
            chunk = pieces[begin : begin + SENTENCES_AT_ONCE]
            size = sum(len(piece.text) for piece in chunk)
            progress = None if tell is None else PartProgress(tell, done / total, size / total)
            translations = self._sentences.translate([self._request(piece) for piece in chunk], progress)
            for piece, translation in zip(chunk, translations, strict=True):
                piece.output, piece.translation = translation.text, translation
            done += size
            if progress is not None:
                progress(1.0)

    def _search_again(self, held: Sequence[HeldText], unknown: set[str]) -> None:
        """Translates sentences of low confidence (or, if the search cannot require phrases, those that lost unknown
        words) again without their held texts, and keeps the better translation."""
        unsure = [piece for piece in held if (piece.sureness < UNSURE if self._holds else piece.loses_stand_ins)]
        alone = [replace(piece, read="", stand_ins=[], is_required=False) for piece in unsure]
        for piece in alone:
            piece.let_read(unknown, self._holds)
        self._search(alone, None)
        for piece, other in zip(unsure, alone, strict=True):
            is_better = other.sureness > piece.sureness or not self._holds
            if is_better and other.translation is not None and other.translation.tokens:
                piece.read, piece.stand_ins = other.read, other.stand_ins
                piece.output, piece.translation = other.output, other.translation

    def _request(self, piece: HeldText) -> SentenceRequest:
        clusters = piece.clusters if self._holds and piece.is_required else []
        held = dict.fromkeys(" ".join(cluster.shown.split()) for cluster in clusters)
        return SentenceRequest(" ".join(piece.read.split()), tuple(held), piece.before)

    def _align(self, pieces: Sequence[HeldText]) -> None:
        """Links the words of texts and outputs, if the model can align them."""
        pieces = [piece for piece in pieces if piece.read.strip() and piece.output.strip()]
        if not pieces or not self._sentences.can_align:
            return
        aligned = self._sentences.align([(piece.read, piece.output) for piece in pieces])
        for piece, links in zip(pieces, aligned, strict=True):
            if links is not None:
                words = piece.words_read()
                piece.links = {(words[i], j) for i, j in links}

    def _join(
        self, segment: Segment, pieces: Sequence[HeldText], notes: Sequence[str], unknown: set[str]
    ) -> TranslatedSegment:
        text, fixed, links = join(segment, pieces, self._sentences.languages.target)
        translated = [piece.translation for piece in pieces if piece.translation is not None]
        reasons = [*notes]
        if any(piece.free_text in unknown for piece in pieces if piece.is_translated):
            reasons.append("the model does not know some of its words")
        if any(output.truncated for output in translated):
            reasons.append("was cut off at the longest length")
        reasons += [fault for output in translated for fault in output.faults]
        held = {" ".join(cluster.shown.split()) for piece in pieces for cluster in piece.clusters}
        glossary = {phrase for output in translated for phrase in output.unsatisfied} - held
        reasons += [f"does not hold {phrase!r}, as the glossary wants" for phrase in sorted(glossary)]
        reasons += [f"holds {phrase!r}, which the glossary bans" for output in translated for phrase in output.violated]
        if links is None and has_tags(segment):
            reasons.append("tags stand in the order of the words, since the model gives no alignment")
        languages = self._sentences.languages
        found = changes(segment.text, text, (languages.source, languages.target))
        if differing := found.changed or [number.text for number in found.invented]:
            reasons.append(f"numbers differ: {', '.join(differing)}")
        is_same = text.split() == segment.text.split()
        placed = segment if is_same else place_marks(segment, text, links, fixed)
        reasons += [f"{raw[:60]} holds no words any more" for raw in emptied_pairs(segment, placed)]
        sureness = confidence(translated)
        if sureness is not None and sureness < UNSURE:
            reasons.append("the model was not sure")
        return TranslatedSegment(placed, sureness, tuple(dict.fromkeys(reasons)))


def _put_in_context(pieces: Sequence[HeldText], texts: Sequence[str], most: int) -> None:
    """Gives each sentence of a segment the sentences before it, of the segment and of the texts before that."""
    before = [text[start:end] for text in texts for start, end in split_sentences(text)]
    for piece in pieces:
        piece.before = tuple(before[-most:])
        before.append(piece.text)


def _sentences(segment: Segment, text: str, splits: bool) -> Iterator[Span]:
    """Yields the spans of the sentences in a segment's text, or those of its texts between marks that break it."""
    begin = 0
    ends = [(position, len(mark.shown)) for position, mark in segment.placed_marks() if mark.breaks]
    for stop, size in [*ends, (len(text), 0)]:
        between = text[begin:stop]
        blank = len(between) - len(between.lstrip())
        whole = [(blank, len(between.rstrip()))] if between.strip() else []
        for start, end in split_sentences(between) if splits else whole:
            yield begin + start, begin + end
        begin = stop + size


def _divide(text: str, sentence: HeldText, parts: Sequence[str]) -> Iterator[Span]:
    """Yields the spans of the parts of a sentence, whose blanks may differ from the text's."""
    start, end = sentence.start, sentence.end
    for part in parts:
        stop = after_same(text, start, part)
        yield start, stop
        start = stop + len(text[stop:end]) - len(text[stop:end].lstrip())


def _piece(bound: Span, text: str, marks: Sequence[Mark], starts: Sequence[int], families: tuple[str, ...]) -> HeldText:
    """Makes the sentence in a span of a text, given the text's held marks and their starts."""
    start, end = bound
    first, last = bisect_left(starts, start), bisect_left(starts, end)
    of_piece = [position - start for position in starts[first:last]]
    piece = HeldText(start, end, text[start:end], list(marks[first:last]), of_piece, families)
    piece.is_translated = has_words(piece.free_text)
    return piece


def _texts_of(piece: HeldText) -> list[str]:
    """Returns the texts that are checked for unknown tokens."""
    return [piece.free_text, *(mark.shown for mark in piece.held)] if piece.is_translated else []
