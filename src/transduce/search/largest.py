"""The best next tokens of a beam, found without sorting through the vocabulary."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

HEIGHT = 32
"""Tokens of a column: of most only the best is looked at."""


def largest_sums(
    scores: Float[Tensor, "sentences rows"], log_probabilities: Float[Tensor, "sentences rows vocabulary"], count: int
) -> tuple[Float[Tensor, "sentences count"], Int[Tensor, "sentences count"]]:
    """The `count` largest totals of each sentence's rows and next tokens, and their places, row * vocabulary + token.

    What `topk` finds among all sums, where there are as many; these are never made, and `topk` is slow on a CPU. Each
    row is a table of 32 lines: the largest sums stand in the columns of the largest maxima, or in the rest.
    """
    sentences, rows, vocabulary = log_probabilities.shape
    width = vocabulary // HEIGHT
    if rows * width < count:
        totals, places = (scores[..., None] + log_probabilities).flatten(1).topk(min(count, rows * vocabulary))
        return totals, places
    tables = log_probabilities[..., : HEIGHT * width].unflatten(-1, (HEIGHT, width))
    columns = (scores[..., None] + tables.amax(-2)).flatten(1).topk(count, sorted=False).indices  # row * width + column
    starts = columns // width * vocabulary + columns % width
    lines = torch.arange(0, HEIGHT * width, width, device=starts.device)
    places = (starts[..., None] + lines).flatten(1)  # [sentences, count * HEIGHT]
    if HEIGHT * width < vocabulary:
        rest = torch.arange(rows * vocabulary, device=starts.device).view(rows, vocabulary)[:, HEIGHT * width :]
        places = torch.cat([places, rest.reshape(1, -1).expand(sentences, -1)], 1)
    totals = scores.gather(1, places // vocabulary) + log_probabilities.flatten(1).gather(1, places)
    totals, which = totals.topk(count)
    return totals, places.gather(1, which)
