"""Divides the texts of a request into sentences that a model can translate, and joins their translations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from docsegments.orthography.joining import gap_in_translation
from docsegments.sentences import split_sentences
from transduce.apps.serving.refusals import RefusedError
from transduce.corpora.context_settings import ContextConfig, reads_both
from transduce.inference.request import Earlier, Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.text.glossary import Glossary

Split = Literal["lines", "sentences", "whole"]
"""The parts of a text that are translated one by one: sentences, which a line end may end or not, or all of it."""
MOST = 128
"""The most tokens of a prefix, and twice those of required phrases, that a search places in good time; as many as the
longest sentence has if the model knows longer ones."""
MOST_CONTEXT = 2000
"""The most characters of a request's context that are read: the last ones."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text: its position, and its translation."""

    start: int
    end: int
    translation: Translation


@dataclass(frozen=True)
class PreparedSentences:
    """Sentences that are ready to be searched."""

    places: list[tuple[int, int, int]]
    """The number of the text, the start and the end of each sentence."""
    requests: list[Request]
    encoded: list[list[list[int]]]
    """The token ids of each sentence's pieces."""
    characters: int
    """The number of characters of the terms that apply, and of the context that is read."""


def prepare(
    translator: Translator,
    texts: Sequence[str],
    glossary: Glossary | None,
    prefixes: Sequence[str],
    most: int,
    most_characters: int,
    split: Split = "lines",
    contexts: Sequence[str] = (),
) -> PreparedSentences:
    """Divides texts into sentences with their constraints; each text has a prefix, which may be empty. A model that
    reads context reads those before a sentence in its text, and in the context before each text.

    Raises RefusedError (413) for too many sentences or characters of terms, or for required texts too long to be
    searched in good time, at the first sentence that is too much.
    """
    bounds = BOUNDS[split]
    positions = [(number, start, end) for number, text in enumerate(texts) for start, end in bounds(text)]
    if len(positions) > most:
        raise RefusedError(413, f"There are {len(positions):,} sentences, but at most {most:,} are taken")
    requests, before, characters, wanted = [], -1, 0, WantedTokens(translator)
    reads, read = translator.bundle.config.context, 0
    divided = {each: last_sentences(each, reads) for each in dict.fromkeys(contexts)}
    earlier = Earlier(reads)
    for number, start, end in positions:
        text = " ".join(texts[number][start:end].splitlines())
        prefix = prefixes[number] if number != before else ""
        if number != before:
            context = divided[contexts[number]] if divided else []
            earlier = Earlier(reads, context)
            read += sum(map(len, context))
        request = Request(text, prefix, *(glossary.applying(text) if glossary else ()))
        request = replace(request, before=earlier.before(text))
        wanted.check(request)
        characters += sum(map(len, (*request.required, *request.banned)))
        if characters > most_characters:
            raise RefusedError(413, f"The terms of the text have more than {most_characters:,} characters; use fewer")
        requests.append(request)
        before = number
    return PreparedSentences(positions, requests, translator.encode(requests), characters + read)


def context_of(sources: Sequence[str], translation: Callable[[str], str | None], reads: ContextConfig | None) -> str:
    """Returns sources as the context of a text, a line each, before its translation if that is known and read."""
    with_known = reads_both(reads)
    both = ((source, translation(source) if with_known else None) for source in sources)
    return "\n".join(text for each in both for text in each if text)


def last_sentences(context: str, reads: ContextConfig | None) -> list[str]:
    """Returns the last sentences of a text that is context, as many as a model reads."""
    last = context[-MOST_CONTEXT:]
    return [] if reads is None else [last[start:end] for start, end in sentence_bounds(last)[-reads.texts :]]


class WantedTokens:
    """Counts the tokens that requests require in their translations, which lengthen the search."""

    def __init__(self, translator: Translator) -> None:
        self.most = max(MOST, translator.longest_source)
        self._tokenizer = translator.bundle.tokenizers.target
        self._lengths = {"": 0}

    def of(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        if text not in self._lengths:
            self._lengths[text] = len(self._tokenizer.encode(text))
        return self._lengths[text]

    def are_too_many(self, request: Request) -> bool:
        """Returns True if a search for the request would take too long."""
        return self.of(request.prefix) + 2 * sum(map(self.of, request.required)) > self.most

    def check(self, request: Request) -> None:
        """Raises RefusedError (413) if a search for the request would take too long."""
        if self.are_too_many(request):
            raise RefusedError(
                413,
                f"{request.text[:60]!r}: the prefix and the required terms of its translation are too long together; "
                "ask for less",
            )


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Returns the beginning and the end of each sentence; a line end ends one too."""
    bounds, begin = [], 0
    for line in text.splitlines(keepends=True):
        bounds += [(begin + start, begin + end) for start, end in split_sentences(line)]
        begin += len(line)
    return bounds


def _whole_bounds(text: str) -> list[tuple[int, int]]:
    start = len(text) - len(text.lstrip())
    return [(start, len(text.rstrip()))] if text.strip() else []


BOUNDS: dict[Split, Callable[[str], list[tuple[int, int]]]] = {
    "lines": sentence_bounds,
    "sentences": lambda text: list(split_sentences(text)),
    "whole": _whole_bounds,
}
"""Functions that return the beginning and the end of each part of a text."""


def joined(text: str, sentences: Sequence[Sentence], choice: int = 0, language: str = "") -> str:
    """Joins the translations of a text's sentences, as their language does; `choice` indexes the n-best lists."""
    pieces: list[str] = []
    before: Sentence | None = None
    for sentence in sentences:
        best = sentence.translation.n_best
        chosen = best[min(choice, len(best) - 1)].text if best else ""
        pieces += [gap_before(text, before, sentence, (pieces[-1] if pieces else "", chosen), language), chosen]
        before = sentence
    return "".join([*pieces, text[before.end if before else 0 :]])


def gap_before(
    text: str, before: Sentence | None, sentence: Sentence, translations: tuple[str, str], language: str
) -> str:
    """Returns the text between a sentence of a translated text and the sentence before it."""
    if before is None:
        return text[: sentence.start]
    sources = text[before.start : before.end], text[sentence.start : sentence.end]
    return gap_in_translation(text[before.end : sentence.start], sources, translations, language)
