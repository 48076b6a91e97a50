"""Speed on a CPU: faster ways to compute attention, dropout and linear layers, each with its gain."""

from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, addmm, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from transduce.nn.masks import AttentionMask, masked_softmax

FEW_WEIGHTS = 1024
"""Queries times keys of a head, up to which PyTorch's fused attention is slower than the formula written out."""
MIN_WIDTH = 16
"""Rows shorter than this miss PyTorch's vectorised softmax (floats of AVX-512), which is several times as fast."""
SMALLEST, LARGEST = 2, 8
"""Numbers of rows for which MKL multiplies the weights by the rows, as columns, faster than the rows by the weights."""

Scores = Float[Tensor, "rows heads queries keys"]


def is_fused_slow(query: Tensor, keys: Tensor, dropped: float) -> bool:
    """Returns True where PyTorch's fused attention is slower than the formula: with dropout, in compiled code, in
    bfloat16 (backwards up to ten times as slow), and for few weights a head."""
    if dropped or torch.compiler.is_compiling() or query.dtype == torch.bfloat16:
        return True
    return query.shape[2] * keys.shape[2] <= FEW_WEIGHTS


def attention_softmax(scores: Scores, may_attend: AttentionMask | None) -> Scores:
    """Returns the weights of `masked_softmax` from float32, since a softmax of bfloat16 is several times as slow."""
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return cast(Tensor, _AttentionSoftmax.apply(scores, may_attend))  # type: ignore[no-untyped-call]
    return _wide_softmax(scores, may_attend)[..., : scores.shape[-1]].to(scores.dtype)


def _wide_softmax(scores: Tensor, may_attend: AttentionMask | None) -> Tensor:
    """Returns the weights of the keys and of enough further ones for PyTorch's vectorised softmax; compiled code is
    alike for any number."""
    further = 1 if torch.compiler.is_compiling() else max(MIN_WIDTH - scores.shape[-1], 1)
    return masked_softmax(scores.float(), may_attend, further)


class _AttentionSoftmax(torch.autograd.Function):
    """The gradient in fewer passes over the weights than step by step: a weight of zero has a gradient of zero."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, may_attend: AttentionMask | None) -> Tensor:
        weights = _wide_softmax(scores, may_attend)
        ctx.save_for_backward(weights)
        return weights[..., : scores.shape[-1]].to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        keys = gradient.shape[-1]
        by_scores = torch.empty_like(weights)
        by_scores[..., :keys] = gradient
        by_scores[..., keys:] = 0
        torch._softmax_backward_data(by_scores, weights, -1, weights.dtype, grad_input=by_scores)
        return by_scores[..., :keys].to(gradient.dtype), None


def drop(x: Tensor, threshold: int) -> Tensor:
    """Zeroes threshold / 256 of the elements at random and scales up the rest, with eight masks from one 64-bit draw of
    torch's global generator: drawing a number for each element costs a fifth of a training step."""
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    keep = (words.view(torch.uint8)[: x.numel()] >= threshold).view(x.shape).to(x.dtype)  # 0 or 1
    scale = 256 / (256 - threshold)  # 1 / (1 - rate)
    if x.dtype == torch.float32:
        return x * keep.mul_(scale)
    return cast(Tensor, _Dropped.apply(x, keep, scale))  # type: ignore[no-untyped-call]


class _Dropped(torch.autograd.Function):
    """x * keep * scale and its gradient, each rounded once: in bfloat16 the scale alone, 1.113 say, would become 1.109.

    One pass over the numbers, since PyTorch multiplies bfloat16 by a number in float32 there.
    """

    @staticmethod
    def forward(context: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        context.save_for_backward(keep)
        context.scale = scale
        return torch.addcmul(x.new_zeros(()), x, keep, value=scale)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = context.saved_tensors
        return torch.addcmul(gradient.new_zeros(()), gradient, keep, value=context.scale), None, None


class SmallBatchLinear(nn.Linear):
    """A trained linear layer for inference in float32, with the order of its product chosen by the number of rows."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=linear.bias is not None, device="meta")
        self.weight = linear.weight
        self.bias = linear.bias

    def forward(self, input: Tensor) -> Tensor:
        """Maps [..., inputs] to [..., outputs]."""
        rows = input.reshape(-1, self.in_features)
        if not SMALLEST <= len(rows) <= LARGEST:
            return functional.linear(input, self.weight, self.bias)
        columns = rows.t()  # [inputs, rows]
        outputs = self.weight @ columns if self.bias is None else addmm(self.bias[:, None], self.weight, columns)
        return outputs.t().contiguous().view(*input.shape[:-1], self.out_features)
