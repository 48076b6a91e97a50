"""Learn to predict each target token from the source and the target tokens before it."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from transduce.base.shapes import Mask
from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder, State
from transduce.nn.losses import cross_entropy
from transduce.objectives.objective import Loss
from transduce.objectives.reading import read_batch

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
        # the model reads the source and all true target tokens but the last
        reading = read_batch(model, batch, self.teacher_forcing())  # [rows, time, dim]
        # -log p(token | source, tokens before it), summed
        loss = cross_entropy(
            reading.hidden, model.decoder.output, reading.targets, reading.places, self.label_smoothing
        )
        tokens = batch.target_is_real.sum()
        if reading.sampled_log_probabilities is None:
            return Loss(loss.smoothed, loss.plain, tokens)
        # draws of hard attention that predicted their token well become likelier
        sampled, is_real = reading.sampled_log_probabilities, batch.target_is_real  # [rows, time]
        drawn, carried = score_function_loss(sampled, loss.log_probabilities, is_real, carried)
        return Loss(loss.smoothed + drawn, loss.plain, tokens, carried)


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
