"""Token ids of several sentence pairs, padded to rectangles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from transduce.shapes import Mask, Tokens


@dataclass(frozen=True)
class Stream:
    """Which streams of running text the rows of a batch go on with."""

    first: int
    """The number of the first row's, by which a part of a batch finds what the same part of the last one handed on."""
    begins: bool
    """Whether they begin here: nothing was read before."""
    is_backward: Bool[Tensor, " rows"] | None = None
    """Which of them are read from the end of a text to its beginning; None for none."""

    def to(self, device: torch.device) -> "Stream":
        """The same on a device."""
        return self if self.is_backward is None else replace(self, is_backward=self.is_backward.to(device))


@dataclass(frozen=True)
class Batch:
    """Padded sentence pairs: a decoder reads `target_in`, begun by <bos>, and learns `target_out`, ended by <eos>."""

    source: Int[Tensor, "rows source_time"]
    source_is_real: Bool[Tensor, "rows source_time"]
    target_in: Tokens
    target_out: Tokens
    target_is_real: Mask
    stream: Stream | None = None
    """None for rows that stand by themselves."""

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return Batch(
            self.source.to(device),
            self.source_is_real.to(device),
            self.target_in.to(device),
            self.target_out.to(device),
            self.target_is_real.to(device),
            None if self.stream is None else self.stream.to(device),
        )


@dataclass(frozen=True)
class SpecialIds:
    """The ids that padding and sentence ends need."""

    source_pad: int
    source_eos: int
    target_pad: int
    target_bos: int
    target_eos: int


def with_marks(ids: NDArray[np.integer], marks: Sequence[int]) -> NDArray[np.integer]:
    """Ids of a source after the tokens that tell a model the direction, if there are some."""
    return np.concatenate([np.array(marks, dtype=ids.dtype), ids]) if marks else ids


def make_batch(
    sources: Sequence[Sequence[int] | NDArray[np.integer]],
    targets: Sequence[Sequence[int] | NDArray[np.integer]],
    special: SpecialIds,
    begins: Sequence[int] | None = None,
) -> Batch:
    """Pad pairs of id sequences, which hold no special tokens yet but those of languages.

    Each target begins with <bos>, or with a token of its own.
    """
    source, source_is_real = pad(sources, special.source_pad, end=special.source_eos)
    target_out, target_is_real = pad(targets, special.target_pad, end=special.target_eos)
    begin = torch.tensor([special.target_bos] * len(targets) if begins is None else begins)[:, None]
    target_in = torch.cat([begin, target_out[:, :-1]], 1)
    return Batch(source, source_is_real, target_in, target_out, target_is_real)


def pad(rows: Sequence[Sequence[int] | NDArray[np.integer]], padding: int, end: int) -> tuple[Tokens, Mask]:
    """A rectangle of ids, each row ended by `end`, and where it is real."""
    lengths = np.array([len(row) + 1 for row in rows])
    ids = np.full((len(rows), lengths.max()), padding, dtype=np.int64)
    for row, values in enumerate(rows):
        ids[row, : len(values)] = values
        ids[row, len(values)] = end
    is_real = np.arange(ids.shape[1]) < lengths[:, None]
    return torch.from_numpy(ids), torch.from_numpy(is_real)
