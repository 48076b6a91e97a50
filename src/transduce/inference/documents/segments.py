"""Translates segments with inline marks: sentence by sentence, what is held in place, and marks by word alignment."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from transduce.documents.held import restore_held
from transduce.documents.placing import Span, is_fixed, place_marks
from transduce.documents.segment import Mark, Segment, emptied_pairs
from transduce.documents.sentences import split_sentences
from transduce.inference.aligner import Aligner
from transduce.inference.details import find_head
from transduce.inference.engines.engine import PyTorchEngine
from transduce.inference.requests import Request
from transduce.inference.translator import LINES_AT_ONCE, Translation, Translator, split_text
from transduce.search.beam import Beam
from transduce.search.choices import Search, can_require
from transduce.text.glossary import Glossary

UNSURE = 0.4
"""Confidence below which a person is asked to look at a translation."""

STAND_IN = "\ufffc"  # a character for something that is none

Tell = Callable[[float], None]


@dataclass(frozen=True)
class TranslatedSegment:
    """A segment in the other language, with all marks that it had."""

    segment: Segment
    confidence: float | None
    """How probable the model found its tokens, as their geometric mean, 0 to 1; None for what no model wrote."""
    notes: tuple[str, ...] = ()
    """Why a person should look at it."""


@dataclass
class _Piece:
    """A sentence of a segment, or what else stands between two line ends."""

    start: int
    end: int
    """In the segment's text."""
    text: str
    held: list[Mark]
    places: list[int]
    """Where the held marks begin in the text."""
    is_translated: bool
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


