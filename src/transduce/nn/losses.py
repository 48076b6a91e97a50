"""Cross-entropy summed over real tokens, with label smoothing, in one pass over the logits."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

ROWS_AT_ONCE = 128  # bounds the float32 copies of [rows, vocabulary] logits, and keeps them near the cache


@dataclass(frozen=True)
class CrossEntropy:
    """Sums over real tokens, in nats: `smoothed` is what training descends, `plain` what is reported."""

    smoothed: Float[Tensor, ""]
    plain: Float[Tensor, ""]


def cross_entropy(
    logits: Float[Tensor, "*positions vocabulary"],
    target: Int[Tensor, "*positions"],
    is_real: Bool[Tensor, "*positions"],
    smoothing: float = 0.0,
) -> CrossEntropy:
    """Sum of -log p(target) over real positions; smoothing spreads that share of the target's probability over the
    whole vocabulary (Szegedy et al. 2016)."""
    smoothed, plain = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        logits.flatten(0, -2), target.flatten(), is_real.flatten(), smoothing
    )
    return CrossEntropy(smoothed, plain)


class _CrossEntropy(torch.autograd.Function):
    """The gradient, softmax minus smoothed target, is made beside the loss while a chunk of logits is at hand."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, is_real: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        vocabulary = logits.shape[-1]
        gradient = torch.empty_like(logits) if logits.requires_grad else None
        plain = logits.new_zeros((), dtype=torch.float32)
        uniform = logits.new_zeros((), dtype=torch.float32)
        for start in range(0, logits.shape[0], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            real = is_real[part, None]
            chunk = logits[part].to(torch.float32, copy=True)
            chosen = target[part, None]
            largest = chunk.amax(-1, keepdim=True)  # [rows, 1]
            at_target = chunk.gather(1, chosen)
            mean = chunk.mean(-1, keepdim=True) if smoothing else at_target
            exponential = chunk.sub_(largest).exp_()
            total = exponential.sum(-1, keepdim=True)
            log_total = total.log() + largest
            plain += ((log_total - at_target) * real).sum()
            uniform += ((log_total - mean) * real).sum()
            if gradient is not None:
                probability = exponential.div_(total).sub_(smoothing / vocabulary)
                probability.scatter_add_(1, chosen, probability.new_full((1, 1), smoothing - 1).expand_as(chosen))
                gradient[part] = probability.mul_(real)
        ctx.save_for_backward(gradient)
        smoothed = (1 - smoothing) * plain + smoothing * uniform
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * scale.to(gradient.dtype), None, None, None
