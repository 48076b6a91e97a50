"""Token ids of texts, or of pairs of texts read together, padded to rectangles for an encoder."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.base.devices import OnDevice
from transduce.base.shapes import Mask, Tokens
from transduce.data.batch import SpecialIds
from transduce.nn.ragged import Ragged

Ids = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class TextBatch(OnDevice):
    """Input of an encoder: `[CLS] first [SEP]`, or `[CLS] first [SEP] second [SEP]`, one row each."""

    tokens: Tokens
    segments: Tokens
    """Segment ids: 0 for the first text, 1 for the second."""
    is_real: Mask
    rows: Ragged | None = None
    """The positions of real tokens; None in a batch made by hand."""

    def __len__(self) -> int:
        return len(self.tokens)


def make_text_batch(rows: Sequence[tuple[Ids, Ids | None]], special: SpecialIds) -> TextBatch:
    """Pads texts, or pairs of them, whose ids have no special tokens yet."""
    lengths = np.array([row_length(*row) for row in rows])
    tokens = np.full((len(rows), lengths.max()), special.target_pad, dtype=np.int64)
    segments = np.zeros_like(tokens)
    for row, (first, second) in enumerate(rows):
        tokens[row, 0] = special.target_bos
        tokens[row, 1 : len(first) + 1] = first
        begin = len(first) + 2
        tokens[row, begin - 1] = special.target_eos
        if second is not None:
            end = begin + len(second)
            tokens[row, begin:end] = second
            tokens[row, end] = special.target_eos
            segments[row, begin : end + 1] = 1
    is_real = torch.from_numpy(np.arange(tokens.shape[1]) < lengths[:, None])
    return TextBatch(torch.from_numpy(tokens), torch.from_numpy(segments), is_real, Ragged.of(is_real))


def row_length(first: Ids, second: Ids | None) -> int:
    """Returns the tokens of a row, special ones included."""
    return len(first) + 2 if second is None else len(first) + len(second) + 3


def shorten(first: Ids, second: Ids | None, limit: int) -> tuple[Ids, Ids | None]:
    """Cuts texts at their ends so that the row has at most `limit` tokens: of two, the longer is cut."""
    if second is None:
        return first[: max(limit - 2, 0)], None
    room = max(limit - 3, 0)
    of_second = min(len(second), max(room // 2, room - len(first)))
    return first[: room - of_second], second[:of_second]
