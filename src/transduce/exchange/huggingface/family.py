"""What must be known of a family of Hugging Face models to read and write it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from transduce.bundle import ModelBundle
from transduce.bundle_config import BundleConfig
from transduce.exchange.huggingface.fields import Fields
from transduce.exchange.huggingface.folder import SlowTokenizer
from transduce.exchange.huggingface.weights import Same
from transduce.text.tokenizer import TokenizerConfig, Tokenizers


def unlike(title: str, model: Any, expected: Mapping[str, object], activations: Iterable[str]) -> list[str]:
    """The settings of a stack of attention layers that a family does not have, in words.

    Args:
        title: the family's.
        model: the settings.
        expected: what some of them must be; heads must share `dim` evenly, too.
        activations: all that the family has.
    """
    share = model.dim / model.heads
    shown = {"size_of_key": "key_dim", "size_of_value": "value_dim"}
    found = [
        f"model.{shown.get(name, name)} is {_toml(getattr(model, name))}, where {title} has {_toml(value)}"
        for name, value in {**expected, "norm_kind": "layer", "size_of_key": share, "size_of_value": share}.items()
        if getattr(model, name) != value
    ]
    if getattr(model, "kv_heads", None) not in (None, model.heads):
        found.append(f"model.kv_heads is {model.kv_heads}, where {title} has {model.heads} (heads)")
    known = list(dict.fromkeys(activations))
    if model.activation not in known:
        found.append(f"model.activation is {model.activation!r}, where {title} has one of {', '.join(known)}")
    return found


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else repr(value)


@dataclass(frozen=True, kw_only=True)
class Family:
    """Models of one `model_type`."""

    model_type: str
    """As config.json says it."""
    title: str
    """As people call it."""
    architecture: Callable[[BundleConfig], str]
    """The class of transformers that runs what is written, and that what is read is compared with."""
    architectures: Sequence[str]
    """All whose folders can be read."""
    inputs: Sequence[str]
    """What the models of transformers read."""
    roles: Mapping[str, str]
    """What transformers calls the family's special tokens, by our roles."""
    special: Mapping[str, str]
    """How its special tokens are spelled where no file says it, by our roles."""
    is_byte_level: bool
    """Whether transformers gives it a byte-level tokenizer."""
    read: Callable[[Fields, TokenizerConfig], BundleConfig]
    """What config.json describes; raises InputError for a setting that cannot be carried over."""
    is_of: Callable[[BundleConfig], bool] = lambda config: False
    """Whether a bundle's model is of this family, if perhaps with settings that it does not have; none of one that is
    only read."""
    problems: Callable[[BundleConfig], list[str]] = lambda config: []
    """The settings of such a bundle that the family does not have, in words."""
    write: Callable[[ModelBundle], dict[str, Any]] = lambda bundle: {}
    """The config.json of a bundle without problems."""
    write_search: Callable[[ModelBundle], dict[str, Any]] = lambda bundle: {}
    """How transformers is to search unless told otherwise, of the same."""
    same: Callable[[BundleConfig], list[Same]]
    """Which tensors are the same."""
    rename: Callable[[BundleConfig, str], str | None]
    """Brings the names of tensors into the form that `same` has; None for one that is of no use."""
    slow_tokenizer: SlowTokenizer
    """Makes a tokenizer of the files that older versions wrote."""
    outputs: Callable[[ModelBundle, Sequence[int]], Tensor]
    """What a bundle's model makes of a row of tokens, which is compared."""
    their_outputs: Callable[[Any], Tensor]
    """The same of what a model of transformers gives for a row, with an axis for the row."""
    longest: Callable[[ModelBundle], int]
    """The most tokens of a row."""
    copies: Callable[[BundleConfig], Mapping[str, str]]
    """Tensors that some versions save although they are others, by name, as tied matrices are."""
    their_inputs: Callable[[Tensor], Mapping[str, Tensor]] = lambda tokens: {"input_ids": tokens}
    """What a model of transformers is given, of a row of tokens with an axis for the row, to be compared."""
    read_tokenizers: Callable[[Path, Fields], tuple[Tokenizers, TokenizerConfig]] | None = None
    """Reads the tokenizers of a folder, where the family has files of its own for them."""
    write_tokenizers: Callable[[Path, ModelBundle], None] | None = None
    """Writes them into a folder; raises InputError for some that cannot be such files."""
    read_search: Callable[[Path], dict[str, Any]] = lambda folder: {}
    """How transformers searches unless told otherwise."""
    needs: Sequence[str] = ()
    """What transformers needs for the family's tokenizer."""
