"""Parts of a model by the names that settings give them, and its layers from the bottom."""

from collections.abc import Iterator

from torch import nn

from transduce.base.errors import ConfigError
from transduce.models.interface import Layered
from transduce.nn.adaptive import AdaptiveEmbedding
from transduce.nn.positions import LearnedPositions

EMBEDDINGS = "embeddings"
LOOKED_UP_BY_ROW = (nn.Embedding, LearnedPositions)
"""Tables of which a batch uses few rows."""


def stacks(model: nn.Module) -> dict[str, list[nn.Module]]:
    """Returns the blocks of a model's encoder and decoder, from the bottom, if it has them."""
    parts = {name: getattr(model, name, None) for name in ("encoder", "decoder")}
    return {name: list(part.blocks) for name, part in parts.items() if isinstance(part, Layered)}


def parameters_of(model: nn.Module, part: str, setting: str) -> list[nn.Parameter]:
    """Returns the parameters of a part: `embeddings`, or all whose dotted names contain the part's name, as `decoder`,
    `layers.0` or `cross_attention.query` do in "decoder.layers.0.cross_attention.query.weight".

    Raises ConfigError, which names the setting, where the model has no such part.
    """
    if part == EMBEDDINGS:
        tables = (module for module in model.modules() if isinstance(module, (*LOOKED_UP_BY_ROW, AdaptiveEmbedding)))
        parameters = [parameter for table in tables for parameter in table.parameters()]
    else:
        named = model.named_parameters(remove_duplicate=False)
        parameters = [parameter for name, parameter in named if is_in(name, part)]
    if not parameters:
        raise ConfigError(f"{setting}: the model has no part '{part}'; it has {', '.join(_known(model))}")
    return parameters


def is_in(name: str, part: str) -> bool:
    """Returns True if a dotted name has all of a part's name in it, word for word."""
    return bool(part) and f".{part}." in f".{name}."


def _known(model: nn.Module) -> Iterator[str]:
    """Yields names of parts, for a message: embeddings, the top-level parts, and those of a layer."""
    yield EMBEDDINGS
    yield from (top for top, _ in model.named_children())
    for name, blocks in stacks(model).items():
        yield from (f"{name}.layers.0.{child}" for child, _ in blocks[1].named_children()) if blocks[1:] else ()
