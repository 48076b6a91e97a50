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
    """The streams of running text that the rows of a batch continue."""

    first: int
    """The index of the first row's stream, which identifies the state that the same part of the last batch left."""
    begins: bool
    """True if the streams begin here, with nothing read before."""
    is_backward: Bool[Tensor, " rows"] | None = None
    """True for streams read from the end of a text to its beginning; None if there are none."""

    def to(self, device: torch.device) -> "Stream":
        """Returns a copy on a device."""
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
    """The streams of running text that the rows continue; None for independent rows."""

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
    """The ids that padding, beginnings and ends need."""

    source_pad: int
    source_eos: int
    target_pad: int
    target_bos: int
    target_eos: int


def with_marks(ids: NDArray[np.integer], marks: Sequence[int]) -> NDArray[np.integer]:
    """Returns a source's ids after the language tokens, if there are any."""
    return np.concatenate([np.array(marks, dtype=ids.dtype), ids]) if marks else ids


def make_batch(
    sources: Sequence[Sequence[int] | NDArray[np.integer]],
    targets: Sequence[Sequence[int] | NDArray[np.integer]],
    special: SpecialIds,
    begins: Sequence[int] | None = None,
) -> Batch:
    """Pad pairs of id sequences, without special tokens except those of languages.

    Each target begins with <bos>, or with its own token in `begins`.
    """
    source, source_is_real = pad(sources, special.source_pad, end=special.source_eos)
    target_out, target_is_real = pad(targets, special.target_pad, end=special.target_eos)
    begin = torch.tensor([special.target_bos] * len(targets) if begins is None else begins)[:, None]
    target_in = torch.cat([begin, target_out[:, :-1]], 1)
    return Batch(source, source_is_real, target_in, target_out, target_is_real)


def pad(rows: Sequence[Sequence[int] | NDArray[np.integer]], padding: int, end: int) -> tuple[Tokens, Mask]:
    """Pad rows of ids, each ended by `end`; returns a rectangle and a mask of real tokens."""
    lengths = np.array([len(row) + 1 for row in rows])
    ids = np.full((len(rows), lengths.max()), padding, dtype=np.int64)
    for row, values in enumerate(rows):
        ids[row, : len(values)] = values
        ids[row, len(values)] = end
    is_real = np.arange(ids.shape[1]) < lengths[:, None]
    return torch.from_numpy(ids), torch.from_numpy(is_real)
