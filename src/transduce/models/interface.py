"""Interfaces of model families: all that objectives, scoring, search and tools know of a model is in this file.

A family that writes (translates, or continues a text) is an EncoderDecoder with a Decoder; one that reads texts is a
TextEncoder, on which heads are put (models/heads.py). Nothing else about a family is known outside its own file.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.base.shapes import Hidden, Logits, Mask, Tokens
from transduce.nn.adaptive import AdaptiveOutput
from transduce.nn.places import HasPlaces, Place, Places, places_of_blocks, within
from transduce.nn.ragged import Ragged, RaggedHidden, RaggedTokens
from transduce.nn.state import Carried, CarriedState, DecoderState

State = TypeVar("State", bound=DecoderState)
CarriedTo = TypeVar("CarriedTo", bound=CarriedState)


@dataclass(frozen=True)
class Memory:
    """An encoder's output, one row a source sentence: [sentences, time, dim], and which positions are real."""

    hidden: Hidden
    is_real: Mask

    @classmethod
    def empty(cls, rows: int, dim: int, like: Tensor) -> "Memory":
        """Returns the memory of a model without a source: rows without positions, of a tensor's type and device."""
        return cls(like.new_empty(rows, 0, dim), torch.empty(rows, 0, dtype=torch.bool, device=like.device))


