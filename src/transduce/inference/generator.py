"""A trained language model as a tool: texts in, texts that go on out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, overload

import msgspec
import torch
from torch import Tensor

from transduce.analysis.look import Look
from transduce.bundle import ModelBundle
from transduce.devices import find_device
from transduce.errors import InputError
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.engines.precision import InferencePrecision, at_precision, device_for
from transduce.inference.engines.pytorch_search import rules_for, search_from
from transduce.inference.execution.memory import keep_free_memory
from transduce.inference.looking import look_at_generation
from transduce.inference.requests import Constraints, Piece, Request
from transduce.inference.shortlist.vocabulary import Vocabulary
from transduce.models.interface import EncoderDecoder
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.limits import Limits
from transduce.search.one_by_one import tokens_one_by_one
from transduce.search.sampling import Sampling
from transduce.task_table import check_tool
from transduce.text.tokenizer import Tokenizer

MAX_TOKENS = 200
LOOK_TOKENS = 24
WITH_STOPS = 32  # tokens after which it is seen whether a stop has come
UNFINISHED = "\ufffd"  # how bytes that are not yet a character are decoded


@dataclass(frozen=True)
class GeneratedText:
    """One text that a model has written."""

    text: str
    """The prompt and what comes after it."""
    log_probability: float
    """Natural logarithm, of all tokens written after the prompt, those after a stop too."""
    tokens: int
    """How many these are."""
    stopped: bool
    """Whether a stop ended it, rather than the number of tokens."""


@dataclass(frozen=True)
class Generation:
    """What has become of a prompt."""

    prompt: str
    """As the model has read it."""
    n_best: list[GeneratedText]
    """Of a beam the best, best first; of sampling so many draws, as drawn."""

    @property
    def text(self) -> str:
        """The best or first text, with the prompt."""
        return self.n_best[0].text

    @property
    def continuation(self) -> str:
        """The best or first text, without the prompt."""
        return self.text[len(self.prompt) :]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Ends:
    """When writing ends."""

    max_tokens: int
    texts: tuple[str, ...]

    @property
    def with_line(self) -> bool:
        """Whether the end of a line is one."""
        return "\n" in self.texts

    def find(self, written: str) -> int | None:
        """Where the first of the texts begins; None where there is none."""
        return min((place for end in self.texts if (place := written.find(end)) >= 0), default=None)


@dataclass(frozen=True)
class _Writing:
    """A text that is being written."""

    ids: list[int]
    written: int = 0
    log_probability: float = 0.0
    stopped: bool = False

    def is_open(self, ends: _Ends) -> bool:
        return not self.stopped and self.written < ends.max_tokens


class Generator:
    """Goes on with texts by a bundle's model, on its device and at its precision.

    Further bundles of the same vocabulary make an ensemble, whose probabilities are the mean of all models'. Raises
    InputError for a model that is no language model, or where the vocabularies differ.
    """

    def __init__(self, bundle: ModelBundle, *others: ModelBundle) -> None:
        for number, one in enumerate((bundle, *others), 1):
            check_tool(f"model {number}" if others else "the model", one.config.task, "generator")
            if one.tokenizers.target.content != bundle.tokenizers.target.content:
                raise InputError(f"model {number} of the ensemble has another tokenizer than the first")
        models = [cast(EncoderDecoder[DecoderState], one.model) for one in (bundle, *others)]
        self.bundle = bundle
        self.model: EncoderDecoder[DecoderState] = Ensemble(models) if others else models[0]  # type: ignore[assignment]
        self.window = min(one.config.longest_source for one in (bundle, *others))
        self._constraints = Constraints(bundle.tokenizers.target)

    @staticmethod
    def load(
        path: str | Path, *others: str | Path, device: str = "auto", precision: InferencePrecision = "float32"
    ) -> "Generator":
        """A generator from the folder of a model or a run, or an ensemble from several: see `transduce.load`."""
        keep_free_memory()
        place = find_device(device_for(precision, device))
        return Generator(*(at_precision(ModelBundle.load(Path(one), place), precision) for one in (path, *others)))

    @overload
    def generate(  # type: ignore[overload-overlap]
        self,
        prompts: str | Request,
        search: Search | None = None,
        max_tokens: int = MAX_TOKENS,
        stop: Iterable[str] = (),
    ) -> Generation: ...

    @overload
    def generate(
        self,
        prompts: Iterable[str | Request],
        search: Search | None = None,
        max_tokens: int = MAX_TOKENS,
        stop: Iterable[str] = (),
    ) -> list[Generation]: ...

    def generate(
        self,
        prompts: str | Request | Iterable[str | Request],
        search: Search | None = None,
        max_tokens: int = MAX_TOKENS,
        stop: Iterable[str] = (),
    ) -> Generation | list[Generation]:
        """Go on with one prompt, or with several: as many results, in the same order.

        When the window that the model was trained on is full, its second half is read anew as the context of what
        follows; each of several hypotheses then goes on by itself.

        Args:
            prompts: texts to go on with; an empty one is the beginning of a line.
            search: greedy by default; its own settings of length play no part.
            max_tokens: how many tokens are written at most.
            stop: texts at which writing ends, and which are left out; "\\n" is the end of a line.

        Raises InputError for what the search cannot follow.
        """
        if isinstance(prompts, str | Request):
            return self._generate([prompts], search or Beam(size=1), _ends(max_tokens, stop))[0]
        return self._generate(list(prompts), search or Beam(size=1), _ends(max_tokens, stop))

    def stream(
        self,
        prompt: str | Request,
        search: Search | None = None,
        max_tokens: int = MAX_TOKENS,
        stop: Iterable[str] = (),
    ) -> Iterator[str]:
        """What `generate` writes after one prompt, piece by piece as it comes; one draw, or greedily.

        Raises InputError for a search that follows several hypotheses: use `generate`.
        """
        search, ends = search or Beam(size=1), _ends(max_tokens, stop)
        if search.rows > 1 or isinstance(search, DiverseBeam):
            raise InputError("only a single hypothesis can be streamed: use one sample or greedy search")
        return self._stream(_request(prompt), search, ends)

    def look(
        self, prompt: str, continuation: str | None = None, search: Beam | None = None, max_tokens: int = LOOK_TOKENS
    ) -> Look:
        """What the model does with a prompt: attention, confidence, and the search that continues it.

        With a continuation this is looked at instead of one that is searched. Raises InputError for an ensemble, or a
        text that is longer than the window.
        """
        if isinstance(self.model, Ensemble):
            raise InputError("only a single model can be looked at, not an ensemble")
        ids = self.encode(prompt)
        given = None if continuation is None else self.encode(prompt + continuation)[len(ids) :]
        length = max_tokens if given is None else len(given)
        if given == []:
            raise InputError("the continuation is empty")
        if len(ids) + length > self.window + 1:
            raise InputError(
                f"{len(ids) + length:,} tokens are more than the model's window of {self.window:,}; "
                "shorten the text, or ask for fewer tokens"
            )
        (piece,) = self._constraints.pieces(Request(prompt), [ids])
        tokenizer = self.bundle.tokenizers.target
        vocabulary = replace(Vocabulary.of(tokenizer, lambda: self._constraints.edges), end=tokenizer.pad)
        return look_at_generation(self.bundle, vocabulary, piece, length, search or Beam(), given, self.text_of)

    def _stream(self, request: Request, search: Search, ends: _Ends) -> Iterator[str]:
        writing = _Writing(self.encode(request.text))
        begun = len(self.text_of(writing.ids))
        shown = 0
        while writing.is_open(ends):
            piece, length = self._stretch(request, writing, ends)
            before = writing.written
            for token in self._tokens(piece, search, length, ends):
                writing = _Writing([*writing.ids, token], writing.written + 1)
                written = self.text_of(writing.ids)[begun:]
                end = ends.find(written)
                sure = len(written) - _unsure(written, ends) if end is None else end
                if sure > shown:
                    yield written[shown:sure]
                    shown = sure
                if end is not None:
                    return
            if writing.written - before < length:  # it has ended by itself
                break
        yield self.text_of(writing.ids)[begun:][shown:]

    def encode(self, prompt: str) -> list[int]:
        """The ids of a text whose last line goes on; of an empty one, the end of the line before."""
        end = self.bundle.tokenizers.target.eos
        first, *others = self.bundle.tokenizers.target.encode_batch(prompt.split("\n"))
        return [*first, *(token for line in others for token in (end, *line))] or [end]

    def text_of(self, ids: Iterable[int]) -> str:
        """The text of tokens, in which the end token ends a line."""
        return text_of(self.bundle.tokenizers.target, ids)

    def _generate(self, prompts: Sequence[str | Request], search: Search, ends: _Ends) -> list[Generation]:
        requests = [_request(prompt) for prompt in prompts]
        begun = [_Writing(self.encode(request.text)) for request in requests]
        shown = [self.text_of(one.ids) for one in begun]
        writings = [[one] for one in begun]
        while any(one.is_open(ends) for of_prompt in writings for one in of_prompt):
            writings = self._go_on(requests, writings, shown, search, ends)
            search = _alone(search)
        return [
            Generation(prompt, [self._draft(one, prompt, ends) for one in of_prompt])
            for prompt, of_prompt in zip(shown, writings, strict=True)
        ]

    def _go_on(
        self,
        requests: Sequence[Request],
        writings: Sequence[Sequence[_Writing]],
        prompts: Sequence[str],
        search: Search,
        ends: _Ends,
    ) -> list[list[_Writing]]:
        """All writings that are not at their end, a stretch longer; those of one context's length at once."""
        alike: dict[tuple[int, int], list[tuple[int, int, Piece]]] = {}
        for i, of_prompt in enumerate(writings):
            for j, one in enumerate(of_prompt):
                if one.is_open(ends):
                    piece, length = self._stretch(requests[i], one, ends)
                    alike.setdefault((len(piece.source), length), []).append((i, j, piece))
        after: dict[tuple[int, int], list[_Writing]] = {}
        for (_, length), places in alike.items():
            found = self._search([piece for _, _, piece in places], search, length, ends)
            for (i, j, _), drafts in zip(places, found, strict=True):
                one = writings[i][j]
                later = [self._after(one, *draft, prompts[i], ends) for draft in drafts]
                after[i, j] = later or [replace(one, stopped=True)]  # where the rules leave no token
        return [
            [later for j, one in enumerate(of_prompt) for later in after.get((i, j), [one])]
            for i, of_prompt in enumerate(writings)
        ]

    def _stretch(self, request: Request, writing: _Writing, ends: _Ends) -> tuple[Piece, int]:
        """The context that is read next, and how many tokens are written after it."""
        ids = writing.ids
        if request.required and writing.written:
            found = self._constraints.found_in(self.text_of(ids), request.required)
            request = replace(request, required=tuple(phrase for phrase in request.required if phrase not in found))
        context = ids if len(ids) < self.window else ids[-max(self.window // 2, 1) :]
        length = min(self.window - len(context) + 1, ends.max_tokens - writing.written)
        return self._constraints.pieces(request, [context])[0], min(length, WITH_STOPS) if ends.texts else length

    def _begin(
        self, pieces: Sequence[Piece], length: int, ends: _Ends
    ) -> tuple[DecoderState, Tensor, Limits, Vocabulary]:
        """The state after contexts of one length but for their last tokens, these, and how the search is bounded."""
        tokenizer = self.bundle.tokenizers.target
        context = torch.tensor([piece.source for piece in pieces], device=self.bundle.device)
        state = self.model.start(self.model.encode(context[:, :0], context[:, :0].bool()))
        if context.shape[1] > 1:
            _, state = self.model.decoder(context[:, :-1], state)
        vocabulary = Vocabulary.of(tokenizer, lambda: self._constraints.edges)
        if not ends.with_line:
            vocabulary = replace(vocabulary, end=tokenizer.pad)  # which is never written, and so ends nothing
        longest = context.new_full((len(pieces),), length + 1)
        return state, context[:, -1], Limits(torch.ones_like(longest), longest, end_is_free=True), vocabulary

    @torch.inference_mode()
    def _search(
        self, pieces: Sequence[Piece], search: Search, length: int, ends: _Ends
    ) -> list[list[tuple[list[int], float, bool]]]:
        """Of each context the tokens written after it, their log-probability, and whether they ended by themselves."""
        state, begin, limits, vocabulary = self._begin(pieces, length, ends)
        found = search_from(self.model, state, limits, begin, pieces, vocabulary, search)
        return [[(h.tokens, h.log_probability, not h.truncated) for h in of_piece] for of_piece in found]

    @torch.inference_mode()
    def _tokens(self, piece: Piece, search: Search, length: int, ends: _Ends) -> Iterator[int]:
        """The tokens written after a context, as they come."""
        state, begin, limits, vocabulary = self._begin([piece], length, ends)
        rules, end = rules_for([piece], vocabulary, search), vocabulary.end
        sampling = search if isinstance(search, Sampling) else None
        generator = sampling.generator(piece.source) if sampling else None
        yield from tokens_one_by_one(self.model.decoder, state, limits, begin, end, rules, sampling, generator)

    def _after(
        self, one: _Writing, tokens: list[int], log_probability: float, has_ended: bool, prompt: str, ends: _Ends
    ) -> _Writing:
        ids = [*one.ids, *tokens]
        stopped = has_ended or ends.find(self.text_of(ids)[len(prompt) :]) is not None
        return _Writing(ids, one.written + len(tokens), one.log_probability + log_probability, stopped)

    def _draft(self, one: _Writing, prompt: str, ends: _Ends) -> GeneratedText:
        written = self.text_of(one.ids)[len(prompt) :]
        return GeneratedText(prompt + written[: ends.find(written)], one.log_probability, one.written, one.stopped)


def text_of(tokenizer: Tokenizer, ids: Iterable[int]) -> str:
    """The text of tokens, in which the end token ends a line."""
    lines: list[list[int]] = [[]]
    for token in ids:
        if token == tokenizer.eos:
            lines.append([])
        else:
            lines[-1].append(token)
    return "\n".join(tokenizer.decode(line, on_one_line=False) for line in lines)


def _request(prompt: str | Request) -> Request:
    request = Request(prompt) if isinstance(prompt, str) else prompt
    if request.prefix:
        raise InputError("prefix is for translation; for a language model, put it into the prompt")
    return request


def _ends(max_tokens: int, stop: Iterable[str]) -> _Ends:
    texts = (stop,) if isinstance(stop, str) else tuple(stop)
    if max_tokens < 1:
        raise InputError(f"max_tokens must be at least 1, but is {max_tokens}")
    if not all(texts):
        raise InputError("stop: an empty text would end each output before it begins; leave it out")
    return _Ends(max_tokens, texts)


def _unsure(written: str, ends: _Ends) -> int:
    """How many of the last characters may still become others, or the beginning of a stop."""
    begun = max((n for end in ends.texts for n in range(1, len(end)) if written.endswith(end[:n])), default=0)
    return max(begun, len(written) - len(written.rstrip(UNFINISHED)))


def _alone(search: Search) -> Search:
    """The same search for hypotheses that go on by themselves."""
    return msgspec.structs.replace(search, n_best=1)
