"""What search, objectives and tools may expect of a model; nothing else about a family is known outside its file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.nn.state import Carried, DecoderState
from transduce.shapes import Hidden, Logits, Mask, Tokens

State = TypeVar("State", bound=DecoderState)
CarriedTo = TypeVar("CarriedTo", bound=DecoderState, covariant=True)


@dataclass(frozen=True)
class Memory:
    """An encoder's output, one row a source sentence: [sentences, time, dim], and which positions are real."""

    hidden: Hidden
    is_real: Mask

    @classmethod
    def empty(cls, rows: int, dim: int, like: Tensor) -> "Memory":
        """That of models that read no source: no position, once for each row; of the type and device of a tensor."""
        return cls(like.new_empty(rows, 0, dim), torch.empty(rows, 0, dtype=torch.bool, device=like.device))


@runtime_checkable
class Decoder(Protocol[State]):
    """Reads one or more tokens a row and predicts the token after each."""

    def __call__(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """Logits for the token that follows each of `tokens`, and the state after the last of them.

        All tokens at once, in chunks or one by one give the same logits. The state passed is consumed.
        """
        ...


@runtime_checkable
class EncoderDecoder(Protocol[State]):
    """A model of a target sequence given a source sequence."""

    @property
    def decoder(self) -> Decoder[State]:
        """The half that predicts."""
        ...

    @property
    def source_limit(self) -> int | None:
        """The most tokens a source may have, its end token included; None where any length will do."""
        ...

    @property
    def target_limit(self) -> int | None:
        """The most tokens a target may have, its end token included; None where any length will do."""
        ...

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """Read the source sentences."""
        ...

    def start(self, memory: Memory) -> State:
        """The decoder's state before the first target token, one row a sentence."""
        ...


@runtime_checkable
class SegmentRecurrence(Protocol[CarriedTo]):
    """A language model that reads a text segment by segment and goes on from a bounded memory of what came before.

    The states of its decoder have `carried` (see CarriedState), which training hands from batch to batch.
    """

    @property
    def carried_shape(self) -> tuple[int, int, int]:
        """Of what a row hands on at most: layers, positions or parts, width."""
        ...

    def resume(self, carried: Carried) -> CarriedTo:
        """The state in which a segment begins that follows one which handed this on."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A part of a model that is made of layers, such as an encoder or a decoder."""

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """From the bottom: what embeds tokens, then the layers. Rates of learning may differ between them."""
        ...


@runtime_checkable
class Rearranges(Protocol):
    """An encoder whose layers see tokens in another arrangement than its input's: [rows, time]."""

    def arranged_back(self, hidden: Hidden, is_real: Mask) -> Hidden:
        """What one of its layers reads or makes, with each vector at the place of its token, [rows, time, dim]."""
        ...


Pooling = Literal["mean", "first", "pooler"]
"""How the vectors of a text's tokens become one: see `EncodedText.vectors`."""


@dataclass(frozen=True)
class EncodedText:
    """What an encoder makes of texts, one row a text."""

    hidden: Hidden
    """A vector of each token; what stands at padding means nothing."""
    pooled: Float[Tensor, "rows dim"]
    """A vector of each text: what the pooler makes of its first token's, or that itself where there is no pooler."""
    is_real: Mask

    def vectors(self, pooling: Pooling) -> Float[Tensor, "rows dim"]:
        """A vector of each text: the pooler's, the mean of all tokens' (special ones too), or the first token's."""
        if pooling == "mean":
            is_real = self.is_real[..., None]
            return (self.hidden * is_real).sum(1) / is_real.sum(1)
        return self.hidden[:, 0] if pooling == "first" else self.pooled


@runtime_checkable
class TextEncoder(Protocol):
    """Reads whole texts, or pairs of them; all that heads, objectives and tools know of an encoder."""

    @property
    def dim(self) -> int:
        """Width of the vectors that it makes."""
        ...

    @property
    def limit(self) -> int | None:
        """The most tokens of a row, special ones included; None where any length will do."""
        ...

    @property
    def table(self) -> nn.Embedding:
        """The vectors of tokens, which a head that predicts tokens shares."""
        ...

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """From the bottom: what embeds tokens, then the layers. Rates of learning may differ between them."""
        ...

    def __call__(self, tokens: Tokens, segments: Tokens, is_real: Mask) -> EncodedText:
        """Read token ids; `segments` says which of two texts each belongs to, 0 or 1."""
        ...
