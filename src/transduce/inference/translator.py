"""A trained model as a tool: sentences in, translations out, in the same order."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast, overload

import msgspec

from docsegments.orthography.words import has_words
from transduce.analysis.look_at_phrases import PhraseLook
from transduce.analysis.look_at_text import Look
from transduce.base.errors import InputError
from transduce.base.reprs import shown_by
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import Marks, ModelBundle, bundle_facts
from transduce.corpora.corpus import Pair, is_pair
from transduce.corpora.directions import Direction
from transduce.inference.batched_search import BatchedSearch
from transduce.inference.completer import Completer, Completion
from transduce.inference.constraints import Constraints, Piece, divided
from transduce.inference.details import Details, details_of_lines
from transduce.inference.engines.choice import EngineName, engine_for, pytorch_of
from transduce.inference.engines.compiled import compiling
from transduce.inference.engines.engine import EngineChoice
from transduce.inference.engines.ensemble import Ensemble, check_alike
from transduce.inference.engines.exported import Model, ThroughThird, open_model
from transduce.inference.engines.inference_precision import InferencePrecision, at_precision, device_for
from transduce.inference.engines.phrase_engine import PhraseEngine
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.execution.malloc import keep_free_memory
from transduce.inference.kept_numbers import kept_between
from transduce.inference.looking import check_length, check_not_blank, look_at_translation
from transduce.inference.outcomes import joined, why_unsatisfied, with_outcomes
from transduce.inference.quality.quality_estimate import combined
from transduce.inference.quality.quality_model import QualityModel
from transduce.inference.request import Request, with_drafts
from transduce.inference.scorer import PairScore, Scorer
from transduce.inference.shortlist.shortlist import Shortlist, find_shortlist
from transduce.inference.translation import Candidate, Translation
from transduce.search.beam import Beam
from transduce.search.choices import DecisionRule, search_of
from transduce.search.loop import Hypothesis
from transduce.text.glossary import Glossary
from transduce.text.long_texts import longest_in_context, pieces_in_context, split_text

Result = TypeVar("Result")

LINES_AT_ONCE = 1000
"""Sentences held at a time: enough to sort by length, however long the input is."""


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Translator:
    """Translates with a bundle's model, on the device and at the precision that the model has, or an exported one.

    Further bundles of the same vocabularies make an ensemble, whose probabilities are the mean of all models'. With a
    shortlist, only its tokens are searched, and probabilities are those among them. Compiled, a sentence alone is
    faster after `warm_up`. The engine is by default PyTorch, which runs the bundle as it is; `auto` is for one that is
    unchanged since it was loaded. Raises InputError where the vocabularies differ, for an ensemble with an exported
    model, for a shortlist for one, to compile either, or for a model of another engine.
    """

    def __init__(
        self,
        bundle: Model,
        *others: Model,
        shortlist: Shortlist | None = None,
        compile: bool = False,
        tokens_at_once: int | None = None,
        engine: EngineName | None = None,
    ) -> None:
        self.bundle: Model | ThroughThird = bundle
        for number, member in enumerate((bundle, *others), 1):
            check_tool(f"model {number}" if others else "the model", member.config.task, "translator")
        for number, other in enumerate(others, 2):
            check_alike(bundle, other, number)
        self.engine: EngineChoice = engine_for(bundle, *others, shortlist=shortlist, compile=compile, engine=engine)
        longest = min(member.config.longest_source for member in (bundle, *others))
        limit, marked = self.engine.source_limit, 0 if bundle.config.languages is None else 1
        self.longest_source = min(longest, limit - 1 - marked if limit else longest)
        self.constraints = Constraints(bundle.tokenizers.target, bundle.tokenizers.source)
        self.quality = None if bundle.folder is None else QualityModel.load(bundle.folder)
        self._batched = BatchedSearch(self.engine, self.constraints, tokens_at_once, self.quality)
        self._completer: Completer | None = None

    @staticmethod
    def load(
        path: str | Path,
        *others: str | Path,
        device: str = "auto",
        precision: InferencePrecision = "float32",
        shortlist: bool | str | Path = False,
        compile: bool = False,
        engine: EngineName = "auto",
        tokens_at_once: int | None = None,
    ) -> "Translator":
        """Loads a translator, or an ensemble, from folders of models, runs or exported models: see `transduce.load`."""
        keep_free_memory()
        device = device_for(precision, device)
        models = [at_precision(open_model(folder, device), precision) for folder in (path, *others)]
        chosen = find_shortlist(path, models[0].tokenizers, shortlist)
        loaded = Translator(*models, shortlist=chosen, compile=compile, tokens_at_once=tokens_at_once, engine=engine)
        if compile:
            loaded.warm_up()
        return loaded

    def warm_up(self, search: DecisionRule | None = None) -> None:
        """Searches two artificial sentences with long outputs, so that everything such a search needs is compiled.

        On a GPU there is nothing to wait for: graphs are made in less than a second, when their sizes first come.

        Raises ConfigError if PyTorch cannot compile here.
        """
        if (pytorch := pytorch_of(self.engine)) is not None and pytorch.graphs is not None:
            return
        search = search_of(search or Beam())
        never = 1_000 if search.no_repeat_ngram else 0  # tokens of a run: the rule is there, and bans nothing
        at_length = msgspec.structs.replace(search, min_ratio=8.0, max_ratio=9.0, no_repeat_ngram=never)
        unknown = self.bundle.tokenizers.source.unknown
        marks = self.bundle.for_probe.marks if isinstance(self.bundle, ModelBundle) else Marks()
        with compiling():
            for length in (2, min(16, self.longest_source)):  # odd with the end token, as few other sizes are
                piece = Piece([*marks.source, *[unknown] * length], [], [], [], marks.begin)
                self.engine.of(piece, at_length).search([piece], self.constraints, at_length)

    def directed(self, to: str | None = None, from_: str | None = None) -> "Translator":
        """Returns the translator in a direction; see `BundleConfig.find_direction`."""
        direction = self.bundle.config.find_direction(to, from_)
        if self.bundle.config.languages is None:
            return self
        other = copy.copy(self)
        other.bundle, other._completer = self.bundle.directed(direction), None
        return other

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str | Request,
        search: DecisionRule | None = None,
        *,
        to: str | None = None,
        from_: str | None = None,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Iterable[str | Request],
        search: DecisionRule | None = None,
        *,
        to: str | None = None,
        from_: str | None = None,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | Request | Iterable[str | Request],
        search: DecisionRule | None = None,
        *,
        to: str | None = None,
        from_: str | None = None,
    ) -> Translation | list[Translation]:
        """Translates one line of text, or several, and returns the translations in the same order.

        A blank line stays blank; one without letters (`***`, `42`, an emoji) is returned unchanged, unless the model's
        vocabulary has no letters either.

        For `to` and `from_` see `directed`. Raises InputError for requests that the search or model does not support.
        """
        if to is not None or from_ is not None:
            return self.directed(to, from_).translate(texts, search)
        if isinstance(texts, str | Request):
            return next(self.stream([texts], search))
        return list(self.stream(texts, search))

    @overload
    def score(self, pairs: Pair) -> PairScore: ...

    @overload
    def score(self, pairs: Iterable[Pair]) -> list[PairScore]: ...

    def score(self, pairs: Pair | Iterable[Pair]) -> PairScore | list[PairScore]:
        """Scores one given translation, or several, by its probability under the model or the ensemble.

        A shortlist is ignored. Raises InputError for an exported model, or a pair that is too long.
        """
        engine = self._pytorch("score given pairs")
        scorer = Scorer(self._directed_bundle(engine.bundle), engine.model)
        if is_pair(pairs):
            return scorer.score([cast(Pair, pairs)])[0]
        return scorer.score(cast(Iterable[Pair], pairs))

    def look(self, text: str | Request, target: str | None = None, search: Beam | None = None) -> Look | PhraseLook:
        """Shows how the model translates one line: attention, search, confidence, and what the output depends on; of a
        phrase-based model, the phrases.

        A given target is shown instead of a translation. Raises InputError for an ensemble, an exported model, a line
        that is blank or too long to translate at once, or required phrases.
        """
        request = Request(text) if isinstance(text, str) else text
        if isinstance(self.engine, PhraseEngine):
            check_not_blank(request.text)
            check_length(len(self.bundle.tokenizers.source.encode(request.text)), self.longest_source)
            (piece,) = self.constraints.pieces(request, [[]])
            return self.engine.look(request.text.strip(), piece, target)
        bundle, piece = self.whole_piece(request)
        return look_at_translation(bundle, self.constraints, piece, target, search or Beam(), request.text.strip())

    def whole_piece(self, request: Request) -> tuple[ModelBundle, Piece]:
        """Returns the model, and a line as it reads it, to be looked at; InputError as for `look`."""
        bundle, marks, tokenizer = self.single_model(), self.bundle.marks, self.bundle.tokenizers.source
        if not (source := tokenizer.encode(request.text.strip())):
            raise InputError("there is no text to look at")
        check_length(len(source), self.longest_source)
        if request.required:
            raise InputError("a search with required phrases cannot be looked at; leave them out")
        source = next(iter(self.encode([request])[0]), source)
        (piece,) = self.constraints.pieces(request, [[*marks.source, *source]], marks.begin)
        return bundle, piece

    def complete(
        self,
        text: str,
        typed: str = "",
        search: Beam | None = None,
        *,
        most_words: int | None = None,
        glossary: Glossary | None = None,
        tell: Callable[[str], None] | None = None,
        before: Sequence[str] = (),
    ) -> Completion:
        """Completes what a person has typed of a text's translation: the sentence in which the typed text ends, perhaps
        within a word, or the next one if that is complete.

        Args:
            text: the text that is translated.
            typed: the beginning of its translation, exactly as it was typed.
            search: the beam search; default: greedy search, or a beam of 4 where terms are to be held.
            most_words: the most words of a completion; default: all of the sentence.
            glossary: terms that the rest of the sentence must hold.
            tell: receives the completion as it grows; an error that it raises ends the search.
            before: the sentences before the text, for a model that reads context.

        Raises InputError for an exported model, a sentence that is too long to be translated at once, or a glossary
        whose terms contradict each other.
        """
        engine = self._pytorch("complete what is typed")
        if self._completer is None or self._completer.engine is not engine:  # in a copy with another model
            bundle = self._directed_bundle(engine.bundle)
            self._completer = Completer(engine, bundle, self.constraints, self.encode)
        return self._completer.complete(text, typed, search, most_words, glossary, tell, before)

    def exclusively(self, work: Callable[[], Result]) -> Result:
        """Runs work that needs the model for itself: no other translation of a shared model runs meanwhile."""
        return work()

    def stream(
        self, texts: Iterable[str | Request], search: DecisionRule | None = None, lines_at_once: int = LINES_AT_ONCE
    ) -> Iterator[Translation]:
        """Translates any number of lines, holding a bounded number at a time; InputError for a single string."""
        if isinstance(texts, str):
            raise InputError(f"{texts[:60]!r} is one line, not several; give a list, or use translate")
        lines = iter(texts)
        while chunk := list(islice(lines, lines_at_once)):
            yield from self.translate_chunk(chunk, search or Beam())

    def translate_chunk(
        self,
        texts: Sequence[str | Request],
        search: DecisionRule,
        tell: Callable[[float], None] | None = None,
        with_details: bool = False,
        encoded: Sequence[list[list[int]]] | None = None,
    ) -> list[Translation]:
        """Translates lines that are held together: sorted by length inside, returned in order; with details if wanted.

        `tell` is called after each batch with the share of all source tokens that is done. `encoded` is the result of
        `encode` for the same lines, if it is known.
        """
        requests: Sequence[Request] = [Request(text) if isinstance(text, str) else text for text in texts]
        if encoded is None:
            requests = with_drafts(
                requests,
                self.bundle.config.context,
                lambda each: [found.text for found in self.translate_chunk(each, search, encoded=self.encode(each))],
            )
            encoded = self.encode(requests)
        marks, kept = self.bundle.marks, kept_between(self.bundle.config, search)
        lines = [
            self.constraints.pieces(
                request, [[*marks.source, *ids] for ids in pieces], marks.begin, self.divide(request, pieces), kept
            )
            for request, pieces in zip(requests, encoded, strict=True)
        ]
        results = iter(self._batched.search([piece for line in lines for piece in line], search, tell))
        hypotheses = [[next(results) for _ in line] for line in lines]
        translations = [self._join(*line, search) for line in zip(requests, lines, hypotheses, strict=True)]
        if not with_details:
            return translations
        outputs = [[of_piece[0].tokens for of_piece in line] for line in hypotheses]
        details = details_of_lines(self.single_model(), [[piece.source for piece in line] for line in lines], outputs)
        return [replace(translation, details=each) for translation, each in zip(translations, details, strict=True)]

    def why_unsatisfied(self, translation: Translation, phrase: str) -> str:
        """Explains why a translation lacks a phrase that it was required to hold, and what may help."""
        return why_unsatisfied(translation, phrase, self.constraints)

    def encode(self, texts: Sequence[str | Request]) -> list[list[list[int]]]:
        """Returns the token ids of each line's pieces: one piece unless it is too long, none if it has no words; each
        after the texts and the pieces before it, if the model reads them."""
        read = [text if isinstance(text, str) else text.text for text in texts]
        tokenizer, longest = self.bundle.tokenizers.source, self.longest_source
        lines = [text.strip() if self._is_translated(text) else "" for text in read]
        encoded = [
            [ids] if 0 < len(ids) <= longest else tokenizer.encode_batch(split_text(line, tokenizer, longest))
            for line, ids in zip(lines, tokenizer.encode_batch(lines), strict=True)
        ]
        if (context := self.bundle.config.context) is None:
            return encoded
        both = zip(encoded, ((text.before if isinstance(text, Request) else ()) for text in texts), strict=True)
        most = longest_in_context(context.texts, longest, self.engine.source_limit)
        return [pieces_in_context(tokenizer, *each, context.texts, most) for each in both]

    def divide(self, request: Request, encoded: Sequence[list[int]]) -> list[Request]:
        """Returns a request for each piece of a line, whose token ids are given."""
        if len(encoded) < 2:
            return [request] * len(encoded)
        return divided(request, split_text(request.text, self.bundle.tokenizers.source, self.longest_source))

    def _is_translated(self, text: str) -> bool:
        """Returns True if the model should translate a text: it has words, or the model is one of numbers or signs."""
        if has_words(text) or not self.bundle.tokenizers.source.has_letters:
            return True
        return self.bundle.config.languages is not None and any(map(str.isdigit, text))  # digits differ by language

    def join(self, request: Request, pieces: Sequence[Translation], rule: DecisionRule) -> Translation:
        """Returns the translation of a line from those of its pieces, which were translated one by one."""
        details = [piece.details for piece in pieces if piece.details is not None]
        best = joined([piece.n_best[0] for piece in pieces], rule, self.bundle.config.target)
        translation = Translation(
            best.text,
            [best],
            was_split=True,
            truncated=any(piece.truncated for piece in pieces),
            faults=list(dict.fromkeys(fault for piece in pieces for fault in piece.faults)),
            quality=combined((piece.quality, piece.text) for piece in pieces),
            details=Details.joined(details) if len(details) == len(pieces) else None,
        )
        return with_outcomes(translation, request, self.constraints, kept_between(self.bundle.config, rule))

    def _pytorch(self, work: str) -> PyTorchEngine:
        """Returns the engine; InputError for one that cannot do this work."""
        if (engine := pytorch_of(self.engine)) is None:
            without = f"exported models, phrases, and two models one after the other cannot {work}"
            raise InputError(f"{without}; use the original model, or a neural one")
        return engine

    def single_model(self) -> ModelBundle:
        """Returns the bundle of a single PyTorch model; InputError for an ensemble or an exported model."""
        engine = pytorch_of(self.engine)
        if engine is None or isinstance(engine.model, Ensemble):
            raise InputError("only a single model can be looked into, neither an ensemble nor an exported one")
        return self._directed_bundle(engine.bundle)

    def _directed_bundle(self, bundle: ModelBundle) -> ModelBundle:
        """Returns an engine's bundle in this translator's direction."""
        config = self.bundle.config
        return bundle.directed(Direction(config.source, config.target)) if config.languages is not None else bundle

    def _join(
        self, request: Request, line: list[Piece], found: list[list[Hypothesis]], rule: DecisionRule
    ) -> Translation:
        decode = self.bundle.tokenizers.target.decode
        if not found:
            if self._is_translated(request.text) or not request.text.strip():
                return Translation("", [])
            return with_outcomes(
                Translation(request.text, [Candidate(request.text, 0.0, 0.0)]), request, self.constraints
            )
        if not all(found):
            raise InputError(
                f"{request.text[:60]!r}: no translation satisfies all constraints; lower min_ratio, raise or drop "
                "no_repeat_ngram, or ban fewer phrases"
            )
        best, *others = [[Candidate(decode(h.tokens), h.score, h.log_probability) for h in n_best] for n_best in found]
        pieces = [best[0], *(other[0] for other in others)]
        candidates = [joined(pieces, rule, self.bundle.config.target)] if others else best
        texts = [piece.text for piece in pieces]
        translation = Translation(
            candidates[0].text,
            candidates,
            was_split=bool(others),
            truncated=any(n_best[0].truncated for n_best in found),
            faults=self._batched.faults(line, texts),
            quality=self._batched.quality(line, texts, found),
        )
        return with_outcomes(translation, request, self.constraints, kept_between(self.bundle.config, rule))