class SegmentTranslator:
    """A translator for segments; with a glossary, of which each sentence's terms are required or banned."""

    def __init__(self, translator: Translator, search: Search | None = None, glossary: Glossary | None = None) -> None:
        self.translator = translator
        self.search = search or Beam()
        self.glossary = glossary
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
            self._let_read(piece)
        found = dict(zip(map(id, wanted), self._search(wanted, tell), strict=True))
        found |= self._search_again([(piece, found[id(piece)]) for piece in wanted if piece.held])
        self._align([piece for piece in wanted if _is_incomplete(piece)])
        notes = [[note for piece in of_segment for note in _restore(piece)] for of_segment in pieces]
        self._align(
            [piece for segment, some in zip(segments, pieces, strict=True) if _has_tags(segment) for piece in some]
        )
        return [
            self._join(segment, of_segment, [found.get(id(piece)) for piece in of_segment], of_notes)
            for segment, of_segment, of_notes in zip(segments, pieces, notes, strict=True)
        ]

    def place(self, pairs: Sequence[tuple[Segment, str]]) -> list[Segment]:
        """Put the marks of segments into translations that are given, in which all that is held must stand."""
        pieces = []
        for segment, text in pairs:
            held, places = _held_of(segment)
            piece = _Piece(0, len(segment.text), segment.text, held, places, is_translated=True, output=text)
            self._let_read(piece)
            _restore(piece)
            pieces.append(piece)
        self._align([piece for (segment, _), piece in zip(pairs, pieces, strict=True) if _has_tags(segment)])
        return [
            place_marks(segment, piece.output, piece.links, piece.spans)
            for (segment, _), piece in zip(pairs, pieces, strict=True)
        ]

    def _pieces(self, segment: Segment) -> list[_Piece]:
        text = segment.text
        marks = list(zip(*_held_of(segment), strict=True))
        pieces = []
        for start, end in _without_torn(self._bounds(segment, text), marks):
            held = [(mark, place - start) for mark, place in marks if start <= place < end]
            has_words = any(map(str.isalpha, _without(text[start:end], held)))
            pieces.append(
                _Piece(start, end, text[start:end], [m for m, _ in held], [place for _, place in held], has_words)
            )
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
        tokenizer, longest = self.translator.bundle.tokenizers.source, self.translator.longest_source
        for run_start, run_end in [*runs, (begin, place)]:
            for start, end in split_sentences(text[run_start:run_end]):
                start, end = run_start + start, run_start + end
                for part in split_text(text[start:end], tokenizer, longest) or [text[start:end]]:
                    stop = _after_same(text, start, part)
                    yield start, stop
                    start = stop + len(text[stop:end]) - len(text[stop:end].lstrip())

    def _search(self, pieces: Sequence[_Piece], tell: Tell | None) -> Iterator[Translation]:
        done, total = 0, sum(len(piece.text) for piece in pieces)
        for begin in range(0, len(pieces), LINES_AT_ONCE):
            chunk = pieces[begin : begin + LINES_AT_ONCE]
            for piece, translation in zip(
                chunk, self.translator.translate_chunk([self._request(p) for p in chunk], self.search), strict=True
            ):
                piece.output = translation.text
                yield translation
            done += sum(len(piece.text) for piece in chunk)
            if tell is not None:
                tell(done / total)

    def _search_again(self, held: Sequence[tuple[_Piece, Translation]]) -> dict[int, Translation]:
        """Translations of sentences without what they hold, where the model has not learned to write that and is surer
        without it; by the identities of the pieces."""
        unsure = [
            (piece, before) for piece, before in held if self._holds and (self._confidence([before]) or 0) < UNSURE
        ]
        alone = [replace(piece, read="", stand_ins=[], is_required=False) for piece, _ in unsure]
        for piece in alone:
            self._let_read(piece)
        better = {}
        for (piece, before), other, translation in zip(unsure, alone, self._search(alone, None), strict=True):
            if translation.n_best and (self._confidence([translation]) or 0) > (self._confidence([before]) or 0):
                better[id(piece)] = translation
                piece.read, piece.stand_ins, piece.output = other.read, other.stand_ins, other.output
        return better

    def _request(self, piece: _Piece) -> Request:
        text = " ".join(piece.read.split())
        required, banned = (self.glossary.required(text), self.glossary.banned(text)) if self.glossary else ((), ())
        if not self._holds:
            return Request(text, banned=banned)
        held = [" ".join(mark.shown.split()) for mark in piece.held] if piece.is_required else []
        return Request(text, required=tuple(dict.fromkeys([*held, *required])), banned=banned)

    def _let_read(self, piece: _Piece) -> None:
        """Set what the model reads of a sentence, with what is held if the search is to hold it."""
        tokenizer, done = self.translator.bundle.tokenizers.source, 0
        for mark, place in zip(piece.held, piece.places, strict=True):
            piece.read += piece.text[done:place]
            done = place + len(mark.shown)
            read = mark.shown if piece.is_required else ""
            if tokenizer.unknown in tokenizer.encode(mark.shown):
                read = STAND_IN
            if read != mark.shown:
                piece.stand_ins.append((len(piece.read), len(mark.shown) - len(read)))
            piece.read += read
        piece.read += piece.text[done:]

    def _align(self, pieces: Sequence[_Piece]) -> None:
        """Find which words go together, where the model can tell."""
        engine = self.translator.engine
        if not isinstance(engine, PyTorchEngine) or not pieces:
            return
        pieces = [piece for piece in pieces if piece.read.strip() and piece.output.strip()]
        if self._aligner is None:
            tokenizers = engine.bundle.tokenizers
            sources = tokenizers.source.encode_batch([piece.read for piece in pieces])
            targets = tokenizers.target.encode_batch([piece.output for piece in pieces])
            head = find_head(engine.bundle, sources, targets) if pieces else None
            if head is None:
                return
            self._aligner = Aligner(engine.bundle, head)
        fits = [piece for piece in pieces if self._fits(piece)]
        pairs = [(piece.read, piece.output) for piece in fits]
        for piece, links in zip(fits, self._aligner.align(pairs), strict=True):
            words = _words_read(piece)
            piece.links = {(words[i], j) for i, j in links}

    def _fits(self, piece: _Piece) -> bool:
        """Whether the model can read both texts at once."""
        engine = self.translator.engine
        assert isinstance(engine, PyTorchEngine)
        tokenizers, model = engine.bundle.tokenizers, engine.model
        sides = (
            (tokenizers.source, piece.read, model.source_limit),
            (tokenizers.target, piece.output, model.target_limit),
        )
        return all(limit is None or len(side.encode(text)) < limit for side, text, limit in sides)

    def _join(
        self,
        segment: Segment,
        pieces: Sequence[_Piece],
        translations: Sequence[Translation | None],
        notes: Sequence[str],
    ) -> TranslatedSegment:
        text, fixed, links = _joined(segment, pieces)
        translated = [one for one in translations if one is not None]
        told = [*notes]
        if any(self._is_unknown(piece) for piece in pieces if piece.is_translated):
            told.append("the model does not know some of its words")
        if any(one.truncated for one in translated):
            told.append("was cut off at the longest length")
        glossary = {phrase for one in translated for phrase in one.unsatisfied} - {m.shown for m in segment.marks}
        told += [f"does not hold {phrase!r}, as the glossary wants" for phrase in sorted(glossary)]
        told += [f"holds {phrase!r}, which the glossary bans" for one in translated for phrase in one.violated]
        if links is None and _has_tags(segment):
            told.append("tags stand in the order of the words, since the model gives no alignment")
        if sorted(re.findall(r"\d+", segment.text)) != sorted(re.findall(r"\d+", text)):
            told.append("numbers differ")
        placed = place_marks(segment, text, links, fixed)
        told += [f"{raw[:60]} holds no words any more" for raw in emptied_pairs(segment, placed)]
        confidence = self._confidence(translated)
        if confidence is not None and confidence < UNSURE:
            told.append("the model was not sure")
        return TranslatedSegment(placed, confidence, tuple(dict.fromkeys(told)))

    def _is_unknown(self, piece: _Piece) -> bool:
        """Whether words are left out of the vocabulary, but for what is held."""
        tokenizer = self.translator.bundle.tokenizers.source
        return tokenizer.unknown in tokenizer.encode(
            _without(piece.text, list(zip(piece.held, piece.places, strict=True)))
        )

    def _confidence(self, translations: Sequence[Translation]) -> float | None:
        candidates = [one.n_best[0] for one in translations if one.n_best]
        tokens = self.translator.bundle.tokenizers.target.encode_batch([one.text for one in candidates])
        count = sum(len(ids) + 1 for ids in tokens)
        return min(1.0, math.exp(sum(one.log_probability for one in candidates) / count)) if count else None


