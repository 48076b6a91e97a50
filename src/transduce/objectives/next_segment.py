"""Learn to predict the next token of streams of running text, whose memory goes on from batch to batch."""

from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder, SegmentRecurrence
from transduce.models.projecting import ProjectingDecoder
from transduce.nn.losses import cross_entropy
from transduce.nn.state import CarriedState
from transduce.objectives.objective import Loss


@dataclass(frozen=True)
class NextSegment:
    """Cross-entropy, with label smoothing (a share from 0 to 1), of segments that follow those of the batch before.

    The memory gets no gradient (Dai et al. 2019, section 3.2). It is carried for each part of a batch by itself.
    """

    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over all tokens."""
        decoder = cast(ProjectingDecoder[Any], cast(EncoderDecoder[Any], model).decoder)
        hidden, state = decoder.read(batch.target_in, begin_segment(model, batch, carried))
        is_real = batch.target_is_real
        loss = cross_entropy(hidden, decoder.output, batch.target_out, is_real, self.label_smoothing)
        handed_on = {carried_name(batch): cast(CarriedState, state).carried}
        return Loss(loss.smoothed, loss.plain, is_real.sum(), (carried or {}) | handed_on)

    def most_carried(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """See CarriesMuch."""
        return zeros_carried(model, batch)


def begin_segment(model: nn.Module, batch: Batch, carried: dict[str, Tensor] | None) -> Any:
    """The state in which a batch's segments begin."""
    assert batch.stream is not None, "segments belong to streams"
    if batch.stream.begins or carried is None or carried_name(batch) not in carried:
        plain = cast(EncoderDecoder[Any], model)
        return plain.start(plain.encode(batch.source, batch.source_is_real))
    return cast(SegmentRecurrence[Any], model).resume(carried[carried_name(batch)])


def carried_name(batch: Batch) -> str:
    """By which what a part of a batch hands on is found by the same part of the next one."""
    assert batch.stream is not None, "segments belong to streams"
    return f"memory-{batch.stream.first}"


def zeros_carried(model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    """As much as may be carried to a batch."""
    layers, time, width = cast(SegmentRecurrence[Any], model).carried_shape
    return {carried_name(batch): next(model.parameters()).new_zeros(layers, len(batch), time, width)}
