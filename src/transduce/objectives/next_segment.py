"""Learn to predict tokens of streams of running text, with memory carried from batch to batch: the next ones, or those
that a random order predicts (Yang et al. 2019, section 2.2)."""

from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from transduce.data.batch import Batch
from transduce.models.interface import SegmentRecurrence
from transduce.models.xlnet import XLNetLanguageModel
from transduce.nn.losses import cross_entropy
from transduce.nn.permutation import draw_orders
from transduce.nn.state import CarriedState
from transduce.objectives.objective import Loss, count_of

State = TypeVar("State", bound=CarriedState)


class CarriesMemory:
    """An objective of segments, each of which begins with the memory of the one before."""

    def most_carried(self, model: SegmentRecurrence[State], batch: Batch) -> dict[str, Tensor]:
        """Returns the largest memory that may be carried to a batch, of zeros; see CarriesMuch."""
        layers, time, width = model.carried_shape
        return {carried_name(batch): next(model.parameters()).new_zeros(layers, len(batch), time, width)}


@dataclass(frozen=True)
class NextSegment(CarriesMemory):
    """Cross-entropy, with label smoothing (a share from 0 to 1), of segments that follow those of the batch before.

    The memory gets no gradient (Dai et al. 2019, section 3.2). It is carried for each part of a batch by itself.
    """

    label_smoothing: float = 0.0

    def __call__(self, model: SegmentRecurrence[State], batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over all tokens."""
        hidden, state = model.decoder.read(batch.target_in, begin_segment(model, batch, carried))  # [rows, time, dim]
        loss = cross_entropy(hidden, model.decoder.output, batch.target_out, None, self.label_smoothing)
        handed_on = {carried_name(batch): state.carried}
        return Loss(loss.smoothed, loss.plain, count_of(batch.target_out), (carried or {}) | handed_on)


@dataclass(frozen=True)
class Permutation(CarriesMemory):
    """Cross-entropy, with label smoothing (a share from 0 to 1), of the tokens that an order predicts; another order is
    drawn for each segment. Memory is carried as in NextSegment."""

    predicted: float
    """Share of a segment's tokens."""
    max_span: int
    """See `draw_orders`."""
    label_smoothing: float = 0.0

    def __call__(self, model: XLNetLanguageModel, batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over the tokens that are predicted."""
        tokens = batch.target_in
        rows, time = tokens.shape
        order = draw_orders(rows, time, self.predicted, self.max_span, tokens.device)
        is_backward = None if batch.stream is None else batch.stream.is_backward
        begun = begin_segment(model, batch, carried)
        hidden, state = model.predict(tokens, order, begun, is_backward=is_backward)
        target = tokens.gather(1, order.targets)
        # streams have no padding
        loss = cross_entropy(hidden, model.decoder.output, target, None, self.label_smoothing)
        handed_on = {carried_name(batch): state.carried}
        return Loss(loss.smoothed, loss.plain, count_of(target), (carried or {}) | handed_on)


def begin_segment(model: SegmentRecurrence[State], batch: Batch, carried: dict[str, Tensor] | None) -> State:
    """Returns the state before a batch's segments."""
    assert batch.stream is not None, "segments belong to streams"
    if batch.stream.begins or carried is None or carried_name(batch) not in carried:
        return model.start(model.encode(batch.source, batch.source_is_real))
    return model.resume(carried[carried_name(batch)])


def carried_name(batch: Batch) -> str:
    """Returns the name under which a part of a batch leaves its memory to the same part of the next batch."""
    assert batch.stream is not None, "segments belong to streams"
    return f"memory-{batch.stream.first}"
