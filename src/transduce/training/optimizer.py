"""How weights move: the optimiser, its learning rate over time, and the precision of what it works on."""

import copy
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from transduce.config import Settings

Precision = Literal["auto", "float32", "bfloat16"]


class Constant(Settings, frozen=True, tag_field="kind", tag="constant"):
    """The same rate throughout, after a linear warm-up."""

    warmup: int = 0
    """Updates until the rate is reached."""

    def factor(self, update: int) -> float:
        """Share of the learning rate at an update, counted from 1."""
        return min(1.0, update / self.warmup) if self.warmup else 1.0


class InverseSquareRoot(Settings, frozen=True, tag_field="kind", tag="inverse_square_root"):
    """Linear warm-up, then decay with the square root of the update (Vaswani et al. 2017, eq. 3)."""

    warmup: int = 4000
    """Updates until the rate is reached."""

    def __post_init__(self) -> None:
        if self.warmup < 1:
            raise ValueError("warmup must be at least 1")

    def factor(self, update: int) -> float:
        """Share of the learning rate at an update, counted from 1."""
        return min(update / self.warmup, (self.warmup / update) ** 0.5)


class Linear(Settings, frozen=True, tag_field="kind", tag="linear"):
    """Linear warm-up, then linear decay to zero: for a run whose length is known."""

    updates: int
    """Updates until the rate is zero; mostly those of the run."""
    warmup: int = 0
    """Updates until the rate is reached."""

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < self.updates:
            raise ValueError("warmup must be at least 0 and below updates")

    def factor(self, update: int) -> float:
        """Share of the learning rate at an update, counted from 1."""
        rising = update / self.warmup if self.warmup else 1.0
        # One more than the run's updates, so that its last one still moves the weights.
        falling = (self.updates + 1 - update) / (self.updates + 1 - self.warmup)
        return max(min(rising, falling), 0.0)


class OptimizerConfig(Settings, frozen=True):
    """Adam, or AdamW with decoupled weight decay."""

    kind: Literal["adam", "adamw"] = "adam"
    """adam (Kingma and Ba 2015) or adamw (Loshchilov and Hutter 2019)."""
    learning_rate: float = 1e-3
    """The schedule's highest rate."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of the running means of gradients and of their squares."""
    epsilon: float = 1e-9
    """Added to the divisor."""
    weight_decay: float = 0.0
    """Share of each weight removed an update, times the rate (adam adds it to the gradient instead)."""
    schedule: Constant | InverseSquareRoot | Linear = InverseSquareRoot()
    """The rate over time."""


def build_optimizer(config: OptimizerConfig, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """A fused optimiser over the parameters."""
    kind = torch.optim.AdamW if config.kind == "adamw" else torch.optim.Adam
    return kind(
        parameters,
        lr=config.learning_rate,
        betas=config.betas,
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def choose_precision(precision: Precision, device: torch.device) -> torch.dtype:
    """bfloat16 where it is asked for, or where `auto` finds a machine that multiplies it natively; else float32."""
    if precision != "auto":
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    native = device.type == "cpu" and (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return torch.bfloat16 if native else torch.float32


class WorkingCopy:
    """A model at the precision of forward and backward, beside the float32 masters that the optimiser moves.

    In float32 it is the model itself. Otherwise its gradients are added up in float32 on the masters.
    """

    def __init__(self, masters: nn.Module, dtype: torch.dtype) -> None:
        self.is_same = dtype == torch.float32
        self.masters = masters
        self.model = masters if self.is_same else copy.deepcopy(masters).to(dtype)
        self._pairs = list(zip(masters.parameters(), self.model.parameters(), strict=True))

    def collect_gradients(self) -> None:
        """Add the copy's gradients to the masters', and clear them."""
        if self.is_same:
            return
        for master, working in self._pairs:
            if working.grad is None:
                continue
            if master.grad is None:
                master.grad = working.grad.float()
            else:
                master.grad += working.grad
            working.grad = None

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over the masters' weights."""
        if not self.is_same:
            torch._foreach_copy_([working for _, working in self._pairs], [master for master, _ in self._pairs])


@torch.no_grad()
def normalize_gradients(parameters: Iterable[nn.Parameter], tokens: Tensor, clip_norm: float) -> Tensor:
    """Divide summed gradients by the real tokens once, clip their joint norm, and return it unclipped."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients) / tokens
    scale = 1 / tokens
    if clip_norm:
        scale = scale * (clip_norm / (norm + 1e-6)).clamp(max=1.0)
    torch._foreach_mul_(gradients, scale)
    return norm
