"""Token ids of several sentence pairs, padded to rectangles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from transduce.base.devices import OnDevice
from transduce.base.shapes import Mask, Tokens
from transduce.nn.ragged import Ragged


@dataclass(frozen=True)
class Stream:
    """The streams of running text that the rows of a batch continue."""

    first: int
    """The index of the first row's stream, which identifies the state that the same part of the last batch left."""
    begins: bool
    """True if the streams begin here, with nothing read before."""
    is_backward: Bool[Tensor, " rows"] | None = None
    """True for streams read from the end of a text to its beginning; None if there are none."""


@dataclass(frozen=True)
class Batch(OnDevice):
    """Padded sentence pairs: a decoder reads `target_in`, begun by <bos>, and learns `target_out`, ended by <eos>."""

    source: Int[Tensor, "rows source_time"]
    source_is_real: Bool[Tensor, "rows source_time"]
    target_in: Tokens
    target_out: Tokens
    target_is_real: Mask
    stream: Stream | None = None
    """The streams of running text that the rows continue; None for independent rows."""
    source_rows: Ragged | None = None
    """Where the real tokens of the source are; None in a batch made by hand."""
    target_rows: Ragged | None = None
    """Where the real tokens of the target are; None in a batch made by hand."""

    def __len__(self) -> int:
        return len(self.source)

    @property
    def target_places(self) -> Int[Tensor, " tokens"]:
        """Index of each real target token among rows * time."""
        if self.target_rows is not None:
            return self.target_rows.places
        return self.target_is_real.flatten().nonzero().squeeze(1)


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
    return Batch(
        source,
        source_is_real,
        target_in,
        target_out,
        target_is_real,
        source_rows=Ragged.of(source_is_real),
        target_rows=Ragged.of(target_is_real),
    )


def pad(rows: Sequence[Sequence[int] | NDArray[np.integer]], padding: int, end: int) -> tuple[Tokens, Mask]:
    """Pads rows of ids, each ended by `end`; returns a rectangle and a mask of real tokens."""
    lengths = np.array([len(row) + 1 for row in rows])
    ids = np.full((len(rows), lengths.max()), padding, dtype=np.int64)
    for row, values in enumerate(rows):
        ids[row, : len(values)] = values
        ids[row, len(values)] = end
    is_real = np.arange(ids.shape[1]) < lengths[:, None]
    return torch.from_numpy(ids), torch.from_numpy(is_real)
