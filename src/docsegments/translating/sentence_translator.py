"""The interface to what translates the sentences of documents: a model, another process, or a function."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from docsegments.document import Languages
from docsegments.user_errors import InputError

Tell = Callable[[float], None]
Links = set[tuple[int, int]]
"""Pairs of source and target words that go together, counted from 0."""


@dataclass(frozen=True)
class PartProgress:
    """Reports the share of a part of some work as a share of the whole."""

    tell: Tell
    before: float
    """The share that was done before the part."""
    size: float
    """The share that this part is of the whole."""

    def __call__(self, share: float) -> None:
        """Reports a share of the part."""
        self.tell(self.before + self.size * share)


@dataclass(frozen=True)
class SentenceRequest:
    """A sentence to translate."""

    text: str
    required: tuple[str, ...] = ()
    """Texts that the translation must contain as they are, such as placeholders."""
    before: tuple[str, ...] = ()
    """The texts before it in its document, the nearest last; at most as many as the translator's `context`."""


@dataclass(frozen=True)
class TranslatedSentence:
    """A sentence in the other language, and the model's confidence."""

    text: str
    log_probability: float = 0.0
    """Natural logarithm of the text's probability, its end counted; NaN from an engine that gives none."""
    tokens: int = 0
    """The number of the text's tokens and its end; 0 for a blank sentence, which no model translates."""
    truncated: bool = False
    """True if the output reached the longest length allowed."""
    unsatisfied: tuple[str, ...] = ()
    """Required phrases that the text lacks."""
    violated: tuple[str, ...] = ()
    """Banned phrases in the text."""
    faults: tuple[str, ...] = ()
    """Signs that the translation went wrong, such as "repeats itself"."""


@runtime_checkable
class SentenceTranslator(Protocol):
    """Questions of `SegmentTranslator` to a model, in plain data, so that it may be in another process.

    One that reads a sentence with texts before it says their number by an attribute `context`: sentences, each followed
    by its translation if that is known and an attribute `reads_both` is True.
    """

    languages: Languages
    """The model's languages; "" for an unknown one."""
    can_require: bool
    """True if the search can keep required phrases."""
    can_align: bool
    """True if `align` may know which words go together."""

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        """Returns the parts of each sentence that the model can read at once, nearly always the sentence itself; and
        True for each text with tokens unknown to the model's source vocabulary."""

    def translate(
        self, requests: Sequence[SentenceRequest], progress: PartProgress | None = None
    ) -> list[TranslatedSentence]:
        """Translates sentences, in their order; InputError for requests that the search does not support."""

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        """Returns links between the words of sentences and their translations; None if they are not known."""


Translate = Callable[[list[str]], list[str]]
"""A function that translates sentences, in their order."""


class FunctionTranslator:
    """A SentenceTranslator by a function from sentences to translations, of which nothing else is known."""

    can_require = can_align = False

    def __init__(self, function: Translate, languages: Languages | None = None) -> None:
        self.languages = languages or Languages()
        self._function = function

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        """See SentenceTranslator; the function reads any sentence, and knows all words."""
        return [[sentence] for sentence in sentences], [False] * len(texts)

    def translate(
        self, requests: Sequence[SentenceRequest], progress: PartProgress | None = None
    ) -> list[TranslatedSentence]:
        """See SentenceTranslator; InputError for a function that returns another number of texts."""
        outputs = self._function([request.text for request in requests])
        if len(outputs) != len(requests):
            raise InputError(f"the function returned {len(outputs)} translations of {len(requests)} sentences")
        texts = [" ".join(output.splitlines()).strip() for output in outputs]
        return [TranslatedSentence(text, math.nan, len(text.split()) + 1) for text in texts]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        """See SentenceTranslator."""
        return [None] * len(pairs)


def confidence(sentences: Sequence[TranslatedSentence]) -> float | None:
    """Returns the geometric mean of the probabilities of all tokens, 0 to 1; None for no tokens, or from an engine that
    gives no probabilities."""
    count = sum(sentence.tokens for sentence in sentences)
    mean = sum(sentence.log_probability for sentence in sentences) / count if count else math.nan
    return None if math.isnan(mean) else min(1.0, math.exp(mean))
