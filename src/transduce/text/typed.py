"""Finds the token sequences that may spell a text which is being typed, and so may end within a word.

Tokens of an unfinished word are not those of the whole word. So only tokens that end before the last white space are
forced, or that end too far from the end for any token to reach it; after them all tokens are allowed that agree with
the rest. The rest is compared in bytes, since a token may spell a part of a character.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from docsegments.orthography.characters import UNSPACED
from transduce.text.phrase_encoder import BROKEN, PhraseEncoder

REMEMBERED = 256
"""The number of typed texts whose spellings are remembered."""
LAST = b"\xff"
"""A byte that is greater than all of a text."""


@dataclass(frozen=True)
class TypedText:
    """The tokens of a typed text, but for its last characters, which the next ones may join in a token."""

    text: str
    """The text as outputs write it."""
    ends_in_space: bool
    """True if it was typed with white space at its end."""
    tokens: list[int]
    """Tokens of all but the last characters."""
    next_tokens: list[list[int]]
    """For each number of bytes of the last characters that are written, the tokens that agree with the rest of them,
    and leave nothing or a rest that can be spelled."""


class TypedTextEncoder:
    """Encodes typed texts; one pass over the vocabulary is made when first asked for."""

    def __init__(self, wording: PhraseEncoder) -> None:
        self.tokenizer = wording.tokenizer
        self._wording = wording
        self.encode = lru_cache(REMEMBERED)(self._encode)

    def written(self, tokens: Sequence[int], is_start: bool) -> int:
        """Returns the number of bytes that tokens add to a text; to an empty one (`is_start`), a space before it too,
        which the first token may leave out."""
        texts = [self._texts[token] for token in tokens]
        is_left_out = is_start and texts and not texts[0].startswith(b" ")
        return sum(map(len, texts)) + (1 if is_left_out else 0)

    def _encode(self, typed: str) -> TypedText:
        """Returns a typed text in tokens.

        Those tokens are certain that end before the last white space, or too far from the end of the text for a token
        to reach both. Last characters that no tokens spell are encoded as usual, with the unknown token.
        """
        tokenizer, text = self.tokenizer, typed.rstrip()
        ends_in_space = typed != text
        ((ids, spans),) = tokenizer.encode_with_places([text])
        if not ids:
            return TypedText("", False, [], [])
        whole = tokenizer.decode(ids)
        if ends_in_space and not UNSPACED.match(text[-1]):  # the last word is complete
            next_tokens = None if tokenizer.joins_words else self._next_tokens(" ", False)
            return TypedText(whole, True, ids, next_tokens or [])
        last_space = max((offset for offset, character in enumerate(text) if character.isspace()), default=-1)
        reach = max(last_space, len(text) - self._longest)
        count = next((number for number, (_, end) in enumerate(spans) if end > reach), len(ids))
        start, before = spans[count - 1][1] if count else 0, tokenizer.decode(ids[:count])
        if tokenizer.unknown in ids[count:]:  # it may be a part of a known word
            tail = tokenizer.normal(text[start:])
            tail = f" {tail}" if text[start].isspace() else tail
        else:
            tail = whole[len(before) :] if whole.startswith(before) else ""
        if tokenizer.joins_words or not count:
            tail = tail.lstrip()
        next_tokens = self._next_tokens(tail, is_start=count == 0)
        if next_tokens is None:
            return TypedText(whole, ends_in_space, ids, [])
        return TypedText(before + tail, ends_in_space, ids[:count], next_tokens)

    def _next_tokens(self, tail: str, is_start: bool) -> list[list[int]] | None:
        """Returns the next tokens by which last characters may be spelled, see TypedText; None if none do.

        At the start of a text, they may have a space before them.
        """
        last = f" {tail}".encode() if is_start else tail.encode()
        next_tokens: list[list[int]] = [[] for _ in last]
        for offset in reversed(range(len(last))):
            rest = last[offset:]
            next_tokens[offset] = self._by_text.beginning_with(rest)
            for length in range(1, len(rest)):
                if next_tokens[offset + length]:
                    next_tokens[offset] += self._by_text.equal_to(rest[:length])
        if is_start:
            next_tokens[0] = [token for token in next_tokens[0] + next_tokens[1] if self._may_begin(token)]
        if not tail or not next_tokens[0]:
            return None
        if tail == " ":
            next_tokens[0].append(self.tokenizer.eos)  # nothing need follow the space
        return next_tokens

    def _may_begin(self, token: int) -> bool:
        """Returns True if a token has the same text at the beginning of a text as after a letter."""
        text = self._texts[token]
        return (
            token in self.tokenizer.bytes_of_characters or self._wording.texts[token].lstrip() == text.decode().lstrip()
        )

    @cached_property
    def _texts(self) -> list[bytes]:
        """The bytes that each token adds to a text; none for special tokens and parts of characters without a byte."""
        tokenizer = self.tokenizer
        special = {tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos, *tokenizer.marks.values()}
        parts = tokenizer.bytes_of_characters
        texts = []
        for token, text in enumerate(self._wording.after_letter):
            text = text.strip() if tokenizer.joins_words else text
            is_text = token not in special and BROKEN not in text
            texts.append(parts.get(token, text.encode() if is_text else b""))
        return texts

    @cached_property
    def _longest(self) -> int:
        """The number of bytes of the longest token."""
        return max(map(len, self._texts), default=0)

    @cached_property
    def _by_text(self) -> "_TokensByText":
        return _TokensByText((text, token) for token, text in enumerate(self._texts) if text)


class _TokensByText:
    """Tokens in the order of their texts."""

    def __init__(self, entries: Iterable[tuple[bytes, int]]) -> None:
        self._entries = sorted(entries)

    def beginning_with(self, text: bytes) -> list[int]:
        """Returns the tokens whose texts begin with a text."""
        return self._between(text, text + LAST)

    def equal_to(self, text: bytes) -> list[int]:
        """Returns the tokens of a text."""
        return self._between(text, text + b"\0")

    def _between(self, text: bytes, end: bytes) -> list[int]:
        first, last = bisect_left(self._entries, (text, -1)), bisect_left(self._entries, (end, -1))
        return [token for _, token in self._entries[first:last]]
