"""Optimisers, and gradient normalisation and clipping."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.base.plugins import name_of
from transduce.base.ranges import NonNegativeFloat, PositiveFloat, PositiveShare, ShareBelowOne
from transduce.models.heads import EncoderModel
from transduce.models.interface import Decoder
from transduce.models.named_parts import LOOKED_UP_BY_ROW, parameters_of, stacks
from transduce.training.muon import Muon
from transduce.training.schedules import BY_NAME, SCHEDULES, InverseSquareRoot, Noam, Plateau, Schedule
from transduce.training.sharded_tensors import local, total_norm


def schedule_setting(given: Any) -> Any:
    """Returns a schedule setting as stored: a table as it is, that of a built-in kind's name, or a function's name."""
    if isinstance(given, str) and given in BY_NAME:
        return BY_NAME[given]()
    return given if isinstance(given, Schedule | Mapping) else name_of(given)


class OptimizerConfig(Settings, frozen=True):
    """Adam, AdamW with decoupled weight decay, or Muon."""

    objects: ClassVar = {"schedule": schedule_setting}
    retired: ClassVar = {"frozen_layers": 0}

    kind: Literal["adam", "adamw", "muon"] = "adam"
    """adam (Kingma and Ba 2015), adamw (Loshchilov and Hutter 2019), or muon (Jordan et al. 2024) for the matrices
    inside the model and adamw for the rest, at one learning rate."""
    learning_rate: PositiveFloat | None = None
    """Peak learning rate (default: 1e-3). Must not be set with the noam schedule."""
    betas: tuple[ShareBelowOne, ShareBelowOne] = (0.9, 0.98)
    """Adam's beta1 and beta2."""
    epsilon: PositiveShare = 1e-9
    """Adam's epsilon, added to the denominator."""
    weight_decay: NonNegativeFloat = 0.0
    """Weight decay coefficient: decoupled in adamw and muon, L2 regularisation in adam. Vectors, such as biases and
    gains of norms, do not decay."""
    layer_decay: PositiveShare = 1.0
    """Learning rate of each layer of the encoder and of the decoder, as a share of that of the layer above it; the
    embeddings are below the first layer. 1: the same rate for all."""
    frozen: tuple[str, ...] = ()
    """Parts of the model that keep their weights: embeddings, encoder, decoder, or any part by its name, such as
    "layers.0", "cross_attention" or "decoder.output". A matrix that two parts share is frozen with either."""
    schedule: Schedule | str = InverseSquareRoot()
    """Learning-rate schedule: a table with its kind, or the name of a kind or of a schedule of your own or of an
    installed package."""

    def _check_together(self) -> None:
        if self.layer_decay < 1 and self.kind == "muon":
            raise ValueError("layer_decay is for adam and adamw; leave it out, or choose one of these")
        if self.schedule == "noam":
            raise ValueError('schedule = "noam" is not enough: give a table with the kind and dim, the model\'s width')
        if isinstance(self.schedule, Noam) and self.learning_rate is not None:
            raise ValueError("the noam schedule makes the rate itself: leave learning_rate out, or set its multiplier")

    @property
    def highest_rate(self) -> float:
        """The highest learning rate, which the schedule's shares refer to."""
        if isinstance(self.schedule, Noam):
            return self.schedule.highest
        return 1e-3 if self.learning_rate is None else self.learning_rate

    def rate(self, update: int, updates: int, reductions: int) -> float:
        """Returns the learning rate of an update, counted from 1, of a run of `updates`, after `reductions` at
        plateaus."""
        schedule = SCHEDULES.find(self.schedule) if isinstance(self.schedule, str) else self.schedule
        rate = self.highest_rate * schedule.factor(update, updates)
        return rate * schedule.reduction**reductions if isinstance(schedule, Plateau) else rate