@runtime_checkable
class Predictor(Protocol[State]):
    """Reads one or more tokens per row and predicts the token after each: all that a search needs of a model."""

    def __call__(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """Returns logits for the token that follows each of `tokens`, and the state after the last of them.

        All tokens at once, in chunks or one by one give the same logits. The state passed is consumed.
        """


class Decoder(nn.Module, ABC, Generic[State]):
    """The half of a model that predicts: embeddings and layers that read tokens, then the output layer.

    It is a Predictor. Objectives and scoring call `read` alone, and apply the output layer to the positions that have a
    target, a part at a time, so that the logits of a batch never exist all at once (nn/losses.py).
    """

    embedding: nn.Module
    layers: Iterable[nn.Module]
    """The layers from the bottom."""
    output: nn.Linear | AdaptiveOutput
    """Makes logits of hidden states. In a model made ready to translate (inference/engines/inference_precision.py), a
    linear layer that computes the same in another way has taken its place."""

    @abstractmethod
    def read(self, tokens: Tokens, state: State) -> tuple[Hidden, State]:
        """Returns hidden states before the output layer, [rows, time, dim], and the next state."""

    def forward(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """See Predictor."""
        hidden, state = self.read(tokens, state)  # [rows, time, dim]
        return self.output(hidden), state  # [rows, time, vocabulary]

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See Layered."""
        return [self.embedding, *self.layers]

    def places(self) -> Places:
        """Returns the values of a forward pass that can be seen and changed from outside, by their names."""
        ends = {"hidden": Place(self, ("read",)), "logits": Place(self)}
        return {**places_of_blocks(self.blocks), **ends}


@runtime_checkable
class Writer(Protocol[State]):
    """A model of a target sequence given a source sequence, as inference sees it: one, or several as one."""

    if TYPE_CHECKING:  # since Python 3.12 `isinstance` does not look where a module keeps its parts

        @property
        def decoder(self) -> Predictor[State]:
            """The half that predicts."""

    @property
    def source_limit(self) -> int | None:
        """See EncoderDecoder."""

    @property
    def target_limit(self) -> int | None:
        """See EncoderDecoder."""

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """See EncoderDecoder."""

    def start(self, memory: Memory) -> State:
        """See EncoderDecoder."""


class EncoderDecoder(nn.Module, ABC, Generic[State]):
    """A family's model of a target sequence given a source sequence; a language model's source is empty.

    It is a Writer. An `encoder` attribute that is Layered lets rates of learning differ between its layers.
    """

    decoder: Decoder[State]
    readers: ClassVar[tuple[str, ...]] = ()
    """Names of methods, other than the decoder's, whose first argument is target tokens that the decoder reads."""

    @property
    def source_limit(self) -> int | None:
        """The most tokens a source may have, its end token included; None for no limit."""
        return None

    @property
    def target_limit(self) -> int | None:
        """The most tokens a target may have, its end token included; None for no limit."""
        return None

    @abstractmethod
    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """Reads the source sentences; a language model gives `Memory.empty`, one row a source."""

    @abstractmethod
    def start(self, memory: Memory) -> State:
        """Returns the decoder's state before the first target token, one row a sentence."""

    def places(self) -> Places:
        """See Decoder: all places, whose names begin with `encoder` or `decoder`; a family may name more."""
        encoder = getattr(self, "encoder", None)
        if not isinstance(encoder, Layered):
            return within("decoder", self.decoder.places())
        of_encoder = encoder.places() if isinstance(encoder, HasPlaces) else places_of_blocks(encoder.blocks)
        output = Place(self, ("encode",), is_arranged=False)
        return within("encoder", {**of_encoder, "output": output}) | within("decoder", self.decoder.places())


@runtime_checkable
class ReadsRagged(Protocol):
    """A model that can read whole sentence pairs without their padding, where its device has kernels for it."""

    @property
    def takes_ragged(self) -> bool:
        """True if the model can in its current mode, on its device, in its precision."""

    def read_ragged(
        self,
        source: RaggedTokens,
        of_source: Ragged,
        target: RaggedTokens,
        of_target: Ragged,
    ) -> RaggedHidden:
        """Returns hidden states before the output layer for all real target tokens, from all true ones before each."""


@runtime_checkable
class ReadsLengths(Protocol):
    """A model whose encoder needs the lengths of rows on the host, which a batch knows without waiting for a GPU."""

    def encode_rows(self, source: Tokens, is_real: Mask, rows: Ragged) -> Memory:
        """Encodes as `encode` does; `rows` says where the real tokens are."""


class SegmentRecurrence(EncoderDecoder[CarriedTo]):
    """A language model that reads a text segment by segment and continues from a bounded memory of earlier segments.

    The states of its decoder have `carried` (see CarriedState), which training hands from batch to batch.
    """

    def __init__(self, decoder: Decoder[CarriedTo]) -> None:
        super().__init__()
        self.decoder = decoder

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """Returns an empty memory for each row."""
        return Memory.empty(len(source), self.carried_shape[-1], next(self.parameters()))

    @property
    @abstractmethod
    def carried_shape(self) -> tuple[int, int, int]:
        """Largest carried state of a row: layers, positions or parts, width."""

    @abstractmethod
    def resume(self, carried: Carried) -> CarriedTo:
        """Returns the state in which the next segment begins, from what the last one carried over."""


@runtime_checkable
class Layered(Protocol):
    """A part of a model that is made of layers, such as an encoder or a decoder."""

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """Embedding of tokens, then the layers from the bottom. Rates of learning may differ between them."""


@runtime_checkable
class Rearranges(Protocol):
    """An encoder whose layers see tokens in another arrangement than its input's: [rows, time]."""

    def arranged_back(self, hidden: Hidden, is_real: Mask) -> Hidden:
        """Returns a layer's input or output with each vector at the position of its token, [rows, time, dim]."""


Pooling = Literal["mean", "first", "pooler"]
"""Pooling of the vectors of a text's tokens to one: see `EncodedText.vectors`."""


@dataclass(frozen=True)
class EncodedText:
    """An encoder's vectors of texts, one row a text."""

    hidden: Hidden
    """A vector of each token; those of padding are to be ignored."""
    pooled: Float[Tensor, "rows dim"]
    """A vector of each text: the pooler's output for its first token; that token's vector where there is no pooler."""
    is_real: Mask

    def vectors(self, pooling: Pooling) -> Float[Tensor, "rows dim"]:
        """Returns each text's vector: the pooler's, the mean over tokens (special ones too), or the first token's."""
        if pooling == "mean":
            is_real = self.is_real[..., None]
            return (self.hidden * is_real).sum(1) / is_real.sum(1)
        return self.hidden[:, 0] if pooling == "first" else self.pooled


class TextEncoder(nn.Module, ABC):
    """Reads whole texts, or pairs of them; all that heads, objectives and tools need of an encoder."""

    pooler: nn.Linear | None
    """The layer that makes the vector of a text from that of its first token; None if that vector is used itself."""

    @property
    def dim(self) -> int:
        """Width of the encoder's vectors."""
        return self.table.embedding_dim

    @property
    def limit(self) -> int | None:
        """The most tokens of a row, special ones included; None for no limit."""
        return None

    @property
    @abstractmethod
    def table(self) -> nn.Embedding:
        """The vectors of tokens, which a head that predicts tokens shares."""

    @property
    @abstractmethod
    def blocks(self) -> Sequence[nn.Module]:
        """See Layered."""

    def places(self) -> Places:
        """See Decoder."""
        return places_of_blocks(self.blocks)

    @abstractmethod
    def forward(self, tokens: Tokens, segments: Tokens, is_real: Mask, rows: Ragged | None = None) -> EncodedText:
        """Reads token ids; `segments` says which of two texts each belongs to, 0 or 1.

        `rows` may give the positions of real tokens, for which an encoder would otherwise wait for a GPU.
        """

    def pooled(self, hidden: Hidden, is_real: Mask) -> EncodedText:
        """Returns vectors of tokens, [rows, time, dim], with each text's vector, made by the pooler of its first."""
        first = hidden[:, 0]  # [rows, dim]
        return EncodedText(hidden, first if self.pooler is None else torch.tanh(self.pooler(first)), is_real)
