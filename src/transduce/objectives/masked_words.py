"""Learn to predict hidden words, and if a text follows another (Devlin et al. 2019, section 3.1)."""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.data.masked_texts import MaskedBatch
from transduce.models.heads import EncoderModel, WordHead
from transduce.objectives.objective import Loss, count_of


class MaskedLogits(NamedTuple):
    """Logits of a model for a batch."""

    words: Float[Tensor, "hidden vocabulary"]
    follows: Float[Tensor, "rows 2"] | None
    """Logits of the second text not following the first, and following it."""


@dataclass(frozen=True)
class MaskedWords:
    """Cross-entropy of the hidden words and, if rows have two texts, of the second following the first.

    A row's second loss weighs as much as the words that a row hides on average, so that the means of both count the
    same, and parts of a batch add up to the batch.
    """

    def __call__(self, model: EncoderModel, batch: MaskedBatch, carried: dict[str, Tensor] | None) -> Loss:
        """Sums over hidden words; the reported loss is of these alone."""
        logits = masked_logits(model, batch)
        loss = plain = functional.cross_entropy(logits.words.float(), batch.words, reduction="sum")
        count = count_of(batch.words)
        if logits.follows is not None and batch.follows is not None:
            follows = functional.cross_entropy(logits.follows.float(), batch.follows, reduction="sum")
            loss = loss + follows * batch.words_per_row
        return Loss(loss, plain.detach(), count)


def masked_logits(model: nn.Module, batch: MaskedBatch) -> MaskedLogits:
    """Returns logits at the hidden words alone, and for the pairs of texts."""
    assert isinstance(model, EncoderModel) and isinstance(model.head, WordHead)
    encoded = model.encoder(batch.text.tokens, batch.text.segments, batch.text.is_real, batch.text.rows)
    hidden = encoded.hidden.flatten(0, 1).index_select(0, batch.places)
    follows = None if model.head.follows is None else model.head.follows(encoded.pooled)
    return MaskedLogits(model.head.output(model.head.before_output(hidden)), follows)
