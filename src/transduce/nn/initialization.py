"""Weight initialisation; each module initialises its own weights."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

InitializationKind = Literal["xavier", "scaled", "gpt2", "bert"]
RecurrentInitializationKind = Literal["uniform", "orthogonal"]


@dataclass(frozen=True)
class Initialization:
    """`xavier` treats every matrix alike, embeddings too (Glorot and Bengio 2010); `scaled` draws embeddings from
    N(0, 1/dim), as the successors of the paper's code do; `bert` is BERT's: N(0, 0.02) for all (Devlin et al. 2019);
    `gpt2` is GPT-2's: the same, with the weights of residual projections divided by sqrt(2 * layers) (Radford et al.
    2019)."""

    kind: InitializationKind
    layers: int

    def matrix(self, weight: Tensor) -> None:
        """Initialises a projection, [out, in], in place."""
        if self.kind in ("bert", "gpt2"):
            nn.init.normal_(weight, std=0.02)
        else:
            nn.init.xavier_uniform_(weight)

    def residual(self, weight: Tensor) -> None:
        """Initialises the last projection of a sublayer, in place."""
        self.matrix(weight)
        if self.kind == "gpt2":
            with torch.no_grad():
                weight.div_(math.sqrt(2 * self.layers))

    def embedding(self, weight: Tensor) -> None:
        """Initialises a table of vectors, [entries, dim], in place."""
        if self.kind == "xavier":
            nn.init.xavier_uniform_(weight)
        else:
            nn.init.normal_(weight, std=0.02 if self.kind in ("bert", "gpt2") else weight.shape[1] ** -0.5)


@dataclass(frozen=True)
class RecurrentInitialization:
    """`uniform` draws every weight from U(-bound, bound) (Sutskever et al. 2014); `orthogonal` begins the matrices from
    state to state, one a gate, as rotations, which keep the length of the state (Saxe et al. 2014),
    others as Xavier says, and embeddings by N(0, 1/dim)."""

    kind: RecurrentInitializationKind
    bound: float

    def matrix(self, weight: Tensor) -> None:
        """Initialises a projection, [out, in], in place."""
        if self.kind == "uniform":
            nn.init.uniform_(weight, -self.bound, self.bound)
        else:
            nn.init.xavier_uniform_(weight)

    def recurrent(self, weight: Tensor) -> None:
        """Initialises a gate's matrix from state to state, [dim, dim], in place."""
        if self.kind == "uniform":
            self.matrix(weight)
        else:
            nn.init.orthogonal_(weight)

    def embedding(self, weight: Tensor) -> None:
        """Initialises a table of vectors, [entries, dim], in place."""
        if self.kind == "uniform":
            self.matrix(weight)
        else:
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
