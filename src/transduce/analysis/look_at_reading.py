"""Looks at a model that reads texts: attention, its result for a text, and the tokens that the result rests on."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from transduce.analysis.attribution import drops_of, gradients_of, rank_correlation
from transduce.analysis.findings import Agreement, Confidence, Occlusion, TokenText, Unit
from transduce.analysis.look import Look, direction_of, maps_of
from transduce.analysis.reading import outputs_of_text, record_reading
from transduce.bundle import ModelBundle
from transduce.data.text_batch import Ids, make_text_batch


@dataclass(frozen=True)
class Told:
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


NOTHING = Told("", [], [], None)
"""The result of an encoder that only reads."""


def look_at_reading(bundle: ModelBundle, model: str, text: str, row: tuple[Ids, Ids | None], result: Told) -> Look:
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
        agreement = Agreement(None, rank_correlation(gradient.attributions[is_text], occlusion.total[is_text]))
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
