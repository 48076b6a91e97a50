"""Loss and perplexity of a model on validation or test data."""

import math
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder
from transduce.models.scoring import score_tokens

BatchLoss = tuple[float, int]
"""The sum of a batch's losses, in nats, and the number of its tokens."""


def measure_loss(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """Returns the unsmoothed loss in nats per real target token, end tokens included, and its exponential,
    perplexity."""
    return mean_loss(sum_losses(log_probabilities_of(model, batches)))


def sum_losses(log_probabilities: Iterable[Tensor]) -> Iterator[BatchLoss]:
    """Yields the loss of each batch of tokens with these log-probabilities."""
    for of_batch in log_probabilities:
        yield -float(of_batch.double().sum()), len(of_batch)


def mean_loss(losses: Iterable[BatchLoss]) -> dict[str, float]:
    """Returns the mean loss of the tokens of all batches, and its exponential, perplexity."""
    total, tokens = 0.0, 0
    for of_batch, count in losses:
        total += of_batch
        tokens += count
    loss = total / tokens
    return {"loss": loss, "perplexity": math.exp(min(loss, 700))}


@torch.inference_mode()
def log_probabilities_of(model: nn.Module, batches: Iterable[Batch]) -> Iterator[Tensor]:
    """Yields log-probabilities of each batch's real target tokens, row after row, as one float32 vector on the CPU."""
    assert isinstance(model, EncoderDecoder)
    device = next(model.parameters()).device
    for batch in batches:
        batch = batch.to(device)
        scores = score_tokens(
            model,
            batch.source,
            batch.source_is_real,
            batch.target_in,
            batch.target_out,
            batch.target_is_real,
        )
        yield scores[batch.target_is_real].cpu()
