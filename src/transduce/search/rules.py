"""Rules on the next token: each sets log-probabilities of tokens that may not come next to -inf, in place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.search.required_phrases import WordEdges
from transduce.search.settings import Limits
from transduce.text.phrases import ends_with, holds

LogProbabilities = Float[Tensor, "sentences rows vocabulary"]


@dataclass(frozen=True)
class Prefixes:
    """What has been written when the next token is chosen."""

    sentences: Int[Tensor, " sentences"]
    """Which sentences are still searched, by their number in the batch as it began."""
    tokens: Int[Tensor, "sentences rows length"]
    """Every hypothesis, without the token that begins it."""

    @property
    def length(self) -> int:
        """How many tokens each hypothesis has."""
        return self.tokens.shape[2]


@runtime_checkable
class Rule(Protocol):
    """Makes tokens impossible or less likely; it may add nothing and raise no token."""

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """Set tokens that may not come next to -inf, or lower them."""
        ...


@dataclass(frozen=True)
class SuppressTokens:
    """None of the tokens may ever come."""

    tokens: Sequence[int]

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        for token in self.tokens:
            log_probabilities[..., token] = -torch.inf


@dataclass(frozen=True)
class PenalizeRepetition:
    """Tokens that have come before are less likely, by a factor of their log-probability (after Keskar et al. 2019)."""

    factor: float

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        lowered = log_probabilities.gather(2, prefixes.tokens) * self.factor
        log_probabilities.scatter_(2, prefixes.tokens, lowered)


@dataclass(frozen=True)
class LengthConstraint:
    """No end before the shortest length, and the end at the longest, whatever the other rules say."""

    limits: Limits
    end: int
    others: Sequence[Rule] = ()

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule; the end token counts as a token."""
        length = prefixes.length + 1
        if not torch.compiler.is_compiling() and length < self.limits.some_must_end:  # most steps: spared what follows
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
        length = prefixes.length + 1
        if torch.compiler.is_compiling() or length < self.limits.all_may_end:
            is_short = length < self.limits.shortest[prefixes.sentences]
            log_probabilities[..., self.end].masked_fill_(is_short[:, None], -torch.inf)


@dataclass(frozen=True)
class ForcedPrefixes:
    """Each output begins with its prefix, whatever the other rules say, and the prefix's last word is a whole one."""

    prefixes: Sequence[Sequence[int]]
    """One a sentence; an empty one asks for nothing."""
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
        ended = [
            i for i, n in enumerate(numbers) if 0 < length == len(self.prefixes[n]) and self._is_open(self.prefixes[n])
        ]
        if ended:
            continuing = self.edges.continuing(tokens.device)
            log_probabilities[ended] = log_probabilities[ended].masked_fill(continuing, -torch.inf)

    def _is_open(self, prefix: Sequence[int]) -> bool:
        return self.edges.leaves_open[prefix[-1]]


@dataclass(frozen=True)
class AfterContext:
    """Other rules, which see each output as the continuation of a context."""

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
    """An output for which a condition holds ends at once, at no cost, whatever the rules before this one say."""

    holds: Callable[[int, list[int]], bool]
    """Given the number of a sentence and the tokens of an output for it."""
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
    """No run of `size` tokens comes twice."""

    size: int

    def __call__(self, log_probabilities: LogProbabilities, prefixes: Prefixes) -> None:
        """See Rule."""
        if prefixes.length < self.size:
            return
        runs = prefixes.tokens.unfold(-1, self.size, 1)  # [sentences, rows, runs, size]
        latest = prefixes.tokens[..., None, prefixes.length - self.size + 1 :]  # what would begin the next run
        would_repeat = (runs[..., :-1] == latest).all(-1)  # [sentences, rows, runs]
        penalty = torch.zeros_like(would_repeat, dtype=log_probabilities.dtype).masked_fill(would_repeat, -torch.inf)
        log_probabilities.scatter_add_(-1, runs[..., -1], penalty)


@dataclass(frozen=True)
class Banned:
    """A phrase that no output may hold as whole words."""

    text: str
    last: Sequence[int]
    """Tokens that may complete it and leave no word open: to write one is to have written the phrase."""


@dataclass(frozen=True)
class BannedPhrases:
    """No output holds one of its sentence's banned phrases, in whatever tokens it is spelled.

    A word that only begins like a banned one may be written: what is forbidden is to end the word there.
    """

    phrases: Sequence[Sequence[Banned]]
    """Those of each sentence."""
    edges: WordEdges
    decode: Callable[[Sequence[int]], str]
    """The text of tokens."""

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
