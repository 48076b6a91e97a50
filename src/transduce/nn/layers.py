"""Small parts that several model families share: dropout, feed-forward networks, residual connections."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.shapes import Hidden, Tokens
from transduce.nn import cpu
from transduce.nn.initialization import Initialization
from transduce.nn.places import Place, Places

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "geglu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "silu": functional.silu,
}
"""All but the gated one."""
NormPlace = Literal["pre", "post"]
NormKind = Literal["layer", "rms"]

NORMS: dict[NormKind, type[nn.LayerNorm | nn.RMSNorm]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
"""Normalisation by the mean and the variance of a vector (Ba et al. 2016), or by its root mean square alone:
x / sqrt(mean(x^2) + epsilon) * gain (Zhang and Sennrich 2019, eq. 4)."""

Layer = TypeVar("Layer", bound=nn.Module)


def layer_list(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Returns the layers as a `nn.ModuleList`, which registers their weights, but with their own type."""
    return cast(Sequence[Layer], _LayerList(layers))


class _LayerList(nn.ModuleList):
    """Layers that are a Sequence to type checks at run time."""


Sequence.register(_LayerList)


class Dropout(nn.Module):
    """Zeroes elements at random while training and scales up the rest (Srivastava et al. 2014).

    A rate is a multiple of 1/256 on every device (0.1 becomes 26/256), which is fast on a CPU (see nn/cpu.py), and the
    scale is that of the rate in effect. A rate above 0 is 1/256 at least.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.threshold = min(max(round(rate * 256), int(rate > 0)), 255)  # something is always left to scale up

    @property
    def share(self) -> float:
        """The share of elements that a call drops, 0 to 1; none unless it trains."""
        return self.threshold / 256 if self.training else 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Returns x with a share of its elements dropped, in the same shape."""
        if not self.share:
            return x
        return cpu.drop(x, self.threshold) if x.device.type == "cpu" else functional.dropout(x, self.share)


class VariationalDropout(nn.Module):
    """Dropout whose mask is the same at every position of a row (Gal and Ghahramani 2016)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropout = Dropout(rate)

    def forward(self, x: Hidden) -> Hidden:
        """Returns x with a share of its elements dropped, in the same shape."""
        return x * self.dropout(torch.ones_like(x[:, :1])) if self.dropout.share else x


class WordDropout(nn.Module):
    """Drops whole words: a share of a vocabulary's vectors is zero at all positions in a batch (Gal and Ghahramani
    2016; the embedding dropout of Merity et al. 2018)."""

    def __init__(self, rate: float, vocabulary: int) -> None:
        super().__init__()
        self.dropout = Dropout(rate)
        self.vocabulary = vocabulary

    def forward(self, embedded: Hidden, tokens: Tokens) -> Hidden:
        """Returns the vectors of tokens, of the same shape."""
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
        """Maps [rows, time, dim] to the same shape."""
        inner = self.inner(hidden)  # x W + b  [rows, time, feed_forward_dim], or twice as wide
        if self.activation == "geglu":
            gate, inner = inner.chunk(2, -1)
            inner = functional.gelu(gate) * inner  # GELU(x W) * x V
        else:
            inner = ACTIVATIONS[self.activation](inner)
        return self.output(self.dropout(inner))  # [rows, time, dim]


class Residual(nn.Module):
    """Adds a sublayer's output to its input, with normalisation of the input or of the sum.

    Normalising before (Wang et al. 2019) leaves a clear path from top to bottom; after is the original form.
    """

    def __init__(self, norm: nn.Module, place: NormPlace, dropout: float) -> None:
        super().__init__()
        self.place = place
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, hidden: Hidden, sublayer: Callable[[Hidden], Hidden]) -> Hidden:
        """Maps [rows, time, dim] to the same shape."""
        if self.place == "pre":
            return hidden + self.dropout(sublayer(self.norm(hidden)))  # x + f(norm(x))
        return self.norm(hidden + self.dropout(sublayer(hidden)))  # norm(x + f(x))

    def places(self) -> Places:
        """See HasPlaces: what is added to the input."""
        return {"": Place(self.dropout)}
