"""Learn labels of texts: a class or a number for each, a tag for each word, the ends of an answer."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.devices import OnDevice
from transduce.data.text_batch import TextBatch
from transduce.objectives.objective import Loss, count_of


@dataclass(frozen=True)
class LabelledBatch(OnDevice):
    """Texts, and the index of each text's class, or a score."""

    text: TextBatch
    labels: Int[Tensor, " rows"] | Float[Tensor, " rows"]


@dataclass(frozen=True)
class TaggedBatch(OnDevice):
    """Texts, the indices of their words' first tokens, and each word's tag."""

    text: TextBatch
    places: Int[Tensor, " words"]
    """Index of each word's first token among rows * time."""
    tags: Int[Tensor, " words"]


@dataclass(frozen=True)
class SpanBatch(OnDevice):
    """Questions with windows of passages, and the positions of the answer's first and last tokens in each row; that of
    the row's first token where the window does not hold the answer."""

    text: TextBatch
    starts: Int[Tensor, " rows"]
    ends: Int[Tensor, " rows"]


@dataclass(frozen=True)
class ClassLoss:
    """Cross-entropy of the true class, with label smoothing (a share from 0 to 1)."""

    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: LabelledBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over texts."""
        logits = outputs_of_head(model, batch.text).float()  # [rows, classes]
        return _class_loss(logits, batch.labels, self.label_smoothing)


@dataclass(frozen=True)
class ScoreLoss:
    """Squared error, in standard deviations of the scores in the training data."""

    mean: float
    deviation: float

    def __call__(self, model: nn.Module, batch: LabelledBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over texts."""
        predicted = outputs_of_head(model, batch.text).float()[:, 0]  # [rows]
        loss = (predicted - (batch.labels - self.mean) / self.deviation).square().sum()
        return Loss(loss, loss.detach(), count_of(batch.labels))


@dataclass(frozen=True)
class TagLoss:
    """Cross-entropy of the true tags, each predicted at its word's first token, with label smoothing (a share from 0 to
    1)."""

    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: TaggedBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over words."""
        of_tokens = outputs_of_head(model, batch.text).float().flatten(0, 1)  # [rows * time, tags]
        return _class_loss(of_tokens.index_select(0, batch.places), batch.tags, self.label_smoothing)  # [words, tags]


@dataclass(frozen=True)
class SpanLoss:
    """The mean of two cross-entropies over the row's tokens: of the answer's beginning, and of its end."""

    def __call__(self, model: nn.Module, batch: SpanBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over windows."""
        logits = outputs_of_head(model, batch.text).float()  # [rows, time, 2]
        loss = span_losses(logits, batch.text.is_real, batch.starts, batch.ends).sum()
        return Loss(loss, loss.detach(), count_of(batch.starts))


def span_losses(
    logits: Float[Tensor, "rows time 2"],
    is_real: Bool[Tensor, "rows time"],
    starts: Int[Tensor, " rows"],
    ends: Int[Tensor, " rows"],
) -> Float[Tensor, " rows"]:
    """Returns the loss of each window, in nats."""
    masked = logits.masked_fill(~is_real[..., None], torch.finfo(logits.dtype).min)
    of_start, of_end = (
        functional.cross_entropy(masked[..., side], positions, reduction="none")  # [rows]
        for side, positions in enumerate((starts, ends))
    )
    return (of_start + of_end) / 2


def outputs_of_head(model: nn.Module, text: TextBatch) -> Tensor:
    """Returns the output of a model with a head for texts: [rows, outputs], or [rows, time, outputs]."""
    return model(text.tokens, text.segments, text.is_real, text.rows)


def _class_loss(logits: Float[Tensor, "labels classes"], labels: Tensor, smoothing: float) -> Loss:
    """Returns the cross-entropy, summed over labels."""
    smoothed = functional.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    plain = functional.cross_entropy(logits.detach(), labels, reduction="sum")
    return Loss(smoothed, plain, count_of(labels))
