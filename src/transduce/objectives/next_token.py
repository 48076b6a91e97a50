"""Learn to predict each target token from the source and the target tokens before it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder
from transduce.models.projecting import ProjectingDecoder
from transduce.nn.losses import cross_entropy
from transduce.nn.state import DecoderState
from transduce.objectives.objective import Loss
from transduce.objectives.reading import read_target
from transduce.objectives.score_function import score_function_loss


def _always() -> float:
    return 1.0


@dataclass(frozen=True)
class NextToken:
    """Cross-entropy, with label smoothing (a share from 0 to 1), and with the score-function gradient of what a model
    drew on its way."""

    label_smoothing: float = 0.0
    teacher_forcing: Callable[[], float] = _always
    """Tells the probability, as training stands, that a token which is read is the true one."""

    def __call__(self, model: nn.Module, batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over real target tokens."""
        translator = cast(EncoderDecoder[DecoderState], model)
        decoder = cast(ProjectingDecoder[DecoderState], translator.decoder)
        state = translator.start(translator.encode(batch.source, batch.source_is_real))
        reading = read_target(decoder, state, batch.target_in, self.teacher_forcing())
        is_real = batch.target_is_real
        loss = cross_entropy(reading.hidden, decoder.output, batch.target_out, is_real, self.label_smoothing)
        if reading.sampled_log_probabilities is None:
            return Loss(loss.smoothed, loss.plain, is_real.sum())
        sampled = reading.sampled_log_probabilities
        drawn, carried = score_function_loss(sampled, loss.log_probabilities, is_real, carried)
        return Loss(loss.smoothed + drawn, loss.plain, is_real.sum(), carried)
