"""Rows of different lengths without their padding: real tokens side by side, spread to rows where they meet."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from transduce.nn.masks import AttentionMask, padding_mask
from transduce.shapes import Hidden, Mask

Packed = Float[Tensor, "1 tokens dim"]
"""The vectors of all real tokens, row after row."""


@dataclass(frozen=True)
class Packing:
    """Where the real tokens of padded rows stand. What has no padding is passed through as it is."""

    rows: int
    time: int
    places: Int[Tensor, " tokens"] | None
    """Of each real token among rows * time; None where all are real."""
    may_attend: AttentionMask | None
    """Every query may attend to the real tokens of its row; None where all are real."""

    @staticmethod
    def of(is_real: Mask) -> "Packing":
        """The packing of rows with this padding."""
        rows, time = is_real.shape
        places = is_real.flatten().nonzero().squeeze(1)
        if len(places) == rows * time:
            return Packing(rows, time, None, None)
        return Packing(rows, time, places, padding_mask(is_real))

    def pack(self, padded: Hidden) -> Packed:
        """[rows, time, dim] to [1, tokens, dim]."""
        flat = padded.flatten(0, 1)
        return (flat if self.places is None else flat.index_select(0, self.places))[None]

    def spread(self, packed: Packed) -> Hidden:
        """[1, tokens, dim] to [rows, time, dim], zero at padding."""
        flat = packed[0]
        if self.places is not None:
            flat = flat.new_zeros(self.rows * self.time, flat.shape[1]).index_copy(0, self.places, flat)
        return flat.view(self.rows, self.time, -1)
