"""Attention weights of a real forward pass, by part of the model, layer and head."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder
from transduce.nn.recording import Tape, record_attention
from transduce.nn.relative_attention import RelativeSelfAttention
from transduce.nn.self_attention import SelfAttention

Part = Literal["encoder", "decoder", "query", "cross"]
"""Source to source (encoder), target to target (decoder), or target to source (cross). In a model of two streams, the
content stream is the decoder, and the one that predicts the query."""


@dataclass(frozen=True)
class RecordedAttention:
    """The attention weights of one layer."""

    part: Part
    layer: int
    """The layer of that part, counted from 0."""
    weights: Float[Tensor, "rows heads queries keys"]


@dataclass(frozen=True)
class Recorded:
    """A recorded forward pass."""

    attention: list[RecordedAttention]
    log_probabilities: Float[Tensor, "rows target_time vocabulary"]
    """Log-probabilities of the token after each that the decoder reads."""

    def cross(self) -> list[RecordedAttention]:
        """Returns the maps from target to source."""
        return [recorded for recorded in self.attention if recorded.part == "cross"]


@torch.inference_mode()
def record_pass(model: EncoderDecoder[Any], batch: Batch) -> Recorded:
    """Runs a model over source and target, which it reads whole, and records the weights of every attention."""
    assert isinstance(model, nn.Module)
    with record_attention(model) as tape:
        memory = model.encode(batch.source, batch.source_is_real)
    encoder = [RecordedAttention("encoder", layer, weights) for layer, weights in enumerate(_joined(tape).values())]
    state = model.start(memory)
    with record_attention(model) as tape:
        logits, _ = model.decoder(batch.target_in, state)
    recorded, of_self = _joined(tape), _self_attentions(model)
    # Where there are two streams, a layer's attention is called for the one that predicts, then for the content.
    streams = [weights.split(batch.target_in.shape[1], 2) for name, weights in recorded.items() if name in of_self]
    cross = [weights for name, weights in recorded.items() if name not in of_self]
    query = [of_layer[0] for of_layer in streams] if any(len(of_layer) > 1 for of_layer in streams) else []
    decoder = [of_layer[1] for of_layer in streams if len(of_layer) > 1] if query else [first for (first,) in streams]
    parts: list[tuple[Part, list[Tensor]]] = [("decoder", decoder), ("query", query), ("cross", cross)]
    return Recorded(
        [
            *encoder,
            *(RecordedAttention(part, layer, weights) for part, maps in parts for layer, weights in enumerate(maps)),
        ],
        logits.float().log_softmax(-1),
    )


def _self_attentions(model: nn.Module) -> set[str]:
    """Returns the names of modules whose recorded attention is of a sequence to itself."""
    names = dict(model.named_modules())
    relative = {name for name, module in names.items() if isinstance(module, RelativeSelfAttention)}
    return relative | {f"{name}.attention" for name, module in names.items() if isinstance(module, SelfAttention)}


def _joined(tape: Tape) -> Mapping[str, Float[Tensor, "rows heads queries keys"]]:
    """Returns the calls of each module that was called, one after another, in float32."""
    return {name: torch.cat(calls, 2).float() for name, calls in tape.items() if calls}
