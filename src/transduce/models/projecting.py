"""Decoders that end in an output layer, which an objective may apply for itself where and when it needs logits."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from jaxtyping import Int
from torch import Tensor, nn

from transduce.nn.adaptive import AdaptiveOutput
from transduce.nn.linear import outputs_of
from transduce.nn.quantization import Int8Linear
from transduce.nn.small_batches import SmallBatchLinear
from transduce.nn.state import DecoderState
from transduce.shapes import Hidden, Logits, Tokens

State = TypeVar("State", bound=DecoderState)


class ProjectingDecoder(nn.Module, ABC, Generic[State]):
    """A Decoder (see models/interface.py) in two steps: what it reads, and the projection of that to the vocabulary."""

    output: nn.Linear | AdaptiveOutput

    @abstractmethod
    def read(self, tokens: Tokens, state: State) -> tuple[Hidden, State]:
        """What the output layer makes logits of, for the token after each of `tokens`, and the state after the last."""

    def forward(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """See Decoder."""
        hidden, state = self.read(tokens, state)
        return self.output(hidden), state

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See Layered."""
        parts = cast(Any, self)  # all decoders have these
        return [parts.embedding, *parts.layers]

    def projection(self, tokens: Int[Tensor, " tokens"]) -> Callable[[Hidden], Logits]:
        """The output layer for these tokens alone."""
        output: nn.Module = self.output
        if isinstance(output, Int8Linear | SmallBatchLinear):  # which a model that is made ready to translate has
            return output.of_outputs(tokens)
        assert isinstance(output, nn.Linear), "no model with an adaptive softmax has a smaller vocabulary"
        return outputs_of(output, tokens)
