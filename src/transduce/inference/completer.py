"""Completes what a person has typed of a translation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import torch

from docsegments.orthography.joining import join_sentences
from docsegments.orthography.words import words
from docsegments.sentences import ends_sentence, split_sentences
from transduce.base.devices import to_device
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import pad
from transduce.inference.batched_search import held_phrases, with_most_phrases
from transduce.inference.constraints import Constraints, Piece, Vocabulary
from transduce.inference.engines.pytorch import PyTorchEngine, problem_of, rules_for
from transduce.inference.execution.parallel_search import size_of, threads_for
from transduce.inference.request import Request
from transduce.models.interface import Memory
from transduce.search.beam import Beam
from transduce.search.loop import Active, SearchProblem, Step, take_step
from transduce.search.rules import AfterContext, EndWhere, ForcedCharacters, Rule
from transduce.search.search_settings import Limits, limits_for
from transduce.text.glossary import Glossary
from transduce.text.phrase_encoder import BROKEN
from transduce.text.typed import TypedText

KEPT = 64
"""The number of sources whose encodings and outputs are kept, those that were used last."""

GREEDY, WITH_TERMS = Beam(size=1), Beam(size=4)
"""The searches for a keystroke, without and with terms that the rest of the sentence must hold."""

Tell = Callable[[str], None]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Completion:
    """The continuation of a typed text."""

    text: str
    """The characters that follow the typed ones; empty if nothing does."""
    n_best: list[str]
    """The continuations asked for, best first."""
    finished: bool
    """True if it ends the translation of its sentence."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Output:
    """The greedy output for a source, with the tokens of what had been typed."""

    tokens: list[int]
    is_whole: bool
    """True if it ends the sentence, False if it was cut at a number of words."""


