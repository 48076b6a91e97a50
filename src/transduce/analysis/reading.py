"""Records how a model reads texts: the attention of its encoder, and its outputs when tokens are hidden."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.analysis.attention import RecordedAttention
from transduce.analysis.attribution import Outputs, hidden_in_part
from transduce.data.text_batch import TextBatch
from transduce.models.heads import EncoderModel
from transduce.nn.recording import record_attention
from transduce.shapes import Tokens


@dataclass(frozen=True)
class RecordedReading:
    """A recorded forward pass over texts."""

    attention: list[list[RecordedAttention]]
    """The attention of each text, layer by layer: [1, heads, tokens, tokens], without padding, in its tokens' order."""
    outputs: Tensor
    """The model's outputs for the texts, [rows, outputs] or [rows, time, outputs]."""


@torch.inference_mode()
def record_reading(model: EncoderModel, batch: TextBatch) -> RecordedReading:
    """Runs a model over texts, and records the weights of every attention of its encoder."""
    with _numbered(model.encoder.table, batch.tokens) as (numbers, placed), record_attention(model) as tape:
        outputs = model(numbers, batch.segments, batch.is_real)
    (order,) = placed
    lengths = batch.is_real.sum(1).tolist()
    attention: list[list[RecordedAttention]] = [[] for _ in lengths]
    for layer, calls in enumerate(filter(None, tape.values())):
        of_rows = [row for call in calls for row in call]  # a call may be for some of the rows
        for row, (weights, length) in enumerate(zip(of_rows, lengths, strict=True)):
            back = order[row, :length].argsort()
            in_order = weights[:, :length, :length].index_select(1, back).index_select(2, back)
            attention[row].append(RecordedAttention("encoder", layer, in_order[None].float()))
    return RecordedReading(attention, outputs)


def outputs_of_text(model: EncoderModel, text: TextBatch, end: int, chosen: Callable[[Tensor], Tensor]) -> Outputs:
    """Returns a function that runs a model on one text with tokens hidden in several ways; the special first never is.

    Args:
        model: in evaluation mode.
        text: one, whose tokens are all real.
        end: the token whose embedding a hidden one has.
        chosen: makes [rows, outputs] of the model's outputs.
    """

    def outputs(keep: Float[Tensor, "rows time"]) -> Float[Tensor, "rows outputs"]:
        tokens, segments, is_real = (x.expand(len(keep), -1) for x in (text.tokens, text.segments, text.is_real))
        table = model.encoder.table
        keep = torch.cat([torch.ones_like(keep[:, :1]), keep[:, 1:]], 1)
        with (
            _numbered(table, tokens) as (numbers, placed),
            hidden_in_part([table], lambda: keep.flatten()[placed[-1]], end),
        ):
            return chosen(model(numbers, segments, is_real))

    return outputs


@contextmanager
def _numbered(table: nn.Embedding, tokens: Tokens) -> Iterator[tuple[Tokens, list[Tokens]]]:
    """While open, lets an encoder read the numbers of tokens, row after row, of which its table finds the tokens.

    Yields the numbers, and a list to which the table adds those of each call: their order is that in which the encoder
    reads its tokens.
    """
    numbers = torch.arange(tokens.numel(), device=tokens.device).view(tokens.shape)
    placed: list[Tokens] = []

    def find(_: nn.Module, given: tuple[Tokens]) -> tuple[Tokens]:
        placed.append(given[0])
        return (tokens.flatten()[given[0]],)

    hook = table.register_forward_pre_hook(find)
    try:
        yield numbers, placed
    finally:
        hook.remove()
