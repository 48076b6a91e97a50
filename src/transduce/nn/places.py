"""Places of a forward pass: values that can be seen and changed from outside (analysis/interventions.py).

A place says which method of which module takes or gives a value; nothing in that module's forward pass knows of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor, nn


def first_tensor(given: Any) -> Tensor:
    """Returns a tensor itself, or the first one of a tuple or a dataclass."""
    if isinstance(given, Tensor):
        return given
    return first_tensor(given[0] if isinstance(given, tuple) else getattr(given, fields(given)[0].name))


def with_first_tensor(given: Any, new: Tensor) -> Any:
    """Returns the same as given, with another first tensor."""
    if isinstance(given, Tensor):
        return new
    if isinstance(given, tuple):
        return (with_first_tensor(given[0], new), *given[1:])
    return replace(given, **{fields(given)[0].name: new})


@dataclass(frozen=True)
class Place:
    """A value that methods of a module take or give, of rows and tokens."""

    module: nn.Module
    methods: tuple[str, ...] = ("forward",)
    argument: int | None = None
    """Number of the argument that has the value, from 0; None for what the method returns."""
    heads: int | None = None
    """Number of equal parts, such as heads, that the last axis consists of; None where it is one vector."""
    holds: Literal["tokens", "before", "last", "row"] = "tokens"
    """tokens: a vector for each token that is read; before: one for each remembered token before them; last: one for
    the last token, so that tokens are read one by one to see each; row: one for each row."""
    stream: int | None = None
    """Which call counts, from 0, of those in one reading, where each call reads all tokens; None where calls share
    the tokens."""
    is_arranged: bool = True
    """True if tokens are where an encoder that Rearranges has them, False if they are where its input has them."""
    get: Callable[[Any], Tensor] = first_tensor
    """Returns the value, [..., width], of what the method takes or gives."""
    put: Callable[[Any, Tensor], Any] = with_first_tensor
    """Returns the same with another value."""


Places = dict[str, Place]
"""Places by their names."""


@runtime_checkable
class HasPlaces(Protocol):
    """A module that names places of its own, such as an attention's heads."""

    def places(self) -> Places:
        """Returns places by their names within the module; "" for what it gives."""


def places_of_layer(layer: nn.Module) -> Places:
    """Returns the places of a layer's parts, and those before and after it unless it names its own."""
    places = {} if isinstance(layer, HasPlaces) else {"before": Place(layer, argument=0), "after": Place(layer)}
    for name, module in layer.named_modules():
        if isinstance(module, HasPlaces):
            part = name.replace("around_", "").replace("attention.attention", "attention")
            places |= {".".join(filter(None, (part, own))): place for own, place in module.places().items()}
    return places


def places_of_blocks(blocks: Sequence[nn.Module]) -> Places:
    """Returns the places of an embedding and the layers above it."""
    embedding, *layers = blocks
    places = {"embedding": Place(embedding)}
    for number, layer in enumerate(layers):
        places |= within(f"layers.{number}", places_of_layer(layer))
    return places


def places_of_stream(embedding: Place, layers: Sequence[nn.Module], call: int | None) -> Places:
    """Returns the places of one of a stack's streams, which is that call of each layer; what is before a layer is what
    is after the one below, since layers may read it by other methods too."""
    places, before = {"embedding": embedding}, embedding
    for number, layer in enumerate(layers):
        of_tokens = {name: place for name, place in places_of_layer(layer).items() if place.holds == "tokens"}
        of_layer = {name: replace(place, stream=call) for name, place in of_tokens.items()}
        places |= within(f"layers.{number}", {**of_layer, "before": before})
        before = of_layer["after"]
    return places


def within(part: str, places: Places) -> Places:
    """Returns the places of a part by their names in the whole."""
    return {f"{part}.{name}" if name else part: place for name, place in places.items()}
