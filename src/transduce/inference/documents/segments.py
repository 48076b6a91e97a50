"""Translates segments with inline marks: sentence by sentence, what is held in place, and marks by word alignment."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from transduce.bundle import ModelBundle
from transduce.documents.placing import Span, place_marks
from transduce.documents.segment import Mark, Segment, emptied_pairs
from transduce.documents.sentences import split_sentences
from transduce.inference.aligner import Aligner
from transduce.inference.details import find_head
from transduce.inference.documents.pieces import Piece, after_same, has_tags, held_of, join, without_torn
from transduce.inference.engines.engine import Engine, PyTorchEngine
from transduce.inference.engines.exported import Model
from transduce.inference.requests import Request
from transduce.inference.translator import LINES_AT_ONCE, Result, Translation
from transduce.search.beam import Beam
from transduce.search.choices import DecisionRule, can_require
from transduce.text.glossary import Glossary
from transduce.text.long_texts import split_text
from transduce.text.tokenizer import Tokenizer

UNSURE = 0.4
"""Confidence below which a person is asked to look at a translation."""

PAIRS_AT_ONCE = 100
"""Aligned at a time, after which others that share the model have their turn."""

Tell = Callable[[float], None]


class SentenceTranslator(Protocol):
    """What a translator of segments needs: a Translator, or what stands for one that many share."""

    @property
    def bundle(self) -> Model:
        """See Translator."""
        ...

    @property
    def engine(self) -> Engine:
        """See Translator."""
        ...

    @property
    def longest_source(self) -> int:
        """See Translator."""
        ...

    def translate_chunk(
        self, texts: Sequence[Request], search: DecisionRule, tell: Tell | None = None
    ) -> list[Translation]:
        """See Translator."""
        ...

    def exclusively(self, work: Callable[[], Result]) -> Result:
        """See Translator."""
        ...


@dataclass(frozen=True)
class TranslatedSegment:
    """A segment in the other language, with all marks that it had."""

    segment: Segment
    confidence: float | None
    """How probable the model found its tokens, as their geometric mean, 0 to 1; None for what no model wrote."""
    notes: tuple[str, ...] = ()
    """Why a person should look at it."""


class SegmentTranslator:
    """A translator for segments; with a glossary, of which each sentence's terms are required or banned."""

    def __init__(
        self, translator: SentenceTranslator, search: DecisionRule | None = None, glossary: Glossary | None = None
    ) -> None:
        self.translator = translator
        self.search = search or Beam()
        self.glossary = glossary
        self._source = translator.bundle.tokenizers.source
        self._aligner: Aligner | None = None
        engine = translator.engine
        self._holds = isinstance(engine, PyTorchEngine) and can_require(self.search)
        """Whether the search itself holds what is to be held; else it is put in afterwards."""

    def translate(self, segments: Sequence[Segment], tell: Tell | None = None) -> list[TranslatedSegment]:
        """Translate segments without blanks and marks at their edges, in their order.

        `tell` hears, now and then, the share that is done. Raises InputError as `Translator.translate` does.
        """
        pieces = [self._pieces(segment) for segment in segments]
        wanted = [piece for of_segment in pieces for piece in of_segment if piece.is_translated]
        for piece in wanted:
            piece.let_read(self._source)
        found = dict(zip(map(id, wanted), self._search(wanted, tell), strict=True))
        found |= self._search_again([(piece, found[id(piece)]) for piece in wanted if piece.held])
        self._align([piece for piece in wanted if piece.is_incomplete])
        notes = [[note for piece in of_segment for note in piece.restore()] for of_segment in pieces]
        self._align(
            [piece for segment, some in zip(segments, pieces, strict=True) if has_tags(segment) for piece in some]
        )
        return [
            self._join(segment, of_segment, [found.get(id(piece)) for piece in of_segment], of_notes)
            for segment, of_segment, of_notes in zip(segments, pieces, notes, strict=True)
        ]

    def place(self, pairs: Sequence[tuple[Segment, str]]) -> list[Segment]:
        """Put the marks of segments into translations that are given, in which all that is held must stand."""
        pieces = []
        for segment, text in pairs:
            held, places = held_of(segment)
            piece = Piece(0, len(segment.text), segment.text, held, places, output=text)
            piece.let_read(self._source)
            piece.restore()
            pieces.append(piece)
        self._align([piece for (segment, _), piece in zip(pairs, pieces, strict=True) if has_tags(segment)])
        return [
            place_marks(segment, piece.output, piece.links, piece.spans)
            for (segment, _), piece in zip(pairs, pieces, strict=True)
        ]

    def _pieces(self, segment: Segment) -> list[Piece]:
        text = segment.text
        marks = list(zip(*held_of(segment), strict=True))
        pieces = []
        for start, end in without_torn(self._bounds(segment, text), marks):
            held = [(mark, place - start) for mark, place in marks if start <= place < end]
            piece = Piece(start, end, text[start:end], [mark for mark, _ in held], [place for _, place in held])
            piece.is_translated = any(map(str.isalpha, piece.free_text))
            pieces.append(piece)
        return pieces

    def _bounds(self, segment: Segment, text: str) -> Iterator[Span]:
        """What is translated at once: sentences between marks that break, or parts of those too long for the model."""
        begin = place = 0
        runs = []
        for part in segment.parts:
            size = len(part) if isinstance(part, str) else len(part.shown)
            if isinstance(part, Mark) and part.breaks:
                runs.append((begin, place))
                begin = place + size
            place += size
        longest = self.translator.longest_source
        for run_start, run_end in [*runs, (begin, place)]:
            for start, end in split_sentences(text[run_start:run_end]):
                start, end = run_start + start, run_start + end
                for part in split_text(text[start:end], self._source, longest) or [text[start:end]]:
                    stop = after_same(text, start, part)
                    yield start, stop
                    start = stop + len(text[stop:end]) - len(text[stop:end].lstrip())

    def _search(self, pieces: Sequence[Piece], tell: Tell | None) -> Iterator[Translation]:
        done, total = 0, sum(len(piece.text) for piece in pieces)
        for begin in range(0, len(pieces), LINES_AT_ONCE):
            chunk = pieces[begin : begin + LINES_AT_ONCE]
            size = sum(len(piece.text) for piece in chunk)
            heard = None if tell is None else partial(_tell_part, tell, done / total, size / total)
            found = self.translator.translate_chunk([self._request(p) for p in chunk], self.search, heard)
            for piece, translation in zip(chunk, found, strict=True):
                piece.output = translation.text
                yield translation
            done += size
            if tell is not None:
                tell(done / total)

    def _search_again(self, held: Sequence[tuple[Piece, Translation]]) -> dict[int, Translation]:
        """Translations of sentences without what they hold, where the model has not learned to write that and is surer
        without it; by the identities of the pieces."""
        unsure = [
            (piece, before) for piece, before in held if self._holds and (self._confidence([before]) or 0) < UNSURE
        ]
        alone = [replace(piece, read="", stand_ins=[], is_required=False) for piece, _ in unsure]
        for piece in alone:
            piece.let_read(self._source)
        better = {}
        for (piece, before), other, translation in zip(unsure, alone, self._search(alone, None), strict=True):
            if translation.n_best and (self._confidence([translation]) or 0) > (self._confidence([before]) or 0):
                better[id(piece)] = translation
                piece.read, piece.stand_ins, piece.output = other.read, other.stand_ins, other.output
        return better

    def _request(self, piece: Piece) -> Request:
        text = " ".join(piece.read.split())
        required, banned = (self.glossary.required(text), self.glossary.banned(text)) if self.glossary else ((), ())
        if not self._holds:
            return Request(text, banned=banned)
        held = [" ".join(mark.shown.split()) for mark in piece.held] if piece.is_required else []
        return Request(text, required=tuple(dict.fromkeys([*held, *required])), banned=banned)

    def _align(self, pieces: Sequence[Piece]) -> None:
        """Find which words go together, where the model can tell."""
        bundle = self.translator.bundle
        if not isinstance(bundle, ModelBundle) or not pieces:
            return
        pieces = [piece for piece in pieces if piece.read.strip() and piece.output.strip()]
        if self._aligner is None:
            sources = bundle.read([piece.read for piece in pieces])
            targets = bundle.tokenizers.target.encode_batch([piece.output for piece in pieces])
            head = self.translator.exclusively(lambda: find_head(bundle, sources, targets)) if pieces else None
            if head is None:
                return
            self._aligner = Aligner(bundle, head)
        fits = [piece for piece in pieces if self._fits(piece)]
        for begin in range(0, len(fits), PAIRS_AT_ONCE):
            chunk = fits[begin : begin + PAIRS_AT_ONCE]
            align = partial(self._aligner.align, [(piece.read, piece.output) for piece in chunk])
            for piece, links in zip(chunk, self.translator.exclusively(align), strict=True):
                words = piece.words_read()
                piece.links = {(words[i], j) for i, j in links}

    def _fits(self, piece: Piece) -> bool:
        """Whether the model can read both texts at once."""
        engine = self.translator.engine
        assert isinstance(engine, PyTorchEngine)
        tokenizers, model = engine.bundle.tokenizers, engine.model
        sides = (
            (tokenizers.source, piece.read, model.source_limit, len(self.translator.bundle.marks.source)),
            (tokenizers.target, piece.output, model.target_limit, 0),
        )
        return all(limit is None or len(side.encode(text)) + more < limit for side, text, limit, more in sides)

    def _join(
        self,
        segment: Segment,
        pieces: Sequence[Piece],
        translations: Sequence[Translation | None],
        notes: Sequence[str],
    ) -> TranslatedSegment:
        text, fixed, links = join(segment, pieces)
        translated = [one for one in translations if one is not None]
        told = [*notes]
        if any(self._is_unknown(piece) for piece in pieces if piece.is_translated):
            told.append("the model does not know some of its words")
        if any(one.truncated for one in translated):
            told.append("was cut off at the longest length")
        glossary = {phrase for one in translated for phrase in one.unsatisfied} - {m.shown for m in segment.marks}
        told += [f"does not hold {phrase!r}, as the glossary wants" for phrase in sorted(glossary)]
        told += [f"holds {phrase!r}, which the glossary bans" for one in translated for phrase in one.violated]
        if links is None and has_tags(segment):
            told.append("tags stand in the order of the words, since the model gives no alignment")
        if sorted(re.findall(r"\d+", segment.text)) != sorted(re.findall(r"\d+", text)):
            told.append("numbers differ")
        placed = place_marks(segment, text, links, fixed)
        told += [f"{raw[:60]} holds no words any more" for raw in emptied_pairs(segment, placed)]
        confidence = self._confidence(translated)
        if confidence is not None and confidence < UNSURE:
            told.append("the model was not sure")
        return TranslatedSegment(placed, confidence, tuple(dict.fromkeys(told)))

    def _is_unknown(self, piece: Piece) -> bool:
        """Whether words are left out of the vocabulary, but for what is held."""
        return self._source.unknown in self._source.encode(piece.free_text)

    def _confidence(self, translations: Sequence[Translation]) -> float | None:
        return confidence_of(translations, self.translator.bundle.tokenizers.target)


def confidence_of(translations: Sequence[Translation], tokenizer: Tokenizer) -> float | None:
    """The geometric mean of the probabilities of the tokens of the best translations, 0 to 1; None for no tokens."""
    candidates = [one.n_best[0] for one in translations if one.n_best]
    tokens = tokenizer.encode_batch([one.text for one in candidates])
    count = sum(len(ids) + 1 for ids in tokens)
    return min(1.0, math.exp(sum(one.log_probability for one in candidates) / count)) if count else None


def _tell_part(tell: Tell, before: float, size: float, share: float) -> None:
    """Tell a share of a part, before which others are done, as one of the whole."""
    tell(before + size * share)
