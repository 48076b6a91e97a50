"""Learn the class of a text, or a number for it."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.data.text_batch import TextBatch
from transduce.objectives.objective import Loss


@dataclass(frozen=True)
class LabelledBatch:
    """Texts, and the number of the class of each, or a score."""

    text: TextBatch
    labels: Int[Tensor, " rows"] | Float[Tensor, " rows"]

    def to(self, device: torch.device) -> "LabelledBatch":
        """The same batch on a device."""
        return LabelledBatch(self.text.to(device), self.labels.to(device))


@dataclass(frozen=True)
class ClassLoss:
    """Cross-entropy of the true class, with label smoothing (a share from 0 to 1)."""

    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: LabelledBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over texts."""
        logits = read(model, batch.text).float()  # [rows, classes]
        smoothed = functional.cross_entropy(logits, batch.labels, reduction="sum", label_smoothing=self.label_smoothing)
        plain = functional.cross_entropy(logits.detach(), batch.labels, reduction="sum")
        return Loss(smoothed, plain, count_of(batch.labels))


@dataclass(frozen=True)
class ScoreLoss:
    """Squared error, in standard deviations of the scores in the training data."""

    mean: float
    deviation: float

    def __call__(self, model: nn.Module, batch: LabelledBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over texts."""
        found = read(model, batch.text).float()[:, 0]
        loss = (found - (batch.labels - self.mean) / self.deviation).square().sum()
        return Loss(loss, loss.detach(), count_of(batch.labels))


def read(model: nn.Module, text: TextBatch) -> Tensor:
    """What a model with a head makes of texts."""
    return model(text.tokens, text.segments, text.is_real)


def count_of(labels: Tensor) -> Int[Tensor, ""]:
    """How many there are, on their device."""
    return torch.tensor(len(labels), device=labels.device)
