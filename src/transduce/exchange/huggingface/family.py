"""The interface of a family of Hugging Face models: all that reading and writing it needs."""

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
    """Lists the settings of a stack of attention layers that a family does not have, in words.

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
    """A family of models: those of one `model_type`."""

    model_type: str
    """The family's name in config.json."""
    title: str
    """The family's name for people."""
    architecture: Callable[[BundleConfig], str]
    """Returns the class of transformers that runs what is written, and that what is read is compared with."""
    architectures: Sequence[str]
    """All classes whose folders can be read."""
    inputs: Sequence[str]
    """The inputs of the models of transformers."""
    roles: Mapping[str, str]
    """The names that transformers gives the family's special tokens, by our roles."""
    special: Mapping[str, str]
    """The spelling of its special tokens where no file says it, by our roles."""
    is_byte_level: bool
    """True if transformers gives it a byte-level tokenizer."""
    read: Callable[[Fields, TokenizerConfig], BundleConfig]
    """Reads the model that config.json describes; raises InputError for a setting that cannot be carried over."""
    is_of: Callable[[BundleConfig], bool] = lambda config: False
    """Returns True for a bundle whose model is of this family, if perhaps with settings that it lacks; always False for
    a family that is only read."""
    problems: Callable[[BundleConfig], list[str]] = lambda config: []
    """Lists the settings of such a bundle that the family does not have, in words."""
    write: Callable[[ModelBundle], dict[str, Any]] = lambda bundle: {}
    """Returns the config.json of a bundle without problems."""
    write_search: Callable[[ModelBundle], dict[str, Any]] = lambda bundle: {}
    """Returns the default search of transformers for a bundle."""
    same: Callable[[BundleConfig], list[Same]]
    """Lists the tensors that are the same."""
    rename: Callable[[BundleConfig, str], str | None]
    """Renames a tensor to the form that `same` has; None for one that is of no use."""
    slow_tokenizer: SlowTokenizer
    """Makes a tokenizer from the files that older versions wrote."""
    outputs: Callable[[ModelBundle, Sequence[int]], Tensor]
    """Returns the outputs of a bundle's model for a row of tokens, to be compared."""
    their_outputs: Callable[[Any], Tensor]
    """Returns the same of the outputs of a transformers model for a row, with an axis for the row."""
    longest: Callable[[ModelBundle], int]
    """Returns the most tokens of a row."""
    copies: Callable[[BundleConfig], Mapping[str, str]]
    """Returns the tensors that some versions save although they are others, by name, as tied matrices are."""
    their_inputs: Callable[[Tensor], Mapping[str, Tensor]] = lambda tokens: {"input_ids": tokens}
    """Returns the inputs of a transformers model, to be compared, from a row of tokens with an axis for the row."""
    read_tokenizers: Callable[[Path, Fields], tuple[Tokenizers, TokenizerConfig]] | None = None
    """Reads the tokenizers of a folder, if the family has files of its own for them."""
    write_tokenizers: Callable[[Path, ModelBundle], None] | None = None
    """Writes tokenizers into a folder; raises InputError for some that cannot be such files."""
    read_search: Callable[[Path], dict[str, Any]] = lambda folder: {}
    """Reads the default search of transformers from a folder."""
    needs: Sequence[str] = ()
    """The packages that transformers needs for the family's tokenizer."""
