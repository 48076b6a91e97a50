"""Words split into a tokenizer's pieces, in rows that an encoder can read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class WordRows:
    """Sentences in rows, each a sentence or, if it is too long, a part of one."""

    ids: list[list[int]]
    """Token ids of each row, without special tokens."""
    first_pieces: list[list[int]]
    """For each row, the index in `ids` of each word's first piece."""
    words: list[tuple[int, int, int]]
    """For each row, its sentence, its first word there, and the word after its last."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each row, special ones included."""
        return np.array([len(ids) + 2 for ids in self.ids], dtype=np.int64)


def encode_words(sentences: Sequence[Sequence[str]], tokenizer: Tokenizer, max_tokens: int) -> WordRows:
    """Returns the pieces of sentences' words, in rows of at most `max_tokens` with the special ones.

    Words are never cut in two, but one that is longer than a row loses its end; one without pieces is unknown.
    """
    room = max_tokens - 2
    pieces = iter(tokenizer.encode_batch([word for words in sentences for word in words]))
    rows = WordRows([], [], [])
    for sentence, words in enumerate(sentences):
        ids: list[int] = []
        begins: list[int] = []
        first = 0
        for number in range(len(words)):
            piece = (next(pieces) or [tokenizer.unknown])[:room]
            if len(ids) + len(piece) > room:
                _add(rows, ids, begins, (sentence, first, number))
                ids, begins, first = [], [], number
            begins.append(len(ids))
            ids = ids + piece
        _add(rows, ids, begins, (sentence, first, len(words)))
    return rows


def _add(rows: WordRows, ids: list[int], begins: list[int], words: tuple[int, int, int]) -> None:
    rows.ids.append(ids)
    rows.first_pieces.append(begins)
    rows.words.append(words)
