"""Small parts that several model families share: dropout, feed-forward networks, residual connections."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from transduce.nn.initialization import Initialization
from transduce.shapes import Hidden, Tokens

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "geglu"]
NormPlace = Literal["pre", "post"]


class Dropout(nn.Module):
    """Zeroes elements at random while training and scales up the rest (Srivastava et al. 2014).

    On a CPU eight masks come from one 64-bit draw of torch's global generator, since drawing a number for each element
    costs a fifth of a training step there. So a rate is a multiple of 1/256 (0.1 becomes 26/256), on every device, and
    the scale is that of the rate in effect. A rate above 0 is 1/256 at least.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = min(max(round(rate * 256), int(rate > 0)), 255)  # something is always left to scale up

    @property
    def share(self) -> float:
        """Of the elements that a call drops, 0 to 1; none unless it trains."""
        return self.threshold / 256 if self.training else 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape as x."""
        if not self.share:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.share)
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        keep = (words.view(torch.uint8)[: x.numel()] >= self.threshold).view(x.shape).to(x.dtype)
        scale = 256 / (256 - self.threshold)
        if x.dtype == torch.float32:
            return x * keep.mul_(scale)
        return _Masked.apply(x, keep, scale)  # type: ignore[no-untyped-call]


class _Masked(torch.autograd.Function):
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


class VariationalDropout(nn.Module):
    """Dropout whose mask is the same at every position of a row (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropout = Dropout(rate)

    def forward(self, x: Hidden) -> Hidden:
        """Of the same shape as x."""
        return x * self.dropout(torch.ones_like(x[:, :1])) if self.dropout.share else x


class WordDropout(nn.Module):
    """Drops whole words: a share of a vocabulary's vectors is zero wherever they stand in a batch (Gal and Ghahramani
    2016; the embedding dropout of Merity et al. 2018)."""

    def __init__(self, rate: float, vocabulary: int) -> None:
        super().__init__()
        self.dropout = Dropout(rate)
        self.vocabulary = vocabulary

    def forward(self, embedded: Hidden, tokens: Tokens) -> Hidden:
        """The vectors of tokens, of the same shape."""
        if not self.dropout.share:
            return embedded
        return embedded * self.dropout(embedded.new_ones(self.vocabulary))[tokens][..., None]


class FeedForward(nn.Module):
    """Two layers at each position (Vaswani et al. 2017, eq. 2), or a gated one (GEGLU, Shazeer 2020)."""

    def __init__(
        self, dim: int, feed_forward_dim: int, activation: Activation, dropout: float, initialization: Initialization
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(dim, feed_forward_dim * (2 if activation == "geglu" else 1))
        self.output = nn.Linear(feed_forward_dim, dim)
        self.dropout = Dropout(dropout)
        for matrix in self.inner.weight.split(feed_forward_dim):
            initialization.matrix(matrix)
        initialization.residual(self.output.weight)
        nn.init.zeros_(self.inner.bias)
        nn.init.zeros_(self.output.bias)

    def forward(self, hidden: Hidden) -> Hidden:
        """[rows, time, dim] to the same shape."""
        inner = self.inner(hidden)
        if self.activation == "geglu":
            gate, inner = inner.chunk(2, -1)
            inner = functional.gelu(gate) * inner
        elif self.activation == "gelu":
            inner = functional.gelu(inner)
        elif self.activation == "gelu_tanh":
            inner = functional.gelu(inner, approximate="tanh")
        elif self.activation == "silu":
            inner = functional.silu(inner)
        else:
            inner = functional.relu(inner)
        return self.output(self.dropout(inner))


class Residual(nn.Module):
    """Adds a sublayer's output to its input, with layer normalisation of the input or of the sum.

    Normalising before (Wang et al. 2019) leaves a clear path from top to bottom; after is the original form.
    """

    def __init__(self, dim: int, place: NormPlace, dropout: float, norm_epsilon: float = 1e-5) -> None:
        super().__init__()
        self.place = place
        self.norm = nn.LayerNorm(dim, norm_epsilon)
        self.dropout = Dropout(dropout)

    def forward(self, hidden: Hidden, sublayer: Callable[[Hidden], Hidden]) -> Hidden:
        """[rows, time, dim] to the same shape."""
        if self.place == "pre":
            return hidden + self.dropout(sublayer(self.norm(hidden)))
        return self.norm(hidden + self.dropout(sublayer(hidden)))