class Completer:
    """Completes typed translations, one sentence at a time, with the encoder's output kept from keystroke to keystroke.

    The tokens of a typed text are forced, and read in one pass, except those of the last characters: a search chooses
    these among all that spell them. So a text may end within a word, though tokens of whole words differ. A greedy
    search is spared where the last output of the sentence agrees with what was typed since: it would be found again.
    """

    def __init__(
        self,
        engine: PyTorchEngine,
        bundle: ModelBundle,
        constraints: Constraints,
        encode: Callable[[Sequence[Request]], list[list[list[int]]]],
    ) -> None:
        self.engine = engine
        self._bundle = bundle
        self._model = engine.model
        self._size = size_of(engine.bundle.model)
        self._constraints = constraints
        self._encode = encode
        self._memories: dict[tuple[int, ...], Memory] = {}
        self._outputs: dict[tuple[int, ...], _Output] = {}

    def complete(
        self,
        text: str,
        typed: str,
        search: Beam | None = None,
        most_words: int | None = None,
        glossary: Glossary | None = None,
        tell: Tell | None = None,
        before: Sequence[str] = (),
    ) -> Completion:
        """Completes the sentence in which a typed translation of a text ends, or the next one if that is complete.

        See `Translator.complete`.
        """
        sources = [text[begin:end] for begin, end in split_sentences(text)]
        begins = [begin for begin, _ in split_sentences(typed)]
        if not sources:
            return Completion("", [], True)
        number = min(max(len(begins), 1), len(sources)) - 1
        current = typed[begins[number] :] if begins else ""
        if current != current.rstrip() and ends_sentence(current) and number + 1 < len(sources):
            number, current = number + 1, ""
        completion = self._complete(self._request(sources, number, before), current, search, most_words, glossary, tell)
        if completion.text or not current or not ends_sentence(current) or number + 1 == len(sources):
            return completion
        request = self._request(sources, number + 1, before)
        following = self._complete(request, "", search, most_words, glossary, None)
        language = self._bundle.config.target
        n_best = [join_sentences([current, after], language)[len(current) :] for after in following.n_best]
        return Completion(n_best[0] if n_best else "", n_best, following.finished)

    def _request(self, sources: Sequence[str], number: int, before: Sequence[str]) -> Request:
        """Returns the request for a sentence, with as many of those before it as the model reads."""
        context = self._bundle.config.context
        most = 0 if context is None else context.before
        return Request(sources[number], before=(*before, *sources[max(number - most, 0) : number]) if most else ())

    @torch.inference_mode()
    def _complete(
        self,
        request: Request,
        typed: str,
        search: Beam | None,
        most_words: int | None,
        glossary: Glossary | None,
        tell: Tell | None,
    ) -> Completion:
        (pieces,), sentence = self._encode([request]), request.text
        if not pieces:  # it has no words, so it stays as it is
            rest = sentence[len(typed) :] if sentence.startswith(typed) else ""
            return Completion(rest, [rest], True)
        if len(pieces) > 1:
            raise InputError(f"{sentence[:60]!r} is too long to be translated at once; divide it to complete it")
        text = self._constraints.typed.encode(typed)
        limit = self._model.target_limit
        if limit is not None and len(text.tokens) + len(text.next_tokens) + 1 >= limit:
            return Completion("", [], False)
        request = Request(sentence)
        if glossary is not None:
            request = Request(sentence, "", *glossary.applying(sentence))
        unmet = [each for each in request.required if self._constraints.met_by(request, each, typed) is None]
        request = replace(request, required=tuple(unmet))
        search = search or (WITH_TERMS if unmet else GREEDY)
        marks = self._bundle.marks
        (piece,) = self._constraints.pieces(request, [[*marks.source, *pieces[0]]], marks.begin)
        is_free = search == GREEDY and not request.required and not request.banned
        if is_free and (known := self._known(piece, text, most_words)) is not None:
            return known
        with threads_for(search.rows, self._size, self._bundle.device):
            plain = replace(piece, required=[])
            (hypotheses,) = search.find(self._problem(plain, text, search, most_words, tell))
            if any(held_phrases(piece, self._written(text, h.tokens)) < len(piece.required) for h in hypotheses):
                (constrained,) = search.find(self._problem(piece, text, search, most_words, tell))
                hypotheses = with_most_phrases(piece, hypotheses, constrained, partial(self._written, text))
        outputs = [self._added(text, hypothesis.tokens) for hypothesis in hypotheses]
        n_best = list(dict.fromkeys(_first_words(output, most_words) for output in outputs))
        if not n_best:  # no output holds to all constraints
            return Completion("", [], False)
        is_whole = n_best[0] == outputs[0] and not hypotheses[0].truncated
        if is_free and not hypotheses[0].truncated:  # else more could be written after more was typed
            _keep(self._outputs, tuple(piece.source), _Output([*text.tokens, *hypotheses[0].tokens], is_whole))
        return Completion(n_best[0], n_best, is_whole)

    def _known(self, piece: Piece, text: TypedText, most_words: int | None) -> Completion | None:
        """Returns the completion by the last output for a source; None if it disagrees with the text or is too short.

        The typed characters leave fewer tokens to choose from than before, so that the best one of these is the same.
        """
        output = self._outputs.get(tuple(piece.source))
        count, typed = len(text.tokens), self._constraints.typed
        if output is None or output.tokens[:count] != text.tokens:
            return None
        rest, written = output.tokens[count:], 0
        for number, token in enumerate([*rest, self._constraints.tokenizer.eos]):
            if written >= len(text.next_tokens):
                break
            if token not in text.next_tokens[written]:
                return None
            written = typed.written(rest[: number + 1], is_start=not count)
        added = self._added(text, rest)
        if not output.is_whole and (most_words is None or len(words(added)) <= most_words):
            return None
        first = _first_words(added, most_words)
        return Completion(first, [first], output.is_whole and first == added)

    def _problem(
        self, piece: Piece, text: TypedText, search: Beam, most_words: int | None, tell: Tell | None
    ) -> SearchProblem[Any]:
        """Returns the problem of a search after a typed text, whose tokens are read here, but for the last."""
        bundle, constraints, model = self._bundle, self._constraints, self._model
        vocabulary = Vocabulary.of(constraints.tokenizer, lambda: constraints.edges)
        context = torch.tensor([[vocabulary.begin if piece.begin is None else piece.begin, *text.tokens]])
        (context,) = to_device([context], bundle.device)
        state = model.start(self._memory(piece.source))
        if text.tokens:
            _, state = model.decoder(context[:, :-1], state)
        sources = torch.tensor([len(piece.source) - piece.context + 1])
        longest = limits_for(search, sources, model.target_limit).longest - len(text.tokens)
        longest = longest.clamp(min=len(text.next_tokens) + 1)
        limits = Limits(torch.ones_like(longest), longest, end_is_free=True).to(bundle.device)
        rules: list[Rule] = [AfterContext(context[:, 1:], rules_for([piece], vocabulary, search))]
        if text.next_tokens:
            is_start = not text.tokens
            rules = [
                ForcedCharacters(
                    text.next_tokens, lambda tokens: self._constraints.typed.written(tokens, is_start), rules
                )
            ]
        if most_words is not None:

            def are_enough(_: int, tokens: list[int]) -> bool:
                added = self._added(text, tokens)
                return len(added) > most_words and len(words(added)) > most_words

            rules.append(EndWhere(are_enough, vocabulary.end))

        def step(decoder: Any, active: Active[Any], *others: Any) -> Step[Any]:
            made = take_step(decoder, active, *others)
            if tell is not None and not made.are_finished.any():
                tell(_first_words(self._added(text, made.active.tokens[0, 0, 1:].tolist()), most_words))
            return made

        return problem_of(model, state, limits, context[:, -1], [piece], vocabulary, search, step, rules)

    def _memory(self, source: Sequence[int]) -> Memory:
        """Returns the encoder's output for a source, [1, time, dim], which is kept for the next keystrokes."""
        key = tuple(source)
        memory = self._memories.pop(key, None)
        if memory is None:
            special = self._bundle.special
            ids = pad([list(source)], special.source_pad, special.source_eos)
            memory = self._model.encode(*to_device(ids, self._bundle.device))
        _keep(self._memories, key, memory)
        return memory

    def _written(self, typed: TypedText, tokens: Sequence[int]) -> str:
        """Returns the whole text of a typed one and of tokens after it."""
        return self._constraints.tokenizer.decode([*typed.tokens, *tokens])

    def _added(self, typed: TypedText, tokens: Sequence[int]) -> str:
        """Returns the text that tokens add to a typed one; none while they have not written all of that."""
        text = self._written(typed, tokens).rstrip(BROKEN)
        visible = [offset for offset, character in enumerate(text) if not character.isspace()]
        count = sum(not character.isspace() for character in typed.text)
        if count > len(visible):
            return ""
        added = text[visible[count - 1] + 1 :] if count else text
        return added.lstrip() if typed.ends_in_space else added


def _keep(kept: dict[tuple[int, ...], Value], key: tuple[int, ...], value: Value) -> None:
    """Keeps a value as the last one, and drops those that have not been used for the longest time."""
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > KEPT:
        del kept[next(iter(kept))]


def _first_words(text: str, most: int | None) -> str:
    """Returns the beginning of a text, up to a number of words."""
    spans = words(text) if most is not None else []
    return text[: spans[most - 1][1]] if most is not None and len(spans) > most else text
