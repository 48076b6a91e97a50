"""Rules on the next token: each sets log-probabilities [sentences, rows, vocabulary] to -inf in place."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

LogProbabilities = Float[Tensor, "sentences rows vocabulary"]


def forbid(log_probabilities: LogProbabilities, tokens: Sequence[int]) -> None:
    """None of the tokens may come next."""
    log_probabilities[..., list(tokens)] = -torch.inf


def keep_within(
    log_probabilities: LogProbabilities,
    length: int,
    shortest: Int[Tensor, " sentences"],
    longest: Int[Tensor, " sentences"],
    end: int,
) -> None:
    """No end before `shortest` tokens, nothing but the end after `longest - 1`; the end counts as a token."""
    log_probabilities[length + 1 < shortest, :, end] = -torch.inf
    must_end = length + 1 >= longest
    if must_end.any():
        kept = log_probabilities[must_end, :, end]
        log_probabilities[must_end] = -torch.inf
        log_probabilities[must_end, :, end] = kept
