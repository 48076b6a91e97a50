"""Learn to predict the next token of streams of running text, whose memory goes on from batch to batch."""

from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from transduce.data.batch import Batch
from transduce.models.interface import SegmentRecurrence
from transduce.nn.losses import cross_entropy
from transduce.nn.state import CarriedState
from transduce.objectives.objective import Loss

State = TypeVar("State", bound=CarriedState)


@dataclass(frozen=True)
class NextSegment:
    """Cross-entropy, with label smoothing (a share from 0 to 1), of segments that follow those of the batch before.

    The memory gets no gradient (Dai et al. 2019, section 3.2). It is carried for each part of a batch by itself.
    """

    label_smoothing: float = 0.0

    def __call__(self, model: SegmentRecurrence[State], batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over all tokens."""
        hidden, state = model.decoder.read(batch.target_in, begin_segment(model, batch, carried))  # [rows, time, dim]
        is_real = batch.target_is_real  # [rows, time]
        loss = cross_entropy(hidden, model.decoder.output, batch.target_out, is_real, self.label_smoothing)
        handed_on = {carried_name(batch): state.carried}
        return Loss(loss.smoothed, loss.plain, is_real.sum(), (carried or {}) | handed_on)

    def most_carried(self, model: SegmentRecurrence[State], batch: Batch) -> dict[str, Tensor]:
        """See CarriesMuch."""
        return zeros_carried(model, batch)


def begin_segment(model: SegmentRecurrence[State], batch: Batch, carried: dict[str, Tensor] | None) -> State:
    """The state before a batch's segments."""
    assert batch.stream is not None, "segments belong to streams"
    if batch.stream.begins or carried is None or carried_name(batch) not in carried:
        return model.start(model.encode(batch.source, batch.source_is_real))
    return model.resume(carried[carried_name(batch)])


def carried_name(batch: Batch) -> str:
    """The name under which a part of a batch leaves its memory to the same part of the next batch."""
    assert batch.stream is not None, "segments belong to streams"
    return f"memory-{batch.stream.first}"


def zeros_carried(model: SegmentRecurrence[State], batch: Batch) -> dict[str, Tensor]:
    """The largest memory that may be carried to a batch, of zeros."""
    layers, time, width = model.carried_shape
    return {carried_name(batch): next(model.parameters()).new_zeros(layers, len(batch), time, width)}