def _held_of(segment: Segment) -> tuple[list[Mark], list[int]]:
    """What is held, and where in the text it begins."""
    held, places, place = [], [], 0
    for part in segment.parts:
        if isinstance(part, Mark) and part.is_held:
            held.append(part)
            places.append(place)
        place += len(part) if isinstance(part, str) else len(part.shown)
    return held, places


def _without_torn(bounds: Iterable[Span], marks: Sequence[tuple[Mark, int]]) -> Iterator[Span]:
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


def _after_same(text: str, start: int, part: str) -> int:
    """Where a part ends that begins at `start`, whose blanks may be others."""
    place = start
    for character in part:
        if character.isspace():
            continue
        while text[place].isspace():
            place += 1
        place += 1
    return place


def _is_incomplete(piece: _Piece) -> bool:
    return any(piece.output.count(mark.shown) < 1 for mark in piece.held)


def _has_tags(segment: Segment) -> bool:
    """Whether there are marks whose places word alignment must find."""
    return any(not is_fixed(mark) for mark in segment.marks)


def _restore(piece: _Piece) -> list[str]:
    """Make the output hold what it must."""
    if not piece.is_translated:
        piece.output = piece.text
        piece.spans = [(place, place + len(mark.shown)) for mark, place in zip(piece.held, piece.places, strict=True)]
        return []
    shares = [place / max(len(piece.text), 1) for place in piece.places]
    expected = [_expected(piece, mark, place) for mark, place in zip(piece.held, piece.places, strict=True)]
    apart = [
        (piece.text[place - 1 : place].isspace(), piece.text[place + len(mark.shown) :][:1].isspace())
        for mark, place in zip(piece.held, piece.places, strict=True)
    ]
    restored = restore_held(piece.output, piece.held, shares, apart, expected)
    if not restored.text.strip():
        restored = restore_held(piece.text, piece.held, shares, apart)
        restored.notes = ["the model wrote nothing, so that the source stands"]
    if restored.text != piece.output:
        piece.links = None
    piece.output = restored.text
    piece.spans = [span for span in restored.spans if span is not None]
    return restored.notes


