"""Rows of different lengths without their padding: real tokens in one row, spread to rows for attention."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.base.shapes import Hidden, Mask
from transduce.nn.masks import AttentionMask, padding_mask
from transduce.nn.ragged import Ragged

Packed = Float[Tensor, "1 tokens dim"]
"""The vectors of all real tokens, row after row."""

MOST_WEIGHTS = 2**17
"""Most weights of a head that attention computes at once on a CPU: rows times the square of the longest. More would
leave its caches, and the padding of short rows beside long ones would cost as much as long rows do."""


@dataclass(frozen=True)
class Block:
    """Rows that follow one another, as a rectangle."""

    rows: int
    time: int
    """Length of the longest row, in tokens."""
    start: int
    """Index of its first token among all real ones."""
    tokens: int
    """Number of real tokens."""
    places: Int[Tensor, " tokens"] | None
    """Index of each real token among rows * time; None where all are real."""
    may_attend: AttentionMask | None
    """Every query may attend to the real tokens of its row; None where all are real."""

    @staticmethod
    def of(is_real: Mask, start: int, tokens: int) -> "Block":
        """Returns the block of rows with these numbers of real tokens."""
        rows, time = is_real.shape
        if tokens == rows * time:
            return Block(rows, time, start, tokens, None, None)
        return Block(rows, time, start, tokens, is_real.flatten().nonzero().squeeze(1), padding_mask(is_real))

    def pack(self, padded: Hidden) -> Packed:
        """Packs [rows, time, dim] to [1, tokens, dim]."""
        flat = padded.flatten(0, 1)
        return (flat if self.places is None else flat.index_select(0, self.places))[None]

    def spread(self, packed: Packed) -> Hidden:
        """Spreads these rows of all real tokens, [1, tokens, dim], to [rows, time, dim], zero at padding."""
        flat = packed[0].narrow(0, self.start, self.tokens)
        if self.places is not None:
            flat = flat.new_zeros(self.rows * self.time, flat.shape[1]).index_copy(0, self.places, flat)
        return flat.view(self.rows, self.time, -1)


@dataclass(frozen=True)
class Packing:
    """Indices of real tokens when padded rows are packed; the padding of a row must come after its tokens."""

    whole: Block
    """All rows."""
    blocks: Sequence[Block]
    """The rows in blocks, as many at once as attention takes: rows of similar length should follow one another."""
    rows: Ragged | None = None
    """The rows as attention without rectangles takes them, if that is known."""

    @staticmethod
    def of(is_real: Mask, rows: Ragged | None = None) -> "Packing":
        """Returns the packing of rows with this padding; `rows` says on a GPU where their real tokens are."""
        if rows is not None and is_real.device.type != "cpu":
            count, time = is_real.shape
            is_full = rows.time == count * time
            indices, may_attend = (None, None) if is_full else (rows.places, padding_mask(is_real))
            whole = Block(count, time, 0, rows.time, indices, may_attend)
            return Packing(whole, [whole], rows)
        lengths = is_real.sum(1).tolist()
        whole = Block.of(is_real, 0, sum(lengths))
        if is_real.device.type != "cpu" or is_real.shape[0] * is_real.shape[1] ** 2 <= MOST_WEIGHTS:
            return Packing(whole, [whole])
        blocks, first, start = [], 0, 0
        for stop in range(1, len(lengths) + 1):
            longest = max(lengths[first : stop + 1])
            if stop == len(lengths) or (stop + 1 - first) * longest**2 > MOST_WEIGHTS:
                tokens = sum(lengths[first:stop])
                blocks.append(Block.of(is_real[first:stop, : max(lengths[first:stop])], start, tokens))
                first, start = stop, start + tokens
        return Packing(whole, blocks)

    def pack(self, padded: Hidden) -> Packed:
        """Packs [rows, time, dim] to [1, tokens, dim]."""
        return self.whole.pack(padded)

    def spread(self, packed: Packed) -> Hidden:
        """Spreads [1, tokens, dim] to [rows, time, dim], zero at padding."""
        return self.whole.spread(packed)

    def joined(self, packed: Sequence[Tensor]) -> Packed:
        """Returns the blocks' vectors, [1, tokens, dim] each, one after another."""
        return packed[0] if len(packed) == 1 else torch.cat(list(packed), 1)
