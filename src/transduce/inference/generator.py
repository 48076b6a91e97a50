"""A trained language model as a tool: texts in, their continuations out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import msgspec
import torch

from transduce.analysis.look_at_text import Look
from transduce.base.errors import InputError
from transduce.base.reprs import shown_by
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, bundle_facts
from transduce.inference.constraints import Constraints, Piece, Vocabulary
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.engines.inference_precision import InferencePrecision, load_bundle
from transduce.inference.engines.pytorch import problem_of, rules_for
from transduce.inference.execution.malloc import keep_free_memory
from transduce.inference.execution.parallel_search import size_of, threads_for
from transduce.inference.growing_text import Ends, GrowingText, Writing, ends_of, text_of
from transduce.inference.looking import look_at_generation
from transduce.inference.request import Request
from transduce.models.interface import SegmentRecurrence, Writer
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import SearchProblem, TakeStep, take_step
from transduce.search.rules import AfterContext, EndWhere, Rule
from transduce.search.sampling import Sampling, tokens_one_by_one
from transduce.search.search_settings import Limits
from transduce.text.running_text import encode_running

MAX_TOKENS = 200
LOOK_TOKENS = 24
READ_AT_ONCE = 512
"""The most tokens of a prompt read at once; attention to a bounded memory need not be longer."""
BYTES_OF_CHARACTER = 4


@dataclass(frozen=True)
class GeneratedText:
    """One text that a model has written."""

    text: str
    """The prompt and its continuation."""
    log_probability: float
    """The log-probability, in nats, of all tokens after the prompt, those of a stop too, with repetition penalty."""
    tokens: int
    """The number of tokens written after the prompt."""
    stopped: bool
    """True if a stop ended it, rather than the number of tokens."""


@dataclass(frozen=True)
class Generation:
    """A prompt and its continuations."""

    prompt: str
    """The prompt as the model has read it."""
    n_best: list[GeneratedText]
    """The continuations: a beam's best first, samples in the order drawn."""

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


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Generator:
    """Continues texts by a bundle's model, on its device and at its precision.

    Further bundles of the same vocabulary make an ensemble, whose probabilities are the mean of all models'. Raises
    InputError for a model that is not a language model, or where the vocabularies differ.
    """

    def __init__(self, bundle: ModelBundle, *others: ModelBundle) -> None:
        members = (bundle, *others)
        for number, member in enumerate(members, 1):
            check_tool(f"model {number}" if others else "the model", member.config.task, "generator")
            if member.tokenizers.target.content != bundle.tokenizers.target.content:
                raise InputError(f"model {number} of the ensemble has another tokenizer than the first")
        models = [member.writer for member in members]
        self.bundle = bundle
        self.model: Writer[Any] = Ensemble(models) if others else models[0]
        windows = [
            member.config.longest_source for member in members if not isinstance(member.model, SegmentRecurrence)
        ]
        self.window = min(windows, default=None)
        """The most tokens that a model reads of a text; None if all models have a memory of earlier segments."""
        self._constraints = Constraints(bundle.tokenizers.target)

    @staticmethod
    def load(
        path: str | Path, *others: str | Path, device: str = "auto", precision: InferencePrecision = "float32"
    ) -> "Generator":
        """Loads a generator from the folder of a model or a run, or an ensemble from several: see `transduce.load`."""
        keep_free_memory()
        return Generator(*(load_bundle(folder, device, precision) for folder in (path, *others)))

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
        """Continues one prompt, or several, and returns the results in the same order.

        A model with segment recurrence continues at the same cost per token. With other models, when the window that
        the model was trained on is full, its second half is read again as the context of the next tokens; each of
        several hypotheses is then continued separately.

        Args:
            prompts: texts to continue; an empty one is the beginning of a line.
            search: the search (default: greedy); its settings of length are ignored.
            max_tokens: the most tokens that are written.
            stop: texts at which writing ends, and which are left out; "\\n" is the end of a line.

        Raises InputError for constraints that the search does not support.
        """
        if isinstance(prompts, str | Request):
            return self._generate([prompts], search or Beam(size=1), ends_of(max_tokens, stop))[0]
        return self._generate(list(prompts), search or Beam(size=1), ends_of(max_tokens, stop))

    def stream(
        self,
        prompt: str | Request,
        search: Search | None = None,
        max_tokens: int = MAX_TOKENS,
        stop: Iterable[str] = (),
    ) -> Iterator[str]:
        """Yields what `generate` writes after one prompt, piece by piece as it comes; one draw, or greedily.

        Raises InputError for a search that follows several hypotheses: use `generate`.
        """
        search, ends = search or Beam(size=1), ends_of(max_tokens, stop)
        request = _request(prompt)
        if search.rows > 1 or isinstance(search, DiverseBeam) or request.required:
            raise InputError(
                "only a single hypothesis can be streamed: use one sample or greedy search, without required phrases"
            )
        return self._stream(request, search, ends)

    def look(
        self, prompt: str, continuation: str | None = None, search: Beam | None = None, max_tokens: int = LOOK_TOKENS
    ) -> Look:
        """Shows how the model continues a prompt: attention, confidence, and the search.

        A given continuation is shown instead of a search. Raises InputError for an ensemble, or a text that is longer
        than the window.
        """
        if isinstance(self.model, Ensemble):
            raise InputError("only a single model can be looked at, not an ensemble")
        ids = self.encode(prompt)
        given = None if continuation is None else self.encode(prompt + continuation)[len(ids) :]
        length = max_tokens if given is None else len(given)
        if given == []:
            raise InputError("the continuation is empty")
        if self.window is not None and len(ids) + length > self.window + 1:
            raise InputError(
                f"{len(ids) + length:,} tokens are more than the model's window of {self.window:,}; "
                "shorten the text, or ask for fewer tokens"
            )
        (piece,) = self._constraints.pieces(Request(prompt), [ids])
        ends = Ends(length, ())

        @torch.inference_mode()
        def find(beam: Beam, step: TakeStep) -> list[int]:
            return beam.find(self._problem([piece], [], beam, length, ends, step))[0][0].tokens

        vocabulary = self._vocabulary(ends.with_line)
        return look_at_generation(self.bundle, vocabulary, ids, find, search or Beam(), given, self.text_of)

    def _stream(self, request: Request, search: Search, ends: Ends) -> Iterator[str]:
        ids = self.encode(request.text)
        writing, shown = Writing(ids, len(ids)), 0
        text = GrowingText(self.bundle.tokenizers.target, ids)
        while writing.is_open(ends):
            piece, length = self._stretch(request, writing, ends)
            before = writing.written
            for token in self._tokens(piece, writing, search, length, ends):
                writing = replace(writing, ids=[*writing.ids, token])
                written = text.add(token)
                end = ends.find(written)
                sure = max(len(written) - max(ends.unsure(written), text.unsure), 0) if end is None else end
                if sure > shown:
                    yield written[shown:sure]
                    shown = sure
                if end is not None:
                    return
            if writing.written - before < length:  # it has ended by itself
                break
        if shown < len(text.written):
            yield text.written[shown:]

    def encode(self, prompt: str) -> list[int]:
        """Returns the ids of a text whose last line is unfinished; for an empty text, the end token."""
        tokenizer = self.bundle.tokenizers.target
        return encode_running(tokenizer, prompt) or [tokenizer.eos]

    def prompt_text(self, prompt: str) -> str:
        """Returns a prompt as the model reads it; "" for an empty one, for which it reads the end token."""
        return self.text_of(self.encode(prompt)) if prompt else ""

    def text_of(self, ids: Iterable[int]) -> str:
        """Returns the text of tokens; see inference/growing_text.py."""
        return text_of(self.bundle.tokenizers.target, ids)

    def _generate(self, prompts: Sequence[str | Request], search: Search, ends: Ends) -> list[Generation]:
        requests = [_request(prompt) for prompt in prompts]
        are_draws = isinstance(search, Sampling)
        begun = [Writing(ids, len(ids)) for ids in (self.encode(request.text) for request in requests)]
        writings = [[writing] for writing in begun]
        while any(writing.is_open(ends) for of_prompt in writings for writing in of_prompt):
            writings = self._go_on(requests, writings, search, ends)
            search = _alone(search)
        return [
            self._generation(self.prompt_text(request.text), of_prompt, ends, are_draws)
            for request, of_prompt in zip(requests, writings, strict=True)
        ]

    def _generation(self, prompt: str, writings: Sequence[Writing], ends: Ends, are_draws: bool) -> Generation:
        """Returns all samples, equal ones included; of a beam's outputs that spell the same text, only the first."""
        drafts = []
        for writing in writings:
            written = self._written(writing)
            text = prompt + written[: ends.find(written)]
            drafts.append(GeneratedText(text, writing.log_probability, writing.written, writing.stopped))
        distinct: dict[str, GeneratedText] = {}
        for draft in drafts:
            distinct.setdefault(draft.text, draft)
        return Generation(prompt, drafts if are_draws else list(distinct.values()))

    def _written(self, writing: Writing) -> str:
        """Returns the text that was added to a prompt."""
        return self.text_of(writing.ids)[len(self.text_of(writing.ids[: writing.begun])) :]

    def _go_on(
        self,
        requests: Sequence[Request],
        writings: Sequence[Sequence[Writing]],
        search: Search,
        ends: Ends,
    ) -> list[list[Writing]]:
        """Continues all unfinished texts by a stretch; those with contexts of equal length are searched together."""
        alike: dict[tuple[int, int], list[tuple[int, int, Piece]]] = {}
        for i, of_prompt in enumerate(writings):
            for j, writing in enumerate(of_prompt):
                if writing.is_open(ends):
                    piece, length = self._stretch(requests[i], writing, ends)
                    alike.setdefault((len(piece.source), length), []).append((i, j, piece))
        after: dict[tuple[int, int], list[Writing]] = {}
        for (_, length), entries in alike.items():
            begun = [writings[i][j] for i, j, _ in entries]
            outputs = self._search([piece for _, _, piece in entries], begun, search, length, ends)
            for (i, j, _), writing, drafts in zip(entries, begun, outputs, strict=True):
                later = [
                    replace(
                        writing,
                        ids=[*writing.ids, *tokens],
                        log_probability=writing.log_probability + log_probability,
                        stopped=has_ended or len(tokens) < length,
                    )
                    for tokens, log_probability, has_ended in drafts
                ]
                after[i, j] = later or [replace(writing, stopped=True)]  # where the rules leave no token
        return [
            [later for j, writing in enumerate(of_prompt) for later in after.get((i, j), [writing])]
            for i, of_prompt in enumerate(writings)
        ]

    def _stretch(self, request: Request, writing: Writing, ends: Ends) -> tuple[Piece, int]:
        """Returns the context that is read next, and the number of tokens that may be written after it."""
        left = ends.max_tokens - writing.written
        ids = writing.ids
        if request.required:
            satisfied = self._constraints.found_in(self._written(writing), request.required)
            request = replace(request, required=tuple(phrase for phrase in request.required if phrase not in satisfied))
        if self.window is None:
            return self._constraints.pieces(request, [ids])[0], left
        context = ids if len(ids) < self.window else ids[-max(self.window // 2, 1) :]
        limit = self.model.target_limit
        room = self.window + 1 if limit is None else min(self.window + 1, limit)
        return self._constraints.pieces(request, [context])[0], min(room - len(context), left)

    def _problem(
        self,
        pieces: Sequence[Piece],
        writings: Sequence[Writing],
        search: Search,
        length: int,
        ends: Ends,
        step: TakeStep = take_step,
    ) -> SearchProblem[DecoderState]:
        """Returns the problem of a search after contexts of one length; all their tokens but the last are read here."""
        context = torch.tensor([piece.source for piece in pieces], device=self.bundle.device)
        state = self.model.start(self.model.encode(context[:, :0], context[:, :0].bool()))
        for read in context[:, :-1].split(READ_AT_ONCE, 1) if context.shape[1] > 1 else ():
            _, state = self.model.decoder(read, state)
        vocabulary = self._vocabulary(ends.with_line)
        longest = context.new_full((len(pieces),), length + 1)
        limits = Limits(torch.ones_like(longest), longest, end_is_free=True)
        rules = self._rules(pieces, writings, search, vocabulary, ends)
        return problem_of(self.model, state, limits, context[:, -1], pieces, vocabulary, search, step, rules)

    def _vocabulary(self, ends_with_line: bool) -> Vocabulary:
        """Returns the vocabulary, in which an end token that ends a line is text unless writing stops at it."""
        tokenizer = self.bundle.tokenizers.target
        vocabulary = replace(Vocabulary.of(tokenizer, lambda: self._constraints.edges), decode=self.text_of)
        if ends_with_line or tokenizer.newline_is_text:
            return vocabulary
        return replace(vocabulary, end=tokenizer.pad)  # which is never written, and so ends nothing

    def _rules(
        self,
        pieces: Sequence[Piece],
        writings: Sequence[Writing],
        search: Search,
        vocabulary: Vocabulary,
        ends: Ends,
    ) -> list[Rule]:
        """Returns the rules on next tokens, given the texts so far; nothing follows a stop."""
        contexts = torch.tensor([piece.source for piece in pieces], device=self.bundle.device)
        rules: list[Rule] = [AfterContext(contexts, rules_for(pieces, vocabulary, search))]
        if not ends.texts:
            return rules

        nearby = BYTES_OF_CHARACTER * max(map(len, ends.texts)) + 1  # tokens that a stop may be spelled in

        def has_stopped(index: int, tokens: list[int]) -> bool:
            writing = replace(writings[index], ids=[*writings[index].ids, *tokens])
            may_be_near = ends.find(self.text_of(writing.ids[writing.begun :][-nearby:])) is not None
            if not may_be_near and not self.bundle.tokenizers.target.joins_words:
                return False
            return ends.find(self._written(writing)) is not None

        return [*rules, EndWhere(has_stopped, vocabulary.end)]

    @torch.inference_mode()
    def _search(
        self, pieces: Sequence[Piece], writings: Sequence[Writing], search: Search, length: int, ends: Ends
    ) -> list[list[tuple[list[int], float, bool]]]:
        """Returns for each context the tokens written after it, their log-probability, and whether they ended."""
        problem = self._problem(pieces, writings, search, length, ends)
        with threads_for(len(pieces) * search.rows, size_of(self.bundle.model), self.bundle.device):
            outputs = search.find(problem)
        return [[(h.tokens, h.log_probability, not h.truncated) for h in of_piece] for of_piece in outputs]

    @torch.inference_mode()
    def _tokens(self, piece: Piece, writing: Writing, search: Search, length: int, ends: Ends) -> Iterator[int]:
        """Yields the tokens written after a context, as they come."""
        problem = self._problem([piece], [writing], search, length, ends)
        sampling = search if isinstance(search, Sampling) else None
        generator = sampling.generator(piece.source) if sampling else None
        yield from tokens_one_by_one(problem, sampling, generator)


def _request(prompt: str | Request) -> Request:
    request = Request(prompt) if isinstance(prompt, str) else prompt
    if not isinstance(request, Request):
        raise InputError(f"expected a text or a Request, but found {request!r}")
    if request.prefix:
        raise InputError("prefix is for translation; for a language model, put it into the prompt")
    return request


def _alone(search: Search) -> Search:
    """Returns the search that continues each hypothesis separately, with one output."""
    return msgspec.structs.replace(search, n_best=1)
