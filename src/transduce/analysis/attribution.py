"""Measures which tokens of a text an output depends on: by hiding them one by one, and by gradients.

A token is hidden by giving it the embedding of the end token, which says nothing but is known to the model; its
position stays. (Zeros would not do: layer normalisation makes a small embedding as good as a large one.) Both measures
ask about the same absence: hiding compares two forward passes (occlusion, Zeiler and Fergus 2014); integrated gradients
(Sundararajan et al. 2017) follow the straight line from a text that is wholly hidden, and add up to the difference.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from docsegments.budget import check
from transduce.base.shapes import Tokens
from transduce.data.batch import Batch
from transduce.models.interface import EncoderDecoder

STEPS = 32
"""The number of points on the path at which gradients are taken."""

ROWS_AT_ONCE = 32

Outputs = Callable[[Float[Tensor, "rows time"]], Float[Tensor, "rows outputs"]]
"""A function of masks over one text's tokens (0 hides a token, 1 does not) that gives the model's outputs for each."""


@dataclass(frozen=True)
class Attribution:
    """Integrated gradients of an output's log-probability."""

    attributions: NDArray[np.float32]
    """A value for each token read; their sum is the output's gain from the whole text, in nats, or of a score."""
    error: float
    """The difference between that gain and the sum: gradients are taken at a few points only."""


def occlusion(model: EncoderDecoder[Any], batch: Batch) -> Float[Tensor, "target_time source_time"]:
    """Returns how many nats each target token's log-probability falls when each source token is hidden, for one pair.

    All target tokens are given, so the fall is that of the model's belief in this output. BudgetError if it is to end.
    """
    return drops_of(partial(_log_probabilities, model, batch), batch.source)


def integrated_gradients(model: EncoderDecoder[Any], batch: Batch, steps: int = STEPS) -> Attribution:
    """Returns what each source token of one pair adds to the log-probability of the whole output."""
    return gradients_of(partial(_log_probabilities, model, batch), batch.source, steps)


def drops_of(outputs: Outputs, text: Tokens) -> Float[Tensor, "outputs time"]:
    """Returns by how much each output falls when each token of a text, [1, time], is hidden."""
    keep = 1 - torch.eye(text.shape[1], device=text.device)  # each row hides one token, [time, time]
    return drops_without(outputs, keep).T.cpu()


@torch.inference_mode()
def drops_without(outputs: Outputs, keep: Float[Tensor, "rows time"]) -> Float[Tensor, "rows outputs"]:
    """Returns by how much each output falls for each mask, in which 0 hides a token."""
    plain = outputs(keep.new_ones(1, keep.shape[1]))  # with the whole text, [1, outputs]
    hidden = []
    for rows in keep.split(ROWS_AT_ONCE):
        check()
        hidden.append(outputs(rows))
    return plain - torch.cat(hidden)


def gradients_of(outputs: Outputs, text: Tokens, steps: int = STEPS) -> Attribution:
    """Returns what each token of a text, [1, time], adds to the sum of the outputs."""
    time = text.shape[1]
    points = (torch.arange(steps, device=text.device) + 0.5) / steps  # midpoints
    gained = torch.zeros(time, device=text.device)
    with torch.enable_grad():
        for chosen in points.split(ROWS_AT_ONCE):
            check()
            keep = chosen[:, None].expand(-1, time).clone().requires_grad_()  # [points, time]
            total = outputs(keep).sum()
            # Embeddings are linear in `keep`: this derivative is the gradient times the way from the hidden embedding.
            (gradient,) = torch.autograd.grad(total, keep)
            gained += gradient.sum(0) / steps
    with torch.inference_mode():
        ends = outputs(torch.stack([torch.ones_like(gained), torch.zeros_like(gained)]))  # [2, outputs]
        whole, nothing = ends.sum(1).tolist()
    return Attribution(gained.cpu().numpy(), abs(float(gained.sum()) - (whole - nothing)))


def rank_correlation(first: NDArray[np.floating], second: NDArray[np.floating]) -> float | None:
    """Returns Spearman's rank correlation, -1 to 1; None if either is constant, or of fewer than three values."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns ranks in rising order, averaged over equal values."""
    _, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[indices]  # mean rank of each distinct value, [values]


def _log_probabilities(
    model: EncoderDecoder[Any], batch: Batch, keep: Float[Tensor, "rows source_time"]
) -> Float[Tensor, "rows target_time"]:
    """Returns log-probabilities of a pair's target tokens by ways of hiding its source: 0 hides a token, 1 does not."""
    rows = len(keep)
    assert isinstance(model, nn.Module)
    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    with hidden_in_part(tables, lambda: keep, int(batch.source[0, -1])):
        memory = model.encode(batch.source.expand(rows, -1), batch.source_is_real.expand(rows, -1))
    logits, _ = model.decoder(batch.target_in.expand(rows, -1), model.start(memory))
    chosen = logits.gather(2, batch.target_out.expand(rows, -1)[..., None])[..., 0]
    return chosen.float() - logits.float().logsumexp(-1)


@contextmanager
def hidden_in_part(
    tables: Sequence[nn.Embedding], keep: Callable[[], Float[Tensor, "rows time"]], end: int
) -> Iterator[None]:
    """While open, makes embedding tables give vectors between the end token's (0) and a token's own (1).

    `keep` is called with each call of a table, and has a value for each token in the table's order.
    """

    def hide(table: nn.Embedding, _: object, embedded: Tensor) -> Tensor:
        return torch.lerp(table.weight[end], embedded, keep()[..., None].to(embedded.dtype))

    hooks = [table.register_forward_hook(hide) for table in tables]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
