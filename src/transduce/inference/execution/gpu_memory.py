"""The memory that a search needs of a GPU, by which its batches are chosen."""

from dataclasses import dataclass
from typing import Any

import torch

from transduce.base.devices import tensors_of
from transduce.models.interface import Writer
from transduce.nn.state import DecoderState

LOGITS = 5
"""Copies of a step's logits in float32 that exist at once: the model's, their softmax, and what chooses among them."""
ACTIVATIONS = 12
"""Vectors as wide as the encoder's output that it computes for a token at once: the inner layer of a feed-forward
network, queries, keys and values; and two for each hypothesis, where a step's attention compares all with a token."""
STATES = 2
"""Copies of states: when sentences have ended, those that go on are copied."""
USED, USED_WITH_GRAPHS = 0.8, 0.2
"""Shares of the free memory that a batch takes. The rest is a margin: for memory in pieces; for graphs, whose sizes are
rounded up, several of which have a state each."""


@dataclass(frozen=True)
class SearchMemory:
    """Bytes of a search, from what a model's own state takes. Weights are not among them: they take no free memory."""

    source_token: int
    """The state of a token of a source: the encoder's output as each layer keeps it."""
    target_token: int
    """The state of a token of a hypothesis, its keys and values in each layer; 0 for a recurrence."""
    hypothesis: int
    """The rest of the state of a hypothesis, such as the memory of a recurrence."""
    width: int
    """A vector of the encoder's output."""
    logits: int
    """The logits of one step of a hypothesis, in float32."""

    @classmethod
    @torch.inference_mode()
    def of(cls, model: Writer[Any], device: torch.device) -> "SearchMemory":
        """Measures the states of the smallest searches."""
        tokens = torch.zeros(1, 3, dtype=torch.long, device=device)
        is_real = torch.ones_like(tokens, dtype=torch.bool)

        def started(length: int, rows: int = 1) -> DecoderState:
            state: DecoderState = model.start(model.encode(tokens[:, :length], is_real[:, :length]))
            return state if rows == 1 else state.expand(rows)

        hidden = model.encode(tokens[:, :2], is_real[:, :2]).hidden
        logits, after = model.decoder(tokens[:, :1], started(2))
        return cls(
            source_token=_bytes(started(3)) - _bytes(started(2)),
            target_token=max(_bytes(after) - _bytes(started(2)), 0),
            hypothesis=_bytes(started(2, rows=3)) - _bytes(started(2, rows=2)),
            width=hidden.shape[-1] * hidden.element_size(),
            logits=4 * logits.shape[-1],
        )

    def needed(self, sentences: Any, source_length: Any, target_length: Any, rows: int) -> Any:
        """Returns the bytes that a batch needs; takes numbers or arrays.

        Args:
            sentences: the number of sentences.
            source_length: the tokens of the longest.
            target_length: the tokens of the longest output.
            rows: hypotheses of each sentence.
        """
        of_hypothesis = self.target_token * target_length + self.hypothesis
        state = self.source_token * source_length + rows * of_hypothesis
        activations = max(ACTIVATIONS, 2 * rows) * self.width * source_length
        return sentences * (STATES * state + LOGITS * rows * self.logits + activations)


def free_memory(device: torch.device) -> int:
    """Returns the bytes of a GPU that PyTorch can take, or has taken and does not use."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + unused


def _bytes(state: DecoderState) -> int:
    return sum(tensor.nbytes for tensor in tensors_of(state))