def build_optimizers(
    config: OptimizerConfig, model: nn.Module, dtype: torch.dtype, undecayed: Iterable[nn.Parameter] = ()
) -> list[torch.optim.Optimizer]:
    """Builds the optimisers of a model's parameters, each parameter in one; `dtype` is that of Muon's matrix products,
    and `undecayed` weights do not decay.

    Parts that the settings freeze must be frozen before. Raises ConfigError for settings of parts that the model does
    not have.
    """
    shares = _shares(config, model)
    matrices = [matrix for matrix in inner_matrices(model) if matrix.requires_grad] if config.kind == "muon" else []
    chosen = {id(matrix) for matrix in matrices}
    kind = torch.optim.Adam if config.kind == "adam" else torch.optim.AdamW
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    kept = {id(parameter) for parameter in undecayed}
    for parameter in learned_parameters(model):
        if id(parameter) not in chosen:
            decay = config.weight_decay if parameter.ndim > 1 and id(parameter) not in kept else 0.0
            groups.setdefault((shares.get(id(parameter), 1.0), decay), []).append(parameter)
    muon: list[torch.optim.Optimizer] = (
        [Muon(matrices, config.highest_rate, config.weight_decay, dtype)] if matrices else []
    )
    if not groups:
        return muon
    adam = kind(
        [
            {"params": parameters, "share": share, "weight_decay": decay}
            for (share, decay), parameters in groups.items()
        ],
        lr=config.highest_rate,
        betas=config.betas,
        eps=config.epsilon,
        fused=True if next(model.parameters()).device.type in ("cpu", "cuda") else None,
    )
    return [adam, *muon]


def freeze(config: OptimizerConfig, model: nn.Module) -> None:
    """Lets frozen parameters get no gradients from now on; raises ConfigError for parts that the model lacks."""
    for parameter in _frozen(config, model):
        parameter.requires_grad_(False)


def learned_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Sets the learning rate of an optimiser's next step; lower layers get their share of it."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)


def check_parts(config: OptimizerConfig, model: nn.Module) -> None:
    """Raises ConfigError for parts that the model does not have, or if nothing is left to learn."""
    frozen = {id(parameter) for parameter in _frozen(config, model)}
    if all(id(parameter) in frozen for parameter in learned_parameters(model)):
        raise ConfigError("optimizer: all parts of the model are frozen; name fewer in frozen")
    _shares(config, model)


def _frozen(config: OptimizerConfig, model: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters that keep their values."""
    return [parameter for part in config.frozen for parameter in parameters_of(model, part, "optimizer.frozen")]


def _shares(config: OptimizerConfig, model: nn.Module) -> dict[int, float]:
    """Returns the share of the rate of each parameter in layers, by its id; the lowest, if two layers share it."""
    shares: dict[int, float] = {}
    if config.layer_decay == 1:
        return shares
    for blocks in _stacks(model).values():
        for index, block in enumerate(blocks):
            for parameter in block.parameters():
                share = config.layer_decay ** (len(blocks) - index)
                shares[id(parameter)] = min(share, shares.get(id(parameter), 1.0))
    return shares


def _stacks(model: nn.Module) -> dict[str, list[nn.Module]]:
    of_model = stacks(model)
    if not of_model:
        raise ConfigError("optimizer.layer_decay is for models with an encoder or decoder of layers; leave it out")
    return of_model


def inner_matrices(model: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters with two axes that multiply hidden vectors: not tables looked up by row, which an update
    uses few rows of, nor output layers."""
    left_out: list[nn.Module] = [module for module in model.modules() if isinstance(module, LOOKED_UP_BY_ROW)]
    left_out += [module.output for module in model.modules() if isinstance(module, Decoder)]
    left_out += [module.head for module in model.modules() if isinstance(module, EncoderModel) and module.head]
    not_inner = {id(parameter) for module in left_out for parameter in module.parameters()}
    return [
        parameter
        for parameter in model.parameters()
        if parameter.ndim == 2 and min(parameter.shape) > 1 and id(parameter) not in not_inner
    ]


@torch.no_grad()
def normalize_gradients(parameters: Iterable[nn.Parameter], tokens: Tensor, clip_norm: float) -> Tensor:
    """Divides summed gradients by the real tokens once, clips their joint norm, and returns it unclipped."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = (total_norm(gradients) if gradients else tokens.new_zeros((), dtype=torch.float32)) / tokens
    scale = 1 / tokens
    if clip_norm:
        scale = scale * (clip_norm / (norm + 1e-6)).clamp(max=1.0)
    if gradients:
        torch._foreach_mul_(list(map(local, gradients)), scale)
    return norm
