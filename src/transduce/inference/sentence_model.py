"""A translator's side of translating documents: sentences for its search, pairs for its attention."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from docsegments.document import Languages
from docsegments.translating.sentence_translator import (
    Links,
    PartProgress,
    SentenceRequest,
    Tell,
    TranslatedSentence,
    confidence,
)
from transduce.analysis.alignment import SAMPLE
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.context_settings import reads_both
from transduce.corpora.languages import UNKNOWN
from transduce.inference.aligner import Aligner
from transduce.inference.details import find_head
from transduce.inference.engines.choice import pytorch_of
from transduce.inference.engines.engine import EngineChoice
from transduce.inference.engines.exported import Model, ThroughThird
from transduce.inference.engines.phrase_engine import PhraseEngine
from transduce.inference.quality.quality_estimate import WorkInFile
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.search.beam import Beam
from transduce.search.choices import DecisionRule, can_require
from transduce.text.glossary import Applying
from transduce.text.long_texts import split_text
from transduce.text.tokenizer import Tokenizer

Result = TypeVar("Result")
PAIRS_AT_ONCE = 100
"""Pairs that are aligned at a time; others that share the model have their turn in between."""
MOST_ALIGNED = 512**2
"""Largest product of the tokens of a source and of its translation that are aligned: a matrix of attention has as many
numbers for each head and layer."""
MOST_LETTERS = 1000**2
"""Largest product of the letters of both that phrases align."""


class LineTranslator(Protocol):
    """The part of `Translator` that a `SentenceTranslator` can be made of."""

    bundle: Model | ThroughThird
    """See Translator."""
    engine: EngineChoice
    """See Translator."""
    longest_source: int
    """See Translator."""

    def translate_chunk(
        self, texts: Sequence[Request], search: DecisionRule, tell: Tell | None = None
    ) -> list[Translation]:
        """See Translator."""

    def exclusively(self, work: Callable[[], Result]) -> Result:
        """See Translator."""


class SentenceModel:
    """Answers the questions of a `SentenceTranslator` with a translator, or a share of one, and a search."""

    def __init__(
        self,
        translator: LineTranslator,
        search: DecisionRule | None = None,
        constrain: Callable[[Request], Request] | None = None,
        are_translated: Callable[[Sequence[str]], Sequence[bool]] | None = None,
    ) -> None:
        """Makes a translator of sentences; `constrain` adds more constraints to the request for one, and those for
        which `are_translated` is True stay as they are."""
        self.translator = translator
        self.search = search or Beam()
        self.constrain = constrain
        self.are_translated = are_translated or (lambda texts: [False] * len(texts))
        tokenizers = translator.bundle.tokenizers
        self.languages = model_languages(translator)
        self.can_align = isinstance(translator.bundle, ModelBundle) or isinstance(translator.engine, PhraseEngine)
        self.can_require = self.can_align and can_require(self.search)
        context = translator.bundle.config.context
        self.context = 0 if context is None else context.texts
        self.reads_both = reads_both(context)
        self.work = WorkInFile()  # of the sentences that were translated so far
        self._source, self._target = tokenizers.source, tokenizers.target
        self._aligner: Aligner | None = None

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        """See SentenceTranslator."""
        tokenizer, longest = self._source, self.translator.longest_source
        parts = [
            [sentence] if len(ids) <= longest else split_text(sentence, tokenizer, longest) or [sentence]
            for sentence, ids in zip(sentences, tokenizer.encode_batch(sentences), strict=True)
        ]
        return parts, [tokenizer.unknown in ids for ids in tokenizer.encode_batch(texts)]

    def translate(
        self, requests: Sequence[SentenceRequest], progress: PartProgress | None = None
    ) -> list[TranslatedSentence]:
        """See SentenceTranslator."""
        stay = self.are_translated([request.text for request in requests])
        asked = [
            Request(request.text, required=request.required, before=request.before)
            for request, stays in zip(requests, stay, strict=True)
            if not stays
        ]
        if self.constrain is not None:
            asked = list(map(self.constrain, asked))
        translations = self.translator.translate_chunk(asked, self.search, progress)
        for translation in translations:
            self.work.add(translation.quality)
        translated = iter(_measured(translations, self._target))
        return [
            TranslatedSentence(request.text) if stays else next(translated)
            for request, stays in zip(requests, stay, strict=True)
        ]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        """See SentenceTranslator; the head is the one kept with the model, else the best on the first pairs."""
        links: list[Links | None] = [None] * len(pairs)
        aligner = self.find_aligner(pairs)
        if aligner is None:
            return links
        fits = [number for number, pair in enumerate(pairs) if self._fits(*pair)]
        for begin in range(0, len(fits), PAIRS_AT_ONCE):
            chosen = fits[begin : begin + PAIRS_AT_ONCE]
            work = partial(aligner.align, [pairs[number] for number in chosen])
            for number, of_pair in zip(chosen, self.translator.exclusively(work), strict=True):
                links[number] = of_pair
        return links

    def find_aligner(self, pairs: Sequence[tuple[str, str]]) -> Aligner | PhraseEngine | None:
        """Returns what aligns pairs, chosen by the first of some pairs if there is none yet; None without attention or
        phrases."""
        if isinstance(self.translator.engine, PhraseEngine):
            return self.translator.engine
        bundle, pairs = self.translator.bundle, pairs[:SAMPLE]
        if self._aligner is None and isinstance(bundle, ModelBundle) and pairs:
            sources = bundle.read([source for source, _ in pairs])
            targets = bundle.tokenizers.target.encode_batch([target for _, target in pairs])
            head = find_head(bundle, sources, targets, self.translator.exclusively)
            self._aligner = None if head is None else Aligner(bundle, head)
        return self._aligner

    def _fits(self, source: str, target: str) -> bool:
        """Returns True if the model can read both texts at once, and its attention fits into memory."""
        engine = pytorch_of(self.translator.engine)
        if engine is None:  # phrases
            return len(source) * len(target) <= MOST_LETTERS
        tokenizers, model = engine.bundle.tokenizers, engine.model
        sides = (
            (tokenizers.source, source, model.source_limit, len(self.translator.bundle.marks.source)),
            (tokenizers.target, target, model.target_limit, 0),
        )
        lengths = [len(side.encode(text)) + more for side, text, _, more in sides]
        fits = (limit is None or length < limit for length, (_, _, limit, _) in zip(lengths, sides, strict=True))
        return all(fits) and math.prod(lengths) <= MOST_ALIGNED


def model_languages(translator: LineTranslator) -> Languages:
    """Returns the languages of a translator's model; "" for an unknown one."""
    codes = translator.bundle.config.source, translator.bundle.config.target
    return Languages(*("" if code == unknown else code for code, unknown in zip(codes, UNKNOWN, strict=True)))


def with_terms(request: Request, demands: Applying) -> Request:
    """Returns a request that has the demands of a glossary besides its own."""
    return replace(
        request,
        required=tuple(dict.fromkeys([*request.required, *demands.required])),
        banned=(*request.banned, *demands.banned),
        terms=(*request.terms, *demands.terms),
    )


def confidence_of(translations: Sequence[Translation], tokenizer: Tokenizer) -> float | None:
    """Returns the geometric mean of the token probabilities of the best translations, 0 to 1; None for no tokens, or
    from an engine that gives no probabilities."""
    return confidence(_measured(translations, tokenizer))


def _measured(translations: Sequence[Translation], tokenizer: Tokenizer) -> list[TranslatedSentence]:
    best = [translation.n_best[0] if translation.n_best else None for translation in translations]
    tokens = tokenizer.encode_batch(["" if candidate is None else candidate.text for candidate in best])
    return [
        TranslatedSentence(
            translation.text,
            0.0 if candidate is None else candidate.log_probability,
            0 if candidate is None else len(ids) + 1,
            translation.truncated,
            tuple(translation.unsatisfied),
            tuple(translation.violated),
            tuple(translation.faults),
        )
        for translation, candidate, ids in zip(translations, best, tokens, strict=True)
    ]
