"""Log-probabilities of given targets."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.base.shapes import Mask, Tokens
from transduce.models.interface import Decoder, State, Writer
from transduce.nn.losses import log_probabilities


def fits(model: Writer[Any], source: Sequence[int], target: Sequence[int]) -> bool:
    """Returns True if a model has positions for a pair of token ids and its end tokens."""
    sides = ((source, model.source_limit), (target, model.target_limit))
    return all(limit is None or len(ids) < limit for ids, limit in sides)


def score_tokens(
    model: Writer[State],
    source: Int[Tensor, "rows source_time"],
    source_is_real: Bool[Tensor, "rows source_time"],
    target_in: Tokens,
    target_out: Tokens,
    target_is_real: Mask,
) -> Float[Tensor, "rows time"]:
    """Returns the log-probability (natural) of each given target token, in float32 and without gradients; zero at
    padding. As in training, logits never exist all at once."""
    state = model.start(model.encode(source, source_is_real))
    decoder = model.decoder
    assert isinstance(decoder, Decoder), "one model, not several as one"
    hidden, _ = decoder.read(target_in, state)  # [rows, time, dim]
    return log_probabilities(hidden, decoder.output, target_out, target_is_real)
