"""Low-rank adapters in a model: which layers get them, and the same model without them."""

import copy
from typing import Literal

from torch import nn

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.base.ranges import PositiveFloat, ShareBelowOne, Width
from transduce.models.heads import EncoderModel
from transduce.models.interface import Decoder
from transduce.models.named_parts import is_in
from transduce.nn.adaptive import AdaptiveEmbedding
from transduce.nn.low_rank import LowRankLinear
from transduce.nn.source_attention import SourceAttention

SETTING = "training.adapters"
OWN_PARTS = ("encoder.pooler", "segments")
"""Small parts of a text encoder that are drawn afresh where it comes from a model of another task."""


class AdaptersConfig(Settings, frozen=True):
    """Low-rank adapters (LoRA, Hu et al. 2021): all weights stay as they are, and beside those of linear layers a
    product of two narrow matrices learns."""

    rank: Width = 8
    """Rank of the product that is added to each matrix."""
    alpha: PositiveFloat = 16.0
    """The product is multiplied by alpha / rank."""
    dropout: ShareBelowOne = 0.0
    """Dropout rate of what the adapters read."""
    layers: tuple[str, ...] = ()
    """Parts of the model whose linear layers get adapters, by their names, such as "attention", "cross_attention.query"
    or "decoder.layers"; all but the output layer by default."""
    save: Literal["merged", "apart"] = "merged"
    """How the finished model is saved: with the adapters merged into its weights, an ordinary model; or the adapters
    apart, a small model that needs the one it started from."""

    @property
    def scale(self) -> float:
        """Factor of the product."""
        return self.alpha / self.rank


def add_adapters(model: nn.Module, config: AdaptersConfig) -> None:
    """Adds adapters to a model, with fresh weights from torch's global generator; nothing else learns but them and,
    in a text encoder, its head and what other trainings do not teach: the pooler and the vectors of segments.

    Raises ConfigError for layers that the model does not have, or that are narrower than the rank.
    """
    linear_layers = _linear_layers(model)
    for part in config.layers:
        if not any(is_in(name, part) for name in linear_layers):
            names = [name.rpartition(".layers.")[2].partition(".")[2] or name for name in linear_layers]
            known = ", ".join(dict.fromkeys(names))
            raise ConfigError(f"{SETTING}.layers: the model has no linear layers in '{part}'; it has them in {known}")
    chosen = [name for name in linear_layers if not config.layers or any(is_in(name, part) for part in config.layers)]
    if not chosen:
        raise ConfigError(
            f"{SETTING}: the model has no linear layers for adapters; train parts of it (optimizer.frozen)"
        )
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    if isinstance(model, EncoderModel) and model.head is not None:
        of_encoder = {id(parameter) for parameter in model.encoder.parameters()}  # a head may share its table
        for parameter in model.head.parameters():
            parameter.requires_grad_(id(parameter) not in of_encoder)
        for name, parameter in model.named_parameters():
            if any(is_in(name, part) for part in OWN_PARTS):
                parameter.requires_grad_(True)
    for name in chosen:
        owner, _, attribute = name.rpartition(".")
        linear: nn.Linear = model.get_submodule(name)  # type: ignore[assignment]
        if config.rank > min(linear.weight.shape):
            raise ConfigError(
                f"{SETTING}.rank = {config.rank}, but {name} has {min(linear.weight.shape)} inputs or outputs; lower it"
            )
        adapted = LowRankLinear(linear, config.rank, config.scale, config.dropout)
        setattr(model.get_submodule(owner), attribute, adapted)


def without_adapters(model: nn.Module) -> nn.Module:
    """Returns a copy of a model, in which the adapters are part of the weights."""
    plain = copy.deepcopy(model)
    for module in list(plain.modules()):
        for name, child in module.named_children():
            if isinstance(child, LowRankLinear):
                setattr(module, name, child.merged())
    return plain


def _linear_layers(model: nn.Module) -> list[str]:
    """Returns the names of the linear layers that are called as modules: not of output layers, which are applied in
    parts, of heads, which learn themselves, nor of modules that use their matrices in other ways."""
    left_out: set[int] = set()
    for module in model.modules():
        if isinstance(module, SourceAttention | AdaptiveEmbedding):
            left_out |= {id(inner) for inner in module.modules()}
        if isinstance(module, Decoder):
            left_out |= {id(inner) for inner in module.output.modules()}
        if isinstance(module, EncoderModel) and module.head is not None:
            left_out |= {id(inner) for inner in module.head.modules()}
            left_out |= {id(module.encoder.pooler)}
    named = model.named_modules()
    return [name for name, module in named if isinstance(module, nn.Linear) and id(module) not in left_out]
