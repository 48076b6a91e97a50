"""Learn a tag for each word, told at its first piece."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.data.text_batch import TextBatch
from transduce.objectives.labels import count_of, read
from transduce.objectives.objective import Loss


@dataclass(frozen=True)
class TaggedBatch:
    """Texts, where their words begin, and the number of the tag of each."""

    text: TextBatch
    places: Int[Tensor, " words"]
    """Among rows * time."""
    tags: Int[Tensor, " words"]

    def to(self, device: torch.device) -> "TaggedBatch":
        """The same batch on a device."""
        return TaggedBatch(self.text.to(device), self.places.to(device), self.tags.to(device))


@dataclass(frozen=True)
class TagLoss:
    """Cross-entropy of the true tags, with label smoothing (a share from 0 to 1)."""

    label_smoothing: float = 0.0

    def __call__(self, model: nn.Module, batch: TaggedBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over words."""
        logits = read(model, batch.text).float().flatten(0, 1).index_select(0, batch.places)  # [words, tags]
        smoothed = functional.cross_entropy(logits, batch.tags, reduction="sum", label_smoothing=self.label_smoothing)
        plain = functional.cross_entropy(logits.detach(), batch.tags, reduction="sum")
        return Loss(smoothed, plain, count_of(batch.tags))
