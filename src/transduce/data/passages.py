"""Questions and long passages as rows that an encoder can read: overlapping windows of each passage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.data.text_batch import row_length
from transduce.text.tokenizer import Tokenizer

LONGEST_QUESTION = 64  # tokens; what comes after them is not read


@dataclass(frozen=True)
class PassageWindow:
    """A question, and a window of its passage."""

    number: int
    """Of the question among those that were encoded."""
    question: list[int]
    """Ids without special tokens."""
    passage: list[int]
    """Likewise."""
    places: list[tuple[int, int]]
    """In characters of the passage, of each token of the window."""

    @property
    def first(self) -> int:
        """Where the passage begins in the row, after [CLS], the question and [SEP]."""
        return len(self.question) + 2


def encode_passages(
    asked: Sequence[tuple[str, str]], tokenizer: Tokenizer, max_tokens: int, overlap: int
) -> list[PassageWindow]:
    """The windows of questions with their passages, each of at most so many tokens with the special ones.

    Args:
        asked: questions, each with its passage.
        tokenizer: makes tokens of both.
        max_tokens: at most, with the special ones; at least half of them are for the passage.
        overlap: tokens that a window shares with the one before; at most half of what a window holds.
    """
    passages = dict.fromkeys(passage for _, passage in asked)
    encoded = dict(zip(passages, tokenizer.encode_with_places(list(passages)), strict=True))
    windows = []
    for number, ((_, passage), ids) in enumerate(
        zip(asked, tokenizer.encode_batch([question for question, _ in asked]), strict=True)
    ):
        question = ids[: min(LONGEST_QUESTION, (max_tokens - 3) // 2)]
        tokens, places = encoded[passage]
        room = max_tokens - row_length(question, [])
        step = room - min(overlap, room // 2)
        for start in range(0, max(len(tokens), 1), step):
            stop = min(start + room, len(tokens))
            windows.append(PassageWindow(number, question, tokens[start:stop], places[start:stop]))
            if stop == len(tokens):
                break
    return windows


def window_lengths(windows: Sequence[PassageWindow]) -> NDArray[np.int64]:
    """Tokens of the row of each window, special ones included."""
    return np.array([row_length(window.question, window.passage) for window in windows], dtype=np.int64)
