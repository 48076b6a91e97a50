"""A model compiled by `torch.compile`: its steps are a few operators of their own instead of hundreds of small ones."""

from typing import Generic, cast

import torch

from transduce.models.interface import EncoderDecoder, Memory, State
from transduce.models.projecting import ProjectingDecoder
from transduce.shapes import Hidden, Logits, Mask, Tokens


class CompiledModel(Generic[State]):
    """A trained model, ready to search; see models/interface.py for its promises.

    What is compiled is reading a source, and the decoder's steps of one token a row; it happens when they first come,
    and again for shapes of another kind.
    """

    def __init__(self, model: EncoderDecoder[State]) -> None:
        self.model = model
        self.decoder = CompiledDecoder(cast(ProjectingDecoder[State], model.decoder))
        self._encode = torch.compile(model.encode, dynamic=True)

    @property
    def source_limit(self) -> int | None:
        """The model's."""
        return self.model.source_limit

    @property
    def target_limit(self) -> int | None:
        """The model's."""
        return self.model.target_limit

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """As the model does."""
        memory: Memory = self._encode(source, is_real)
        return memory

    def start(self, memory: Memory) -> State:
        """The model's state before the first target token."""
        return self.model.start(memory)


class CompiledDecoder(ProjectingDecoder[State]):
    """What a decoder gives; the decoder itself does what is more than a step.

    Tokens are cloned, so that they are no view of texts that grow: a compiled step depends on where a view begins.
    """

    def __init__(self, decoder: ProjectingDecoder[State]) -> None:
        super().__init__()
        self.decoder = decoder
        self.output = decoder.output
        self._forward = torch.compile(decoder.forward, dynamic=True)
        self._read = torch.compile(decoder.read, dynamic=True)

    def forward(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """See Decoder."""
        step = self._forward if tokens.shape[1] == 1 else self.decoder
        logits, state = step(tokens.clone(), state)
        return logits, state

    def read(self, tokens: Tokens, state: State) -> tuple[Hidden, State]:
        """See ProjectingDecoder."""
        step = self._read if tokens.shape[1] == 1 else self.decoder.read
        hidden, state = step(tokens.clone(), state)
        return hidden, state
