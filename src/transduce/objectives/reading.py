"""How a model reads a batch of pairs in training: the source, and the target by teacher forcing."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.base.shapes import Hidden, Tokens
from transduce.data.batch import Batch
from transduce.models.interface import Decoder, EncoderDecoder, Memory, ReadsLengths, ReadsRagged, State
from transduce.nn.recording import takes_plain_paths
from transduce.nn.state import Sampler


@dataclass(frozen=True)
class TargetReading:
    """Hidden states from which the output layer predicts each target token."""

    hidden: Hidden
    sampled_log_probabilities: Float[Tensor, "rows time"] | None
    """Log-probabilities of the model's draws for each token; None if it draws nothing."""


@dataclass(frozen=True)
class BatchReading(TargetReading):
    """Hidden states of a batch, and the tokens that they predict."""

    targets: Tokens
    places: Int[Tensor, " tokens"] | None
    """The places of real tokens; None where there is no padding."""


def read_batch(model: EncoderDecoder[State], batch: Batch, teacher_forcing: float = 1.0) -> BatchReading:
    """Reads a batch; without its padding, all rows in one, where the model can and all true tokens are read."""
    of_source, of_target = batch.source_rows, batch.target_rows
    is_whole = teacher_forcing == 1 and of_source is not None and of_target is not None and not takes_plain_paths()
    if is_whole and isinstance(model, ReadsRagged) and model.takes_ragged:
        assert of_source is not None and of_target is not None
        target_in, target_out = (of_target.pack(tokens) for tokens in (batch.target_in, batch.target_out))
        hidden = model.read_ragged(of_source.pack(batch.source), of_source, target_in, of_target)  # [1, tokens, dim]
        return BatchReading(hidden, None, target_out, None)
    state = model.start(_encode_source(model, batch))
    reading = read_target(model.decoder, state, batch.target_in, teacher_forcing)  # [rows, time, dim]
    return BatchReading(reading.hidden, reading.sampled_log_probabilities, batch.target_out, batch.target_places)


def read_target(
    decoder: Decoder[State], state: State, target_in: Tokens, teacher_forcing: float = 1.0
) -> TargetReading:
    """Reads all true tokens at once; if the rate of these is below 1 (scheduled sampling), one token at a time.

    Then each token but the first is the true one with that probability, and else drawn from what the model itself
    predicts (Bengio et al. 2015).
    """
    if teacher_forcing >= 1:
        hidden, state = decoder.read(target_in, state)
        return TargetReading(hidden, _sampled_by(state))
    token, steps = target_in[:, :1], []
    for true in [*target_in[:, 1:].split(1, 1), None]:
        hidden, state = decoder.read(token, state)  # [rows, 1, dim]
        steps.append(TargetReading(hidden, _sampled_by(state)))
        if true is not None:
            with torch.no_grad():
                predicted = decoder.output(hidden[:, -1]).float().softmax(-1).multinomial(1)  # [rows, 1]
            is_true = torch.rand(true.shape, device=true.device) < teacher_forcing
            token = torch.where(is_true, true, predicted)
    each = [step.sampled_log_probabilities for step in steps]
    sampled = [of_step for of_step in each if of_step is not None]
    return TargetReading(torch.cat([step.hidden for step in steps], 1), torch.cat(sampled, 1) if sampled else None)


def _encode_source(model: EncoderDecoder[State], batch: Batch) -> Memory:
    """Encodes a batch's source; a GPU is not waited for where the batch knows its rows."""
    if batch.source_rows is not None and isinstance(model, ReadsLengths):
        return model.encode_rows(batch.source, batch.source_is_real, batch.source_rows)
    return model.encode(batch.source, batch.source_is_real)


def _sampled_by(state: object) -> Tensor | None:
    return state.sampled_log_probabilities if isinstance(state, Sampler) else None
