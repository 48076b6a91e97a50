"""Muon: an optimiser that moves inner matrices along their orthogonalised momentum."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.training.sharded_tensors import local, map_matrices

MOMENTUM = 0.95
STEPS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Coefficients of the polynomial that takes singular values to about 1 in a few steps (Jordan 2024)."""


class Muon(torch.optim.Optimizer):
    """Moves matrices equally in all directions, however small the gradient is in some (Jordan et al. 2024).

    Changes have a root mean square of 0.2 times the rate, about as Adam's, so that the same rates suit both (Liu et al.
    2025, "Muon is Scalable for LLM Training"). Matrices of equal size are computed together; of those that are sharded,
    each process computes some.

    Args:
        matrices: parameters with two axes; neither tables looked up by row (embeddings, positions) nor output layers,
            whose rows are rarely all used.
        learning_rate: the rate of the first update.
        weight_decay: share of each weight removed an update, times the rate.
        dtype: the type of the matrix products, for which 7 bits of precision suffice.
    """

    def __init__(
        self, matrices: Iterable[nn.Parameter], learning_rate: float, weight_decay: float, dtype: torch.dtype
    ) -> None:
        super().__init__(matrices, {"lr": learning_rate, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Moves every matrix that has a gradient."""
        for group in self.param_groups:
            of_size: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    of_size[matrix.shape].append(matrix)
            for size, matrices in of_size.items():
                momenta = [self._momentum(matrix) for matrix in matrices]
                directions = map_matrices(orthogonalize, momenta, matrices[0], self.dtype)
                own = list(map(local, matrices))
                torch._foreach_mul_(own, 1 - group["lr"] * group["weight_decay"])
                rate = 0.2 * max(size) ** 0.5 * group["lr"]
                torch._foreach_add_(own, [direction.float() for direction in directions], alpha=-rate)

    def _momentum(self, matrix: Tensor) -> Tensor:
        """Returns Nesterov's momentum: the running mean of gradients as it will be if the next is like this one; this
        process's rows of it."""
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        gradient, mean = local(matrix.grad), local(state["momentum"])
        mean.lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(mean, MOMENTUM)


def orthogonalize(matrices: Float[Tensor, "matrices rows columns"]) -> Float[Tensor, "matrices rows columns"]:
    """Returns each matrix with its singular values moved to between about 0.7 and 1.2, by Newton-Schulz steps."""
    linear, cubic, quintic = COEFFICIENTS
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if is_tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)  # singular values of at most 1
    for _ in range(STEPS):  # x <- a x + (b x x^T + c (x x^T)^2) x, with a, b, c = COEFFICIENTS
        squares = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(squares, squares, squares, beta=cubic, alpha=quintic), x, beta=linear)
    return x.mT if is_tall else x
