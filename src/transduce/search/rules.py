"""Rules on the next token: each sets log-probabilities of excluded tokens to -inf, in place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.search.required_phrases import WordEdges
from transduce.search.search_settings import Limits
from transduce.text.phrase_encoder import ends_with, holds

LogProbabilities = Float[Tensor, "sentences rows vocabulary"]


@dataclass(frozen=True)
class Prefixes:
    """The tokens written so far when the next token is chosen."""

    sentences: Int[Tensor, " sentences"]
    """Indices, in the initial batch, of the sentences still searched."""
    tokens: Int[Tensor, "sentences rows length"]
    """Token ids of every hypothesis, without the token that begins it."""
    written: Int[Tensor, " 1"] | None = None
    """The number of tokens written, where a graph takes the steps and there is room for more; for rules on lengths."""

    @property
    def length(self) -> int:
        """The number of tokens of each hypothesis."""
        return self.tokens.shape[2]


@runtime_checkable
class Rule(Protocol):
    """Excludes tokens or makes them less likely; it must not make any likelier."""

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """Sets excluded tokens to -inf, or lowers them."""


@dataclass(frozen=True)
class SuppressTokens:
    """Excludes these tokens everywhere."""

    tokens: Sequence[int]

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        for token in self.tokens:
            log_probabilities[..., token] = -torch.inf


@dataclass(frozen=True)
class PenalizeRepetition:
    """Makes tokens that occurred before less likely, by a factor of their log-probability (after Keskar et al.
    2019)."""

    factor: float

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        lowered = log_probabilities.gather(2, prefixes.tokens) * self.factor
        log_probabilities.scatter_(2, prefixes.tokens, lowered)


@dataclass(frozen=True)
class LengthConstraint:
    """Forbids the end before the shortest length, and forces it at the longest, against all other rules."""

    limits: Limits
    end: int
    others: Sequence[Rule] = ()

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule; the end token counts as a token."""
        length, is_known = self._next_length(prefixes)
        if is_known and length < self.limits.some_must_end:  # most steps need nothing more
            self._keep_going(log_probabilities, prefixes)
            return
        must_end = self.limits.are_reached(length, prefixes.sentences)[:, None]
        end = log_probabilities[..., self.end].clone()
        if self.limits.end_is_free:
            end.zero_()
        self._keep_going(log_probabilities, prefixes)
        log_probabilities.masked_fill_(must_end[..., None], -torch.inf)
        log_probabilities[..., self.end] = torch.where(must_end, end, log_probabilities[..., self.end])

    def _keep_going(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        for rule in self.others:
            rule(log_probabilities, prefixes)
        length, is_known = self._next_length(prefixes)
        if not is_known or length < self.limits.all_may_end:
            is_short = length < self.limits.shortest[prefixes.sentences]
            log_probabilities[..., self.end].masked_fill_(is_short[:, None], -torch.inf)

    @staticmethod
    def _next_length(prefixes: Prefixes) -> tuple[int | Tensor, bool]:
        """Returns the length that outputs have with the next token, and True if code may depend on it."""
        if prefixes.written is not None:
            return prefixes.written + 1, False
        return prefixes.length + 1, not torch.compiler.is_compiling()


@dataclass(frozen=True)
class ForcedPrefixes:
    """Forces each output to begin with its prefix, against all other rules, and the prefix to end with a whole word."""

    prefixes: Sequence[Sequence[int]]
    """A prefix for each sentence; empty for none."""
    edges: WordEdges
    others: Sequence[Rule] = ()

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        length, numbers = prefixes.length, prefixes.sentences.tolist()
        forced = [(i, self.prefixes[n][length]) for i, n in enumerate(numbers) if length < len(self.prefixes[n])]
        within, tokens = prefixes.sentences.new_tensor(forced).reshape(-1, 2).T
        kept = log_probabilities[within, :, tokens]
        for rule in self.others:
            rule(log_probabilities, prefixes)
        log_probabilities[within] = -torch.inf
        log_probabilities[within, :, tokens] = kept
        whole = [(i, self.prefixes[n]) for i, n in enumerate(numbers) if 0 < length == len(self.prefixes[n])]
        ended = [i for i, prefix in whole if self.edges.leaves_open[prefix[-1]]]
        if ended:
            continuing = self.edges.continuing(tokens.device)
            log_probabilities[ended] = log_probabilities[ended].masked_fill(continuing, -torch.inf)


@dataclass(frozen=True)
class ForcedCharacters:
    """Forces the first characters of all outputs, in any tokenization, against all other rules."""

    next_tokens: Sequence[Sequence[int]]
    """For each number of bytes written, the tokens that may come next; no rule holds after these."""
    written: Callable[[Sequence[int]], int]
    """Returns the number of bytes that tokens write."""
    others: Sequence[Rule] = ()

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        bytes_of_rows = [[self.written(tokens) for tokens in rows] for rows in prefixes.tokens.tolist()]
        forced = [
            (i, row, self.next_tokens[written])
            for i, rows in enumerate(bytes_of_rows)
            for row, written in enumerate(rows)
            if written < len(self.next_tokens)
        ]
        kept = [log_probabilities[i, row, tokens] for i, row, tokens in forced]
        for rule in self.others:
            rule(log_probabilities, prefixes)
        for (i, row, tokens), values in zip(forced, kept, strict=True):
            log_probabilities[i, row] = -torch.inf
            log_probabilities[i, row, tokens] = values


@dataclass(frozen=True)
class AfterContext:
    """Applies other rules to each output as the continuation of a context."""

    contexts: Int[Tensor, "all_sentences context_length"]
    others: Sequence[Rule]

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        contexts = self.contexts[prefixes.sentences][:, None].expand(-1, prefixes.tokens.shape[1], -1)
        whole = Prefixes(prefixes.sentences, torch.cat([contexts, prefixes.tokens], 2))
        for rule in self.others:
            rule(log_probabilities, whole)


@dataclass(frozen=True)
class EndWhere:
    """Ends an output that meets a condition, at no cost, against all rules before this one."""

    holds: Callable[[int, list[int]], bool]
    """Returns True if an output meets the condition, given the sentence's index and the output's tokens."""
    end: int

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule; this one makes the end certain."""
        for i, number in enumerate(prefixes.sentences.tolist()):
            for row, tokens in enumerate(prefixes.tokens[i].tolist()):
                if self.holds(number, tokens):
                    log_probabilities[i, row] = -torch.inf
                    log_probabilities[i, row, self.end] = 0.0


@dataclass(frozen=True)
class NoRepeatNgram:
    """Forbids n-grams of `size` tokens to occur twice."""

    size: int

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        if prefixes.length < self.size:
            return
        runs = prefixes.tokens.unfold(-1, self.size, 1)  # [sentences, rows, runs, size]
        latest = prefixes.tokens[..., None, prefixes.length - self.size + 1 :]  # the beginning of the next run
        would_repeat = (runs[..., :-1] == latest).all(-1)  # [sentences, rows, runs]
        penalty = torch.zeros_like(would_repeat, dtype=log_probabilities.dtype).masked_fill(would_repeat, -torch.inf)
        log_probabilities.scatter_add_(-1, runs[..., -1], penalty)


@dataclass(frozen=True)
class Banned:
    """A phrase that no output may hold as whole words."""

    text: str
    last: Sequence[int]
    """Tokens that may complete the phrase and end its last word: writing one writes the phrase."""


@dataclass(frozen=True)
class BannedPhrases:
    """Forbids outputs with a banned phrase of their sentence, in any tokenization.

    A word that only begins like a banned one may be written; ending it there is forbidden.
    """

    phrases: Sequence[Sequence[Banned]]
    """The banned phrases of each sentence."""
    edges: WordEdges
    decode: Callable[[Sequence[int]], str]
    """Returns the text of tokens."""

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        ends_word = ~self.edges.continuing(log_probabilities.device)
        for i, number in enumerate(prefixes.sentences.tolist()):
            if not self.phrases[number]:
                continue
            for row, tokens in enumerate(prefixes.tokens[i].tolist()):
                is_open, text = bool(tokens) and self.edges.leaves_open[tokens[-1]], self.decode(tokens)
                for phrase in self.phrases[number]:
                    if is_open and ends_with(text, phrase.text):
                        log_probabilities[i, row, ends_word] = -torch.inf
                    for token in phrase.last:
                        if holds(self.decode([*tokens, token]), phrase.text):
                            log_probabilities[i, row, token] = -torch.inf
