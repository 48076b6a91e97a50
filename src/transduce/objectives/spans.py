"""Learn where the answer to a question begins and ends."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.data.text_batch import TextBatch
from transduce.objectives.labels import count_of, read
from transduce.objectives.objective import Loss


@dataclass(frozen=True)
class SpanBatch:
    """Questions with windows of passages, and where in each row the answer's first and last tokens stand; at the first
    token of the row where the window does not hold the answer."""

    text: TextBatch
    starts: Int[Tensor, " rows"]
    ends: Int[Tensor, " rows"]

    def to(self, device: torch.device) -> "SpanBatch":
        """The same batch on a device."""
        return SpanBatch(self.text.to(device), self.starts.to(device), self.ends.to(device))


@dataclass(frozen=True)
class SpanLoss:
    """The mean of two cross-entropies, over the row's tokens: of the answer's beginning, and of its end."""

    def __call__(self, model: nn.Module, batch: SpanBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over windows."""
        loss = span_losses(read(model, batch.text).float(), batch.text.is_real, batch.starts, batch.ends).sum()
        return Loss(loss, loss.detach(), count_of(batch.starts))


def span_losses(
    logits: Float[Tensor, "rows time 2"],
    is_real: Bool[Tensor, "rows time"],
    starts: Int[Tensor, " rows"],
    ends: Int[Tensor, " rows"],
) -> Float[Tensor, " rows"]:
    """Of each window, in nats."""
    masked = logits.masked_fill(~is_real[..., None], torch.finfo(logits.dtype).min)
    of_start, of_end = (
        functional.cross_entropy(masked[..., side], places, reduction="none")
        for side, places in enumerate((starts, ends))
    )
    return (of_start + of_end) / 2
