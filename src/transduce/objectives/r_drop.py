"""Learn to predict the next token in two passes with different dropout, and the same in both."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder, State
from transduce.nn.losses import paired_cross_entropy
from transduce.objectives.next_token import score_function_loss
from transduce.objectives.objective import Loss
from transduce.objectives.reading import TargetReading, encode_source, read_target


@dataclass(frozen=True)
class RDrop:
    """Cross-entropy of two passes over each batch, and the divergence of their predictions (Liang et al. 2021).

    What is reported is the mean of both passes; every target token counts once. It costs twice the time and the memory
    of one pass.
    """

    weight: float
    """Weight of the symmetric Kullback-Leibler divergence, alpha in the paper."""
    label_smoothing: float = 0.0

    def __call__(self, model: EncoderDecoder[State], batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over real target tokens."""
        is_real, output = batch.target_is_real, model.decoder.output
        readings = [self._read(model, batch) for _ in range(2)]
        hidden = torch.stack([reading.hidden for reading in readings])  # [2, rows, time, dim]
        assert isinstance(output, nn.Linear), "no model with an adaptive softmax learns so: callers check it"
        loss = paired_cross_entropy(
            hidden, output, batch.target_out, batch.target_places, self.label_smoothing, self.weight
        )
        total, handed_on = loss.smoothed, None
        for reading, of_pass in zip(readings, loss.log_probabilities, strict=True):
            if reading.sampled_log_probabilities is not None:
                drawn, carried = score_function_loss(reading.sampled_log_probabilities, of_pass, is_real, carried)
                total, handed_on = total + drawn / 2, carried
        return Loss(total, loss.plain, is_real.sum(), handed_on)

    @staticmethod
    def _read(model: EncoderDecoder[State], batch: Batch) -> TargetReading:
        state = model.start(encode_source(model, batch))
        return read_target(model.decoder, state, batch.target_in)
