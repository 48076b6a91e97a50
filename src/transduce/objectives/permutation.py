"""Learn to predict tokens of segments in orders drawn at random (Yang et al. 2019, section 2.2)."""

from dataclasses import dataclass

from torch import Tensor

from transduce.data.batch import Batch
from transduce.models.xlnet import XLNetLanguageModel
from transduce.nn.losses import cross_entropy
from transduce.nn.permutation import draw_orders
from transduce.objectives.next_segment import begin_segment, carried_name, zeros_carried
from transduce.objectives.objective import Loss


@dataclass(frozen=True)
class Permutation:
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
        is_real = batch.target_is_real.gather(1, order.targets)
        loss = cross_entropy(hidden, model.decoder.output, target, is_real, self.label_smoothing)
        handed_on = {carried_name(batch): state.carried}
        return Loss(loss.smoothed, loss.plain, is_real.sum(), (carried or {}) | handed_on)

    def most_carried(self, model: XLNetLanguageModel, batch: Batch) -> dict[str, Tensor]:
        """See CarriesMuch."""
        return zeros_carried(model, batch)
