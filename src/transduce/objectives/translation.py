"""Learn to predict each target token from the source and the true target tokens before it."""

from dataclasses import dataclass
from typing import Any, cast

from torch import nn

from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder
from transduce.nn.losses import cross_entropy
from transduce.nn.state import DecoderState
from transduce.objectives.objective import Loss


@dataclass(frozen=True)
class Translation:
    """Cross-entropy under teacher forcing, with label smoothing (a share from 0 to 1)."""

    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: Batch, carried: Any) -> Loss:
        """One call of the decoder with all target tokens; sums over real ones."""
        translator = cast(EncoderDecoder[DecoderState], model)
        state = translator.start(translator.encode(batch.source, batch.source_is_real))
        logits, _ = translator.decoder(batch.target_in, state)
        loss = cross_entropy(logits, batch.target_out, batch.target_is_real, self.label_smoothing)
        return Loss(loss.smoothed, loss.plain, batch.target_is_real.sum())
