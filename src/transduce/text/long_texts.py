"""Splits texts that are too long for a model."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from docsegments.orthography.characters import Span, characters
from docsegments.orthography.words import words
from docsegments.sentences import split_sentences
from transduce.text.tokenizer import Tokenizer

ENCODED_AT_ONCE = 256
_CLAUSE = re.compile(r"(?:[^,;:–—،؛、，；：]|[,;:–—،؛](?!\s))*+(?:[,;:–—،؛]\s++|[、，；：]++\s*+|\Z)")

LEVELS: tuple[Callable[[str], Iterable[Span]], ...] = (
    split_sentences,
    lambda text: (match.span() for match in _CLAUSE.finditer(text) if match[0].strip()),
    lambda text: (match.span() for match in re.finditer(r"\S+", text)),
    words,
    characters,
    lambda text: ((offset, offset + 1) for offset in range(len(text))),
)
"""Cuts of a text, the best first: after sentences, after commas, at blanks, between words of scripts without blanks,
between characters as readers see them, anywhere."""


def split_text(text: str, tokenizer: Tokenizer, longest: int) -> list[str]:
    """Returns pieces of at most `longest` tokens: the whole text if it fits, else sentences, clauses, words or
    characters together. A piece that is one code point may be longer."""
    text = text.strip()
    if not text or not (count := len(tokenizer.encode(text))):
        return []
    if count <= longest:
        return [text]
    return [text[start:end].strip() for start, end in _pack(text, 0, tokenizer, longest)]


def _pack(text: str, level: int, tokenizer: Tokenizer, longest: int) -> Iterator[Span]:
    """Yields neighbouring parts together while their tokens, counted apart, stay within the longest; parts that are too
    long are cut at the next level."""
    if level == len(LEVELS):
        yield 0, len(text)
        return
    begin = end = left = 0
    spans = list(LEVELS[level](text))
    for (start, stop), count in zip(spans, _lengths([text[a:b] for a, b in spans], tokenizer), strict=True):
        if begin < end and count > left:
            yield begin, end
            begin = end
        if count > longest:
            for first, last in _pack(text[start:stop], level + 1, tokenizer, longest):
                yield start + first, start + last
            begin = end = stop
            left = 0
        elif begin < end:
            end, left = stop, left - count
        else:
            begin, end, left = start, stop, longest - count
    if begin < end:
        yield begin, end


def _lengths(parts: list[str], tokenizer: Tokenizer) -> Iterator[int]:
    """Yields the number of tokens of each part, in chunks, since other threads wait while the tokenizer works."""
    for start in range(0, len(parts), ENCODED_AT_ONCE):
        yield from map(len, tokenizer.encode_batch(parts[start : start + ENCODED_AT_ONCE]))


def pieces_in_context(
    tokenizer: Tokenizer, pieces: list[list[int]], before: Sequence[str], most: int, together: int
) -> list[list[int]]:
    """Returns the ids of a line's pieces, each after at most `most` texts and pieces before it, and at most as many
    tokens `together`."""
    earlier = [*tokenizer.encode_batch(before[-most:]), *pieces]
    starts = range(len(earlier) - len(pieces), len(earlier))
    nearest = (earlier[max(start - most, 0) : start] for start in starts)
    return [tokenizer.in_context(*both, together) for both in zip(pieces, nearest, strict=True)]


def longest_in_context(most: int, longest: int, limit: int | None) -> int:
    """Returns the most tokens of a source with `most` sentences before it, each of `longest` at most, with breaks; a
    model's `limit` counts an end token and a language token, too."""
    together = most * (longest + 1) + longest
    return together if limit is None else min(together, limit - 2)
