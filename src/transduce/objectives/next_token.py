"""Learn to predict each target token from the source and the target tokens before it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.data.batch import Batch
from transduce.models.interface import Decoder, EncoderDecoder, Memory, ReadsLengths, ReadsRagged, State
from transduce.nn.losses import cross_entropy
from transduce.nn.state import Sampler
from transduce.objectives.objective import Loss
from transduce.shapes import Hidden, Mask, Tokens

KEPT = 0.9  # of the baseline, each time (Xu et al. 2015, section 4.1)


def _always() -> float:
    return 1.0


@dataclass(frozen=True)
class NextToken:
    """Cross-entropy, with label smoothing (a share from 0 to 1), and with the score-function gradient of a model's
    random draws."""

    label_smoothing: float = 0.0
    teacher_forcing: Callable[[], float] = _always
    """Returns the teacher-forcing rate: the probability that a token which is read is the true one."""

    def __call__(self, model: EncoderDecoder[State], batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over real target tokens."""
        rate, rows = self.teacher_forcing(), (batch.source_rows, batch.target_rows)
        if rate == 1 and None not in rows and isinstance(model, ReadsRagged) and model.takes_ragged:
            return self._without_padding(model, batch)
        state = model.start(encode_source(model, batch))
        reading = read_target(model.decoder, state, batch.target_in, rate)  # [rows, time, dim]
        is_real = batch.target_is_real  # [rows, time]
        loss = cross_entropy(
            reading.hidden, model.decoder.output, batch.target_out, batch.target_places, self.label_smoothing
        )
        if reading.sampled_log_probabilities is None:
            return Loss(loss.smoothed, loss.plain, is_real.sum())
        sampled = reading.sampled_log_probabilities
        drawn, carried = score_function_loss(sampled, loss.log_probabilities, is_real, carried)
        return Loss(loss.smoothed + drawn, loss.plain, is_real.sum(), carried)

    def _without_padding(self, model: EncoderDecoder[State], batch: Batch) -> Loss:
        """Returns the same loss, of the real tokens of all rows in one."""
        assert isinstance(model, ReadsRagged)
        of_source, of_target = batch.source_rows, batch.target_rows
        assert of_source is not None and of_target is not None
        target_in, target_out = (of_target.pack(tokens) for tokens in (batch.target_in, batch.target_out))
        hidden = model.read_ragged(of_source.pack(batch.source), of_source, target_in, of_target)  # [1, tokens, dim]
        loss = cross_entropy(hidden, model.decoder.output, target_out, None, self.label_smoothing)
        return Loss(loss.smoothed, loss.plain, batch.target_is_real.sum())


def encode_source(model: EncoderDecoder[State], batch: Batch) -> Memory:
    """Encodes a batch's source; a GPU is not waited for where the batch knows its rows."""
    if batch.source_rows is not None and isinstance(model, ReadsLengths):
        return model.encode_rows(batch.source, batch.source_is_real, batch.source_rows)
    return model.encode(batch.source, batch.source_is_real)


@dataclass(frozen=True)
class TargetReading:
    """Hidden states from which the output layer predicts each target token, and the log-probabilities of the model's
    draws for each, if it draws."""

    hidden: Hidden
    sampled_log_probabilities: Float[Tensor, "rows time"] | None


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


def score_function_loss(
    sampled_log_probabilities: Float[Tensor, "rows time"],
    log_probabilities: Float[Tensor, "rows time"],
    is_real: Mask,
    carried: dict[str, Tensor] | None,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """Returns the loss of hard attention (REINFORCE), summed over real tokens; its gradient makes draws likelier that
    predicted their token well.

    It is the log-probability of each draw, `sampled_log_probabilities`, times the excess of the target token's
    log-probability, which has no gradient, over a baseline, its moving average over batches (Williams 1992; Xu et al.
    2015, eq. 11 and 12). A draw matters to its own token alone, since the context enters no later step. One batch hands
    the baseline to the next.
    """
    mean = log_probabilities[is_real].mean()
    baseline = carried["baseline"] if carried else mean
    advantage = (log_probabilities - baseline) * is_real  # log p(y) - b  [rows, time]
    loss = -(advantage * sampled_log_probabilities).sum()
    return loss, {"baseline": KEPT * baseline + (1 - KEPT) * mean}


def _sampled_by(state: object) -> Tensor | None:
    return state.sampled_log_probabilities if isinstance(state, Sampler) else None
