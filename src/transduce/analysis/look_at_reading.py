"""Looks at a model that reads texts: attention, its result for a text, and the tokens that the result rests on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.analysis.attribution import Outputs, drops_of, gradients_of, hidden_in_part, rank_correlation
from transduce.analysis.findings import Confidence, Occlusion, OcclusionAgreement, TokenText, Unit
from transduce.analysis.look_at_text import Look, direction_of, maps_of
from transduce.analysis.recorded_attention import RecordedAttention
from transduce.base.shapes import Tokens
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.text_batch import Ids, TextBatch, make_text_batch
from transduce.models.heads import EncoderModel
from transduce.nn.recording import record_attention


@dataclass(frozen=True)
class ReadingResult:
    """The result of a model that read a text, in the form of a target."""

    text: str
    tokens: list[str]
    """The tokens of the result: a class, a score, an answer, or a tag for each word."""
    confidence: list[Confidence]
    """The confidence in each token; none for a score."""
    chosen: Callable[[Tensor], Tensor] | None
    """Computes, from the model's outputs for some texts, the log-probability (or score) of each token: [rows, tokens].
    None if there is no result."""
    unit: Unit = "nats"


NOTHING = ReadingResult("", [], [], None)
"""The result of an encoder that only reads."""


def look_at_reading(
    bundle: ModelBundle, model: str, text: str, row: tuple[Ids, Ids | None], result: ReadingResult
) -> Look:
    """Looks at a model that reads a text, or two.

    Args:
        bundle: the model, in float32.
        model: its name.
        text: the text of the row.
        row: ids without special tokens.
        result: the model's result for it.
    """
    network, special = bundle.reader, bundle.special
    batch = make_text_batch([row], special).to(bundle.device)
    (attention,) = record_reading(network, batch).attention
    occlusion = gradient = agreement = None
    if result.chosen is not None:
        outputs = outputs_of_text(network, batch, special.target_eos, result.chosen)
        occlusion = Occlusion(drops_of(outputs, batch.tokens).numpy())
        gradient = gradients_of(outputs, batch.tokens)
        tokens = batch.tokens[0].cpu().numpy()
        is_text = (tokens != special.target_bos) & (tokens != special.target_eos)
        agreement = OcclusionAgreement(None, rank_correlation(gradient.attributions[is_text], occlusion.total[is_text]))
    direction = direction_of(bundle.config.source)
    return Look(
        model=model,
        task=bundle.config.task,
        source=TokenText(text, bundle.tokenizers.target.pieces(batch.tokens[0].tolist()), direction),
        target=TokenText(result.text, result.tokens, direction),
        read=[],
        attention=maps_of(attention),
        confidence=result.confidence,
        occlusion=occlusion,
        gradient=gradient,
        agreement=agreement,
        unit=result.unit,
    )


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