def _words_read(piece: _Piece) -> list[int]:
    """For each word that the model reads its number in the text."""
    numbers = []
    for found in re.finditer(r"\S+", piece.read):
        place = found.start() + sum(shorter for start, shorter in piece.stand_ins if start < found.start())
        numbers.append(len(piece.text[: place + 1].split()) - 1)
    return numbers


def _expected(piece: _Piece, mark: Mark, place: int) -> Span | None:
    """Where in the output a mark belongs that stands there in the text: in place of the words that go with it and with
    nothing else, if it stood for an unknown word, or after the word that goes with the one before it; None where that
    is not known."""
    if piece.links is None:
        return None
    words = [found.span() for found in re.finditer(r"\S+", piece.output)]
    number = len(piece.text[: place + 1].split()) - 1
    ours = sorted({j for i, j in piece.links if i == number and j < len(words)})
    shared = {j for i, j in piece.links if i != number}
    if (
        any(start == _place_read(piece, place) for start, _ in piece.stand_ins)
        and len(ours) == 1
        and ours[0] not in shared
    ):
        return words[ours[0]]
    for source in range(len(piece.text[:place].split()) - 1, -1, -1):
        if targets := [j for i, j in piece.links if i == source and j < len(words)]:
            return words[max(targets)][1], words[max(targets)][1]
    return 0, 0


def _place_read(piece: _Piece, place: int) -> int:
    """Where in what the model reads something stands that is held."""
    for start, shorter in piece.stand_ins:
        if start < place:
            place -= shorter
    return place


def _joined(segment: Segment, pieces: Sequence[_Piece]) -> tuple[str, list[Span], set[tuple[int, int]] | None]:
    """The translated text of a segment, where what is fixed stands in it, and which words go together."""
    source = segment.text
    text, done, words = "", 0, 0
    breaks = _breaks(segment)
    spans: list[tuple[int, Span]] = []  # by their places in the source
    links: set[tuple[int, int]] | None = set()
    for piece in [*pieces, None]:
        stop = len(source) if piece is None else piece.start
        between = source[done:stop]
        inner = [place for place in breaks if done <= place < stop]
        for place in inner:
            spans.append((place, (len(text) + place - done, len(text) + place - done + 1)))
        text += between
        if piece is None:
            break
        spans += [
            (piece.start + place, (len(text) + span[0], len(text) + span[1]))
            for place, span in zip(piece.places, piece.spans, strict=True)
        ]
        source_words = len(source[: piece.start].split())
        words = len(text.split())
        if piece.links is None:
            links = None if piece.is_translated else links
        elif links is not None:
            links |= {(i + source_words, j + words) for i, j in piece.links}
        text += piece.output
        done = piece.end
    return text, [span for _, span in sorted(spans)], links


def _breaks(segment: Segment) -> list[int]:
    """Where in the text marks stand that break it."""
    places, place = [], 0
    for part in segment.parts:
        if isinstance(part, Mark) and part.breaks:
            places.append(place)
        place += len(part) if isinstance(part, str) else len(part.shown)
    return places
