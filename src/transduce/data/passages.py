"""Encoding questions and long passages for an encoder: overlapping windows of each passage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.data.text_batch import row_length
from transduce.text.tokenizer import Tokenizer

LONGEST_QUESTION = 64  # tokens; the rest is not read


@dataclass(frozen=True)
class PassageWindow:
    """A question, and a window of its passage."""

    number: int
    """The question's index among those that were encoded."""
    question: list[int]
    """Token ids of the question, without special tokens."""
    passage: list[int]
    """Token ids of the window, without special tokens."""
    places: list[tuple[int, int]]
    """Start and end of each token of the window, in characters of the passage."""

    @property
    def first(self) -> int:
        """Index in the row of the passage's first token, after [CLS], the question and [SEP]."""
        return len(self.question) + 2


def encode_passages(
    asked: Sequence[tuple[str, str]], tokenizer: Tokenizer, max_tokens: int, overlap: int
) -> list[PassageWindow]:
    """Returns the windows of questions with their passages, each of at most `max_tokens` with the special ones.

    Args:
        asked: pairs of question and passage.
        tokenizer: the tokenizer of both.
        max_tokens: the most tokens of a window with the special ones; at least half of them are for the passage.
        overlap: tokens that a window shares with the one before; at most half of what a window holds.
    """
    passages = dict.fromkeys(passage for _, passage in asked)
    encoded = dict(zip(passages, tokenizer.encode_with_places(list(passages)), strict=True))
    windows = []
    for number, ((_, passage), ids) in enumerate(
        zip(asked, tokenizer.encode_batch([question for question, _ in asked]), strict=True)
    ):
        question = ids[: min(LONGEST_QUESTION, (max_tokens - 3) // 2)]
        tokens, spans = encoded[passage]
        room = max_tokens - row_length(question, [])
        step = room - min(overlap, room // 2)
        for start in range(0, max(len(tokens), 1), step):
            stop = min(start + room, len(tokens))
            windows.append(PassageWindow(number, question, tokens[start:stop], spans[start:stop]))
            if stop == len(tokens):
                break
    return windows


def window_lengths(windows: Sequence[PassageWindow]) -> NDArray[np.int64]:
    """Returns the tokens of the row of each window, special ones included."""
    return np.array([row_length(window.question, window.passage) for window in windows], dtype=np.int64)
