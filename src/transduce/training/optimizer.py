"""Optimisers, and gradient normalisation and clipping."""

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from transduce.config import Settings
from transduce.errors import ConfigError
from transduce.models.interface import TextEncoder
from transduce.models.projecting import ProjectingDecoder
from transduce.nn.positions import LearnedPositions
from transduce.ranges import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveShare, ShareBelowOne
from transduce.training.muon import Muon
from transduce.training.schedules import InverseSquareRoot, Noam, Plateau, Schedule

LOOKED_UP_BY_ROW = (nn.Embedding, LearnedPositions)


class OptimizerConfig(Settings, frozen=True):
    """Adam, AdamW with decoupled weight decay, or Muon."""

    kind: Literal["adam", "adamw", "muon"] = "adam"
    """adam (Kingma and Ba 2015), adamw (Loshchilov and Hutter 2019), or muon (Jordan et al. 2024) for the matrices
    inside the model and adamw for the rest, at one learning rate."""
    learning_rate: PositiveFloat | None = None
    """Peak learning rate; 1e-3 by default. Must not be set with the noam schedule."""
    betas: tuple[ShareBelowOne, ShareBelowOne] = (0.9, 0.98)
    """Adam's beta1 and beta2."""
    epsilon: PositiveShare = 1e-9
    """Adam's epsilon, added to the denominator."""
    weight_decay: NonNegativeFloat = 0.0
    """Weight decay coefficient: decoupled in adamw and muon, L2 regularisation in adam."""
    layer_decay: PositiveShare = 1.0
    """Learning rate of each layer of a text encoder, as a share of that of the layer above it; below the first layer
    stand the embeddings. 1: the same rate for all."""
    frozen_layers: NonNegativeInt = 0
    """How many layers of a text encoder, from the bottom, keep their weights, and with them the embeddings; 0: none."""
    schedule: Schedule = InverseSquareRoot()
    """Learning-rate schedule."""

    def _check_together(self) -> None:
        if self.layer_decay < 1 and self.kind == "muon":
            raise ValueError("layer_decay is for adam and adamw; leave it out, or choose one of these")
        if isinstance(self.schedule, Noam) and self.learning_rate is not None:
            raise ValueError("the noam schedule makes the rate itself: leave learning_rate out, or set its multiplier")

    @property
    def highest_rate(self) -> float:
        """What the schedule's shares are shares of."""
        if isinstance(self.schedule, Noam):
            return self.schedule.highest
        return 1e-3 if self.learning_rate is None else self.learning_rate

    def rate(self, update: int, updates: int, reductions: int) -> float:
        """The learning rate of an update, counted from 1, of a run of so many, after so many plateaus."""
        rate = self.highest_rate * self.schedule.factor(update, updates)
        return rate * self.schedule.reduction**reductions if isinstance(self.schedule, Plateau) else rate


def build_optimizers(config: OptimizerConfig, model: nn.Module, dtype: torch.dtype) -> list[torch.optim.Optimizer]:
    """What moves a model's parameters, each by one optimiser; `dtype` is that of Muon's matrix products.

    Frozen ones have no gradients from now on. Raises ConfigError for settings of layers that the model does not have.
    """
    blocks = _blocks(config, model)
    for block in blocks[: config.frozen_layers + 1] if config.frozen_layers else []:
        block.requires_grad_(False)
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    shares = {
        id(parameter): config.layer_decay ** (len(blocks) - place)
        for place, block in enumerate(blocks)
        for parameter in block.parameters()
    }
    matrices = [one for one in inner_matrices(model) if one.requires_grad] if config.kind == "muon" else []
    chosen = {id(matrix) for matrix in matrices}
    kind = torch.optim.Adam if config.kind == "adam" else torch.optim.AdamW
    by_share: dict[float, list[nn.Parameter]] = {}
    for parameter in learned:
        if id(parameter) not in chosen:
            by_share.setdefault(shares.get(id(parameter), 1.0), []).append(parameter)
    adam = kind(
        [{"params": parameters, "share": share} for share, parameters in by_share.items()],
        lr=config.highest_rate,
        betas=config.betas,
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        fused=True if next(model.parameters()).device.type in ("cpu", "cuda") else None,
    )
    return [adam, Muon(matrices, config.highest_rate, config.weight_decay, dtype)] if matrices else [adam]


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let an optimiser's next step be of this rate, of lower layers a share of it."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)


def check_layers(config: OptimizerConfig, model: nn.Module) -> None:
    """Raise ConfigError for settings of layers that the model does not have."""
    _blocks(config, model)


def _blocks(config: OptimizerConfig, model: nn.Module) -> Sequence[nn.Module]:
    """The layers of a model's text encoder, from the bottom, that have rates of their own; none unless they are asked
    for."""
    if config.layer_decay == 1 and not config.frozen_layers:
        return []
    name = "frozen_layers" if config.frozen_layers else "layer_decay"
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, TextEncoder):
        raise ConfigError(f"optimizer.{name} is for models with a text encoder; leave it out")
    layers = len(encoder.blocks) - 1
    if config.frozen_layers > layers:
        raise ConfigError(f"optimizer.frozen_layers = {config.frozen_layers}, but the encoder has {layers} layers")
    return encoder.blocks


def inner_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The parameters with two axes that multiply hidden vectors: neither tables that are looked up by row, of which an
    update uses few rows, nor the output layer."""
    left_out: list[nn.Module] = [module for module in model.modules() if isinstance(module, LOOKED_UP_BY_ROW)]
    left_out += [module.output for module in model.modules() if isinstance(module, ProjectingDecoder)]
    not_inner = {id(parameter) for module in left_out for parameter in module.parameters()}
    return [parameter for parameter in model.parameters() if parameter.ndim == 2 and id(parameter) not in not_inner]


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
